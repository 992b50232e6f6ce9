//! Timeouts that were waited for because the path carried nothing, retransmissions neither.
//!
//! Rule: docs/verdict.md, "An outage".

use crate::tcp::events::holder::Holder;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;

/// So few waits are outages: a policer makes a sender wait again and again.
const MOST_OUTAGES: usize = 3;

/// The least of them.
const SHORTEST_NS: u64 = 600_000_000;

/// A sender retransmits after a round trip and this (Linux, `TCP_RTO_MIN`), then after twice that: within so many of such times a
/// retransmission was lost, too.
const LEAST_TIMEOUT_NS: u64 = 200_000_000;

const TIMEOUTS: f64 = 2.5;

/// When it carried nothing; empty if it always did. `long_trip_ns`: what round trips took at most, but for a few.
pub(crate) fn outages_ns(summary: &LimitsSummary, long_trip_ns: Option<u64>) -> Vec<[i64; 2]> {
    let waits = || summary.runs.iter().filter(|run| run.factor.holder() == Holder::Timeout);
    if waits().count() > MOST_OUTAGES || summary.reductions.count() > 2 * MOST_OUTAGES as u64 {
        return Vec::new();
    }
    let trip_ns = long_trip_ns.max(summary.shortest_ns).unwrap_or(0);
    let timeout_ns = LEAST_TIMEOUT_NS.saturating_add(trip_ns);
    let shortest_ns = SHORTEST_NS.max((timeout_ns as f64 * TIMEOUTS) as u64);
    let passed = |is_there: &dyn Fn(&FactorRun) -> bool| summary.runs.iter().any(|run| run.bytes > 0 && is_there(run));
    // A path that never carried full segments, or carries nothing any more, is another thing.
    let is_within = |wait: &FactorRun| {
        passed(&|before| before.end_ns <= wait.start_ns) && passed(&|after| after.start_ns >= wait.end_ns)
    };
    let outages = waits().filter(|wait| wait.duration_ns() >= shortest_ns && is_within(wait));
    outages.map(|wait| [wait.start_ns, wait.end_ns]).collect()
}

/// They are most of the time from a moment to the last of the runs: what was slow then was slow for them.
pub(crate) fn are_most_since(outages_ns: &[[i64; 2]], since_ns: i64, summary: &LimitsSummary) -> bool {
    let end_ns = summary.runs.last().map_or(since_ns, |run| run.end_ns);
    let within_ns = outages_ns.iter().map(|&[start_ns, end_ns]| end_ns.saturating_sub(start_ns.max(since_ns)).max(0));
    2 * within_ns.sum::<i64>() > end_ns.saturating_sub(since_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::events::factor::Factor;

    const MS: i64 = 1_000_000;

    /// Waits of so many milliseconds, each with data behind it but for the last if `is_over`; what became of outages in all.
    fn outages_ms(waits_ms: &[i64], round_trip_ms: u64, [has_begun, is_over]: [bool; 2]) -> u64 {
        let mut summary = LimitsSummary::default();
        let mut at_ns = 100 * MS;
        let before = FactorRun { start_ns: 0, end_ns: at_ns, factor: Factor::SlowStart, bytes: 1000, frames: [1, 2] };
        summary.runs.extend(has_begun.then_some(before));
        for (number, wait_ms) in waits_ms.iter().enumerate() {
            let end_ns = at_ns + wait_ms * MS;
            let frames = [1, 2];
            summary.runs.push(FactorRun { start_ns: at_ns, end_ns, factor: Factor::TimeoutWait, bytes: 0, frames });
            at_ns = end_ns + 100 * MS;
            let bytes = if is_over && number + 1 == waits_ms.len() { 0 } else { 1000 };
            summary.runs.push(FactorRun { start_ns: end_ns, end_ns: at_ns, factor: Factor::SlowStart, bytes, frames });
        }
        let outages_ns = outages_ns(&summary, Some(round_trip_ms * MS as u64));
        outages_ns.iter().map(|[start_ns, end_ns]| ((end_ns - start_ns) / MS) as u64).sum()
    }

    #[test]
    fn a_long_wait_after_which_data_passes_is_an_outage() {
        assert_eq!(outages_ms(&[700], 20, [true, false]), 700);
        assert_eq!(outages_ms(&[700, 250, 1500], 20, [true, false]), 2200, "the short one is a timeout");
    }

    #[test]
    fn one_retransmission_that_came_late_is_none() {
        assert_eq!(outages_ms(&[590], 20, [true, false]), 0);
        assert_eq!(outages_ms(&[700], 200, [true, false]), 0, "a second timeout would take a second");
    }

    #[test]
    fn waits_again_and_again_and_a_path_that_never_came_back_are_none() {
        assert_eq!(outages_ms(&[700; 4], 20, [true, false]), 0);
        assert_eq!(outages_ms(&[700], 20, [true, true]), 0);
        assert_eq!(outages_ms(&[700], 20, [false, false]), 0, "nothing had passed before");
    }

    #[test]
    fn what_was_slow_for_an_outage_is_the_part_of_it_in_the_rest() {
        let run = FactorRun { start_ns: 0, end_ns: 100, factor: Factor::SlowStart, bytes: 1, frames: [1, 2] };
        let summary = LimitsSummary { runs: vec![run], ..LimitsSummary::default() };
        assert_eq!([0, 20, 40].map(|since_ns| are_most_since(&[[30, 70]], since_ns, &summary)), [false, false, false]);
        assert_eq!([0, 20, 50].map(|since_ns| are_most_since(&[[30, 90]], since_ns, &summary)), [true, true, true]);
        assert!(!are_most_since(&[], 0, &summary));
    }
}
