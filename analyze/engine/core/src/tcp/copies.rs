//! Packets that the capture shows twice: which of those that look alike are one, and not sent again (methods, section 6.0
//! rule 3).
//!
//! [`super::duplicates`] finds what was seen with the same headers; here is decided whether the sender can have sent it again.

use super::arrival::FASTEST_ANSWER;
use super::connection::Connection;
use super::duplicates::{LONGEST_DISTANCE_NS, LONGEST_NUMBERED_NS};
use super::half::{Live, half_and_peer};
use super::sequence::unwrap;
use crate::packet::{Packet, option_bits, tcp_flags};

impl Connection {
    /// The same packet within milliseconds, or a part of it. Only what tells nothing new is compared.
    #[inline]
    pub(super) fn is_copy(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> bool {
        let [half, peer] = half_and_peer(&mut self.halves, side);
        let nothing_new = if packet.sequence_length() > 0 {
            unwrap(half.max, packet.sequence) < half.max
        } else {
            !peer.begun || unwrap(peer.una, packet.acknowledgement) <= peer.una
        };
        let copy = nothing_new && self.was_captured_before(packet, bytes, side);
        if copy {
            self.count_copy(packet, side);
        } else {
            self.halves[side].live().recent.remember(packet, bytes);
        }
        copy
    }

    #[inline(never)]
    fn was_captured_before(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> bool {
        let half = &self.halves[side];
        let Some(live) = half.live.as_deref() else { return false };
        let numbered = packet.ip_id != 0 && (packet.ttl != half.ttl || live.identifications.looks_rising());
        let longest_ns = if numbered { LONGEST_NUMBERED_NS } else { LONGEST_DISTANCE_NS };
        let start = unwrap(half.max, packet.sequence);
        let again = Again {
            packet,
            live,
            start,
            handshake_rtt_ns: self.handshake_rtt_ns,
            // Most use SACK, and then an acknowledgement like the last is none for another segment (RFC 2018).
            sack: self.sack || !self.offers_are_known(),
        };
        if live.recent.age_ns(packet, bytes, longest_ns).is_some_and(|age_ns| again.is_copy_of_same(age_ns)) {
            return true;
        }
        let all_seen = packet.payload_length > 0 && start + u64::from(packet.payload_length) <= half.max;
        let parts = || live.recent.age_of_whole_or_parts_ns(packet, bytes, longest_ns, half.full_segments(packet));
        all_seen && parts().is_some_and(|age_ns| again.is_copy_of_parts(age_ns))
    }

    #[cold]
    fn count_copy(&mut self, packet: &Packet, side: usize) {
        let half = &mut self.halves[side];
        half.loss.capture_duplicates += 1;
        if packet.payload_length > 0 {
            let start = unwrap(half.max, packet.sequence);
            let (segments, _) = half.wire_segments_of(packet);
            half.live().retransmissions.push_duplicate(start, start + u64::from(packet.payload_length), segments);
        }
    }
}

/// A packet that looks like one seen before, `age_ns` ago.
struct Again<'a> {
    packet: &'a Packet,
    live: &'a Live,
    /// Position of its first byte.
    start: u64,
    handshake_rtt_ns: Option<i64>,
    /// Both sides use SACK.
    sack: bool,
}

impl Again<'_> {
    /// All of it is the same.
    fn is_copy_of_same(&self, age_ns: i64) -> bool {
        match self.packet {
            Packet { ip_id: 1.., .. } => true,
            Packet { payload_length: 1.., .. } => self.no_loss_shown_since(age_ns) || self.comes_before_answers(age_ns),
            packet => self.sack || packet.has(tcp_flags::FIN),
        }
    }

    /// It is a part of what was seen, or has that as a part.
    fn is_copy_of_parts(&self, age_ns: i64) -> bool {
        let sent_once = self.live.segments.sent_once_ns(self.start) == Some(self.packet.time_ns - age_ns);
        self.packet.ip_id != 0
            || (sent_once && self.no_loss_shown_since(age_ns))
            || ((sent_once || self.is_like_last_repeat()) && self.comes_before_answers(age_ns))
    }

    /// Without identifications, a repeat that loss explains is a retransmission.
    fn no_loss_shown_since(&self, age_ns: i64) -> bool {
        self.live.last_loss_sign_ns.is_none_or(|sign_ns| sign_ns < self.packet.time_ns - age_ns)
    }

    /// No answer to what was sent then can have come that would have it sent again.
    fn comes_before_answers(&self, age_ns: i64) -> bool {
        let smoothed_ns = || self.live.round_trips.srtt_ns().unwrap_or(0.0);
        let round_trip_ns = self.handshake_rtt_ns.map_or_else(smoothed_ns, |rtt_ns| rtt_ns as f64);
        (age_ns as f64) < FASTEST_ANSWER * round_trip_ns
            && self.live.segments.last_sent_ns(self.start) == Some(self.packet.time_ns - age_ns)
    }

    /// Since the last time it was sent again the sender has heard nothing.
    fn is_like_last_repeat(&self) -> bool {
        let &Packet { tsval, tsecr, options, .. } = self.packet;
        options & option_bits::TIMESTAMPS != 0
            && self.live.retransmissions.has_timestamps_of_last(self.start, tsval, tsecr)
    }
}
