//! Microbursts: the most bytes that a direction sent within any 1, 10 or 100 ms (docs/methods.md, section 8).
//!
//! Windows begin at every half of their length, on the grid of the capture clock, and are read off a counter that the
//! direction keeps anyway. A peak found so never exceeds the true one. A burst no longer than half the window is counted
//! whole, an even one as long as the window to three quarters at least; it can be half too low only where two bursts stand
//! just a window apart.
//!
//! Rule: docs/methods.md, "Peaks".

/// Lengths of the windows.
pub const WINDOWS_NS: [i64; 3] = [1_000_000, 10_000_000, 100_000_000];

/// Half of the shortest.
const STEP_NS: i64 = WINDOWS_NS[0] / 2;

/// The most bytes in a window, and the frames of the first and the last data packet in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes on the wire.
    pub wire_bytes: u64,
    /// First and last data packet.
    pub frames: [u32; 2],
}

/// Peaks of the windows of [`WINDOWS_NS`].
pub type Peaks = [Peak; 3];

/// Two neighbouring halves of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Halves {
    /// Number of the open half since the epoch.
    index: i64,
    /// Bytes and first frame of the half before it; no bytes if nothing passed in that.
    before: u64,
    before_frame: u32,
    /// Frame and counter with which the open half began.
    first_frame: u32,
    base: u64,
    peak: Peak,
}

impl Halves {
    fn close(&mut self, bytes_so_far: u64, last_frame: u32, index: i64) {
        let bytes = bytes_so_far.saturating_sub(self.base);
        if self.before + bytes > self.peak.wire_bytes {
            let first_frame = if self.before > 0 { self.before_frame } else { self.first_frame };
            self.peak = Peak { wire_bytes: self.before + bytes, frames: [first_frame, last_frame] };
        }
        self.before = if index == self.index + 1 { bytes } else { 0 };
        self.before_frame = self.first_frame;
    }
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct PeakRates {
    /// The open half of the shortest window ends here.
    until_ns: i64,
    windows: [Halves; 3],
}

impl Default for PeakRates {
    fn default() -> Self {
        Self { until_ns: i64::MIN, windows: Default::default() }
    }
}

impl PeakRates {
    /// A half of the shortest window is over at this time: [`Self::roll`] wants to know.
    #[inline(always)]
    pub fn is_due(&self, time_ns: i64) -> bool {
        time_ns >= self.until_ns
    }

    /// Packet `frame` passes at `time_ns`; before it `bytes_so_far` had passed, the last of them with `last_frame`.
    #[inline(never)]
    pub fn roll(&mut self, time_ns: i64, frame: u32, bytes_so_far: u64, last_frame: u32) {
        let first = self.until_ns == i64::MIN;
        let step = time_ns.div_euclid(STEP_NS);
        self.until_ns = (step + 1).saturating_mul(STEP_NS);
        let mut index = step;
        for halves in &mut self.windows {
            if halves.index == index && !first {
                // The longer windows are not over either.
                return;
            }
            if !first {
                halves.close(bytes_so_far, last_frame, index);
            }
            (halves.index, halves.base, halves.first_frame) = (index, bytes_so_far, frame);
            index = index.div_euclid(10);
        }
    }

    /// The peaks, when no more packets come; none if there were none.
    pub fn finish(mut self, bytes_so_far: u64, last_frame: u32) -> Option<Peaks> {
        if self.until_ns == i64::MIN {
            return None;
        }
        for halves in &mut self.windows {
            halves.close(bytes_so_far, last_frame, i64::MIN);
        }
        Some(self.windows.map(|halves| halves.peak))
    }
}

/// A peak as a rate, bits per second.
pub fn rate_bps(peak: &Peak, window_ns: i64) -> f64 {
    peak.wire_bytes as f64 * 8e9 / window_ns as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets: time in microseconds, wire bytes. Frames count from 1.
    fn peaks_of(packets: &[(i64, u64)]) -> Option<Peaks> {
        let (mut peaks, mut bytes) = (PeakRates::default(), 0);
        for (number, &(time_us, length)) in packets.iter().enumerate() {
            let frame = number as u32 + 1;
            if peaks.is_due(time_us * 1000) {
                peaks.roll(time_us * 1000, frame, bytes, frame - 1);
            }
            bytes += length;
        }
        peaks.finish(bytes, packets.len() as u32)
    }

    fn true_peak(packets: &[(i64, u64)], window_ns: i64) -> u64 {
        let within =
            |start: i64| packets.iter().filter(move |(time, _)| (start..start + window_ns / 1000).contains(time));
        packets.iter().map(|&(start, _)| within(start).map(|packet| packet.1).sum()).max().unwrap_or(0)
    }

    #[test]
    fn an_even_stream_peaks_at_its_rate() {
        let packets: Vec<_> = (0..10_000).map(|number| (number * 100, 1250)).collect();
        let rates = peaks_of(&packets).unwrap();
        for (peak, window_ns) in rates.iter().zip(WINDOWS_NS) {
            assert_eq!(rate_bps(peak, window_ns), 100e6);
        }
    }

    #[test]
    fn a_short_burst_is_found_whole_with_its_frames() {
        let before = (0..50).map(|number| (number * 1000, 100));
        let burst = (0..10).map(|number| (50_300 + number * 40, 1500));
        let after = (0..50).map(|number| (52_000 + number * 1000, 100));
        let peaks = peaks_of(&before.chain(burst).chain(after).collect::<Vec<_>>()).unwrap();
        assert_eq!(peaks[0].wire_bytes, 15_000);
        assert_eq!(peaks[0].frames, [51, 60]);
    }

    #[test]
    fn no_packets_have_no_peak() {
        assert_eq!(peaks_of(&[]), None);
    }

    proptest! {
        #[test]
        fn a_peak_is_at_most_the_true_one_and_at_least_half(
            gaps in proptest::collection::vec((0i64..3000, 1u64..1500), 1..200), start in 0i64..1_000_000_000,
        ) {
            let mut time = start;
            let packets: Vec<_> = gaps.iter().map(|&(gap, length)| { time += gap; (time, length) }).collect();
            let peaks = peaks_of(&packets).unwrap();
            for (peak, window_ns) in peaks.iter().zip(WINDOWS_NS) {
                let exact = true_peak(&packets, window_ns);
                prop_assert!(peak.wire_bytes <= exact && 2 * peak.wire_bytes >= exact, "{} of {exact}", peak.wire_bytes);
                let [first, last] = peak.frames.map(|frame| packets[frame as usize - 1].0);
                prop_assert!(last - first < window_ns / 1000);
            }
        }

        #[test]
        fn times_of_any_kind_do_no_harm(times in proptest::collection::vec(-(1i64 << 62)..1 << 62, 0..60)) {
            let mut peaks = PeakRates::default();
            for time_ns in times {
                if peaks.is_due(time_ns) {
                    peaks.roll(time_ns, 1, 1, 1);
                }
            }
            peaks.finish(2, 1);
        }
    }
}
