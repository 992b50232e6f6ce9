//! Frames that were captured twice: the same packet again, within milliseconds (methods, section 6.0 rule 3).
//!
//! A retransmission is a new IP packet: it has a new identification, or at least a new timestamp. What repeats all of
//! identification, sequence, acknowledgement, length, flags, timestamp and checksum is the same packet, copied by the
//! network or seen twice by the capture (mirrored ports, both sides of a router, two interfaces). TTL and link header
//! may differ, and so may the checksum across a router that translates addresses, so it counts only where there is no
//! identification.

use crate::packet::{Packet, option_bits};

/// A copy comes within this time.
pub const LONGEST_DISTANCE_NS: i64 = 5_000_000;
/// A copy from the other side of a router, known by its identification and another TTL, waits in the router's queue.
pub const LONGEST_ACROSS_ROUTER_NS: i64 = 50_000_000;
const REMEMBERED: usize = 16;

/// The last packets of one direction, by what makes them that packet.
#[derive(Debug, Default, Clone)]
pub struct RecentPackets {
    entries: [(u32, u32); REMEMBERED],
    next: u8,
}

/// What makes a packet that packet, in 32 bits: its identification (the checksum where it has none) and the rest folded.
#[inline]
pub fn signature(packet: &Packet, bytes: &[u8]) -> u32 {
    let identity = if packet.ip_id != 0 { packet.ip_id } else { packet.checksum };
    let tsval = if packet.options & option_bits::TIMESTAMPS != 0 { packet.tsval } else { 0 };
    let mut mixed = packet.sequence
        ^ packet.acknowledgement.rotate_left(7)
        ^ tsval.rotate_left(13)
        ^ packet.payload_length
        ^ u32::from(packet.window).rotate_left(9)
        ^ u32::from(packet.flags).rotate_left(24);
    if packet.options & option_bits::OTHERS != 0 {
        mixed ^= options_digest(packet, bytes);
    }
    u32::from(identity) << 16 | ((mixed ^ mixed >> 16) & 0xffff)
}

/// Acknowledgements that differ only in what they report (SACK, RFC 2018) are different packets, and neither a constant
/// identification nor a checksum that is left to the network card tells them apart.
#[cold]
fn options_digest(packet: &Packet, bytes: &[u8]) -> u32 {
    let options = bytes.get(packet.options_offset as usize..).unwrap_or_default();
    let options = options.get(..usize::from(packet.options_captured)).unwrap_or_default();
    options.iter().fold(0, |digest: u32, &byte| (digest.rotate_left(5) ^ u32::from(byte)).wrapping_mul(0x9e37_79b9))
}

#[inline]
fn microseconds(time_ns: i64) -> u32 {
    (time_ns / 1000) as u32
}

impl RecentPackets {
    /// Remembers a packet.
    #[inline]
    pub fn remember(&mut self, signature: u32, time_ns: i64) {
        self.entries[usize::from(self.next) % REMEMBERED] = (signature, microseconds(time_ns));
        self.next = (self.next + 1) % REMEMBERED as u8;
    }

    /// How long ago the same packet was seen, nanoseconds (to the microsecond); none if it was not within `longest_ns`.
    pub fn age_ns(&self, signature: u32, time_ns: i64, longest_ns: i64) -> Option<i64> {
        let now = microseconds(time_ns);
        self.entries
            .iter()
            .filter(|entry| entry.0 == signature)
            .map(|entry| i64::from(now.wrapping_sub(entry.1) as i32) * 1000)
            .find(|age| age.abs() <= longest_ns)
            .map(i64::abs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ip_id: u16) -> Packet {
        Packet { ip_id, sequence: 5, payload_length: 100, ..Packet::default() }
    }

    #[test]
    fn the_same_packet_soon_after_is_found() {
        let mut recent = RecentPackets::default();
        recent.remember(signature(&packet(7), &[]), 1_000_000);
        assert_eq!(recent.age_ns(signature(&packet(7), &[]), 3_000_000, LONGEST_DISTANCE_NS), Some(2_000_000));
    }

    #[test]
    fn other_reports_make_another_packet() {
        let report = Packet { options: option_bits::OTHERS, options_offset: 1, options_captured: 2, ..packet(7) };
        assert_ne!(signature(&report, &[0, 1, 2]), signature(&report, &[0, 1, 3]));
        assert_eq!(signature(&report, &[0, 1, 2]), signature(&report, &[9, 1, 2]));
    }

    #[test]
    fn another_identification_or_a_later_time_is_another_packet() {
        let mut recent = RecentPackets::default();
        recent.remember(signature(&packet(7), &[]), 1_000_000);
        assert_eq!(recent.age_ns(signature(&packet(8), &[]), 2_000_000, LONGEST_DISTANCE_NS), None);
        assert_eq!(recent.age_ns(signature(&packet(7), &[]), 8_000_000, LONGEST_DISTANCE_NS), None);
    }
}
