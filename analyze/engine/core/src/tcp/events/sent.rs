//! A packet with data as it is passed on: what it turned out to be, which bytes are new, and what had to be known.

use crate::tcp::events::retransmission::Trigger;

/// What a packet turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
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
    pub kind: Kind,
    /// Why it was sent again.
    pub trigger: Option<Trigger>,
    /// Payload bytes in it that no packet carried before and that are no retransmission.
    pub first_transmission_bytes: u32,
    /// Distance from the data packet before it.
    pub spacing_ns: Option<u64>,
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
