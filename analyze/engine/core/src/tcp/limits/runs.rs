//! A direction's time cut into runs of one factor each, in time order: what the report draws as bands. Their number is
//! bounded; the shortest give way to their neighbours.

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::share::{Share, Shares};

/// An interval of one factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorRun {
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// What limited the transfer.
    pub factor: Factor,
    /// Bytes delivered.
    pub bytes: u64,
    /// Frames at its ends.
    pub frames: [u32; 2],
}

impl FactorRun {
    /// How long it lasted, nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        u64::try_from(self.end_ns.saturating_sub(self.start_ns)).unwrap_or(0)
    }

    /// What lies before a moment and what lies behind it; either may be empty.
    pub fn split(&self, at_ns: i64) -> [Self; 2] {
        let at_ns = at_ns.clamp(self.start_ns, self.end_ns.max(self.start_ns));
        let before = Self { end_ns: at_ns, ..*self };
        let share = before.duration_ns() as f64 / self.duration_ns().max(1) as f64;
        let bytes = ((self.bytes as f64 * share) as u64).min(self.bytes);
        [Self { bytes, ..before }, Self { start_ns: at_ns, bytes: self.bytes - bytes, ..*self }]
    }
}

/// Runs kept.
pub const MOST_RUNS: usize = 512;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    list: Vec<FactorRun>,
}

impl From<Vec<FactorRun>> for Runs {
    fn from(list: Vec<FactorRun>) -> Self {
        Self { list }
    }
}

impl Runs {
    /// Adds what comes next; the same factor goes on.
    pub fn push(&mut self, run: FactorRun) {
        if run.end_ns <= run.start_ns {
            return;
        }
        if let Some(last) = self.list.last_mut().filter(|last| last.factor == run.factor) {
            last.end_ns = run.end_ns;
            last.bytes += run.bytes;
            last.frames[1] = run.frames[1];
            return;
        }
        self.list.push(run);
        if self.list.len() >= 2 * MOST_RUNS {
            self.thin();
        }
    }

    /// Gives the shorter half of the runs to the run before them.
    fn thin(&mut self) {
        let mut lengths: Vec<u64> = self.list.iter().map(FactorRun::duration_ns).collect();
        let (_, &mut middle, _) = lengths.select_nth_unstable(MOST_RUNS);
        let mut kept: Vec<FactorRun> = Vec::with_capacity(2 * MOST_RUNS);
        for run in self.list.drain(..) {
            match kept.last_mut() {
                Some(last) if run.duration_ns() <= middle || run.factor == last.factor => {
                    last.end_ns = run.end_ns;
                    last.bytes += run.bytes;
                    last.frames[1] = run.frames[1];
                }
                _ => kept.push(run),
            }
        }
        self.list = kept;
    }

    /// Between two moments it was `to` instead of the factors that are meant; says what was taken from whom.
    pub fn move_to(&mut self, to: Factor, is_meant: impl Fn(Factor) -> bool, [start_ns, end_ns]: [i64; 2]) -> Shares {
        let mut taken = Shares::default();
        for run in std::mem::take(&mut self.list) {
            if !is_meant(run.factor) {
                self.push(run);
                continue;
            }
            let [before, rest] = run.split(start_ns);
            let [within, after] = rest.split(end_ns);
            taken[run.factor].add(Share { time_ns: within.duration_ns(), bytes: within.bytes });
            [before, FactorRun { factor: to, ..within }, after].into_iter().for_each(|part| self.push(part));
        }
        taken
    }

    /// All, in time order.
    pub fn into_list(self) -> Vec<FactorRun> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start_ns: i64, end_ns: i64, factor: Factor) -> FactorRun {
        FactorRun { start_ns, end_ns, factor, bytes: 1, frames: [start_ns as u32, end_ns as u32] }
    }

    #[test]
    fn one_factor_is_one_run() {
        let mut runs = Runs::default();
        runs.push(run(0, 10, Factor::SlowStart));
        runs.push(run(10, 20, Factor::SlowStart));
        runs.push(run(20, 30, Factor::Application));
        let list = runs.into_list();
        assert_eq!(list[0], FactorRun { bytes: 2, ..run(0, 20, Factor::SlowStart) });
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn many_runs_are_thinned_and_time_stays_whole() {
        let mut runs = Runs::default();
        let mut time = 0;
        for number in 0..10_000 {
            let length = if number % 100 == 0 { 1000 } else { 1 + number % 7 };
            let factor = if number % 2 == 0 { Factor::SlowStart } else { Factor::Application };
            runs.push(run(time, time + length, factor));
            time += length;
        }
        let list = runs.into_list();
        assert!(list.len() < 2 * MOST_RUNS);
        assert_eq!((list[0].start_ns, list[list.len() - 1].end_ns), (0, time));
        assert!(list.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        assert_eq!(list.iter().map(|run| run.bytes).sum::<u64>(), 10_000);
    }
}
