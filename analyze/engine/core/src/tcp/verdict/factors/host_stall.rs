//! `host_stall`: a host did not run. A stall belongs to no transfer, so even a short one counts.
//!
//! Rule: docs/verdict.md, "Host stall".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::summary::summary::DirectionSummary;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, HIGHEST_CONFIDENCE, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::seconds;

const REMEDY: Remedy = Remedy { words: "no stalls", change: Change::NoStalls };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::HostStall,
    in_words: "a host stall",
    labels: Labels::list("host stall"),
    in_rounds: &[],
    least_share: 0.08,
    sets_the_rate: false,
    next: Next::Reference,
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    instead: |_| None,
    intervals: |_| Vec::new(),
};

fn because(case: &Case, tally: &Tally) -> String {
    let trips = stalled_round_trips(case.direction);
    let rhythm =
        case.limits.stall_period_ns.map(|ns| format!(", and ran again each {}", seconds(ns))).unwrap_or_default();
    let (time, reference) = (tally.time(), tally.reference());
    format!("A host stalled for {time} in all{rhythm}, while the path could carry {reference}{trips}")
}

/// What the stalls did to round trips, if that shows.
fn stalled_round_trips(direction: &DirectionSummary) -> String {
    let with_ns = direction.round_trips.map(|trips| trips.quantiles_ns[2]);
    let without = direction.details.as_deref().and_then(|details| details.without_stalls);
    let without_ns = without.and_then(|rest| rest.quantiles_ns).map(|quantiles_ns| quantiles_ns[2]);
    match with_ns.zip(without_ns) {
        Some((with_ns, without_ns)) if with_ns > PLAINLY_LONGER * without_ns => {
            let [with, without] = [with_ns, without_ns].map(|ns| seconds(ns as u64));
            format!("; 99 % of round trips took {with} or less with the stalls, {without} without")
        }
        _ => String::new(),
    }
}

fn bounds(case: &Case) -> Vec<Bound> {
    vec![Bound { confidence: stall_confidence(case), needed: "a capture at the other end of the path" }]
}

/// The pauses that say so, each by its length, leave a doubt. The verdict has half of it: it is wrong only where most of them are,
/// and what misleads about one of them, the path, misleads about all.
fn stall_confidence(case: &Case) -> f64 {
    let stalls = case.direction.spacing.gaps().iter().filter(|gap| gap.cause.is_host_stall());
    let (all_ns, sure_ns) = stalls.fold((0.0, 0.0), |(all, sure), gap| {
        let length_ns = gap.gap_ns as f64;
        (all + length_ns, sure + gap.confidence * length_ns)
    });
    if all_ns > 0.0 { 1.0 - (1.0 - sure_ns / all_ns) / 2.0 } else { HIGHEST_CONFIDENCE }
}

/// Round trips are reported with and without stalls if these make them so many times as long.
const PLAINLY_LONGER: f64 = 1.2;
