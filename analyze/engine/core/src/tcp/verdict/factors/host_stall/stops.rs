//! A gap that was found to be a stall, or none, only when its rounds had been judged ([`crate::tcp::gaps::undecided`]): its time is
//! moved.

use crate::tcp::events::factor::Factor;
use crate::tcp::gaps::undecided_gap::{GapProof, Settled};
use crate::tcp::limits::marks;
use crate::tcp::limits::rates::by_time;
use crate::tcp::limits::runs::Runs;
use crate::tcp::limits::second_stage::StallRhythm;
use crate::tcp::limits::share::Share;
use crate::tcp::limits::summary::LimitsSummary;

/// Moves the time between two moments to the factor that it belongs to, with what was delivered in it.
pub(super) fn settle(summary: &mut LimitsSummary, settled: &Settled) {
    settle_with(summary, settled, |share| share);
}

/// The same for a stop in which nothing was delivered: what was delivered around it was so in less time.
fn settle_empty(summary: &mut LimitsSummary, settled: &Settled) {
    settle_with(summary, settled, |share| Share { bytes: 0, ..share });
}

fn settle_with(summary: &mut LimitsSummary, settled: &Settled, moves: fn(Share) -> Share) {
    let &Settled { start_ns, end_ns, proved } = settled;
    let (from, to) = match proved {
        GapProof::Stall => (None, Factor::HostStall),
        GapProof::NoStall(cause, ended_by_timer) => {
            (Some(Factor::HostStall), cause.factor(ended_by_timer, false).unwrap_or(Factor::Unknown))
        }
    };
    let mut runs = Runs::from(std::mem::take(&mut summary.runs));
    let taken = runs.move_to(to, |factor| from.is_none_or(|from| from == factor), [start_ns, end_ns]);
    summary.runs = runs.into_list();
    marks::move_to(&mut summary.marks, to, from, [start_ns, end_ns]);
    for (factor, share) in taken.iter() {
        for shares in [&mut summary.shares, &mut summary.underlying] {
            let moved = shares[factor].take(moves(share));
            shares[to].add(moved);
        }
    }
}

/// The time in which a host stalled is no other factor's.
///
/// Rule: docs/verdict.md, "Stops of a host with a rhythm".
pub(super) fn take_rhythm(limits: &mut LimitsSummary, rhythm: &StallRhythm) {
    limits.stall_period_ns = u64::try_from(rhythm.period_ns).ok();
    let move_to_stall = if rhythm.is_beside { settle } else { settle_empty };
    rhythm.stops.iter().for_each(|stop| move_to_stall(limits, stop));
}

/// A share of the periods is no slower than what the path carries.
const FULL_SHARE: f64 = 0.95;

/// Where a host stalls in a rhythm, every round has stops in it: what the path carries is what passes in the best whole periods.
///
/// `bytes` are those of a payload, bin by bin.
pub(crate) fn take_best_periods(summary: &mut LimitsSummary, period_ns: u64, bytes: &[u32], bin_ns: i64) {
    let Ok(bin_ns) = u64::try_from(bin_ns.max(1)) else { return };
    let bins = usize::try_from(period_ns.div_ceil(bin_ns)).unwrap_or(1).max(1);
    let time_ns = bins as u64 * bin_ns;
    let sum = |period: &[u32]| period.iter().map(|bytes| f64::from(*bytes)).sum::<f64>();
    let rates = bytes.chunks_exact(bins).map(|period| (sum(period) * 1e9 / time_ns as f64, time_ns)).collect();
    if let Some(best) = by_time(rates, FULL_SHARE) {
        summary.reference_bytes_s = Some(summary.reference_bytes_s.map_or(best, |known| known.max(best)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::gaps::cause::Cause;
    use crate::tcp::limits::runs::FactorRun;

    #[test]
    fn with_stops_in_every_round_the_best_periods_show_what_the_path_carries() {
        let mut summary = LimitsSummary { reference_bytes_s: Some(1e6), ..LimitsSummary::default() };
        let bytes: Vec<u32> = (0..200).map(|bin| if bin % 10 < 5 { 40_000 } else { 0 }).collect();
        take_best_periods(&mut summary, 100_000_000, &bytes, 10_000_000);
        assert_eq!(summary.reference_bytes_s, Some(2e6));
        take_best_periods(&mut summary, 100_000_000, &[], 10_000_000);
        assert_eq!(summary.reference_bytes_s, Some(2e6));
    }

    fn run(start_ns: i64, end_ns: i64, factor: Factor) -> FactorRun {
        FactorRun { start_ns, end_ns, factor, bytes: 100, frames: [1, 2] }
    }

    #[test]
    fn the_time_of_what_was_no_stall_is_moved_and_nobody_elses() {
        let (stall, application, unknown) = (Factor::HostStall, Factor::Application, Factor::Unknown);
        let mut summary = LimitsSummary {
            runs: vec![run(0, 100, stall), run(100, 150, application), run(150, 200, stall)],
            ..LimitsSummary::default()
        };
        summary.shares[stall] = Share { time_ns: 150, bytes: 200 };
        settle(&mut summary, &Settled { start_ns: 90, end_ns: 160, proved: GapProof::NoStall(Cause::PathHold, false) });
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.start_ns, run.end_ns, run.factor)).collect();
        let parts =
            [(0, 90, stall), (90, 100, unknown), (100, 150, application), (150, 160, unknown), (160, 200, stall)];
        assert_eq!(runs, parts);
        assert_eq!([stall, unknown].map(|factor| summary.shares[factor].time_ns), [130, 20]);
    }

    #[test]
    fn what_was_delivered_around_a_stop_stays_with_what_limited_it() {
        let (link, stall) = (Factor::BottleneckBandwidth, Factor::HostStall);
        let mut summary = LimitsSummary { runs: vec![run(0, 100, link)], ..LimitsSummary::default() };
        summary.shares[link] = Share { time_ns: 100, bytes: 100 };
        settle_empty(&mut summary, &Settled { start_ns: 20, end_ns: 80, proved: GapProof::Stall });
        assert_eq!(summary.shares[link], Share { time_ns: 40, bytes: 100 });
        assert_eq!(summary.shares[stall], Share { time_ns: 60, bytes: 0 });
    }

    #[test]
    fn the_time_of_a_stall_is_moved_and_none_is_lost() {
        let mut summary = LimitsSummary {
            runs: vec![run(0, 100, Factor::CongestionWindow), run(100, 200, Factor::TimeoutWait)],
            ..LimitsSummary::default()
        };
        for shares in [&mut summary.shares, &mut summary.underlying] {
            shares[Factor::CongestionWindow] = Share { time_ns: 100, bytes: 100 };
            shares[Factor::TimeoutWait] = Share { time_ns: 100, bytes: 0 };
        }
        settle(&mut summary, &Settled { start_ns: 50, end_ns: 180, proved: GapProof::Stall });
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.start_ns, run.end_ns, run.factor)).collect();
        let (window, stall, timeout) = (Factor::CongestionWindow, Factor::HostStall, Factor::TimeoutWait);
        assert_eq!(runs, [(0, 50, window), (50, 180, stall), (180, 200, timeout)]);
        for shares in [&summary.shares, &summary.underlying] {
            assert_eq!([window, stall, timeout].map(|factor| shares[factor].time_ns), [50, 130, 20]);
        }
        assert_eq!(summary.runs.iter().map(|run| run.bytes).sum::<u64>(), 200);
    }
}
