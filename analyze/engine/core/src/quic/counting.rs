//! How a stack counts its packets: in each space from 0 on (RFC 9000 section 12.3), or over all spaces, as some do.
//!
//! Who counts over all spaces uses no number twice. A number is missing then if no space has it, and is missing once.

use crate::quic::numbers::{HANDSHAKE, INITIAL, ONE_RTT, QuicNumbers};

/// Packets of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Numbers used, seen or not.
    pub sent: u64,
    /// Seen at the capture point, copies left out.
    pub seen: u64,
    /// Never seen and never acknowledged.
    pub lost_before: u64,
    /// Of them those with a short header.
    pub lost_before_one_rtt: u64,
    /// Seen, and not acknowledged although later ones were.
    pub lost_behind: u64,
    /// Never seen, and acknowledged all the same.
    pub missed_by_capture: u64,
}

/// Of one direction, which of the first 64 numbers were seen in each space: a bit each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counting {
    seen: [u64; 3],
}

impl Counting {
    /// A packet with a number came.
    pub(super) fn seen(&mut self, space: usize, number: u64) {
        if number < u64::from(u64::BITS) {
            self.seen[space] |= 1 << number;
        }
    }

    /// No number was seen in two spaces, and each space began behind the one before.
    fn is_over_all_spaces(&self) -> bool {
        let used: Vec<u64> = self.seen.into_iter().filter(|&bits| bits != 0).collect();
        let apart = |pair: &[u64]| pair[0].trailing_zeros() < pair[1].trailing_zeros();
        let together = used.iter().fold(0, |bits, space| bits | space);
        let numbers: u32 = used.iter().map(|bits| bits.count_ones()).sum();
        used.len() > 1 && numbers == together.count_ones() && used.windows(2).all(apart)
    }

    /// Packets of the direction, by the numbers of its spaces.
    pub(super) fn packets(&self, spaces: &[QuicNumbers; 3]) -> PacketCounts {
        let sum = |count: fn(&QuicNumbers) -> u64| spaces.iter().map(count).sum::<u64>();
        let (missing, of_one_rtt) = (sum(QuicNumbers::lost_before), spaces[ONE_RTT].lost_before());
        let (twice, twice_one_rtt) = if self.is_over_all_spaces() { self.counted_twice(spaces) } else { (0, 0) };
        PacketCounts {
            sent: sum(QuicNumbers::sent_packets) - twice,
            seen: sum(|space| space.seen),
            lost_before: missing - twice,
            lost_before_one_rtt: of_one_rtt - twice_one_rtt,
            lost_behind: sum(QuicNumbers::lost_behind),
            missed_by_capture: sum(|space| space.missed_by_capture),
        }
    }

    /// Missing numbers that are counted beyond once each: in all spaces, and in that of application data.
    fn counted_twice(&self, spaces: &[QuicNumbers; 3]) -> (u64, u64) {
        let early = spaces.each_ref().map(QuicNumbers::early);
        // Missing where it could have been: in every space that went on beyond it.
        let is_missing = early.iter().fold(u64::MAX, |bits, (used, missing)| bits & (missing | !used));
        let is_used = early.iter().fold(0, |bits, (used, _)| bits | used);
        let once = is_missing & is_used;
        // Below the last number of the handshake it was the handshake's.
        let of_one_rtt = once & !(early[INITIAL].0 | early[HANDSHAKE].0);
        let counted: u32 = early.iter().map(|(_, missing)| missing.count_ones()).sum();
        let beyond = |counted: u32, bits: u64| u64::from(counted.saturating_sub(bits.count_ones()));
        (beyond(counted, once), beyond(early[ONE_RTT].1.count_ones(), of_one_rtt))
    }
}
