//! Why a transfer was slow: one factor, how sure that is, the frames that prove it, and what would help
//! (docs/verdict.md, "The verdict"). Decided once when all connections are over, and kept in
//! the summary; words and frames are made of that when they are asked for. What limited each round was decided in `limits`.
//!
//! ```text
//! case       what a verdict is made from, and what it is made of (allowance: what is known to be allowed)
//! by_time    which factor, where no rate is known
//! decide     which factor, which share, the runner-up, the confidence
//! savings    how much shorter the transfer would have been without a factor
//! sentence   in one sentence
//! shared     a limit that the connection shares with others
//! evidence   the frames
//! requests   which part of the time of requests dominates, in a sentence
//! what_if    the throughput without it
//! factors    what each factor declares: condition, words, remedy, bounds of confidence
//! words      numbers in words
//! ```

pub(crate) mod allowance;
pub(crate) mod by_time;
pub mod case;
pub(crate) mod decide;
pub(crate) mod evidence;
pub mod factors;
pub(crate) mod requests;
pub(crate) mod savings;
pub(crate) mod sentence;
pub(crate) mod shared;
pub(crate) mod what_if;
pub(crate) mod words;

use crate::tcp::limits::second_stage::{Facts, reassign};
use crate::tcp::summary::decision::Decision;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::case::{Case, LEAST_CONFIDENCE, Verdict};
use crate::tcp::verdict::factors::{candidates, reassignments};

impl ConnectionSummary {
    /// Decides what made the connection slow, of the direction that carried more payload: once all is known of it.
    pub fn decide(&mut self) {
        self.take_path_mtu();
        let [client, server] = &self.directions;
        let side = usize::from(server.unique_payload_bytes > client.unique_payload_bytes);
        let decision = self.case(side).and_then(|case| decide::decide(&case));
        self.judgement.iter_mut().for_each(|judgement| judgement.decision = decision);
    }

    /// Errors come to their connection when all has been read.
    fn take_path_mtu(&mut self) {
        let times_ns = |ns: Option<[i64; 2]>, time_ns: i64| {
            ns.map_or([time_ns; 2], |[first, last]| [first.min(time_ns), last.max(time_ns)])
        };
        let between_ns = self
            .icmp_errors()
            .iter()
            .flat_map(|errors| errors.of_mtu())
            .fold(None, |ns, error| Some(times_ns(ns, error.time_ns)));
        if let (Some(between_ns), Some(judgement)) = (between_ns, self.judgement.as_deref_mut()) {
            let facts = Facts { mtu_errors_ns: Some(between_ns), ..Facts::default() };
            judgement.limits.iter_mut().flatten().for_each(|limits| reassign(reassignments(), limits, &facts));
        }
    }

    /// What is decided; none if the transfer was too short to judge, or nothing is decided yet.
    pub fn decision(&self) -> Option<&Decision> {
        self.judgement.as_deref()?.decision.as_ref()
    }

    /// The decision in one sentence.
    pub fn verdict_sentence(&self) -> Option<String> {
        let decision = self.decision()?;
        let case = self.case(usize::from(decision.side))?;
        Some(sentence::sentence(&case, decision))
    }

    /// The decision in words, with its proof and with what would help, for which the transfer is replayed.
    pub fn verdict(&self) -> Option<Verdict> {
        let decision = self.decision()?;
        let side = usize::from(decision.side);
        let case = self.case(side)?;
        let undetermined = decision.confidence < LEAST_CONFIDENCE;
        Some(Verdict {
            side,
            factor: decision.factor,
            share: decision.share,
            runner_up: decision.runner_up,
            confidence: decision.confidence,
            saves_ns: decision.saves_ns,
            sentence: sentence::sentence(&case, decision),
            evidence: evidence::evidence(&case, decision),
            what_if: what_if::what_if(&case, decision),
            undetermined_between: if undetermined { candidates(decision) } else { Vec::new() },
        })
    }

    /// One side's data with all that a verdict is drawn from; none if it was too short to judge.
    pub(crate) fn case(&self, side: usize) -> Option<Case<'_>> {
        Some(Case { connection: self, side, direction: &self.directions[side], limits: self.limits(side)? })
    }
}
