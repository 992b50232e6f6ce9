//! The gaps of one direction whose cause is known: counted, the longest kept one by one, stalls of the hosts summed up.
//!
//! The limit above which a gap is oversize follows from the whole transfer, so it is known only at the end. Until then gaps are
//! kept in buckets of nearly equal length for each cause, with exact sums; memory is bounded by the number of buckets.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::period;
use crate::tcp::gaps::period::NoPeriod;
use crate::tcp::gaps::rhythm::{HostSilence, Rhythm};
use crate::tcp::kernel::MOST_ANOMALIES;
use crate::tcp::stats::buckets::{Span, floor_of};

/// Stalls that are kept for finding a period, and what they lengthened.
const MOST_SPANS: usize = 512;

/// How sure a pause is a host's that ends when the host's rhythm says.
const BY_RHYTHM: f64 = 0.9;

/// A long gap between two data packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Time of the packet before it.
    pub start_ns: i64,
    /// Its length.
    pub gap_ns: u64,
    /// The frames before and after it.
    pub frames: [u32; 2],
    /// Why no data passed.
    pub cause: Cause,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
}

impl Gap {
    /// From when to when it lasted.
    pub fn span(&self) -> Span {
        [self.start_ns, self.start_ns.saturating_add_unsigned(self.gap_ns)]
    }

    fn as_silence(&self) -> HostSilence {
        let [start_ns, end_ns] = self.span();
        HostSilence { start_ns, end_ns, owed: true }
    }
}

/// A gap with its cause, handed out once, as soon as that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassifiedGap {
    /// Time of the data packet before it.
    pub start_ns: i64,
    /// Time of the data packet after it.
    pub end_ns: i64,
    /// Why.
    pub cause: Cause,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
    /// A timer of the sender ended it.
    pub ended_by_timer: bool,
    /// The frames before and after it.
    pub frames: [u32; 2],
}

/// Gaps of one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseTotal {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub time_ns: u64,
}

/// Totals by [`Cause`].
pub type ByCause = [CauseTotal; Cause::ALL.len()];

/// Stalls of the hosts at both ends: gaps longer than 10 ms (or the user's limit, if that is shorter) for which nothing else
/// is the cause, whether they are oversize for this transfer or not.
#[derive(Debug, Clone, PartialEq)]
pub struct StallSummary {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub time_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Time after which they come again; or why there is none.
    pub period_ns: Result<u64, NoPeriod>,
}

/// Gaps of nearly equal length and one cause.
#[derive(Debug, Clone, Copy)]
struct LongGaps {
    key: (u64, Cause),
    total: CauseTotal,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    long: Vec<LongGaps>,
    longest: Vec<Gap>,
    listed_above_ns: u64,
    fixed: ByCause,
    stalls: Option<Box<Stalls>>,
}

#[derive(Debug, Clone, Default)]
struct Stalls {
    total: CauseTotal,
    longest_ns: u64,
    spans_ns: Vec<Span>,
    /// Of the host's scheduler, where it has one.
    period_ns: Option<u64>,
}

/// Oversize gaps, counted.
#[derive(Debug, Clone, Default)]
pub struct Oversize {
    /// Gaps longer than the limit, by cause.
    pub by_cause: ByCause,
    /// The longest of them, in time order.
    pub gaps: Vec<Gap>,
}

impl Oversize {
    /// All causes together.
    pub fn total(&self) -> CauseTotal {
        let add = |sum: CauseTotal, one: &CauseTotal| CauseTotal {
            count: sum.count + one.count,
            time_ns: sum.time_ns.saturating_add(one.time_ns),
        };
        self.by_cause.iter().fold(CauseTotal::default(), add)
    }
}

impl CauseTotal {
    fn add(&mut self, gap_ns: u64) {
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(gap_ns);
    }

    fn forget(&mut self, gap_ns: u64) {
        self.count = self.count.saturating_sub(1);
        self.time_ns = self.time_ns.saturating_sub(gap_ns);
    }
}

impl Gaps {
    /// Takes a gap.
    pub fn add(&mut self, gap: Gap, fixed_limit_ns: Option<u64>) {
        if fixed_limit_ns.is_some_and(|limit| gap.gap_ns > limit) {
            self.fixed[gap.cause as usize].add(gap.gap_ns);
        }
        if gap.cause.is_host_stall() {
            self.stalls.get_or_insert_default().add(&gap);
        }
        let key = (floor_of(gap.gap_ns), gap.cause);
        match self.long.binary_search_by_key(&key, |long| long.key) {
            Ok(index) => self.long[index].total.add(gap.gap_ns),
            Err(index) => {
                let total = CauseTotal { count: 1, time_ns: gap.gap_ns };
                self.long.insert(index, LongGaps { key, total });
            }
        }
        if gap.gap_ns > self.listed_above_ns {
            self.longest.push(gap);
            if self.longest.len() >= 2 * MOST_ANOMALIES {
                self.longest.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.gap_ns));
                self.longest.truncate(MOST_ANOMALIES);
                self.listed_above_ns = self.longest.last().map_or(0, |gap| gap.gap_ns);
            }
        }
    }

    /// A host stalled in a rhythm: the pauses that end with it are its stalls, as far as they are kept one by one.
    pub(crate) fn take_rhythm(&mut self, rhythm: &Rhythm, cause: Cause, fixed_limit_ns: Option<u64>) {
        let is_of_it = |gap: &Gap| !gap.cause.is_host_stall() && rhythm.ends(&gap.as_silence());
        let (of_it, others): (Vec<Gap>, Vec<Gap>) = self.longest.iter().partition(|gap| is_of_it(gap));
        self.longest = others;
        for gap in of_it {
            self.forget(&gap, fixed_limit_ns);
            self.add(Gap { cause, confidence: BY_RHYTHM, ..gap }, fixed_limit_ns);
        }
        if let Some(stalls) = &mut self.stalls {
            stalls.period_ns = u64::try_from(rhythm.period_ns).ok();
        }
    }

    /// Takes a gap out of the totals.
    fn forget(&mut self, gap: &Gap, fixed_limit_ns: Option<u64>) {
        if fixed_limit_ns.is_some_and(|limit| gap.gap_ns > limit) {
            self.fixed[gap.cause as usize].forget(gap.gap_ns);
        }
        if let Ok(index) = self.long.binary_search_by_key(&(floor_of(gap.gap_ns), gap.cause), |long| long.key) {
            self.long[index].total.forget(gap.gap_ns);
        }
    }

    /// There was none.
    pub fn is_empty(&self) -> bool {
        self.long.is_empty()
    }

    /// The gaps longer than a limit of the user's.
    pub fn above_fixed(&self, limit_ns: u64) -> Oversize {
        Oversize { by_cause: self.fixed, gaps: self.listed(|gap| gap.gap_ns > limit_ns) }
    }

    /// The gaps from a limit on that is a bucket's border.
    pub fn from_border(&self, limit_ns: u64) -> Oversize {
        let mut oversize = Oversize { gaps: self.listed(|gap| gap.gap_ns >= limit_ns), ..Oversize::default() };
        for LongGaps { key: (_, cause), total } in self.long.iter().filter(|long| long.key.0 >= limit_ns) {
            let sum = &mut oversize.by_cause[*cause as usize];
            sum.count += total.count;
            sum.time_ns = sum.time_ns.saturating_add(total.time_ns);
        }
        oversize
    }

    fn listed(&self, exceeds: impl Fn(&Gap) -> bool) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self.longest.iter().filter(|gap| exceeds(gap)).copied().collect();
        gaps.sort_unstable_by_key(|gap| (std::cmp::Reverse(gap.gap_ns), gap.start_ns, gap.frames));
        gaps.truncate(MOST_ANOMALIES);
        gaps.sort_unstable_by_key(|gap| (gap.start_ns, gap.frames));
        gaps
    }

    /// The stalls of the hosts; none if there were none.
    pub fn stalls(&self) -> Option<StallSummary> {
        self.stalls.as_ref().map(|stalls| StallSummary {
            count: stalls.total.count,
            time_ns: stalls.total.time_ns,
            longest_ns: stalls.longest_ns,
            period_ns: stalls.period_ns.map_or_else(|| period::period_ns(&stalls.in_order()), Ok),
        })
    }

    /// When the hosts stalled; none if they never did, or more often than is kept.
    pub fn stall_spans(&self) -> Option<&[Span]> {
        let stalls = self.stalls.as_ref()?;
        (stalls.spans_ns.len() as u64 == stalls.total.count).then_some(&stalls.spans_ns)
    }
}

impl Stalls {
    /// When they began; some were found to be stalls only later.
    fn in_order(&self) -> Vec<i64> {
        let mut starts_ns: Vec<i64> = self.spans_ns.iter().map(|[start_ns, _]| *start_ns).collect();
        starts_ns.sort_unstable();
        starts_ns
    }

    fn add(&mut self, gap: &Gap) {
        self.total.add(gap.gap_ns);
        self.longest_ns = self.longest_ns.max(gap.gap_ns);
        if self.spans_ns.len() < MOST_SPANS {
            self.spans_ns.push(gap.span());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::stats::buckets::ceiling_of;
    use crate::tcp::stats::quantile_sketch::bucket_floor;

    const MILLISECOND: u64 = 1_000_000;

    fn gap(start_ms: u64, length_ms: u64, cause: Cause) -> Gap {
        Gap {
            start_ns: (start_ms * MILLISECOND) as i64,
            gap_ns: length_ms * MILLISECOND,
            frames: [1, 2],
            cause,
            confidence: 0.5,
        }
    }

    #[test]
    fn buckets_here_and_in_the_sketch_have_the_same_floors() {
        for value in [1u64, 63, 64, 100, 12_345_678, 10_000_000, 987_654_321] {
            assert!((0..4000).any(|bucket| bucket_floor(bucket) == floor_of(value)), "{value}");
        }
    }

    #[test]
    fn totals_are_by_cause_and_exact_above_either_kind_of_limit() {
        let mut gaps = Gaps::default();
        for (start, length, cause) in
            [(0, 20, Cause::AckClock), (50, 100, Cause::LocalHostStall), (300, 101, Cause::Timeout)]
        {
            gaps.add(gap(start, length, cause), Some(100 * MILLISECOND));
        }
        let fixed = gaps.above_fixed(100 * MILLISECOND);
        assert_eq!((fixed.total().count, fixed.total().time_ns), (1, 101 * MILLISECOND));
        let adaptive = gaps.from_border(ceiling_of(30 * MILLISECOND));
        assert_eq!(adaptive.total().count, 2);
        assert_eq!(adaptive.by_cause[Cause::LocalHostStall as usize].time_ns, 100 * MILLISECOND);
        assert_eq!(adaptive.gaps.len(), 2);
    }

    #[test]
    fn only_stalls_of_hosts_are_stalls() {
        let mut gaps = Gaps::default();
        gaps.add(gap(0, 20, Cause::HostOrPath), None);
        assert_eq!(gaps.stalls(), None);
        gaps.add(gap(100, 30, Cause::RemoteHostStall), None);
        gaps.add(gap(200, 50, Cause::LocalHostStall), None);
        let stalls = gaps.stalls().map(|stalls| (stalls.count, stalls.time_ns, stalls.longest_ns));
        assert_eq!(stalls, Some((2, 80 * MILLISECOND, 50 * MILLISECOND)));
    }
}
