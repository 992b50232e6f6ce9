//! `slow_start`: the congestion window was still growing exponentially.
//!
//! Rule: docs/verdict.md, "Slow start".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Labels, Next, Remedy, Tally};

const REMEDY: Remedy = Remedy { words: "a reused connection, past slow start", change: Change::Warm };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::SlowStart,
    in_words: "slow start",
    labels: Labels::list("slow start"),
    least_share: 0.3,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    ..FactorRule::PLAIN
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("The transfer ended before slow start reached the bottleneck bandwidth ({} of slow start)", tally.time())
}

fn bounds(case: &Case) -> Vec<Bound> {
    doubts::unknown_window(case).into_iter().collect()
}
