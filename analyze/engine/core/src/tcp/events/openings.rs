//! SYNs of one side, with their repeats (RFC 9293 section 3.5): which of them an answer answers.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::events::offer::Offer;
use crate::tcp::kernel::{LONGEST_DISTANCE_NS, LONGEST_NUMBERED_NS, SMALLEST_TIMEOUT_NS};

/// No stack sends a SYN again with the same TSval within most of the second that RFC 6298 section 2 has it wait, in which every clock of
/// timestamps has a step (RFC 7323 section 5.4).
const SOONEST_REPEAT_STAMPED_NS: i64 = 900_000_000;

/// Identifications further apart count more than the packets of one connection.
const MOST_NUMBERED_BETWEEN: u16 = 64;

/// More equal packets than this no capture point makes of one.
const MOST_COPIES: u8 = 7;

/// A SYN-ACK in the place of which another one came, before the client acknowledged either.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OtherSynAck {
    /// Sequence number of the first byte behind it.
    pub(crate) base: u32,
    /// What it offers.
    pub(crate) offer: Offer,
}

/// SYNs of one side: first and last, so that an answer can be matched.
#[derive(Debug, Default, Clone, Copy)]
pub struct Openings {
    /// How many, without captured copies.
    pub count: u32,
    /// When the first passed.
    pub first_ns: i64,
    /// When the last passed that is not like the one before.
    pub last_ns: i64,
    /// When the last of all passed.
    pub newest_ns: i64,
    newest_frame: u32,
    first_tsval: Option<u32>,
    last_tsval: Option<u32>,
    last_identity: (u16, u16),
    last_sequence: u32,
    last_acknowledgement: u32,
    /// Packets equal to the last one.
    equal: u8,
    /// Of them the last, each as soon behind the last that counts as a copy.
    equal_soon: u8,
    /// One of them acknowledged the other side's SYN.
    acknowledges: bool,
    /// The first of them, which were refused: nothing that comes later answers those.
    refused: u32,
}

impl Openings {
    /// So many SYNs, the first of them at `first_ns`, that were refused with a reset.
    pub fn refused(count: u32, first_ns: i64) -> Self {
        Self { count, refused: count, first_ns, ..Self::default() }
    }

    /// When the only one passed, and its TSval; none if there were others, or if it has none.
    pub(crate) fn only(&self) -> Option<(i64, u32)> {
        self.first_tsval.filter(|_| self.count == 1).map(|tsval| (self.first_ns, tsval))
    }

    /// When the last of them passed, and its frame; none if there was but one.
    pub fn retransmitted(&self) -> Option<(i64, u32)> {
        (self.count > self.refused + 1).then_some((self.newest_ns, self.newest_frame))
    }

    /// Takes a SYN (or SYN-ACK); false if it is the last one, captured again. `asked_since`: it answers a SYN that came since the
    /// last one, which it may equal if the server's clock has not gone on.
    pub fn add(&mut self, packet: &Packet, asked_since: bool) -> bool {
        if self.answers_crossing(packet) {
            // The SYN keeps its place as the first: that is what the other side answers.
            (self.acknowledges, self.newest_ns) = (true, packet.time_ns);
            (self.last_identity, self.last_sequence) = ((packet.ip_id, packet.checksum), packet.sequence);
            self.last_acknowledgement = packet.acknowledgement;
            self.last_tsval = packet.timestamp();
            return true;
        }
        let tsval = packet.timestamp();
        let identity = (packet.ip_id, packet.checksum);
        let longest_ns = if tsval.is_some() { SOONEST_REPEAT_STAMPED_NS } else { SMALLEST_TIMEOUT_NS };
        let soon = packet.time_ns.saturating_sub(self.last_ns).abs() < longest_ns;
        let is_alike = identity.0 == self.last_identity.0 && packet.sequence == self.last_sequence;
        let is_equal = self.count > self.refused && is_alike && tsval == self.last_tsval;
        self.equal = if is_equal { self.equal.saturating_add(1) } else { 0 };
        self.equal_soon = if is_equal && soon { self.equal_soon.saturating_add(1) } else { 0 };
        if is_equal && soon && !self.is_sent_anew(packet) {
            // Which of the two is answered nobody can tell: they are less than a step of the clock apart, and the first stands.
            if asked_since {
                (self.count, self.newest_ns) = (self.count + 1, packet.time_ns);
                self.newest_frame = packet.frame;
            }
            return asked_since;
        }
        if self.count == 0 {
            self.first_ns = packet.time_ns;
            self.first_tsval = tsval;
        }
        self.acknowledges |= packet.has(tcp_flags::ACK);
        self.count += 1;
        (self.last_ns, self.newest_ns, self.newest_frame) = (packet.time_ns, packet.time_ns, packet.frame);
        (self.last_tsval, self.last_identity, self.last_sequence) = (tsval, identity, packet.sequence);
        self.last_acknowledgement = packet.acknowledgement;
        true
    }

    /// A capture point makes one copy, soon. What comes equal for the third time, and later than that, a program has sent that makes
    /// all its packets alike; and so it has what comes more often than a host has interfaces on one way.
    fn is_sent_anew(&self, packet: &Packet) -> bool {
        let is_later = packet.time_ns.saturating_sub(self.last_ns) > LONGEST_DISTANCE_NS;
        (self.equal > 1 && is_later) || self.equal_soon > MOST_COPIES
    }

    /// By how much the number of a SYN is another than that of the only one, which it equals otherwise: IP identification, TSval, and
    /// so soon that nobody has sent it again.
    pub(crate) fn moved_by(&self, packet: &Packet) -> Option<u32> {
        let by = packet.sequence.wrapping_sub(self.last_sequence);
        (self.count == 1 && by != 0 && self.is_like_last(packet)).then_some(by)
    }

    /// What the last one acknowledged, if it acknowledged something else than `packet`, which it equals otherwise.
    pub(crate) fn acknowledged_otherwise(&self, packet: &Packet) -> Option<u32> {
        let is_other = self.count > 0 && packet.acknowledgement != self.last_acknowledgement;
        (is_other && self.is_like_last(packet)).then_some(self.last_acknowledgement)
    }

    /// It has the last one's IP identification and TSval, and comes as soon as a copy.
    fn is_like_last(&self, packet: &Packet) -> bool {
        let is_numbered = packet.ip_id != 0;
        let longest_ns = if is_numbered { LONGEST_NUMBERED_NS } else { LONGEST_DISTANCE_NS };
        (is_numbered || packet.timestamp().is_some())
            && packet.ip_id == self.last_identity.0
            && packet.timestamp() == self.last_tsval
            && packet.time_ns.saturating_sub(self.last_ns).abs() <= longest_ns
    }

    /// One of them acknowledged the other side's SYN.
    pub(crate) fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// How many packets the side sent between its last SYN and `packet` by their IP identifications; none where they do not count the
    /// packets of one connection.
    pub(crate) fn packets_until(&self, packet: &Packet) -> Option<u16> {
        let (first, next) = (self.last_identity.0, packet.ip_id);
        let between = next.wrapping_sub(first).wrapping_sub(1);
        (first != 0 && next != 0 && between < MOST_NUMBERED_BETWEEN).then_some(between)
    }

    /// The packet is the side's SYN with an acknowledgement, after SYNs without: no repeat, but its answer to the other side's SYN,
    /// which crossed its own (RFC 9293 section 3.5, figure 7).
    pub fn answers_crossing(&self, packet: &Packet) -> bool {
        self.count > self.refused && !self.acknowledges && packet.has(tcp_flags::ACK)
    }

    /// When the one passed that `answer` answers; none if that is not known.
    pub(crate) fn answered_by(&self, answer: &Packet) -> Option<i64> {
        if self.count == self.refused + 1 {
            return Some(self.last_ns);
        }
        let echo = (answer.options & option_bits::TIMESTAMPS != 0).then_some(answer.tsecr)?;
        if self.first_tsval == self.last_tsval {
            return None;
        }
        if self.last_tsval == Some(echo) {
            Some(self.last_ns)
        } else {
            (self.first_tsval == Some(echo)).then_some(self.first_ns)
        }
    }
}
