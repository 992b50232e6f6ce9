//! Frames that were captured twice: the same packet again, within milliseconds (docs/methods.md, section 2 rule 3).
//!
//! A retransmission is a new IP packet: it has a new identification, or at least a new timestamp. What repeats all of
//! identification, sequence, acknowledgement, length, flags, timestamp and checksum is the same packet, copied by the
//! network or seen twice by the capture (mirrored ports, both sides of a router, two interfaces). TTL and link header
//! may differ, and so may the checksum across a router that translates addresses, so it counts only where there is no
//! identification.
//!
//! Between two interfaces a frame of many segments may be cut, or segments joined. Each segment then has the
//! identification that the sender counts for it, and everything else of the frame.
//!
//! Rule: docs/methods.md, "Seen twice".

use crate::decode::hash::GOLDEN;
use crate::packet::{Packet, option_bits};
use crate::tcp::capture::frame_sizes::{ETHERNET_PAYLOAD, FullSegments};
use crate::tcp::kernel::{FLAGS_OF_ONE, LONGEST_WITHOUT_NUMBERS_NS};

const REMEMBERED: usize = 16;

/// What makes a packet that packet, and when it passed. In the order of [`Packet`], so that neighbours are copied together.
#[derive(Debug, Default, Clone, Copy)]
struct RecentPacket {
    time_ns: i64,
    sequence: u32,
    acknowledgement: u32,
    /// TSval and whatever else the options say.
    options: u32,
    payload_length: u32,
    window: u16,
    ip_id: u16,
    checksum: u16,
    flags: u16,
}

impl RecentPacket {
    #[inline(always)]
    fn of(packet: &Packet, bytes: &[u8]) -> Self {
        let mut passed = Self::without_digest(packet);
        passed.add_digest(packet, bytes);
        passed
    }

    #[inline(always)]
    fn without_digest(packet: &Packet) -> Self {
        Self {
            time_ns: packet.time_ns,
            sequence: packet.sequence,
            acknowledgement: packet.acknowledgement,
            options: packet.tsval,
            payload_length: packet.payload_length,
            window: packet.window,
            ip_id: packet.ip_id,
            checksum: packet.checksum,
            flags: packet.flags,
        }
    }

    #[inline(always)]
    fn add_digest(&mut self, packet: &Packet, bytes: &[u8]) {
        if packet.options & option_bits::OTHERS != 0 {
            self.options ^= options_digest(packet, bytes);
        }
    }

    fn is_same_packet(&self, other: &Self) -> bool {
        // First what most often differs.
        self.ip_id == other.ip_id
            && self.sequence == other.sequence
            && self.acknowledgement == other.acknowledgement
            // Routers that translate addresses change the checksum: it counts only where there is no identification.
            && (self.ip_id != 0 || self.checksum == other.checksum)
            && self.payload_length == other.payload_length
            && self.options == other.options
            && self.window == other.window
            && self.flags == other.flags
    }

    /// One of the segments that `frame` was cut into, or some of them. Where there are no identifications, that may be all of
    /// it: the checksum of a frame is often left to a later card.
    fn is_cut_from(&self, frame: &Self, full: FullSegments) -> bool {
        let offset = self.sequence.wrapping_sub(frame.sequence);
        let Some(behind) = frame.payload_length.checked_sub(self.payload_length) else { return false };
        let numbered = frame.ip_id != 0 || self.ip_id != 0;
        let same_headers = self.acknowledgement == frame.acknowledgement
            && self.window == frame.window
            && self.options == frame.options
            && (self.flags ^ frame.flags) & !FLAGS_OF_ONE == 0;
        if self.payload_length == 0 || (behind == 0 && numbered) || offset > behind || !same_headers {
            return false;
        }
        let number = match numbered {
            true => u32::from(self.ip_id.wrapping_sub(frame.ip_id)),
            false => offset / u32::from(full.bytes.max(1)),
        };
        let apart_ns = self.time_ns.saturating_sub(frame.time_ns).saturating_abs();
        // All segments but the last are full. Of the first alone the size may not be known yet.
        let is_first = number == 0 && offset == 0 && !full.is_proven && frame.payload_length > ETHERNET_PAYLOAD;
        let is_whole = |size: u32| offset == behind || self.payload_length.is_multiple_of(size);
        (full.of_frame(number, offset).is_some_and(is_whole) || is_first)
            && (numbered || apart_ns <= LONGEST_WITHOUT_NUMBERS_NS)
    }

    /// `self` was joined of several, of which `first` is the first.
    fn is_joined_of(&self, first: &Self, full: FullSegments) -> bool {
        first.sequence == self.sequence && first.is_cut_from(self, full)
    }
}

/// The last packets of one direction.
#[derive(Debug, Default, Clone)]
pub struct RecentPackets {
    entries: [RecentPacket; REMEMBERED],
    next: u8,
}

/// Acknowledgements that differ only in what they report (SACK, RFC 2018) are different packets, and neither a constant
/// identification nor a checksum that is left to the network card tells them apart.
#[cold]
fn options_digest(packet: &Packet, bytes: &[u8]) -> u32 {
    let options = bytes.get(packet.options_offset as usize..).unwrap_or_default();
    let options = options.get(..usize::from(packet.options_captured)).unwrap_or_default();
    let mix = |digest: u32, word: u32| (digest.rotate_left(5) ^ word).wrapping_mul((GOLDEN >> 32) as u32);
    // The area is a multiple of four bytes long, if it was captured whole.
    let (words, rest) = options.as_chunks::<4>();
    let digest = words.iter().fold(0, |digest, word| mix(digest, u32::from_le_bytes(*word)));
    rest.iter().fold(digest, |digest, &byte| mix(digest, u32::from(byte)))
}

impl RecentPackets {
    /// Remembers a packet.
    #[inline(always)]
    pub fn remember(&mut self, packet: &Packet, bytes: &[u8]) {
        let entry = self.next_entry();
        // In this order neighbours are copied together, straight from one place to the other.
        *entry = RecentPacket::without_digest(packet);
        entry.add_digest(packet, bytes);
    }

    /// Remembers a packet that is none of those remembered. False if it is one of them; then nothing has changed.
    #[inline(never)]
    pub fn remember_another(&mut self, packet: &Packet, bytes: &[u8]) -> bool {
        let passing = RecentPacket::of(packet, bytes);
        let is_another = !self.entries.iter().any(|entry| entry.is_same_packet(&passing));
        if is_another {
            *self.next_entry() = passing;
        }
        is_another
    }

    /// When the newest of them passed; none if there is none.
    pub fn newest_ns(&self) -> Option<i64> {
        self.entries.iter().map(|entry| entry.time_ns).max().filter(|time_ns| *time_ns > 0)
    }

    /// The place of the oldest, which the next one takes.
    #[inline(always)]
    fn next_entry(&mut self) -> &mut RecentPacket {
        let index = usize::from(self.next) % REMEMBERED;
        self.next = (self.next + 1) % REMEMBERED as u8;
        &mut self.entries[index]
    }

    /// How long ago the same packet was seen, nanoseconds; none if it was not within `longest_ns`.
    pub fn age_ns(&self, packet: &Packet, bytes: &[u8], longest_ns: i64) -> Option<i64> {
        self.youngest(packet, bytes, longest_ns, RecentPacket::is_same_packet)
    }

    /// The same for a packet that was part of a larger one then, or of which several were parts.
    pub fn age_of_whole_or_parts_ns(
        &self,
        packet: &Packet,
        bytes: &[u8],
        longest_ns: i64,
        full: FullSegments,
    ) -> Option<i64> {
        self.youngest(packet, bytes, longest_ns, |entry, passing| {
            passing.is_cut_from(entry, full) || passing.is_joined_of(entry, full)
        })
    }

    /// Another packet has the same identification: it tells none from the other.
    pub fn shares_number(&self, packet: &Packet) -> bool {
        let is_other = |entry: &RecentPacket| {
            let offset = packet.sequence.wrapping_sub(entry.sequence);
            let lies_apart = offset >= entry.payload_length && offset.wrapping_neg() >= packet.payload_length;
            let says_other = entry.acknowledgement != packet.acknowledgement || offset != 0;
            let is_empty = packet.payload_length == 0 && entry.payload_length == 0;
            lies_apart && (!is_empty || says_other)
        };
        self.entries.iter().any(|entry| entry.ip_id == packet.ip_id && is_other(entry))
    }

    /// Whether the packet is the head of a longer one.
    pub fn is_head_of_frame(&self, packet: &Packet) -> bool {
        let longer = |entry: &&RecentPacket| entry.payload_length > packet.payload_length;
        self.entries.iter().filter(longer).any(|entry| entry.sequence == packet.sequence)
    }

    fn youngest(
        &self,
        packet: &Packet,
        bytes: &[u8],
        longest_ns: i64,
        is_it: impl Fn(&RecentPacket, &RecentPacket) -> bool,
    ) -> Option<i64> {
        let passing = RecentPacket::of(packet, bytes);
        let same = self.entries.iter().filter(|entry| is_it(entry, &passing));
        same.map(|entry| packet.time_ns.saturating_sub(entry.time_ns).saturating_abs()).find(|age| *age <= longest_ns)
    }
}

/// What makes the last packet of a connection that packet, in 32 bits: with its ports and its time enough to know a copy.
pub fn signature(packet: &Packet, bytes: &[u8]) -> u32 {
    let passed = RecentPacket::of(packet, bytes);
    let mixed = passed.sequence
        ^ passed.acknowledgement.rotate_left(7)
        ^ passed.options.rotate_left(13)
        ^ passed.payload_length
        ^ u32::from(passed.window).rotate_left(9)
        ^ u32::from(passed.flags).rotate_left(24);
    let identity = if passed.ip_id != 0 { passed.ip_id } else { passed.checksum };
    u32::from(identity) << 16 | ((mixed ^ mixed >> 16) & 0xffff)
}

/// All that its sender says in a packet, in 64 bits. Its checksum counts only where nothing else tells repeats apart: captures beside
/// a sender show what is left to its network card.
pub fn identity(packet: &Packet, bytes: &[u8]) -> u64 {
    let passed = RecentPacket::of(packet, bytes);
    let tells_itself = passed.ip_id != 0 || packet.options & option_bits::TIMESTAMPS != 0;
    let words = [
        u64::from(passed.sequence) << 32 | u64::from(passed.acknowledgement),
        u64::from(passed.options) << 32 | u64::from(packet.tsecr),
        u64::from(passed.payload_length) << 32 | u64::from(passed.window) << 16 | u64::from(passed.flags),
        u64::from(passed.ip_id) << 16 | u64::from(if tells_itself { 0 } else { passed.checksum }),
    ];
    words.into_iter().fold(0, |mixed: u64, word| (mixed.rotate_left(23) ^ word).wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::kernel::LONGEST_DISTANCE_NS;

    fn packet(ip_id: u16, time_ns: i64) -> Packet {
        Packet { ip_id, time_ns, sequence: 5, payload_length: 100, ..Packet::default() }
    }

    #[test]
    fn the_same_packet_soon_after_is_found() {
        let mut recent = RecentPackets::default();
        recent.remember(&packet(7, 1_000_000), &[]);
        assert_eq!(recent.age_ns(&packet(7, 3_000_000), &[], LONGEST_DISTANCE_NS), Some(2_000_000));
    }

    #[test]
    fn other_reports_make_another_packet() {
        let reporting = |time_ns| Packet {
            options: option_bits::OTHERS,
            options_offset: 1,
            options_captured: 2,
            ..packet(7, time_ns)
        };
        let mut recent = RecentPackets::default();
        recent.remember(&reporting(1_000_000), &[0, 1, 2]);
        assert_eq!(recent.age_ns(&reporting(1_000_000), &[0, 1, 3], LONGEST_DISTANCE_NS), None);
        assert_eq!(recent.age_ns(&reporting(1_000_000), &[9, 1, 2], LONGEST_DISTANCE_NS), Some(0));
    }

    #[test]
    fn only_another_packet_is_remembered() {
        let mut recent = RecentPackets::default();
        assert!(recent.remember_another(&packet(7, 1_000_000), &[]));
        assert!(!recent.remember_another(&packet(7, 3_000_000), &[]));
        assert!(recent.remember_another(&packet(8, 3_000_000), &[]));
        let age_ns = |id| recent.age_ns(&packet(id, 4_000_000), &[], LONGEST_DISTANCE_NS);
        assert_eq!([7, 8, 9].map(age_ns), [Some(3_000_000), Some(1_000_000), None]);
    }

    #[test]
    fn another_identification_or_a_later_time_is_another_packet() {
        let mut recent = RecentPackets::default();
        recent.remember(&packet(7, 1_000_000), &[]);
        assert_eq!(recent.age_ns(&packet(8, 2_000_000), &[], LONGEST_DISTANCE_NS), None);
        assert_eq!(recent.age_ns(&packet(7, 8_000_000), &[], LONGEST_DISTANCE_NS), None);
    }
}
