//! What was repaired because it was too large for the path: an ICMP error has named the MTU (RFC 1191, RFC 8201).
//!
//! Rule: docs/verdict.md, "Repairs after an MTU was named".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::bucket::take_time;
use crate::tcp::limits::summary::LimitsSummary;

/// From the first error to the last, and so many round trips after it, in which the segments are retransmitted and acknowledged.
const ROUND_TRIPS: i64 = 2;

/// The errors passed between these times.
pub(crate) fn take_path_mtu(summary: &mut LimitsSummary, [first_ns, last_ns]: [i64; 2]) {
    let round_trip_ns = summary.shortest_ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
    let end_ns = last_ns.saturating_add(round_trip_ns.saturating_mul(ROUND_TRIPS));
    let is_repair =
        |factor: Factor| matches!(factor, Factor::LossRecovery | Factor::TimeoutWait | Factor::CongestionWindow);
    take_time(summary, Factor::PathMtu, is_repair, &[[first_ns, end_ns]]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::Run;
    use crate::tcp::limits::share::Share;

    #[test]
    fn repairs_from_the_first_error_on_are_the_mtus() {
        let mut summary = LimitsSummary { shortest_ns: Some(10), ..LimitsSummary::default() };
        let run = Run { start_ns: 0, end_ns: 100, factor: Factor::LossRecovery, bytes: 0, frames: [1, 2] };
        summary.runs.push(run);
        summary.shares[Factor::LossRecovery as usize] = Share { time_ns: 100, bytes: 0 };
        take_path_mtu(&mut summary, [20, 30]);
        assert_eq!(summary.shares[Factor::PathMtu as usize].time_ns, 30);
    }
}
