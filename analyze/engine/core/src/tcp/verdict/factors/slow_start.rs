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
    in_rounds: &[],
    least_share: 0.3,
    sets_the_rate: false,
    next: Next::Reference,
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    instead: |_| None,
    intervals: |_| Vec::new(),
    of_writers: false,
    explains_alone: false,
    owner: |_, _| None,
    in_second_stage: &[],
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("The transfer ended before slow start reached the bottleneck bandwidth ({} of slow start)", tally.time())
}

fn bounds(case: &Case) -> Vec<Bound> {
    doubts::unknown_window(case).into_iter().collect()
}
