//! Round trips where acknowledgements give no clean sample: while data is missing and repaired (docs/methods.md, section 4).
//!
//! A receiver reports by SACK at once what it gets behind a hole (RFC 2018 section 4): the report answers the segment that was
//! sent last of all it brings news of (RFC 8985 section 6.2), if that was sent once. And a repeat is sampled if its timestamp
//! tells it from what was sent before: an acknowledgement echoes the segment that filled the hole (RFC 7323 section 4.3).
//! Both are kept apart from the clean samples in [`super::rtt`], which `rtt` of the JSON is about.

use super::rtt::{OfPacket, RoundTrips};
use super::segments::{Acknowledged, Sampled, state};
use crate::packet::{Packet, option_bits};

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

    /// The sample that `packet` completed.
    pub fn completed_by(&self, packet: &Packet) -> Option<RecoveryTrip> {
        self.latest.get(packet)
    }

    fn add(&mut self, packet: &Packet, sampled: Sampled, answered: Answered) {
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

impl RoundTrips {
    /// A selective acknowledgement that acknowledges nothing cumulatively brought news of `sampled`, sent once, and of
    /// nothing sent later than `latest_time_ns`.
    pub fn reported(&mut self, packet: &Packet, sampled: Sampled, latest_time_ns: i64) {
        if latest_time_ns <= sampled.time_ns {
            self.recovery.get_or_insert_default().add(packet, sampled, Answered::BySack);
        }
    }

    /// An acknowledgement covers data whose first segment had been sent again.
    pub fn repaired(&mut self, packet: &Packet, acknowledged: &Acknowledged) {
        let Some(repeat) = acknowledged.first_retransmitted else { return };
        if packet.options & option_bits::TIMESTAMPS != 0
            && packet.tsecr == repeat.tsval
            && repeat.state & state::SAME_STAMP == 0
            && acknowledged.latest_time_ns <= repeat.time_ns
        {
            self.recovery.get_or_insert_default().add(packet, Sampled::of(&repeat), Answered::ByTimestamp);
        }
    }
}
