//! `idle`: nothing to do, it was the turn of the other side. It holds back nothing.
//!
//! Rule: docs/verdict.md, "Idle".

mod after_data;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Tally};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Idle,
    in_words: "waiting for the other side",
    labels: Labels::list("idle"),
    least_share: f64::INFINITY,
    next: Next::Reference,
    because,
    in_second_stage: &[Reassignment {
        turn: 30,
        heading: "After the last data",
        apply: |limits, facts| facts.ending.iter().for_each(|ending| after_data::take_ending(limits, ending)),
    }],
    ..FactorRule::PLAIN
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("The direction waited {} for the other side", tally.time())
}
