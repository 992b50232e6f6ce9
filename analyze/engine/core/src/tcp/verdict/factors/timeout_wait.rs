//! `timeout_wait`: waiting for a retransmission timeout or a tail loss probe.
//!
//! Rule: docs/verdict.md, "Timeout wait".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::NO_LOSS;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Tally};
use crate::tcp::verdict::words::fine_seconds;

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::TimeoutWait,
    in_words: "waiting for timeouts",
    labels: Labels::list("timeouts"),
    in_rounds: &[],
    least_share: 0.1,
    sets_the_rate: false,
    next: Next::Reference,
    blames_loss: true,
    because,
    remedies: |_| &[NO_LOSS],
    bounds: |_| Vec::new(),
};

/// So few waits, the longest of them so long, are an outage: a policer makes a sender wait again and again.
const MOST_OUTAGES: usize = 3;

const SHORTEST_OUTAGE_NS: u64 = 600_000_000;

/// The path carried nothing for a while: when, nanoseconds.
///
/// Rule: docs/verdict.md, "An outage".
pub(crate) fn outage_ns(case: &Case) -> Option<[i64; 2]> {
    let waits = || case.limits.runs.iter().filter(|run| run.factor == Factor::TimeoutWait);
    let longest = waits().max_by_key(|run| run.duration_ns()).filter(|run| run.duration_ns() >= SHORTEST_OUTAGE_NS)?;
    let is_lone = waits().count() <= MOST_OUTAGES && case.limits.reductions.count() <= 2 * MOST_OUTAGES as u64;
    is_lone.then_some([longest.start_ns, longest.end_ns])
}

fn because(case: &Case, tally: &Tally) -> String {
    let of = |trigger: Trigger| u64::from(case.direction.loss.by_trigger[trigger as usize]);
    let by_timers = match of(Trigger::Rto) + of(Trigger::Tlp) {
        0 => String::new(),
        1 => " (1 segment retransmitted by a timer)".to_owned(),
        segments => format!(" ({segments} segments retransmitted by timers)"),
    };
    let outage = outage_ns(case).map_or_else(String::new, |between_ns| {
        let [from, to] = between_ns.map(|ns| fine_seconds(u64::try_from(ns - case.connection.start_ns).unwrap_or(0)));
        format!("; the path carried nothing from {from} to {to} after its start")
    });
    format!("The sender waited {} for timeouts after losses{by_timers}{outage}", tally.time())
}
