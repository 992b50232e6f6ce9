//! The throughput with one limit removed: the transfer is replayed with that change ([`crate::tcp::replay`]).
//!
//! Rule: docs/verdict.md, "What if".

use crate::tcp::replay::predict::{Unpredicted, predict};
use crate::tcp::replay::seen::Seen;
use crate::tcp::summary::decision::Decision;
use crate::tcp::token_bucket::bucket::LimiterKind;
use crate::tcp::verdict::case::{Case, WhatIf};
use crate::tcp::verdict::factors::{candidates, rule};

/// What would help against the factor and against the runner-up. They may have the same remedy, which is said once. What would
/// bring next to nothing is not said.
pub fn what_if(case: &Case, decision: &Decision) -> Vec<WhatIf> {
    let seen = seen(case);
    let mut found: Vec<WhatIf> = Vec::new();
    for remedy in candidates(decision).into_iter().flat_map(|factor| (rule(factor).remedies)(case)) {
        if found.iter().any(|other| other.change == remedy.words) {
            continue;
        }
        let predicted = predict(&seen, remedy.change);
        if predicted != Err(Unpredicted::RuledOut) {
            found.push(WhatIf { change: remedy.words, predicted });
        }
    }
    found
}

/// What the replay needs of a case.
pub(crate) fn seen<'a>(case: &Case<'a>) -> Seen<'a> {
    let Case { direction, limits, .. } = *case;
    let trips = direction.round_trips.as_ref();
    let (least_ns, long_ns) = trips.map_or((0.0, 0.0), |trips| (trips.moments.min_ns as f64, trips.quantiles_ns[2]));
    let round_trip_ns = limits.shortest_ns.unwrap_or(0) as f64;
    Seen {
        runs: &limits.runs,
        reductions: limits.reductions.list(),
        recoveries: limits.reductions.count(),
        bytes: direction.unique_payload_bytes as f64,
        segment_bytes: f64::from(direction.segment_size.max(1)),
        total_s: limits.time_ns() as f64 / 1e9,
        data_s: direction.data_time_ns.get().map_or(f64::INFINITY, |time_ns| (time_ns as f64 + least_ns) / 1e9),
        round_trip_s: round_trip_ns / 1e9,
        behind_s: (round_trip_ns - least_ns).max(0.0) / 1e9,
        sender_opens: case.side == 0,
        queue_s: (long_ns - least_ns) / 1e9,
        trains: limits.trains,
        reference_bytes_s: limits.reference_bytes_s,
        allowed_bytes_s: limits.allowed_bytes_s,
        window_bytes: direction.window.extremes.map(|(least, _, most)| [least as f64, most as f64]),
        closed_window_s: direction.extras.zero_time_ns as f64 / 1e9,
        largest_flight_bytes: direction.flight.map_or(0.0, |(_, most)| most.get() as f64),
        needless_timeouts: 2 * direction.loss.spurious > direction.loss.retransmitted,
        policed: direction.extras.token_bucket.as_deref().is_some_and(|bucket| bucket.kind == LimiterKind::Policer),
    }
}
