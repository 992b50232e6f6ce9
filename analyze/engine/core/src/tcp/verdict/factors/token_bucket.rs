//! `token_bucket`: a token bucket on the path had run empty.
//!
//! Rule: docs/verdict.md, "Token bucket".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Remedy, Tally};

const REMEDY: Remedy = Remedy { words: "no token bucket", change: Change::NoBucket };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::TokenBucket,
    in_words: "a token bucket",
    labels: Labels::list("token bucket"),
    in_rounds: &[],
    least_share: 0.2,
    sets_the_rate: true,
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds: |_| Vec::new(),
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("A token bucket ran empty and held the transfer at {}", tally.rate())
}
