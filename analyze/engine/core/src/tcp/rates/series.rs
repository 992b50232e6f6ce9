//! What one direction delivered, lost and measured in each short stretch of time: the series that [`crate::tcp::token_bucket`]
//! reads (docs/methods.md, section 8).
//!
//! Nothing is added up for each packet: the counters that a direction keeps anyway are read when a bin ends. Bins begin at
//! 5 ms, so that the burst of a small bucket shows; when there are 1,024 of them, neighbours are merged and the bin
//! doubles. Directions with few packets have no bins.
//!
//! Rule: docs/methods.md, "Bins of a direction".

/// The first bin's length.
pub const FIRST_BIN_NS: i64 = 5_000_000;

/// Bins kept; with one more, neighbours are merged.
pub const MOST_BINS: usize = 1024;

/// Data packets before there are bins. What passed before them is spread evenly over the time that it took, but for the last bin's own.
const FEWEST_DATA_PACKETS: u64 = 16;

/// One stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Payload that passed the capture point, each position once.
    pub arrived_bytes: u32,
    /// Payload newly acknowledged, cumulatively or selectively.
    pub acknowledged_bytes: u32,
    /// Payload that the receiver missed in this stretch: lost data counts where its delivery would have.
    pub lost_bytes: u32,
    /// Shortest round trip between the capture point and the receiver, microseconds; 0 if none was sampled.
    pub receiver_loop_us: u32,
    /// Shortest round trip between the capture point and the sender; likewise.
    pub sender_loop_us: u32,
}

impl Bin {
    fn merge(&mut self, other: &Self) {
        self.arrived_bytes = self.arrived_bytes.saturating_add(other.arrived_bytes);
        self.acknowledged_bytes = self.acknowledged_bytes.saturating_add(other.acknowledged_bytes);
        self.lost_bytes = self.lost_bytes.saturating_add(other.lost_bytes);
        self.take_loops(other);
    }

    /// Keeps the shorter loops.
    pub(crate) fn take_loops(&mut self, other: &Self) {
        self.receiver_loop_us = shorter(self.receiver_loop_us, other.receiver_loop_us);
        self.sender_loop_us = shorter(self.sender_loop_us, other.sender_loop_us);
    }
}

/// The shorter of two times of which 0 says nothing.
fn shorter(one: u32, other: u32) -> u32 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// Counters of a direction since its beginning, as they stand when a bin ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeriesTotals {
    /// Packets with payload.
    pub data_packets: u64,
    /// Payload bytes, each position once.
    pub arrived_bytes: u64,
    /// Payload bytes acknowledged in any way.
    pub acknowledged_bytes: u64,
}

/// A finished series: bin `i` is about `start_ns + i * bin_ns` and the time `bin_ns` from there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Where the first bin begins.
    pub start_ns: i64,
    /// Length of each.
    pub bin_ns: i64,
    /// The bins; the last one may not be over.
    pub bins: Vec<Bin>,
}

impl Series {
    /// The same in bins that are twice as long.
    pub fn halved(&self) -> Self {
        Self { start_ns: self.start_ns, bin_ns: self.bin_ns.saturating_mul(2), bins: merged(&self.bins) }
    }
}

/// Pairs of neighbours.
fn merged(bins: &[Bin]) -> Vec<Bin> {
    let merged = bins.chunks(2).map(|pair| {
        let mut bin = pair[0];
        if let Some(second) = pair.get(1) {
            bin.merge(second);
        }
        bin
    });
    merged.collect()
}

/// A series in the making. It is small until there are enough packets: most directions never have them.
#[derive(Debug, Clone)]
pub struct RateSeries {
    /// The open bin ends here; not later than any packet before the first one.
    until_ns: i64,
    /// Shortest loop to the receiver within the open bin; [`u64::MAX`] for none.
    receiver_loop_ns: u64,
    /// Before there are bins: data packets, and their bytes, that had passed when the open one began.
    waited: [u32; 2],
    making: Option<Box<Making>>,
}

#[derive(Debug, Clone)]
struct Making {
    start_ns: i64,
    bin_ns: i64,
    closed: Vec<Bin>,
    /// Losses and loops of the open bin; the rest of it is the difference of counters.
    open: Bin,
    before: SeriesTotals,
}

impl Default for RateSeries {
    fn default() -> Self {
        Self { until_ns: i64::MIN, receiver_loop_ns: u64::MAX, waited: [0; 2], making: None }
    }
}

impl RateSeries {
    /// The open bin is over at this time: [`Self::roll`] wants the counters as they were before what happens now.
    #[inline(always)]
    pub fn is_due(&self, time_ns: i64) -> bool {
        time_ns >= self.until_ns
    }

    /// True as long as there are too few packets for bins: the open one ends, and nothing else is wanted of [`Self::roll`].
    pub fn waits(&mut self, time_ns: i64, start_ns: i64, data_packets: u64, arrived_bytes: u64) -> bool {
        let waits = self.making.is_none() && data_packets < FEWEST_DATA_PACKETS;
        if waits {
            let bins = time_ns.saturating_sub(start_ns) / FIRST_BIN_NS + 1;
            self.until_ns = start_ns.saturating_add(bins.saturating_mul(FIRST_BIN_NS));
            self.waited = [data_packets, arrived_bytes].map(bounded);
        }
        waits
    }

    /// Ends the open bin and opens the one of `time_ns`, unless it [`Self::waits`]. The first data passed at `start_ns`.
    #[cold]
    pub fn roll(&mut self, time_ns: i64, start_ns: i64, totals: &SeriesTotals) {
        if self.waits(time_ns, start_ns, totals.data_packets, totals.arrived_bytes) {
            return;
        }
        self.put_loop();
        let (open_ns, [packets, arrived_bytes]) = (self.until_ns.saturating_sub(FIRST_BIN_NS), self.waited);
        let begin = || {
            // Of what is acknowledged as much as of the packets: that was not added up for them.
            let share = f64::from(packets) / totals.data_packets.max(1) as f64;
            let acknowledged_bytes = bounded((totals.acknowledged_bytes as f64 * share) as u64);
            Box::new(Making::at(start_ns, open_ns, [arrived_bytes, acknowledged_bytes]))
        };
        self.until_ns = self.making.get_or_insert_with(begin).roll(time_ns, totals);
    }

    /// Data that should have arrived at this time did not.
    #[cold]
    pub fn lost(&mut self, time_ns: i64, bytes: u64) {
        let Some(making) = &mut self.making else { return };
        let bin = making.bin_at(time_ns);
        bin.lost_bytes = bin.lost_bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Data that was taken for lost at this time was late.
    #[cold]
    pub fn found(&mut self, time_ns: i64, bytes: u64) {
        let Some(making) = &mut self.making else { return };
        let bin = making.bin_at(time_ns);
        bin.lost_bytes = bin.lost_bytes.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// A round trip between the capture point and the receiver.
    #[inline(always)]
    pub fn receiver_loop(&mut self, loop_ns: u64) {
        self.receiver_loop_ns = self.receiver_loop_ns.min(loop_ns);
    }

    /// The open bin has no such round trip yet.
    #[inline]
    pub fn wants_receiver_loop(&self) -> bool {
        self.receiver_loop_ns == u64::MAX
    }

    /// The loop of the open bin goes where the rest of it is.
    fn put_loop(&mut self) {
        let loop_ns = std::mem::replace(&mut self.receiver_loop_ns, u64::MAX);
        if let Some(making) = &mut self.making
            && loop_ns < u64::MAX
        {
            making.open.receiver_loop_us = shorter(making.open.receiver_loop_us, microseconds(loop_ns));
        }
    }

    /// A round trip between the capture point and the sender.
    #[inline]
    pub fn sender_loop(&mut self, loop_ns: i64) {
        if let Some(making) = &mut self.making {
            let loop_us = microseconds(u64::try_from(loop_ns).unwrap_or(0));
            making.open.sender_loop_us = shorter(making.open.sender_loop_us, loop_us);
        }
    }

    /// The bins that are over, and their length; none without enough data.
    pub fn so_far(&self) -> Option<(&[Bin], i64)> {
        self.making.as_deref().map(|making| (making.closed.as_slice(), making.bin_ns))
    }

    /// The series, if there was enough for one.
    pub fn finish(mut self, totals: &SeriesTotals) -> Option<Series> {
        self.put_loop();
        let mut making = self.making?;
        making.close(totals);
        Some(Series { start_ns: making.start_ns, bin_ns: making.bin_ns, bins: making.closed })
    }
}

impl Making {
    /// With an open bin from `open_ns` on, before which `waited_bytes` passed and were acknowledged.
    fn at(start_ns: i64, open_ns: i64, waited_bytes: [u32; 2]) -> Self {
        let mut bin_ns = FIRST_BIN_NS;
        let waited_ns = open_ns.saturating_sub(start_ns).max(0);
        while waited_ns / bin_ns >= MOST_BINS as i64 {
            bin_ns *= 2;
        }
        let bins = u64::try_from(waited_ns / bin_ns).unwrap_or(0);
        let until = |bin: u64| waited_bytes.map(|bytes| (u64::from(bytes) * bin).checked_div(bins).unwrap_or(0));
        let bin_at = |bin: u64| {
            let ([arrived, acknowledged], [arrived_before, acknowledged_before]) = (until(bin + 1), until(bin));
            Bin {
                arrived_bytes: bounded(arrived - arrived_before),
                acknowledged_bytes: bounded(acknowledged - acknowledged_before),
                ..Bin::default()
            }
        };
        let [arrived_bytes, acknowledged_bytes] = until(bins);
        let before = SeriesTotals { arrived_bytes, acknowledged_bytes, ..SeriesTotals::default() };
        Self { start_ns, bin_ns, closed: (0..bins).map(bin_at).collect(), open: Bin::default(), before }
    }

    /// Returns where the open bin ends.
    fn roll(&mut self, time_ns: i64, totals: &SeriesTotals) -> i64 {
        self.close(totals);
        // A silence of years ends the loop after some fifty turns.
        while time_ns.saturating_sub(self.start_ns) / self.bin_ns >= MOST_BINS as i64 {
            self.merge_neighbours();
        }
        let index = usize::try_from(time_ns.saturating_sub(self.start_ns) / self.bin_ns).unwrap_or(0);
        if index >= self.closed.len() {
            self.closed.resize(index, Bin::default());
        } else if let Some(reopened) = self.closed.pop() {
            // Merging left the last bin half full.
            self.open = reopened;
        }
        self.start_ns.saturating_add((index as i64 + 1).saturating_mul(self.bin_ns))
    }

    /// The open bin becomes the last closed one.
    fn close(&mut self, totals: &SeriesTotals) {
        let before = std::mem::replace(&mut self.before, *totals);
        let grown = |now: u64, before: u64| bounded(now.saturating_sub(before));
        let mut bin = std::mem::take(&mut self.open);
        bin.merge(&Bin {
            arrived_bytes: grown(totals.arrived_bytes, before.arrived_bytes),
            acknowledged_bytes: grown(totals.acknowledged_bytes, before.acknowledged_bytes),
            ..Bin::default()
        });
        self.closed.push(bin);
    }

    fn merge_neighbours(&mut self) {
        self.closed = merged(&self.closed);
        self.bin_ns = self.bin_ns.saturating_mul(2);
    }

    fn bin_at(&mut self, time_ns: i64) -> &mut Bin {
        let index = time_ns.saturating_sub(self.start_ns).max(0) / self.bin_ns;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.closed.get_mut(index).unwrap_or(&mut self.open)
    }
}

fn bounded(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// At least one: 0 says that there was no sample.
fn microseconds(time_ns: u64) -> u32 {
    u32::try_from(time_ns / 1000).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// So that the first bins are ten of it.
    const TICK_NS: i64 = FIRST_BIN_NS / 10;

    /// A packet of 1000 bytes at each of these times, counted in tenths of a first bin.
    fn series_of(times: impl IntoIterator<Item = i64>) -> Option<Series> {
        let (mut series, mut totals) = (RateSeries::default(), SeriesTotals::default());
        for ticks in times {
            if series.is_due(ticks * TICK_NS) {
                series.roll(ticks * TICK_NS, 0, &totals);
            }
            totals.data_packets += 1;
            totals.arrived_bytes += 1000;
        }
        series.finish(&totals)
    }

    fn arrived(series: &Series) -> Vec<u32> {
        series.bins.iter().map(|bin| bin.arrived_bytes).collect()
    }

    #[test]
    fn few_packets_have_no_series() {
        assert_eq!(series_of((0..16).map(|packet| packet * 20)), None);
    }

    #[test]
    fn what_passed_before_there_are_bins_is_no_faster_than_it_was() {
        let series = series_of((0..40).map(|packet| packet * 5)).unwrap();
        assert_eq!(arrived(&series), [2000; 20]);
    }

    #[test]
    fn a_flight_after_a_silence_keeps_its_bin_and_what_passed_before_it_is_spread() {
        let series = series_of((0..10).map(|_| 0).chain((0..30).map(|_| 50)).chain([60])).unwrap();
        assert_eq!(arrived(&series), [2000, 2000, 2000, 2000, 2000, 30_000, 1000]);
    }

    #[test]
    fn years_before_there_are_bins_make_no_more_of_them() {
        let year_ticks = 365 * 86_400 * 1_000_000_000 / TICK_NS;
        let series = series_of((0..15).chain((0..3).map(|second| year_ticks + 10 * second))).unwrap();
        assert!(series.bins.len() <= MOST_BINS);
        assert_eq!(arrived(&series).iter().sum::<u32>(), 18_000);
    }

    #[test]
    fn silence_leaves_empty_bins() {
        let series = series_of((0..20).chain([95])).unwrap();
        assert_eq!(arrived(&series), [10_000, 10_000, 0, 0, 0, 0, 0, 0, 0, 1000]);
    }

    #[test]
    fn a_long_transfer_has_longer_bins_and_loses_nothing() {
        let series = series_of((0..50_000).map(|packet| packet * 10)).unwrap();
        assert_eq!(series.bin_ns, 640 * TICK_NS);
        assert_eq!(series.bins.len(), 782);
        assert!(arrived(&series)[1..781].iter().all(|&bytes| bytes == 64_000));
        assert_eq!(arrived(&series).iter().sum::<u32>(), 50_000_000);
    }

    #[test]
    fn losses_count_where_they_happened_and_late_data_is_no_loss() {
        let (mut series, mut totals) = (RateSeries::default(), SeriesTotals::default());
        for ticks in 0..100 {
            if series.is_due(ticks * TICK_NS) {
                series.roll(ticks * TICK_NS, 0, &totals);
            }
            totals.data_packets += 1;
        }
        series.lost(35 * TICK_NS, 3000);
        series.lost(45 * TICK_NS, 1000);
        series.found(35 * TICK_NS, 1000);
        let lost: Vec<u32> = series.finish(&totals).unwrap().bins.iter().map(|bin| bin.lost_bytes).collect();
        assert_eq!(lost, [0, 0, 0, 2000, 1000, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_bin(gaps in proptest::collection::vec(0i64..5000, 17..300)) {
            let count = gaps.len() as u32;
            let mut ticks = 0;
            let times = gaps.into_iter().map(|gap| { ticks += gap; ticks }).collect::<Vec<_>>();
            if let Some(series) = series_of(times) {
                prop_assert_eq!(arrived(&series).iter().sum::<u32>(), count * 1000);
                prop_assert!(series.bins.len() <= MOST_BINS + 1);
            }
        }

        #[test]
        fn times_of_any_kind_do_no_harm(times in proptest::collection::vec(-(1i64 << 62)..1 << 62, 0..60), start_ns in -(1i64 << 62)..1 << 62) {
            let (mut series, mut totals) = (RateSeries::default(), SeriesTotals { data_packets: 100, ..SeriesTotals::default() });
            for time_ns in times {
                if series.is_due(time_ns) {
                    series.roll(time_ns, start_ns, &totals);
                }
                series.lost(time_ns, 1);
                series.found(time_ns.wrapping_neg(), 1);
                totals.arrived_bytes += 1;
            }
            series.finish(&totals);
        }
    }
}
