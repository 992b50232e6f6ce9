//! `path_outage`: the path carried nothing for a while.
//!
//! Rule: docs/verdict.md, "Path outage".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::fine_seconds;

const REMEDY: Remedy = Remedy { words: "no outage", change: Change::NoLoss };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::PathOutage,
    in_words: "an outage of the path",
    labels: Labels { column: "outage", ..Labels::list("path outage") },
    least_share: 0.1,
    next: Next::Reference,
    blames_loss: true,
    because,
    remedies: |_| &[REMEDY],
    explains_alone: true,
    in_second_stage: &[Reassignment {
        turn: 125,
        heading: "An outage",
        apply: |limits, facts| {
            if facts.over_time.as_ref().is_some_and(|over_time| over_time.empty_ns.is_none()) {
                take_time(limits, Factor::PathOutage, |factor| factor == Factor::TimeoutWait, facts.outages_ns);
            }
        },
    }],
    ..FactorRule::PLAIN
};

/// The path stopped, so that nothing else has to have dropped what was lost.
pub(super) fn has_stopped(case: &Case) -> bool {
    case.limits.shares[RULE.factor].time_ns > 0
}

fn because(case: &Case, tally: &Tally) -> String {
    let outages: Vec<&FactorRun> = case.limits.runs.iter().filter(|run| run.factor == RULE.factor).collect();
    let since_start = |ns: i64| fine_seconds(u64::try_from(ns - case.connection.start_ns).unwrap_or(0));
    let Some(longest) = outages.iter().max_by_key(|run| run.duration_ns()) else {
        return format!("The path carried nothing for {}", tally.time());
    };
    let times = if outages.len() > 1 { format!(", {} times", outages.len()) } else { String::new() };
    let longest_is = if outages.len() > 1 { "the longest " } else { "" };
    let [from, to] = [longest.start_ns, longest.end_ns].map(since_start);
    format!("The path carried nothing for {}{times}: {longest_is}from {from} to {to} after the start", tally.time())
}
