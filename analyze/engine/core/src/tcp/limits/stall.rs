//! A gap that was found to be a stall, or none, only when its rounds had been judged ([`crate::tcp::gaps::undecided`]): its time is
//! moved.

use crate::tcp::events::factor::Factor;
use crate::tcp::gaps::undecided_gap::{Proved, Settled};
use crate::tcp::limits::marks;
use crate::tcp::limits::runs::Runs;
use crate::tcp::limits::summary::LimitsSummary;

/// Moves the time between two moments to the factor that it belongs to.
pub fn settle(summary: &mut LimitsSummary, settled: &Settled) {
    let &Settled { start_ns, end_ns, proved } = settled;
    let (from, to) = match proved {
        Proved::Stall => (None, Factor::HostStall),
        Proved::NoStall(cause, ended_by_timer) => {
            (Some(Factor::HostStall), cause.factor(ended_by_timer, false).unwrap_or(Factor::Unknown))
        }
    };
    let mut runs = Runs::from(std::mem::take(&mut summary.runs));
    let taken = runs.move_to(to, |factor| from.is_none_or(|from| from == factor), [start_ns, end_ns]);
    summary.runs = runs.into_list();
    marks::move_to(&mut summary.marks, to, from, [start_ns, end_ns]);
    for (factor, share) in Factor::ALL.into_iter().zip(taken) {
        for shares in [&mut summary.shares, &mut summary.underlying] {
            let moved = shares[factor as usize].take(share);
            shares[to as usize].add(moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::gaps::cause::Cause;
    use crate::tcp::limits::runs::Run;
    use crate::tcp::limits::share::Share;

    fn run(start_ns: i64, end_ns: i64, factor: Factor) -> Run {
        Run { start_ns, end_ns, factor, bytes: 100, frames: [1, 2] }
    }

    #[test]
    fn the_time_of_what_was_no_stall_is_moved_and_nobody_elses() {
        let (stall, application, unknown) = (Factor::HostStall, Factor::Application, Factor::Unknown);
        let mut summary = LimitsSummary {
            runs: vec![run(0, 100, stall), run(100, 150, application), run(150, 200, stall)],
            ..LimitsSummary::default()
        };
        summary.shares[stall as usize] = Share { time_ns: 150, bytes: 200 };
        settle(&mut summary, &Settled { start_ns: 90, end_ns: 160, proved: Proved::NoStall(Cause::PathHold, false) });
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.start_ns, run.end_ns, run.factor)).collect();
        let parts =
            [(0, 90, stall), (90, 100, unknown), (100, 150, application), (150, 160, unknown), (160, 200, stall)];
        assert_eq!(runs, parts);
        assert_eq!([stall, unknown].map(|factor| summary.shares[factor as usize].time_ns), [130, 20]);
    }

    #[test]
    fn the_time_of_a_stall_is_moved_and_none_is_lost() {
        let mut summary = LimitsSummary {
            runs: vec![run(0, 100, Factor::CongestionWindow), run(100, 200, Factor::TimeoutWait)],
            ..LimitsSummary::default()
        };
        for shares in [&mut summary.shares, &mut summary.underlying] {
            shares[Factor::CongestionWindow as usize] = Share { time_ns: 100, bytes: 100 };
            shares[Factor::TimeoutWait as usize] = Share { time_ns: 100, bytes: 0 };
        }
        settle(&mut summary, &Settled { start_ns: 50, end_ns: 180, proved: Proved::Stall });
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.start_ns, run.end_ns, run.factor)).collect();
        let (window, stall, timeout) = (Factor::CongestionWindow, Factor::HostStall, Factor::TimeoutWait);
        assert_eq!(runs, [(0, 50, window), (50, 180, stall), (180, 200, timeout)]);
        for shares in [&summary.shares, &summary.underlying] {
            assert_eq!([window, stall, timeout].map(|factor| shares[factor as usize].time_ns), [50, 130, 20]);
        }
        assert_eq!(summary.runs.iter().map(|run| run.bytes).sum::<u64>(), 200);
    }
}
