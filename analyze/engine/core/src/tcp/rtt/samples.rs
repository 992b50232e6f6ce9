//! Round-trip time samples of one direction: data sent to its acknowledgement, as seen at the capture point.
//!
//! Only clean samples make statistics (docs/methods.md, section 4; Karn's rule, RFC 6298 section 3): the segment was never
//! retransmitted, none covered by the same acknowledgement was sent later, and the acknowledgement was not held back by
//! an earlier hole. What is not clean is counted by reason.
//!
//! Rule: docs/methods.md, "Clean samples".

use crate::packet::Packet;
use crate::tcp::events::acked::Rejected;
use crate::tcp::events::segment::Sampled;
use crate::tcp::kernel::{LEAST_DELAY_NS, SMALLEST_TIMEOUT_NS};
use crate::tcp::stats::moments::Moments;
use crate::tcp::stats::quantile_sketch::DurationSketch;

/// The sender's pace changes slowly: it is looked at once in so many samples.
pub(crate) const PACE_EVERY_SAMPLES: u64 = 8;

/// What is known of the packet it was set for, until it is set for another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfPacket<T>(Option<(i64, u32, T)>);

impl<T> Default for OfPacket<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Copy> OfPacket<T> {
    #[inline]
    pub fn set(&mut self, packet: &Packet, value: T) {
        self.0 = Some((packet.time_ns, packet.frame, value));
    }

    pub fn get(&self, packet: &Packet) -> Option<T> {
        let (time_ns, frame, value) = self.0?;
        ((time_ns, frame) == (packet.time_ns, packet.frame)).then_some(value)
    }
}

/// Samples of one direction, and the smoothed estimate of RFC 6298.
#[derive(Debug, Clone)]
pub struct RoundTrips {
    /// Mean, extremes, deviation of clean samples.
    pub moments: Moments,
    /// Quantiles of clean samples.
    pub sketch: DurationSketch,
    /// Wire segments without a sample, by [`Rejected`].
    pub rejected: [u64; 5],
    /// What loss recovery tells beside clean samples.
    pub recovery: Option<Box<RecoveryTrips>>,
    /// Clean samples that a delayed acknowledgement lengthened.
    pub delayed: u32,
    latest_delayed: OfPacket<()>,
    /// Why the last acknowledgement of data that gave no clean sample gave none.
    latest_rejected: OfPacket<Rejected>,
    /// Shortest clean sample since it was asked for last, `u64::MAX` without one.
    least_lately_ns: u64,
    srtt_ns: f64,
    rttvar_ns: f64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self {
            moments: Moments::default(),
            sketch: DurationSketch::default(),
            rejected: [0; 5],
            recovery: None,
            delayed: 0,
            latest_delayed: OfPacket::default(),
            latest_rejected: OfPacket::default(),
            least_lately_ns: u64::MAX,
            srtt_ns: 0.0,
            rttvar_ns: 0.0,
        }
    }
}

impl RoundTrips {
    /// New ones in the room of these.
    #[inline(always)]
    pub fn renewed(&mut self) -> Self {
        Self { sketch: self.sketch.renewed(), ..Self::default() }
    }

    /// Takes a clean sample.
    #[inline(always)]
    pub fn add(&mut self, rtt_ns: u64) {
        self.moments.add(rtt_ns);
        self.sketch.add(rtt_ns);
        self.least_lately_ns = self.least_lately_ns.min(rtt_ns);
        // Far from 2^63: from a signed number the processor converts in one step.
        self.smooth(rtt_ns as i64 as f64);
    }

    /// Takes a clean sample of the newest of `segments` wire segments; the others give none.
    #[inline(always)]
    pub fn sample(&mut self, rtt_ns: u64, segments: u32) {
        self.add(rtt_ns);
        if segments > 1 {
            self.reject(Rejected::LaterCovered, segments - 1);
        }
    }

    /// The shortest clean sample since this was asked last; none without one.
    pub fn take_least(&mut self) -> Option<u64> {
        Some(std::mem::replace(&mut self.least_lately_ns, u64::MAX)).filter(|least_ns| *least_ns < u64::MAX)
    }

    /// RFC 6298 section 2.2 and 2.3.
    #[inline]
    pub fn smooth(&mut self, rtt_ns: f64) {
        if self.srtt_ns == 0.0 {
            self.srtt_ns = rtt_ns;
            self.rttvar_ns = rtt_ns / 2.0;
        } else {
            self.rttvar_ns += ((self.srtt_ns - rtt_ns).abs() - self.rttvar_ns) / 4.0;
            self.srtt_ns += (rtt_ns - self.srtt_ns) / 8.0;
        }
    }

    /// Counts `segments` wire segments without a sample.
    #[inline]
    pub fn reject(&mut self, reason: Rejected, segments: u32) {
        self.rejected[reason as usize] += u64::from(segments);
    }

    /// Counts `segments` wire segments for which `packet`, their acknowledgement, gives no sample.
    #[inline]
    pub fn refuse(&mut self, packet: &Packet, reason: Rejected, segments: u32) {
        self.reject(reason, segments);
        self.latest_rejected.set(packet, reason);
    }

    /// Why `packet` gives no sample, if it acknowledges data and gives none.
    pub fn rejected_by(&self, packet: &Packet) -> Option<Rejected> {
        self.latest_rejected.get(packet)
    }

    /// A clean sample is so much longer than the shortest that its acknowledgement may have been delayed.
    #[inline(always)]
    pub fn may_be_delayed(&self, rtt_ns: u64) -> bool {
        rtt_ns > self.moments.min_ns.saturating_add(LEAST_DELAY_NS)
    }

    /// The acknowledgement that gave the last clean sample had been delayed.
    #[cold]
    pub fn delayed_by(&mut self, packet: &Packet) {
        self.delayed = self.delayed.saturating_add(1);
        self.latest_delayed.set(packet, ());
    }

    /// The acknowledgement that `packet` is had been delayed.
    pub fn was_delayed(&self, packet: &Packet) -> bool {
        self.latest_delayed.get(packet).is_some()
    }

    /// Smoothed round-trip time, none before the first measurement.
    pub fn srtt_ns(&self) -> Option<f64> {
        (self.srtt_ns > 0.0).then_some(self.srtt_ns)
    }

    /// Smoothed deviation from it (RFC 6298 `RTTVAR`), 0 before the first measurement.
    pub fn deviation_ns(&self) -> f64 {
        self.rttvar_ns
    }

    /// Retransmission timeout a sender with these measurements would use (RFC 6298 with a floor of 200 ms; 1 s before
    /// any measurement).
    pub fn rto_ns(&self) -> f64 {
        if self.srtt_ns == 0.0 { 1e9 } else { (self.srtt_ns + 4.0 * self.rttvar_ns).max(SMALLEST_TIMEOUT_NS as f64) }
    }
}

/// What tells which transmission an acknowledgement answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// A selective acknowledgement of data sent once.
    BySack,
    /// The echo of a repeat's timestamp.
    ByTimestamp,
}

impl Answered {
    /// Names in tables, by number.
    pub const NAMES: [&str; 2] = ["sack", "timestamp"];
}

/// A sample, and the packet that completed it.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryTrip {
    /// Nanoseconds.
    pub rtt_ns: u64,
    /// Frame that was sampled.
    pub frame: u32,
    /// How it is known.
    pub answered: Answered,
}

const FEWEST_TELLING: u32 = 20;

/// Samples of one direction.
#[derive(Debug, Clone, Default)]
pub struct RecoveryTrips {
    /// Samples, by [`Answered`].
    pub samples: [u32; 2],
    /// Sum of all samples, nanoseconds.
    pub sum_ns: u64,
    /// The shortest, nanoseconds; `u64::MAX` without samples.
    pub min_ns: u64,
    /// The longest, nanoseconds.
    pub max_ns: u64,
    latest: OfPacket<RecoveryTrip>,
}

impl RecoveryTrips {
    /// Mean, nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.samples.iter().map(|samples| u64::from(*samples)).sum::<u64>();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// They are enough to say something of all.
    pub(crate) fn tells(&self) -> bool {
        self.samples[0].saturating_add(self.samples[1]) >= FEWEST_TELLING
    }

    /// The sample that `packet` completed.
    pub fn completed_by(&self, packet: &Packet) -> Option<RecoveryTrip> {
        self.latest.get(packet)
    }

    pub(crate) fn add(&mut self, packet: &Packet, sampled: Sampled, answered: Answered) {
        let Ok(rtt_ns) = u64::try_from(packet.time_ns.saturating_sub(sampled.time_ns)) else { return };
        let is_first = self.samples == [0; 2];
        let samples = &mut self.samples[answered as usize];
        *samples = samples.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(rtt_ns);
        self.min_ns = if is_first { rtt_ns } else { self.min_ns.min(rtt_ns) };
        self.max_ns = self.max_ns.max(rtt_ns);
        self.latest.set(packet, RecoveryTrip { rtt_ns, frame: sampled.frame, answered });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.rto_ns(), 1e9);
        trips.add(100_000_000);
        assert_eq!((trips.srtt_ns(), trips.rto_ns()), (Some(100e6), 300e6));
        trips.add(100_000_000);
        assert_eq!(trips.rto_ns(), 250e6);
    }
}
