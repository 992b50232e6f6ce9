//! `slow_start`: the congestion window was still growing exponentially.
//!
//! Rule: docs/verdict.md, "Slow start".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, Instead, Labels, Next, Remedy, SURE_MARGIN_OF_RESIDUES, Tally,
};

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
    instead,
    sure_margin: SURE_MARGIN_OF_RESIDUES,
    ..FactorRule::PLAIN
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("The transfer ended before slow start reached the bottleneck bandwidth ({} of slow start)", tally.time())
}

/// Losses ended it, and what they left took longer: whether the opening or the losses cost more shows in a longer transfer.
fn instead(case: &Case) -> Option<Instead> {
    let [own_ns, window_ns, repairs_ns] =
        [RULE.factor, Factor::CongestionWindow, Factor::LossRecovery].map(|factor| case.limits.shares[factor].time_ns);
    let is_longer = window_ns + repairs_ns > own_ns;
    let may_be = case.direction.lost_inferred() > 0 && is_longer;
    may_be.then_some(Instead { factor: Factor::CongestionWindow, needed: "a longer transfer" })
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    doubts::unknown_window(case).into_iter().collect()
}
