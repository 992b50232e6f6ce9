//! Timeouts that were waited for because the path carried nothing, retransmissions neither.
//!
//! Rule: docs/verdict.md, "An outage".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::runs::Run;
use crate::tcp::limits::summary::LimitsSummary;

/// So few waits are outages: a policer makes a sender wait again and again.
const MOST_OUTAGES: usize = 3;

/// The least of them.
const SHORTEST_NS: u64 = 600_000_000;

/// A sender retransmits after a round trip and this (Linux, `TCP_RTO_MIN`), then after twice that: within so many of such times a
/// retransmission was lost, too.
const LEAST_TIMEOUT_NS: u64 = 200_000_000;

const TIMEOUTS: f64 = 2.5;

/// `long_trip_ns`: what round trips took at most, but for a few.
pub(super) fn take_outages(summary: &mut LimitsSummary, long_trip_ns: Option<u64>) {
    let waits = || summary.runs.iter().filter(|run| run.factor == Factor::TimeoutWait);
    if waits().count() > MOST_OUTAGES || summary.reductions.count() > 2 * MOST_OUTAGES as u64 {
        return;
    }
    let trip_ns = long_trip_ns.max(summary.shortest_ns).unwrap_or(0);
    let timeout_ns = LEAST_TIMEOUT_NS.saturating_add(trip_ns);
    let shortest_ns = SHORTEST_NS.max((timeout_ns as f64 * TIMEOUTS) as u64);
    let goes_on = |wait: &Run| summary.runs.iter().any(|run| run.start_ns >= wait.end_ns && run.bytes > 0);
    let outages = waits().filter(|wait| wait.duration_ns() >= shortest_ns && goes_on(wait));
    let spans: Vec<[i64; 2]> = outages.map(|wait| [wait.start_ns, wait.end_ns]).collect();
    if !spans.is_empty() {
        take_time(summary, Factor::PathOutage, |factor| factor == Factor::TimeoutWait, &spans);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;

    const MS: i64 = 1_000_000;

    /// Waits of so many milliseconds, each with data behind it but for the last if `is_over`; what became of outages in all.
    fn outages_ms(waits_ms: &[i64], round_trip_ms: u64, is_over: bool) -> u64 {
        let mut summary = LimitsSummary::default();
        let mut at_ns = 0;
        for (number, wait_ms) in waits_ms.iter().enumerate() {
            let end_ns = at_ns + wait_ms * MS;
            let frames = [1, 2];
            summary.runs.push(Run { start_ns: at_ns, end_ns, factor: Factor::TimeoutWait, bytes: 0, frames });
            summary.shares[Factor::TimeoutWait as usize].add(Share { time_ns: (wait_ms * MS) as u64, bytes: 0 });
            at_ns = end_ns + 100 * MS;
            let bytes = if is_over && number + 1 == waits_ms.len() { 0 } else { 1000 };
            summary.runs.push(Run { start_ns: end_ns, end_ns: at_ns, factor: Factor::SlowStart, bytes, frames });
        }
        take_outages(&mut summary, Some(round_trip_ms * MS as u64));
        let of = |factor: Factor| summary.shares[factor as usize].time_ns / MS as u64;
        assert_eq!(of(Factor::PathOutage) + of(Factor::TimeoutWait), waits_ms.iter().sum::<i64>() as u64);
        of(Factor::PathOutage)
    }

    #[test]
    fn a_long_wait_after_which_data_passes_is_an_outage() {
        assert_eq!(outages_ms(&[700], 20, false), 700);
        assert_eq!(outages_ms(&[700, 250, 1500], 20, false), 2200, "the short one is a timeout");
    }

    #[test]
    fn one_retransmission_that_came_late_is_none() {
        assert_eq!(outages_ms(&[590], 20, false), 0);
        assert_eq!(outages_ms(&[700], 200, false), 0, "a second timeout would take a second");
    }

    #[test]
    fn waits_again_and_again_and_a_path_that_never_came_back_are_none() {
        assert_eq!(outages_ms(&[700; 4], 20, false), 0);
        assert_eq!(outages_ms(&[700], 20, true), 0);
    }
}
