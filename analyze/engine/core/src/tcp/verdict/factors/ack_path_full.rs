//! `ack_path_full`: acknowledgements waited in a queue of their direction, and the sender for them.
//!
//! Rule: docs/verdict.md, "Full direction of the ACKs".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::ack_wait::waits_for_acks;
use crate::tcp::limits::moves::move_all;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, Tally};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::AckPathFull,
    in_words: "the full direction of the ACKs",
    labels: Labels { column: "ACK path full", ..Labels::list("direction of the ACKs full") },
    in_rounds: &[Condition { turn: 35, holds: waits_for_acks, beneath_slow_start: false }],
    least_share: 0.2,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    because,
    bounds,
    explains_alone: true,
    in_second_stage: &[Reassignment {
        turn: 15,
        heading: "Pauses until ACKs come",
        apply: |limits, facts| {
            if facts.opening.is_some() {
                take_pauses(limits);
            }
        },
    }],
    ..FactorRule::PLAIN
};

/// Of the whole time: then pauses that nothing else explains are waits for acknowledgements, too.
const LEAST_SHARE: f64 = 0.3;

/// What comes back through a full queue comes in bunches, with pauses before them.
///
/// Rule: docs/verdict.md, "Pauses until ACKs come".
fn take_pauses(limits: &mut LimitsSummary) {
    let waited_ns = limits.shares[RULE.factor].time_ns as f64;
    if waited_ns >= LEAST_SHARE * limits.time_ns() as f64 && waited_ns > 0.0 {
        move_all(limits, Factor::Unknown, RULE.factor);
    }
}

fn because(_case: &Case, tally: &Tally) -> String {
    format!("ACKs waited in a full queue on their way back: {}", tally.possible())
}

fn bounds(_case: &Case) -> Vec<ConfidenceBound> {
    vec![ConfidenceBound { confidence: CONFIDENCE, needed: "a capture of all traffic on the path" }]
}

/// What fills the queue is not known.
const CONFIDENCE: f64 = 0.75;
