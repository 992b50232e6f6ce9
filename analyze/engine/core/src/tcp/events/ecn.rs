//! Congestion marks of one connection: what the IP header says, what the receiver echoes (RFC 3168, RFC 9768).
//!
//! [`crate::tcp::connection::congestion_bits`] reads them from packets.

use crate::packet::{Packet, tcp_flags};

/// The bits in question.
pub const BITS: u16 = tcp_flags::AE | tcp_flags::CWR | tcp_flags::ECE;

const CLASSIC_SETUP: u16 = tcp_flags::CWR | tcp_flags::ECE;

/// The counter of marked packets before the first of them (RFC 9768 section 3.2.1).
const FIRST_COUNT: u8 = 5;

/// It has three bits.
const COUNTER_MASK: u8 = 7;

/// How a receiver reports marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It echoes that there were some, until the sender says that it has reduced its window.
    Classic,
    /// It counts them.
    Accurate,
}

impl Feedback {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Accurate => "accurate",
        }
    }

    /// What SYN (none if it was not captured) and SYN-ACK agree on (RFC 3168 section 6.1.1, RFC 9768 section 3.1.2).
    pub(crate) fn agreed(syn: Option<u16>, syn_ack: u16) -> Option<Self> {
        let asked_for = |setup: u16| syn.is_none_or(|flags| flags & BITS == setup);
        match syn_ack & BITS {
            0 | BITS => None,
            tcp_flags::ECE if asked_for(CLASSIC_SETUP) || asked_for(BITS) => Some(Self::Classic),
            // Reserved: nonce sums of a withdrawn experiment (RFC 8311).
            flags if flags == tcp_flags::AE | tcp_flags::ECE => None,
            flags if flags != tcp_flags::ECE && asked_for(BITS) => Some(Self::Accurate),
            _ => None,
        }
    }
}

/// What was reported of the marks on a direction's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Echoes {
    /// Packets of the receiver that report marks.
    pub packets: u64,
    /// Packets of the data that were marked; only accurate feedback counts them.
    pub marked: u64,
    /// Congestion as a sender answers it: once for the data that was in flight when it was reported.
    pub events: u32,
    /// Data packets that say that the window was reduced; only classic feedback asks for that.
    pub reductions: u32,
    /// The event goes on up to here; with classic feedback once the sender has answered, until then it is open.
    event_until: u64,
    is_open: bool,
    /// With accurate feedback: when the sender heard of it.
    heard_ns: i64,
    /// The counter as it was reported last, as far as it is beyond [`FIRST_COUNT`].
    count: u8,
}

/// Both directions of a connection that uses it.
#[derive(Debug, Clone, Copy)]
pub struct Ecn {
    /// How marks are reported.
    pub feedback: Feedback,
    /// Client's data, server's data.
    pub sides: [Echoes; 2],
}

impl Echoes {
    /// Packets that were marked since the counter was reported before.
    pub(crate) fn counted(&mut self, packet: &Packet) -> u8 {
        let counter = (packet.flags >> 6 & 3) as u8 | ((packet.flags & tcp_flags::AE) >> 6) as u8;
        let count = counter.wrapping_sub(FIRST_COUNT) & COUNTER_MASK;
        let marked = count.wrapping_sub(self.count) & COUNTER_MASK;
        self.count = count;
        self.marked += u64::from(marked);
        marked
    }

    /// An acknowledgement up to `position` reports marks, as all do until the one of data with which the sender answers.
    pub(crate) fn echo(&mut self, position: u64) {
        self.packets += 1;
        if !self.is_open && (self.events == 0 || position > self.event_until) {
            self.events += 1;
            self.is_open = true;
        }
    }

    /// The sender says so with data from `position` on.
    pub(crate) fn reduce(&mut self, position: u64) {
        self.reductions += 1;
        (self.event_until, self.is_open) = (position, false);
    }

    /// An acknowledgement up to `position` reports marks, when data up to `sent` had passed. The sender hears of it at `heard_ns`: what
    /// it has sent until then was in flight.
    pub(crate) fn tell(&mut self, position: u64, sent: u64, time_ns: i64, heard_ns: i64) {
        self.packets += 1;
        if self.events > 0 && time_ns <= self.heard_ns {
            self.event_until = sent;
        } else if self.events == 0 || position > self.event_until {
            self.events += 1;
            (self.event_until, self.heard_ns) = (sent, heard_ns);
        }
    }
}
