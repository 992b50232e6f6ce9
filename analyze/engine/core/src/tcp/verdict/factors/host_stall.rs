//! `host_stall`: a host did not run. A stall belongs to no transfer, so even a short one counts.
//!
//! Rule: docs/verdict.md, "Host stall".

mod stops;

use crate::tcp::connection::vantage::Side;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::owner::Owner;
use crate::tcp::gaps::cause::Cause;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::summary::summary::{ConnectionSummary, DirectionSummary};
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, HIGHEST_CONFIDENCE, Labels, Next, Remedy, Tally,
};
use crate::tcp::verdict::words::seconds;

const REMEDY: Remedy = Remedy { words: "no stalls", change: Change::NoStalls };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::HostStall,
    in_words: "a host stall",
    labels: Labels::list("host stall"),
    least_share: 0.08,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    owner: |summary, side| Some(stalled(summary, side)),
    in_second_stage: &[
        Reassignment {
            turn: 40,
            heading: "Host stall",
            apply: |limits, facts| facts.settled.iter().for_each(|settled| stops::settle(limits, settled)),
        },
        Reassignment {
            turn: 50,
            heading: "Stops of a host with a rhythm",
            apply: |limits, facts| facts.rhythm.iter().for_each(|rhythm| stops::take_rhythm(limits, rhythm)),
        },
        Reassignment {
            turn: 70,
            heading: "Reference rate",
            apply: |limits, facts| {
                if let (Some(series), Some(period_ns)) = (&facts.over_time, limits.stall_period_ns) {
                    stops::take_best_periods(limits, period_ns, series.delivered_bytes, series.bin_ns);
                }
            },
        },
    ],
    ..FactorRule::PLAIN
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

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    vec![ConfidenceBound { confidence: stall_confidence(case), needed: "a capture at the other end of the path" }]
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

/// The host that stalled longer: the one at the capture point, or the other one.
fn stalled(summary: &ConnectionSummary, side: usize) -> Owner {
    let time_ns = |cause: Cause| {
        let causes = summary.directions[side].spacing.causes.as_ref();
        causes.map_or(0, |causes| causes.oversize[cause as usize].time_ns)
    };
    let is_local = time_ns(Cause::LocalHostStall) >= time_ns(Cause::RemoteHostStall);
    match (summary.vantage.side, is_local) {
        (Side::Client, true) | (Side::Server, false) => Owner::ClientHost,
        (Side::Server, true) | (Side::Client, false) => Owner::ServerHost,
        (Side::Middle | Side::Unknown, _) => Factor::HostStall.whose().of(side),
    }
}
