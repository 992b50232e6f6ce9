//! `nagle_delayed_ack`: small writes waited for ACKs that the receiver delayed (Nagle's algorithm).
//!
//! Rule: docs/verdict.md, "Nagle and delayed ACKs".

mod held_back;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, Tally};

/// How long a write had waited does not show.
const CONFIDENCE: f64 = 0.85;

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::NagleDelayedAck,
    in_words: "Nagle's algorithm and delayed ACKs",
    labels: Labels { column: "Nagle", ..Labels::list("Nagle and delayed ACKs") },
    least_share: 0.15,
    next: Next::Nothing,
    because,
    bounds: |_| vec![ConfidenceBound { confidence: CONFIDENCE, needed: "the same transfer with TCP_NODELAY" }],
    of_writers: true,
    in_second_stage: &[Reassignment {
        turn: 145,
        heading: "Time of writes kept back",
        apply: |limits, facts| {
            if let Some((waits, side)) = facts.kept_back {
                held_back::take_held_back(limits, waits, side);
            }
        },
    }],
    ..FactorRule::PLAIN
};

fn because(_: &Case, tally: &Tally) -> String {
    format!("Small writes waited {} for delayed ACKs", tally.time())
}
