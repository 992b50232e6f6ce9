//! An acknowledgement as it is passed on: what it acknowledges, the round trip it completes, and the window it advertises.

use crate::packet::Packet;
use crate::tcp::events::segment::{Covered, Sampled};

/// Why an acknowledged wire segment gives no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rejected {
    /// It, or something acknowledged with it, had been retransmitted.
    Retransmitted,
    /// A later segment was acknowledged at the same time (delayed or stretched acknowledgement).
    LaterCovered,
    /// It arrived behind a hole: the acknowledgement waited for the hole to be filled.
    HeldBack,
    /// The acknowledgement covers data that the capture did not see, or only part of a segment.
    NotAllSeen,
    /// Acknowledged before it was recorded: the capture changed the order, or a clock stepped.
    BeforeData,
}

impl Rejected {
    /// Names in tables, by number.
    pub const NAMES: [&str; 5] =
        ["retransmitted", "later_segment_covered", "held_back_by_hole", "not_all_seen", "acknowledged_before_data"];
}

/// The round trip of what an acknowledgement covers.
#[derive(Debug, Clone, Copy)]
pub enum RoundTrip {
    /// It covers no segment that was seen.
    None,
    /// A clean sample: of the newest of so many wire segments.
    Sample(Sampled, u32),
    /// There is none, for a reason; so many wire segments are covered.
    Rejected(Rejected, u32),
}

impl RoundTrip {
    /// That of what `packet` covers, where nothing but the order of their times can stand against it.
    #[inline(always)]
    pub fn of(covered: &Covered, packet: &Packet) -> Self {
        let &Covered { newest, wire_segments, latest_time_ns } = covered;
        match newest {
            None => Self::None,
            Some(newest) if newest.time_ns < latest_time_ns => Self::Rejected(Rejected::LaterCovered, wire_segments),
            Some(newest) if packet.time_ns < newest.time_ns => Self::Rejected(Rejected::BeforeData, wire_segments),
            Some(newest) => Self::Sample(newest, wire_segments),
        }
    }

    /// The sample in nanoseconds and the frame that was sampled, when `packet` completes it.
    #[inline(always)]
    pub fn sample(&self, packet: &Packet) -> Option<(u64, u32)> {
        match self {
            Self::Sample(newest, _) => Some((newest.until(packet), newest.frame)),
            Self::None | Self::Rejected(..) => None,
        }
    }
}

/// What `packet` says of its receiver's window.
#[derive(Debug, Clone, Copy)]
pub struct Advertised {
    /// Bytes, if their scale is known.
    pub bytes: Option<u64>,
    /// The window is closed.
    pub is_closed: bool,
    /// Bytes neither acknowledged nor in flight (RFC 6675: reported, and lost, less what was retransmitted).
    pub relief: u64,
}

/// An acknowledgement of the data of one direction, with what was found out about it: the same from the general rules and
/// the fast path.
#[derive(Debug, Clone, Copy)]
pub struct Acked<'a> {
    /// The packet that carries it.
    pub packet: &'a Packet,
    /// Everything below is acknowledged.
    pub position: u64,
    /// The round trip it completes, if it acknowledges more than those before.
    pub advances: Option<RoundTrip>,
    /// The smoothed round trip, where it is time to look at the sender's pace.
    pub pace_rtt_ns: Option<f64>,
    /// The window; none of a SYN or RST.
    pub window: Option<Advertised>,
}

/// What an acknowledgement brought.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckProgress {
    /// A clean round-trip sample, nanoseconds, and the frame that was sampled.
    pub round_trip: Option<(u64, u32)>,
    /// The advertised window in bytes, if its scale is known.
    pub window_bytes: Option<u64>,
}

impl AckProgress {
    /// The sample alone.
    #[inline(always)]
    pub fn rtt_ns(&self) -> Option<u64> {
        self.round_trip.map(|(rtt_ns, _)| rtt_ns)
    }
}
