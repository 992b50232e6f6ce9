//! Why a transfer was slow: one factor, how sure that is, the frames that prove it, and what would help (docs/verdict.md,
//! "The verdict"). A function of what the summary already holds, made when it is asked for.
//!
//! ```text
//! decide     which factor, which share, the runner-up, the confidence
//! sentence   in one sentence
//! evidence   the frames
//! what_if    the throughput without it
//! ```

mod decide;
mod evidence;
mod sentence;
mod what_if;

pub use decide::Decision;

use super::limits::{Factor, LimitsSummary, Run, Share, Shares};
use super::summary::{ConnectionSummary, DirectionSummary};
use super::token_bucket::Kind;

/// Below this confidence nothing is decided.
pub const LEAST_CONFIDENCE: f64 = 0.6;

/// A frame, and where it stands: frames of several files that were merged may have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its number in its file.
    pub frame: u32,
    /// The moment that it stands for: when it passed, or the end of an interval of which it is the nearest frame known.
    pub time_ns: i64,
}

/// Frames that show something.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What they show.
    pub text: String,
    /// At most ten.
    pub frames: Vec<Place>,
    /// A display filter of Wireshark's that shows them.
    pub display_filter: String,
}

/// What a change would bring.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The change.
    pub change: &'static str,
    /// Throughput of the transfer with it, bits/s.
    pub goodput_bps: f64,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The direction judged: data of the client (0) or the server (1).
    pub side: usize,
    /// The factor.
    pub factor: Factor,
    /// Its share of the bytes lost; of those delivered where nothing was lost to speak of.
    pub share: f64,
    /// The factor after it, if there is one.
    pub runner_up: Option<Factor>,
    /// 0 to 1.
    pub confidence: f64,
    /// In one sentence.
    pub sentence: String,
    /// The proof.
    pub evidence: Vec<Evidence>,
    /// What would help.
    pub what_if: Vec<WhatIf>,
    /// The candidates, where nothing is decided.
    pub undetermined_between: Vec<Factor>,
}

/// One direction with all that a verdict is drawn from.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The connection.
    pub connection: &'a ConnectionSummary,
    /// Client (0) or server (1) sends the data.
    pub side: usize,
    /// The direction.
    pub direction: &'a DirectionSummary,
    /// What limited it.
    pub limits: &'a LimitsSummary,
}

impl Case<'_> {
    /// Time and bytes by what is to blame for them. A policer drops what exceeds its rate: once its bucket has run empty, the
    /// timeouts waited for what it had dropped.
    fn blame(&self) -> Shares {
        let mut shares = self.limits.shares;
        let policer = self.direction.token_bucket.as_deref().filter(|bucket| bucket.kind == Kind::Policer);
        if let Some(policer) = policer {
            let waits = |run: &&Run| run.factor == Factor::TimeoutWait && run.end_ns > policer.switch_ns;
            for wait in self.limits.runs.iter().filter(waits) {
                let share = Share { time_ns: wait.duration_ns(), bytes: wait.bytes };
                let policed = shares[Factor::TimeoutWait as usize].take(share);
                shares[Factor::TokenBucket as usize].add(policed);
            }
        }
        shares
    }
}

impl ConnectionSummary {
    /// The verdict on the direction that carried more payload; none if it was too short to judge.
    pub fn verdict(&self) -> Option<Verdict> {
        let [client, server] = &self.directions;
        let side = usize::from(server.unique_payload_bytes > client.unique_payload_bytes);
        let case = Case { connection: self, side, direction: &self.directions[side], limits: self.limits(side)? };
        let decision = decide::decide(&case)?;
        let undetermined = decision.confidence < LEAST_CONFIDENCE;
        Some(Verdict {
            side,
            factor: decision.factor,
            share: decision.share,
            runner_up: decision.runner_up,
            confidence: decision.confidence,
            sentence: sentence::sentence(&case, &decision),
            evidence: evidence::evidence(&case, &decision),
            what_if: what_if::what_if(&case, &decision),
            undetermined_between: if undetermined { decision.candidates() } else { Vec::new() },
        })
    }
}
