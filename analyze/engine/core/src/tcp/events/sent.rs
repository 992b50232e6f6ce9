//! A packet with data as it is passed on: what it turned out to be, which bytes are new, and what had to be known.

use crate::packet::{Packet, option_bits};
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::stats::sequence::serial_difference;

/// What a packet turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum SentKind {
    /// New data.
    #[default]
    Data,
    /// Data sent before.
    Retransmission,
    /// An original that comes late.
    Reordered,
    /// A copy.
    Duplicate,
    /// A byte or an empty segment sent into a closed window (RFC 9293 section 3.8.6.1).
    WindowProbe,
    /// Keep-alive (RFC 9293 section 3.8.4).
    KeepAlive,
    /// Only an acknowledgement.
    PureAck,
    /// Opens.
    Syn,
    /// Closes, without data.
    Fin,
    /// Aborts.
    Rst,
}

/// What became of a data packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrived {
    /// What it is.
    pub kind: SentKind,
    /// Why it was retransmitted.
    pub trigger: Option<Trigger>,
    /// Payload bytes in it that no packet carried before and that are no retransmission.
    pub first_transmission_bytes: u32,
    /// Distance from the data packet before it.
    pub spacing_ns: Option<u64>,
}

/// A packet with data at its place in the stream, and what it turned out to be.
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Position of its first byte.
    pub start: u64,
    /// Position after its last byte.
    pub end: u64,
    /// Position after the highest byte sent so far.
    pub highest: u64,
    /// Wire segments it stands for.
    pub segments: u32,
    /// Payload of a full one.
    pub segment_size: u16,
    /// It ends with less than a full one.
    pub is_short: bool,
    /// It begins where what was sent before it ended.
    pub is_contiguous: bool,
    /// What it is.
    pub kind: SentKind,
}

/// [`Data`], and what was known when it passed: the same from the general rules and the fast path.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// What was sent.
    pub data: Data<'a>,
    /// Distance from the data packet before it; none of the first, or if time ran backwards.
    pub spacing_ns: Option<u64>,
    /// What its identification is compared with, if that is not the number after the newest (IPv4).
    pub numbering: Option<Numbering>,
    /// Payload of the largest frame so far.
    pub largest_payload: u32,
}

/// What is known of a packet whose identification does not follow the newest one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbering {
    /// No data up to it is missing.
    pub whole: bool,
    /// The most that a segment may hold, bytes.
    pub most_bytes: u32,
}

/// What is known of data by what was captured before it; asked for only where it ends a pause.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resumption {
    /// The data packet before it had PSH.
    pub pushed: bool,
    /// It does not echo the newest timestamp of the other side that has passed.
    pub behind_echo: bool,
    /// When the other side said the last that this data is the first since; none if it has said nothing.
    pub asked_ns: Option<i64>,
}

impl Resumption {
    /// Of a packet, when the other side's newest timestamp was `newest_tsval`, and it last spoke at `asked_ns`.
    pub(crate) fn of(packet: &Packet, pushed: bool, newest_tsval: Option<u32>, asked_ns: Option<i64>) -> Self {
        let echoes = packet.options & option_bits::TIMESTAMPS != 0;
        let behind = |newest: u32| echoes && serial_difference(newest, packet.tsecr) > 0;
        Self { pushed, behind_echo: newest_tsval.is_some_and(behind), asked_ns }
    }
}

/// New stream bytes: from, to, whether they crossed in a retransmission.
pub type NewBytes = (u64, u64, bool);

/// The new stream bytes of one packet: nearly always one range.
#[derive(Debug, Clone, Default)]
pub enum Delivered {
    /// None.
    #[default]
    Nothing,
    /// One range.
    Range(NewBytes),
    /// What several holes were filled with.
    Ranges(Vec<NewBytes>),
}

impl Delivered {
    pub(crate) fn add(&mut self, from: u64, to: u64, by_retransmission: bool) {
        let range = (from, to, by_retransmission);
        match self {
            Self::Nothing => *self = Self::Range(range),
            Self::Range(first) => *self = Self::Ranges(vec![*first, range]),
            Self::Ranges(ranges) => ranges.push(range),
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[NewBytes] {
        match self {
            Self::Nothing => &[],
            Self::Range(range) => std::slice::from_ref(range),
            Self::Ranges(ranges) => ranges,
        }
    }
}

/// The packet ends with less than a full segment.
#[inline]
pub(crate) fn is_short(payload_length: u32, segment_size: u16) -> bool {
    let size = u32::from(segment_size.max(1));
    payload_length < size || (payload_length > size && !payload_length.is_multiple_of(size))
}
