//! `unknown`: packets stopped at a host or on the path, and this capture does not show where.
//!
//! Rule: docs/verdict.md, "Unknown".

use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, OPEN_CONFIDENCE, Tally};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Unknown,
    in_words: "an unclear cause",
    labels: Labels::list("unclear"),
    least_share: 0.08,
    next: Next::Reference,
    because,
    bounds,
    // Undecided is whether a host stalled or the path held the packets.
    beside: Some(Factor::HostStall),
    undecided: |tally| Some(format!("packets stopped for {} in all, at a host or on the path", tally.time())),
    ..FactorRule::PLAIN
};

fn because(_case: &Case, _tally: &Tally) -> String {
    "What limited the transfer is unclear".to_owned()
}

fn bounds(_case: &Case) -> Vec<ConfidenceBound> {
    vec![ConfidenceBound { confidence: OPEN_CONFIDENCE, needed: "a capture at the other end of the path" }]
}
