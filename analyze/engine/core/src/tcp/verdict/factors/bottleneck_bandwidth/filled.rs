//! A path that is filled without a queue that would show it.
//!
//! A congestion window that has been reduced may still be larger than what the path holds: then a queue stands that is too short to
//! tell, and the path carries as much as it did behind a long one. Once long queues have shown how much that is, what is
//! delivered at that rate is as much as there is to have.
//!
//! Rule: docs/verdict.md, "A path filled without a visible queue".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves;
use crate::tcp::limits::rates::by_time;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;

/// Round trips for which queues must have shown the rate, and for which it must be kept elsewhere.
const LEAST_SHOWN: u64 = 8;

const LEAST_KEPT: u64 = 4;

/// How far the rate may lie beside it.
const BESIDE: f64 = 0.05;

/// Reports the bottleneck bandwidth where the congestion window was reported and the rate is the one that the path had at other times.
pub(crate) fn take_filled(summary: &mut LimitsSummary, min_rtt_ns: u64) {
    let Some(shown) = shown_rate(summary, LEAST_SHOWN.saturating_mul(min_rtt_ns)) else { return };
    let is_filled = |run: &&FactorRun| {
        run.factor == Factor::CongestionWindow
            && run.duration_ns() >= LEAST_KEPT.saturating_mul(min_rtt_ns)
            && (rate(run) / shown - 1.0).abs() <= BESIDE
    };
    let filled: Vec<[i64; 2]> = summary.runs.iter().filter(is_filled).map(|run| [run.start_ns, run.end_ns]).collect();
    let taken =
        moves::move_to(summary, Factor::BottleneckBandwidth, |factor| factor == Factor::CongestionWindow, &filled);
    let moved = summary.underlying[Factor::CongestionWindow].take(taken[Factor::CongestionWindow]);
    summary.underlying[Factor::BottleneckBandwidth].add(moved);
}

/// The rate of the path where queues show it: for half of their time it was no higher. None if that is too little time to tell.
fn shown_rate(summary: &LimitsSummary, least_ns: u64) -> Option<f64> {
    let shown = summary.runs.iter().filter(|run| run.factor == Factor::BottleneckBandwidth);
    let rates: Vec<(f64, u64)> = shown.map(|run| (rate(run), run.duration_ns())).collect();
    let all_ns: u64 = rates.iter().map(|(_, time_ns)| time_ns).sum();
    if least_ns > 0 && all_ns >= least_ns { by_time(rates, 0.5) } else { None }
}

/// Bytes for each nanosecond.
fn rate(run: &FactorRun) -> f64 {
    run.bytes as f64 / run.duration_ns().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;

    const MS: i64 = 1_000_000;

    /// Runs one after another: what limited, for how many milliseconds, and bytes for each of them.
    fn transfer(list: &[(Factor, i64, u64)]) -> LimitsSummary {
        let mut summary = LimitsSummary::default();
        let mut start_ns = 0;
        for &(factor, duration_ms, bytes_ms) in list {
            let end_ns = start_ns + duration_ms * MS;
            let run = FactorRun { start_ns, end_ns, factor, bytes: bytes_ms * duration_ms as u64, frames: [1, 2] };
            let share = Share { time_ns: run.duration_ns(), bytes: run.bytes };
            summary.shares[factor].add(share);
            summary.underlying[factor].add(share);
            summary.runs.push(run);
            start_ns = end_ns;
        }
        summary
    }

    /// Milliseconds that the bottleneck bandwidth and the congestion window limited, with a round trip of 20 ms.
    fn limited_ms(list: &[(Factor, i64, u64)]) -> [u64; 2] {
        let mut summary = transfer(list);
        take_filled(&mut summary, 20 * MS as u64);
        let factors = [Factor::BottleneckBandwidth, Factor::CongestionWindow];
        let of = |factor: Factor| {
            let of_runs: u64 = summary.runs.iter().filter(|run| run.factor == factor).map(FactorRun::duration_ns).sum();
            assert_eq!(of_runs, summary.shares[factor].time_ns);
            assert_eq!(summary.shares[factor], summary.underlying[factor]);
            of_runs / MS as u64
        };
        factors.map(of)
    }

    const QUEUE: (Factor, i64, u64) = (Factor::BottleneckBandwidth, 400, 6000);

    #[test]
    fn a_window_at_the_rate_that_queues_have_shown_leaves_the_path_to_be_the_limit() {
        assert_eq!(limited_ms(&[QUEUE, (Factor::CongestionWindow, 3000, 5900), QUEUE]), [3800, 0]);
    }

    #[test]
    fn a_window_at_another_rate_is_the_limit() {
        for bytes_ms in [5600, 6400] {
            assert_eq!(limited_ms(&[QUEUE, (Factor::CongestionWindow, 3000, bytes_ms)]), [400, 3000]);
        }
    }

    #[test]
    fn a_rate_that_hardly_lasts_or_was_hardly_shown_tells_nothing() {
        assert_eq!(limited_ms(&[QUEUE, (Factor::CongestionWindow, 70, 6000)]), [400, 70]);
        let shown = (Factor::BottleneckBandwidth, 150, 6000);
        assert_eq!(limited_ms(&[shown, (Factor::CongestionWindow, 3000, 6000)]), [150, 3000]);
    }

    #[test]
    fn a_burst_of_acknowledgements_in_a_short_queue_does_not_hide_the_rate_of_the_long_one() {
        let burst = (Factor::BottleneckBandwidth, 40, 12_000);
        assert_eq!(limited_ms(&[burst, QUEUE, (Factor::CongestionWindow, 3000, 5900)]), [3440, 0]);
    }
}
