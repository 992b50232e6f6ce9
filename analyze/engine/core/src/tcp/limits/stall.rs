//! A stall that was found to be one only when its rounds had been judged ([`crate::tcp::gap_unsettled`]): its time is moved.

use super::factor::Factor;
use super::runs::{Run, Runs};
use super::{LimitsSummary, Shares};

impl LimitsSummary {
    /// A host stood still meanwhile, whatever was taken for the cause.
    pub fn take_stall(&mut self, start_ns: i64, end_ns: i64) {
        let mut runs = Runs::default();
        let mut taken = Shares::default();
        for run in std::mem::take(&mut self.runs) {
            let [before, rest] = run.split(start_ns);
            let [within, after] = rest.split(end_ns);
            let share = &mut taken[run.factor as usize];
            share.time_ns += within.duration_ns();
            share.bytes += within.bytes;
            [before, Run { factor: Factor::HostStall, ..within }, after].into_iter().for_each(|part| runs.push(part));
        }
        self.runs = runs.into_list();
        for mark in self.marks.iter_mut().filter(|mark| (start_ns..=end_ns).contains(&mark.time_ns)) {
            mark.add(Factor::HostStall);
        }
        for (factor, share) in Factor::ALL.into_iter().zip(taken) {
            for shares in [&mut self.shares, &mut self.underlying] {
                let moved = shares[factor as usize].take(share);
                shares[Factor::HostStall as usize].add(moved);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Share;
    use super::*;

    #[test]
    fn the_time_of_a_stall_is_moved_and_none_is_lost() {
        let run = |start_ns, end_ns, factor| Run { start_ns, end_ns, factor, bytes: 100, frames: [1, 2] };
        let mut summary = LimitsSummary {
            runs: vec![run(0, 100, Factor::CongestionWindow), run(100, 200, Factor::TimeoutWait)],
            ..LimitsSummary::default()
        };
        for shares in [&mut summary.shares, &mut summary.underlying] {
            shares[Factor::CongestionWindow as usize] = Share { time_ns: 100, bytes: 100 };
            shares[Factor::TimeoutWait as usize] = Share { time_ns: 100, bytes: 0 };
        }
        summary.take_stall(50, 180);
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.start_ns, run.end_ns, run.factor)).collect();
        let (window, stall, timeout) = (Factor::CongestionWindow, Factor::HostStall, Factor::TimeoutWait);
        assert_eq!(runs, [(0, 50, window), (50, 180, stall), (180, 200, timeout)]);
        for shares in [&summary.shares, &summary.underlying] {
            assert_eq!([window, stall, timeout].map(|factor| shares[factor as usize].time_ns), [50, 130, 20]);
        }
        assert_eq!(summary.runs.iter().map(|run| run.bytes).sum::<u64>(), 200);
    }
}
