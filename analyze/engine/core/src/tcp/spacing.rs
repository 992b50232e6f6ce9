//! Packet spacing: the time between consecutive data packets of one direction (EC2 packet study, section 4.3).
//!
//! A gap is *oversize* if it is longer than max(10 ms, 5 x the median gap between bursts, median + 6 x MAD) (methods 6.7), or longer
//! than a fixed time the user gives. The adaptive limit is known only at the end, so gaps above 10 ms are kept in
//! buckets (with exact sums) and the longest ones one by one; the limit is then rounded up to a bucket's border, which
//! makes the count exact for the limit that is printed.

use super::moments::Moments;
use super::sketch::DurationSketch;

/// No gap shorter than this is ever an anomaly (methods, section 6.7).
pub const SHORTEST_ANOMALY_NS: u64 = 10_000_000;
/// Gaps between bursts that make them a habit.
const FEWEST_BURSTS: u64 = 5;
/// Anomalies listed one by one for each direction.
pub const MOST_ANOMALIES: usize = 256;

/// A long gap between two data packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Time of the packet before it.
    pub start_ns: i64,
    /// Its length.
    pub gap_ns: u64,
    /// The frames before and after it.
    pub frames: [u32; 2],
}

/// Long gaps of nearly equal length.
#[derive(Debug, Clone, Copy)]
struct LongGaps {
    floor_ns: u64,
    count: u64,
    sum_ns: u64,
}

/// Spacing of one direction's data packets.
#[derive(Debug, Default)]
pub struct Spacing {
    /// Mean, extremes, deviation.
    pub moments: Moments,
    /// Quantiles.
    pub sketch: DurationSketch,
    previous: Option<(i64, u32)>,
    long: Vec<LongGaps>,
    longest: Vec<Gap>,
    listed_above_ns: u64,
    fixed_count: u64,
    fixed_sum_ns: u64,
}

/// Oversize gaps, counted.
#[derive(Debug, Clone, Default)]
pub struct Oversize {
    /// Gaps longer than the limit.
    pub count: u64,
    /// Their sum.
    pub time_ns: u64,
    /// The limit.
    pub threshold_ns: u64,
    /// The longest of them, in time order.
    pub gaps: Vec<Gap>,
}

impl Spacing {
    /// Takes the next data packet; returns its distance from the one before (none for the first, or if time ran
    /// backwards).
    #[inline(always)]
    pub fn add(&mut self, time_ns: i64, frame: u32, fixed_limit_ns: Option<u64>) -> Option<u64> {
        let previous = self.previous.replace((time_ns, frame));
        let (previous_ns, previous_frame) = previous?;
        let gap_ns = u64::try_from(time_ns.checked_sub(previous_ns)?).ok()?;
        self.moments.add(gap_ns);
        self.sketch.add(gap_ns);
        if gap_ns > SHORTEST_ANOMALY_NS.min(fixed_limit_ns.unwrap_or(u64::MAX)) {
            self.add_long(Gap { start_ns: previous_ns, gap_ns, frames: [previous_frame, frame] }, fixed_limit_ns);
        }
        Some(gap_ns)
    }

    /// Time of the last data packet.
    #[inline]
    pub fn last_time_ns(&self) -> Option<i64> {
        self.previous.map(|(time_ns, _)| time_ns)
    }

    /// Frame of the last data packet.
    pub fn last_frame(&self) -> Option<u32> {
        self.previous.map(|(_, frame)| frame)
    }

    #[cold]
    fn add_long(&mut self, gap: Gap, fixed_limit_ns: Option<u64>) {
        if fixed_limit_ns.is_some_and(|limit| gap.gap_ns > limit) {
            self.fixed_count += 1;
            self.fixed_sum_ns = self.fixed_sum_ns.saturating_add(gap.gap_ns);
        }
        let floor_ns = floor_of(gap.gap_ns);
        match self.long.binary_search_by_key(&floor_ns, |long| long.floor_ns) {
            Ok(index) => {
                self.long[index].count += 1;
                self.long[index].sum_ns = self.long[index].sum_ns.saturating_add(gap.gap_ns);
            }
            Err(index) => self.long.insert(index, LongGaps { floor_ns, count: 1, sum_ns: gap.gap_ns }),
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

    /// The adaptive limit, nanoseconds. The gaps between the bursts of an ACK-clocked sender last between a quarter of the
    /// round trip and two of them, and there are several; where no round trip is known, a burst ends at ten times the
    /// median gap.
    fn adaptive_limit_ns(&self, min_rtt_ns: Option<u64>) -> u64 {
        let Some([median]) = self.sketch.quantiles([0.5]) else { return SHORTEST_ANOMALY_NS };
        let (burst_end, longest) = match min_rtt_ns {
            Some(rtt) => (rtt / 4, rtt.saturating_mul(2)),
            None => ((10.0 * median) as u64, u64::MAX),
        };
        let between_bursts =
            self.sketch.median_between(burst_end, longest).filter(|&(_, count)| count >= FEWEST_BURSTS);
        let by_bursts = between_bursts.map_or(0, |(gap, _)| gap.saturating_mul(5));
        let deviation = self.sketch.median_absolute_deviation(median).unwrap_or(0.0);
        SHORTEST_ANOMALY_NS.max(by_bursts).max((median + 6.0 * deviation) as u64)
    }

    /// The oversize gaps under the fixed limit if there is one, else under the adaptive one.
    pub fn oversize(&mut self, min_rtt_ns: Option<u64>, fixed_limit_ns: Option<u64>) -> Oversize {
        self.sketch.settle();
        // The longest gap decides at once in nearly all short connections.
        if fixed_limit_ns.is_none() && self.long.is_empty() {
            return Oversize { threshold_ns: ceiling_of(self.adaptive_limit_ns(min_rtt_ns)), ..Oversize::default() };
        }
        let mut result = match fixed_limit_ns {
            Some(threshold_ns) => {
                Oversize { count: self.fixed_count, time_ns: self.fixed_sum_ns, threshold_ns, gaps: Vec::new() }
            }
            None => {
                let threshold_ns = ceiling_of(self.adaptive_limit_ns(min_rtt_ns));
                let long = self.long.iter().filter(|long| long.floor_ns >= threshold_ns);
                let (count, time_ns) =
                    long.fold((0, 0u64), |(count, sum), long| (count + long.count, sum.saturating_add(long.sum_ns)));
                Oversize { count, time_ns, threshold_ns, gaps: Vec::new() }
            }
        };
        let exceeds = |gap: &&Gap| match fixed_limit_ns {
            Some(limit) => gap.gap_ns > limit,
            None => gap.gap_ns >= result.threshold_ns,
        };
        let mut gaps: Vec<Gap> = self.longest.iter().filter(exceeds).copied().collect();
        gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.gap_ns));
        gaps.truncate(MOST_ANOMALIES);
        gaps.sort_unstable_by_key(|gap| (gap.start_ns, gap.frames));
        result.gaps = gaps;
        result
    }
}

/// Floor of the bucket a duration lies in.
fn floor_of(value_ns: u64) -> u64 {
    let exponent = 63 - value_ns.max(1).leading_zeros();
    let shift = exponent.saturating_sub(6);
    (value_ns >> shift) << shift
}

/// Smallest bucket floor that is not below a duration.
fn ceiling_of(value_ns: u64) -> u64 {
    let floor = floor_of(value_ns);
    if floor == value_ns {
        return value_ns;
    }
    let shift = (63 - value_ns.max(1).leading_zeros()).saturating_sub(6);
    floor.saturating_add(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::sketch::bucket_floor;

    const MILLISECOND: i64 = 1_000_000;

    #[test]
    fn buckets_here_and_in_the_sketch_have_the_same_floors() {
        for value in [1u64, 63, 64, 100, 12_345_678, 10_000_000, 987_654_321] {
            assert!((0..4000).any(|bucket| bucket_floor(bucket) == floor_of(value)), "{value}");
        }
    }

    #[test]
    fn one_long_gap_in_an_even_stream_is_oversize() {
        let mut spacing = Spacing::default();
        let mut time = 0;
        for frame in 0..500 {
            time += if frame == 250 { 155 * MILLISECOND } else { MILLISECOND };
            spacing.add(time, frame, None);
        }
        let oversize = spacing.oversize(Some(20_000_000), None);
        assert_eq!((oversize.count, oversize.time_ns), (1, 155_000_000));
        assert_eq!(oversize.gaps[0].frames, [249, 250]);
    }

    #[test]
    fn gaps_of_a_window_limited_stream_are_not_oversize() {
        let mut spacing = Spacing::default();
        let mut time = 0;
        for frame in 0..1000 {
            time += if frame % 10 == 0 { 40 * MILLISECOND } else { MILLISECOND / 100 };
            spacing.add(time, frame, None);
        }
        assert_eq!(spacing.oversize(Some(40_000_000), None).count, 0);
    }

    #[test]
    fn a_fixed_limit_counts_exactly() {
        let mut spacing = Spacing::default();
        let mut time = 0;
        for frame in 0..100 {
            time += if frame % 10 == 5 { 3 * MILLISECOND } else { MILLISECOND };
            spacing.add(time, frame, Some(2_000_000));
        }
        let oversize = spacing.oversize(None, Some(2_000_000));
        assert_eq!((oversize.count, oversize.time_ns, oversize.gaps.len()), (10, 30_000_000, 10));
    }

    #[test]
    fn time_running_backwards_gives_no_spacing() {
        let mut spacing = Spacing::default();
        spacing.add(100, 1, None);
        assert_eq!(spacing.add(50, 2, None), None);
    }
}
