//! Congestion that is told without a loss: routers mark packets, their receiver tells the sender, and the sender reduces its
//! window as for a loss (explicit congestion notification; RFC 3168, and with counts of marked packets RFC 9768).
//!
//! What the opening agrees on says how the three bits are to be read. Without it they are not read: ECE alone may be either.

use super::connection::Connection;
use super::sequence::unwrap;
use crate::packet::{Packet, tcp_flags};

/// The bits in question.
pub const BITS: u16 = tcp_flags::AE | tcp_flags::CWR | tcp_flags::ECE;
const CLASSIC_SETUP: u16 = tcp_flags::CWR | tcp_flags::ECE;
/// The counter of marked packets before the first of them (RFC 9768 section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// It has three bits.
const COUNTER_MASK: u8 = 7;

/// How a receiver tells of marks.
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
    fn agreed(syn: Option<u16>, syn_ack: u16) -> Option<Self> {
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

/// What was told of the marks on a direction's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Echoes {
    /// Packets of the receiver that tell of marks.
    pub packets: u64,
    /// Packets of the data that were marked; only accurate feedback counts them.
    pub marked: u64,
    /// Congestion as a sender answers it: once for the data that was in flight when it was told.
    pub events: u32,
    /// Data packets that say that the window was reduced; only classic feedback asks for that.
    pub reductions: u32,
    /// The event goes on up to here; with classic feedback once the sender has answered, until then it is open.
    event_until: u64,
    is_open: bool,
    /// With accurate feedback: when the sender heard of it.
    heard_ns: i64,
    /// The counter as it was told last, as far as it is beyond [`FIRST_COUNT`].
    count: u8,
}

/// Both directions of a connection that uses it.
#[derive(Debug, Clone, Copy)]
pub struct Ecn {
    /// How marks are told of.
    pub feedback: Feedback,
    /// Client's data, server's data.
    pub sides: [Echoes; 2],
}

impl Connection {
    /// A SYN or SYN-ACK passed that counts.
    pub(super) fn agree_on_ecn(&mut self, packet: &Packet) {
        if !packet.has(tcp_flags::ACK) {
            self.syn_flags = Some(packet.flags);
        } else if !self.handshake.complete {
            let agreed = Feedback::agreed(self.syn_flags, packet.flags);
            self.ecn = agreed.map(|feedback| Box::new(Ecn { feedback, sides: Default::default() }));
        }
    }

    /// Takes a packet without SYN that has one of the [`BITS`], of `side`. What completes the opening has another meaning.
    #[cold]
    #[inline(never)]
    pub(super) fn take_congestion_bits(&mut self, packet: &Packet, side: usize) {
        let Some(ecn) = self.ecn.as_deref_mut().filter(|_| self.handshake.complete) else { return };
        let data = &self.halves[1 - side];
        let position = unwrap(data.una, packet.acknowledgement);
        // What was overtaken tells of times gone by.
        if packet.has(tcp_flags::ACK) && position >= data.una {
            let echoes = &mut ecn.sides[1 - side];
            match ecn.feedback {
                Feedback::Classic if packet.has(tcp_flags::ECE) => echoes.echo(position),
                Feedback::Accurate if echoes.counted(packet) > 0 => {
                    let heard_ns = packet.time_ns.saturating_add(self.loops_ns[1 - side].unwrap_or(0));
                    echoes.tell(position, data.max, packet.time_ns, heard_ns);
                }
                _ => {}
            }
        }
        if ecn.feedback == Feedback::Classic && packet.has(tcp_flags::CWR) && packet.payload_length > 0 {
            ecn.sides[side].reduce(unwrap(self.halves[side].max, packet.sequence));
        }
    }

    /// Packets of the receiver so far that told of marks on the data of `side`.
    pub(super) fn congestion_echoes(&self, side: usize) -> u64 {
        self.ecn.as_deref().map_or(0, |ecn| ecn.sides[side].packets)
    }
}

impl Echoes {
    /// Packets that were marked since the counter was told before.
    fn counted(&mut self, packet: &Packet) -> u8 {
        let counter = (packet.flags >> 6 & 3) as u8 | ((packet.flags & tcp_flags::AE) >> 6) as u8;
        let count = counter.wrapping_sub(FIRST_COUNT) & COUNTER_MASK;
        let marked = count.wrapping_sub(self.count) & COUNTER_MASK;
        self.count = count;
        self.marked += u64::from(marked);
        marked
    }

    /// An acknowledgement up to `position` tells of marks, as all do until the one of data with which the sender answers.
    fn echo(&mut self, position: u64) {
        self.packets += 1;
        if !self.is_open && (self.events == 0 || position > self.event_until) {
            self.events += 1;
            self.is_open = true;
        }
    }

    /// The sender says so with data from `position` on.
    fn reduce(&mut self, position: u64) {
        self.reductions += 1;
        (self.event_until, self.is_open) = (position, false);
    }

    /// An acknowledgement up to `position` tells of marks, when data up to `sent` had passed. The sender hears of it at `heard_ns`: what
    /// it has sent until then was in flight.
    fn tell(&mut self, position: u64, sent: u64, time_ns: i64, heard_ns: i64) {
        self.packets += 1;
        if self.events > 0 && time_ns <= self.heard_ns {
            self.event_until = sent;
        } else if self.events == 0 || position > self.event_until {
            self.events += 1;
            (self.event_until, self.heard_ns) = (sent, heard_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcp_flags::{ACK, AE, CWR, ECE, SYN};

    #[test]
    fn syn_and_syn_ack_agree_on_the_feedback() {
        let agreed = |syn: Option<u16>, syn_ack: u16| Feedback::agreed(syn.map(|bits| SYN | bits), SYN | ACK | syn_ack);
        assert_eq!(agreed(Some(CWR | ECE), ECE), Some(Feedback::Classic));
        assert_eq!(agreed(Some(AE | CWR | ECE), ECE), Some(Feedback::Classic));
        for syn_ack in [CWR, CWR | ECE, AE, AE | CWR] {
            assert_eq!(agreed(Some(AE | CWR | ECE), syn_ack), Some(Feedback::Accurate));
            assert_eq!(agreed(None, syn_ack), Some(Feedback::Accurate), "only that can be answered so");
            assert_eq!(agreed(Some(CWR | ECE), syn_ack), None);
        }
        assert_eq!(agreed(None, ECE), Some(Feedback::Classic));
        // Nothing was asked for, nothing was answered, or the question came back.
        assert_eq!((agreed(Some(0), ECE), agreed(Some(CWR | ECE), 0)), (None, None));
        assert_eq!(agreed(Some(AE | CWR | ECE), AE | CWR | ECE), None);
    }

    #[test]
    fn the_counter_goes_on_from_five_and_round() {
        let told = |echoes: &mut Echoes, counter: u16| {
            let bits = (counter & 3) << 6 | (counter & 4) << 6;
            echoes.counted(&Packet { flags: ACK | bits, ..Packet::default() })
        };
        let mut echoes = Echoes::default();
        let marked: Vec<u8> = [5, 5, 7, 1, 5].into_iter().map(|counter| told(&mut echoes, counter)).collect();
        assert_eq!((marked, echoes.marked), (vec![0, 0, 2, 2, 4], 8));
    }
}
