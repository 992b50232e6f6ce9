//! Why a transfer was slow: one factor, how sure that is, the frames that prove it, and what would help
//! (docs/verdict.md, "The verdict"). A function of what the summary already holds, made when it is asked for; what
//! limited each round was decided in `limits`.
//!
//! ```text
//! case       what a verdict is made from, and what it is made of (allowance: what is known to be allowed)
//! decide     which factor, which share, the runner-up, the confidence
//! sentence   in one sentence
//! evidence   the frames
//! what_if    the throughput without it
//! factors    what each factor declares: words, remedy, bounds of confidence
//! words      numbers in words
//! ```

pub(crate) mod allowance;
pub mod case;
pub(crate) mod decide;
pub(crate) mod evidence;
pub mod factors;
pub(crate) mod sentence;
pub(crate) mod what_if;
pub(crate) mod words;

use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::case::{Case, LEAST_CONFIDENCE, Verdict};

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
