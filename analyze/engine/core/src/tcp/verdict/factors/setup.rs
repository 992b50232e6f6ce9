//! `setup`: opening the connection.
//!
//! Rule: docs/verdict.md, "Setup".

use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Tally, saved_at_reference_s};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Setup,
    in_words: "opening the connection",
    in_rounds: &[],
    least_share: 0.3,
    sets_the_rate: false,
    blames_loss: false,
    because,
    change,
    saved_s: saved_at_reference_s,
    bounds,
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("Opening the connection took {} before data could flow", tally.time())
}

fn change(_case: &Case) -> Option<&'static str> {
    Some("a connection that is open already")
}

fn bounds(_case: &Case) -> Vec<Bound> {
    Vec::new()
}
