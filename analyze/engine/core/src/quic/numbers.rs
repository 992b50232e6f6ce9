//! Packet numbers of one direction in one space: which were seen, which the peer acknowledged, and how long that took.
//!
//! A number that never came was lost before the capture point; if it was acknowledged all the same, the capture missed it.
//! One that came and is not acknowledged although [`REORDERING`] later ones are was lost behind the capture point.
//!
//! Rule: docs/methods.md, "Packet numbers of QUIC".

use std::collections::BTreeMap;

use crate::quic::frame::AckRanges;

/// Numbers later than one that is lost (RFC 9002 section 6.1.1).
const REORDERING: u64 = 3;

/// Packets that wait for their acknowledgement.
const MAX_OUTSTANDING: usize = 1 << 16;

/// Runs of missing numbers.
const MAX_HOLES: usize = 4096;

/// The spaces of packet numbers.
pub(super) const INITIAL: usize = 0;

/// See [`INITIAL`].
pub(super) const HANDSHAKE: usize = 1;

/// See [`INITIAL`].
pub(super) const ONE_RTT: usize = 2;

#[derive(Debug, Clone, Copy)]
struct SentNumber {
    time_ns: i64,
    elicits_ack: bool,
}

/// What an ACK frame tells of a round trip: when the packet was sent that it acknowledges first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) sent_ns: i64,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct QuicNumbers {
    pub(super) largest: Option<u64>,
    pub(super) seen: u64,
    /// First and last number of each run that was not seen.
    holes: BTreeMap<u64, u64>,
    missing: u64,
    outstanding: BTreeMap<u64, SentNumber>,
    largest_acknowledged: Option<u64>,
    /// Missing ones that were acknowledged.
    pub(super) missed_by_capture: u64,
    /// Given up before the end of the capture.
    lost_behind: u64,
}

impl QuicNumbers {
    /// A packet came; false if it came before.
    pub(super) fn sent(&mut self, number: u64, elicits_ack: bool, time_ns: i64) -> bool {
        let next = self.largest.map_or(0, |largest| largest.saturating_add(1));
        if number >= next {
            // A capture that begins later shows no first number.
            if number > next && (self.largest.is_some() || next == 0 && number < REORDERING * 8) {
                self.missing += number - next;
                self.holes.insert(next, number - 1);
                if self.holes.len() > MAX_HOLES {
                    self.holes.pop_first();
                }
            }
            self.largest = Some(number);
        } else if !self.fill(number, number) {
            return false;
        }
        self.seen += 1;
        self.outstanding.insert(number, SentNumber { time_ns, elicits_ack });
        while self.outstanding.len() > MAX_OUTSTANDING {
            let Some((number, sent)) = self.outstanding.pop_first() else { break };
            self.lost_behind += u64::from(self.is_lost(number, sent));
        }
        true
    }

    /// Of the first 64 numbers those that were used, seen or not, and those that are missing: a bit each.
    pub(super) fn early(&self) -> (u64, u64) {
        let used = self.largest.map_or(0, |largest| u64::MAX >> (63 - largest.min(63)));
        let holes = self.holes.range(..u64::from(u64::BITS));
        let missing = holes.flat_map(|(&first, &last)| first..=last.min(63)).fold(0, |bits, number| bits | 1 << number);
        (used, missing)
    }

    /// Takes numbers out of the holes; true if some were in them.
    fn fill(&mut self, smallest: u64, largest: u64) -> bool {
        let mut filled = 0;
        while let Some((&first, &last)) =
            self.holes.range(..=largest).next_back().filter(|(_, last)| **last >= smallest)
        {
            self.holes.remove(&first);
            if first < smallest {
                self.holes.insert(first, smallest - 1);
            }
            if last > largest {
                self.holes.insert(largest + 1, last);
            }
            filled += last.min(largest) - first.max(smallest) + 1;
        }
        self.missing -= filled.min(self.missing);
        filled > 0
    }

    /// The peer acknowledged these: the sample of a round trip, if the largest is newly acknowledged and a packet that asked for
    /// it is among the new ones (RFC 9002 section 5.1).
    pub(super) fn acknowledged(&mut self, ranges: &AckRanges<'_>) -> Option<Acknowledged> {
        // Nobody acknowledges what was not sent.
        if self.largest.is_none_or(|largest| ranges.largest > largest.saturating_add(REORDERING * 1024)) {
            return None;
        }
        let newest = self.outstanding.get(&ranges.largest).copied();
        let mut asked = false;
        for (smallest, largest) in ranges.each() {
            let missing = self.missing;
            self.fill(smallest, largest);
            self.missed_by_capture += missing - self.missing;
            while let Some((&number, sent)) = self.outstanding.range(smallest..=largest).next() {
                asked |= sent.elicits_ack;
                self.outstanding.remove(&number);
            }
        }
        self.largest_acknowledged = self.largest_acknowledged.max(Some(ranges.largest));
        newest.filter(|_| asked).map(|sent| Acknowledged { sent_ns: sent.time_ns })
    }

    fn is_lost(&self, number: u64, sent: SentNumber) -> bool {
        sent.elicits_ack && self.largest_acknowledged.is_some_and(|largest| number + REORDERING <= largest)
    }

    /// Numbers that were sent, as far as the capture shows.
    pub(super) fn sent_packets(&self) -> u64 {
        self.seen + self.missing + self.missed_by_capture
    }

    /// Numbers that never came and nobody acknowledged.
    pub(super) fn lost_before(&self) -> u64 {
        self.missing
    }

    /// Packets that came and were not acknowledged although later ones were.
    pub(super) fn lost_behind(&self) -> u64 {
        let lost = self.outstanding.iter().filter(|&(&number, &sent)| self.is_lost(number, sent));
        self.lost_behind + lost.count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::frame::{Frame, Frames};

    fn acknowledge(numbers: &mut QuicNumbers, frame: &[u8]) -> Option<Acknowledged> {
        let Some(Frame::Ack { ranges, .. }) = Frames::new(frame).next() else { unreachable!("the frame is an ACK") };
        numbers.acknowledged(&ranges)
    }

    #[test]
    fn lost_is_what_never_came_and_nobody_acknowledged() {
        let mut numbers = QuicNumbers::default();
        for number in [0, 1, 2, 5, 4, 8, 9, 10, 11] {
            assert!(numbers.sent(number, true, number as i64 * 10));
        }
        assert!(!numbers.sent(5, true, 0), "a copy");
        assert_eq!((numbers.lost_before(), numbers.sent_packets()), (3, 12));
        // 11 to 9, not 8; 7 to 4, which the capture missed in part; 2 to 0, not 3.
        let newest = acknowledge(&mut numbers, &[2, 11, 0, 2, 2, 0, 3, 0, 2]);
        assert_eq!(newest, Some(Acknowledged { sent_ns: 110 }));
        assert_eq!((numbers.lost_before(), numbers.missed_by_capture, numbers.lost_behind()), (1, 2, 1));
        assert_eq!(acknowledge(&mut numbers, &[2, 11, 0, 0, 0]), None, "nothing new");
    }

    #[test]
    fn the_first_numbers_are_bits() {
        let mut numbers = QuicNumbers::default();
        assert_eq!(numbers.early(), (0, 0));
        assert!([0, 1, 4].into_iter().all(|number| numbers.sent(number, true, 0)));
        assert_eq!(numbers.early(), (0b1_1111, 0b1100));
        assert!([62, 70].into_iter().all(|number| numbers.sent(number, true, 0)));
        assert_eq!(numbers.early(), (u64::MAX, !(1 << 62 | 0b1_0011)));
    }
}
