//! Packet spacing: the time between consecutive data packets of one direction (EC2 packet study, section 4.3).
//!
//! A gap is *oversize* if it is longer than max(10 ms, 5 x the median gap between bursts, median + 6 x MAD)
//! (docs/methods.md, section 7), or longer than a fixed time the user gives. The adaptive limit is known only at the end, so
//! gaps above 10 ms are kept in buckets (with exact sums) and the longest ones one by one; the limit is then rounded up to a
//! bucket's border, which makes the count exact for the limit that is printed.
//!
//! Rule: docs/methods.md, "Unusually long pauses".

use crate::packet::Packet;
use crate::tcp::kernel::SHORTEST_ANOMALY_NS;
use crate::tcp::stats::buckets::ceiling_of;
use crate::tcp::stats::moments::Moments;
use crate::tcp::stats::quantile_sketch::DurationSketch;

/// Gaps between bursts that make them a habit.
const FEWEST_BURSTS: u64 = 5;

/// Spacing of one direction's data packets.
#[derive(Debug, Clone, Default)]
pub struct Spacing {
    /// Mean, extremes, deviation.
    pub moments: Moments,
    /// Quantiles.
    pub sketch: DurationSketch,
    previous: Option<(i64, u32)>,
    /// The longest gap since it was asked for last.
    longest_lately_ns: u64,
}

impl Spacing {
    /// A new one in the room of this one.
    #[inline(always)]
    pub fn renewed(&mut self) -> Self {
        Self { sketch: self.sketch.renewed(), ..Self::default() }
    }

    /// How long before `time_ns` the last data packet passed; none before the first, or if time ran backwards.
    #[inline(always)]
    pub fn since_last(&self, time_ns: i64) -> Option<u64> {
        let (previous_ns, _) = self.previous?;
        // Times lie within 2^62 of zero.
        u64::try_from(time_ns.wrapping_sub(previous_ns)).ok()
    }

    /// Takes the next data packet, so long [`Self::since_last`].
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet, gap_ns: Option<u64>) {
        self.previous = Some((packet.time_ns, packet.frame));
        if let Some(gap_ns) = gap_ns {
            self.moments.add(gap_ns);
            self.sketch.add(gap_ns);
            self.longest_lately_ns = self.longest_lately_ns.max(gap_ns);
        }
    }

    /// The longest gap that ended since this was asked last, nanoseconds; 0 without any.
    pub fn take_longest(&mut self) -> u64 {
        std::mem::take(&mut self.longest_lately_ns)
    }

    /// Time of the last data packet.
    #[inline]
    pub fn last_time_ns(&self) -> Option<i64> {
        self.previous.map(|(time_ns, _)| time_ns)
    }

    /// Time and frame of the last data packet.
    #[inline]
    pub fn last(&self) -> Option<(i64, u32)> {
        self.previous
    }

    /// The adaptive limit, nanoseconds. The gaps between the bursts of an ACK-clocked sender last between a quarter of the
    /// round trip and two of them, and there are several; where no round trip is known, a burst ends at ten times the
    /// median gap.
    fn adaptive_limit_ns(&self, min_rtt_ns: Option<u64>) -> u64 {
        // No gap, no median and no deviation from it is longer than the longest gap and the half of a bucket: five or seven of
        // them are less than eight.
        if self.moments.max_ns <= SHORTEST_ANOMALY_NS / 8 {
            return SHORTEST_ANOMALY_NS;
        }
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

    /// The adaptive limit, rounded up to the border of a bucket, nanoseconds.
    pub fn oversize_from_ns(&mut self, min_rtt_ns: Option<u64>) -> u64 {
        self.sketch.settle();
        ceiling_of(self.adaptive_limit_ns(min_rtt_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    fn add(spacing: &mut Spacing, time_ns: i64, frame: u32) {
        let gap_ns = spacing.since_last(time_ns);
        spacing.add(&Packet { time_ns, frame, ..Packet::default() }, gap_ns);
    }

    #[test]
    fn one_long_gap_does_not_raise_the_limit() {
        let mut spacing = Spacing::default();
        let mut time = 0;
        for frame in 0..500 {
            time += if frame == 250 { 155 * MILLISECOND } else { MILLISECOND };
            add(&mut spacing, time, frame);
        }
        assert!(spacing.oversize_from_ns(Some(20_000_000)) < 11_000_000);
    }

    #[test]
    fn gaps_of_a_window_limited_stream_raise_it() {
        let mut spacing = Spacing::default();
        let mut time = 0;
        for frame in 0..1000 {
            time += if frame % 10 == 0 { 40 * MILLISECOND } else { MILLISECOND / 100 };
            add(&mut spacing, time, frame);
        }
        assert!(spacing.oversize_from_ns(Some(40_000_000)) > 40_000_000);
    }

    #[test]
    fn time_running_backwards_gives_no_spacing() {
        let mut spacing = Spacing::default();
        add(&mut spacing, 100, 1);
        assert_eq!(spacing.since_last(50), None);
    }
}
