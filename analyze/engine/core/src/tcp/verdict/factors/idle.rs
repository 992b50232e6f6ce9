//! `idle`: nothing to do, it was the turn of the other side. It holds back nothing.
//!
//! Rule: docs/verdict.md, "Idle".

use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Tally};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Idle,
    in_words: "waiting for the other side",
    labels: Labels::list("idle"),
    in_rounds: &[],
    least_share: f64::INFINITY,
    sets_the_rate: false,
    next: Next::Reference,
    blames_loss: false,
    because,
    remedies: |_| &[],
    bounds: |_| Vec::new(),
    instead: |_| None,
    intervals: |_| Vec::new(),
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("The direction waited {} for the other side", tally.time())
}
