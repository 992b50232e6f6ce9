//! What was repaired because it was too large for the path: an ICMP error has named the MTU (RFC 1191, RFC 8201).
//!
//! Until the smaller segments are acknowledged there is data to send, whatever its pauses look like: it is that which did not pass.
//!
//! Rule: docs/verdict.md, "Repairs after an MTU was named".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::summary::LimitsSummary;

/// From the first error to the last, and so many round trips after it, in which the segments are retransmitted and acknowledged.
const ROUND_TRIPS: i64 = 2;

/// The errors passed between these times.
pub(crate) fn take_path_mtu(summary: &mut LimitsSummary, [first_ns, last_ns]: [i64; 2]) {
    let round_trip_ns = summary.shortest_ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
    let end_ns = last_ns.saturating_add(round_trip_ns.saturating_mul(ROUND_TRIPS));
    take_time(summary, Factor::PathMtu, is_shadow, &[[first_ns, end_ns]]);
}

/// What it looks like while segments wait that did not pass: repairs, a small window, and a sender that gives too little.
fn is_shadow(factor: Factor) -> bool {
    matches!(
        factor,
        Factor::LossRecovery
            | Factor::TimeoutWait
            | Factor::PathOutage
            | Factor::CongestionWindow
            | Factor::Application
            | Factor::SendBuffer
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;

    /// Of 100 ns of a factor, the MTU's after errors from 20 to 30 ns, with a round trip of 10 ns.
    fn taken_ns(factor: Factor) -> u64 {
        let mut summary = LimitsSummary { shortest_ns: Some(10), ..LimitsSummary::default() };
        summary.runs.push(FactorRun { start_ns: 0, end_ns: 100, factor, bytes: 0, frames: [1, 2] });
        summary.shares[factor] = Share { time_ns: 100, bytes: 0 };
        take_path_mtu(&mut summary, [20, 30]);
        summary.shares[Factor::PathMtu].time_ns
    }

    #[test]
    fn repairs_from_the_first_error_on_are_the_mtus() {
        assert_eq!([Factor::LossRecovery, Factor::TimeoutWait, Factor::CongestionWindow].map(taken_ns), [30; 3]);
    }

    #[test]
    fn a_sender_whose_segments_did_not_pass_has_something_to_send() {
        assert_eq!([Factor::Application, Factor::SendBuffer].map(taken_ns), [30; 2]);
    }

    #[test]
    fn time_of_the_other_side_and_of_a_closed_window_stays_theirs() {
        assert_eq!([Factor::Idle, Factor::ReceiverWindow, Factor::Setup].map(taken_ns), [0; 3]);
    }
}
