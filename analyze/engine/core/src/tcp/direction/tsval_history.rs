//! When the bytes of one direction were sent first, by the sender's clock, as far as that matters to copies that come late:
//! one entry for each step of its timestamps (RFC 7323), however many segments it sends between two.
//!
//! [`crate::tcp::direction::send_queue`] holds what is not acknowledged, and a little more; what it forgets comes here.

use std::collections::VecDeque;

use crate::tcp::events::segment::Segment;

/// Half a second of a clock of milliseconds.
const MOST: usize = 512;

/// A first transmission.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Position of its first byte.
    start: u64,
    /// When it passed.
    pub time_ns: i64,
    /// TSval.
    pub tsval: u32,
}

impl Stamp {
    /// That of a segment.
    pub fn of(segment: &Segment) -> Self {
        Self { start: segment.start, time_ns: segment.time_ns, tsval: segment.tsval }
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    list: VecDeque<Stamp>,
}

impl Stamps {
    /// Takes the next segments in the order of the stream.
    pub fn add(&mut self, segments: &[Segment]) {
        let Some(first) = segments.first() else { return };
        let mut last = self.list.back().map_or(!first.tsval, |stamp| stamp.tsval);
        for segment in segments {
            // What was retransmitted has another time, and another stamp.
            if segment.tsval != last && segment.state == 0 {
                last = segment.tsval;
                self.push(Stamp::of(segment));
            }
        }
    }

    #[inline(never)]
    fn push(&mut self, stamp: Stamp) {
        if self.list.len() == MOST {
            self.list.pop_front();
        }
        self.list.push_back(stamp);
    }

    /// The last one at or before `position`.
    pub fn before(&self, position: u64) -> Option<Stamp> {
        let behind = self.list.partition_point(|stamp| stamp.start <= position);
        self.list.get(behind.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, tsval: u32) -> Segment {
        Segment { start, length: 1000, time_ns: start as i64, frame: 0, tsval, segment_size: 1000, state: 0 }
    }

    #[test]
    fn each_byte_has_the_stamp_of_the_step_it_was_sent_in() {
        let mut stamps = Stamps::default();
        (0..6).for_each(|n| stamps.add(&[segment(5000 + n * 1000, 70 + n as u32 / 3)]));
        let found = [4999, 5000, 7999, 8000, 99_000].map(|position| stamps.before(position).map(|stamp| stamp.tsval));
        assert_eq!(found, [None, Some(70), Some(70), Some(71), Some(71)]);
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut stamps = Stamps::default();
        (0..10_000).for_each(|n| stamps.add(&[segment(n * 1000, n as u32)]));
        let oldest_kept = 10_000 - MOST as u64;
        assert_eq!(stamps.before(oldest_kept * 1000).map(|stamp| u64::from(stamp.tsval)), Some(oldest_kept));
        assert!(stamps.before(oldest_kept * 1000 - 1).is_none());
    }
}
