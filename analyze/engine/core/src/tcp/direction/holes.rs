//! Stretches of a stream that were passed over: not seen at the capture point although later bytes were.

use std::collections::VecDeque;

/// What the capture knew of the moment a hole came to light.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    /// When.
    pub time_ns: i64,
    /// TSval of the segment beyond the hole (if it had one).
    pub tsval: Option<u32>,
    /// IP identification of that segment (0 if there was none).
    pub ip_id: u16,
    /// True if not a segment but an acknowledgement of unseen bytes exposed it.
    pub by_acknowledgement: bool,
}

/// One hole.
#[derive(Debug, Clone, Copy)]
pub struct Hole {
    /// First missing position.
    pub start: u64,
    /// First position after the hole.
    pub end: u64,
    /// How it came to light.
    pub exposure: Exposure,
}

/// All holes of a direction, ascending.
#[derive(Debug, Default)]
pub struct Holes {
    list: VecDeque<Hole>,
    /// Bytes of holes that had to be forgotten because there were too many.
    forgotten_bytes: u64,
}

const MOST_HOLES: usize = 4096;

impl Holes {
    /// Adds a hole above all others.
    pub fn push(&mut self, hole: Hole) {
        if self.list.len() >= MOST_HOLES {
            let old = self.list.pop_front();
            self.forgotten_bytes += old.map_or(0, |old| old.end - old.start);
        }
        self.list.push_back(hole);
    }

    /// Bytes that are missing right below `position`, without a byte between that is there.
    pub fn missing_right_below(&self, position: u64) -> u64 {
        let before = self.list.partition_point(|hole| hole.start < position);
        let mut start = position;
        for hole in self.list.range(..before).rev() {
            if hole.end < start {
                break;
            }
            start = hole.start;
        }
        position - start
    }

    /// Bytes of `start..end` that are missing, and how the first of them came to light.
    pub fn missing(&self, start: u64, end: u64) -> (u64, Option<Exposure>) {
        let first = self.list.partition_point(|hole| hole.end <= start);
        let mut bytes = 0;
        let mut exposure = None;
        for hole in self.list.range(first..).take_while(|hole| hole.start < end) {
            bytes += hole.end.min(end) - hole.start.max(start);
            exposure.get_or_insert(hole.exposure);
        }
        (bytes, exposure)
    }

    /// The first missing position from `position` on.
    pub fn next(&self, position: u64) -> Option<u64> {
        let first = self.list.partition_point(|hole| hole.end <= position);
        self.list.get(first).map(|hole| hole.start.max(position))
    }

    /// Takes `start..end` out of the holes; calls `filled` for each part that was missing.
    pub fn fill(&mut self, start: u64, end: u64, mut filled: impl FnMut(u64, u64)) {
        let mut index = self.list.partition_point(|hole| hole.end <= start);
        while let Some(&hole) = self.list.get(index)
            && hole.start < end
        {
            filled(hole.start.max(start), hole.end.min(end));
            let before = Hole { end: start, ..hole };
            let after = Hole { start: end, ..hole };
            match (before.start < before.end, after.start < after.end) {
                (true, true) => {
                    self.list[index] = before;
                    self.list.insert(index + 1, after);
                    return;
                }
                (true, false) => {
                    self.list[index] = before;
                    index += 1;
                }
                (false, true) => {
                    self.list[index] = after;
                    return;
                }
                (false, false) => {
                    self.list.remove(index);
                }
            }
        }
    }

    /// Some had to be forgotten.
    pub fn have_forgotten(&self) -> bool {
        self.forgotten_bytes > 0
    }

    /// The first of them.
    pub fn first(&self) -> Option<&Hole> {
        self.list.front()
    }

    /// Bytes below `position` that were never seen.
    pub fn bytes_below(&self, position: u64) -> u64 {
        self.forgotten_bytes
            + self
                .list
                .iter()
                .take_while(|hole| hole.start < position)
                .map(|hole| hole.end.min(position) - hole.start)
                .sum::<u64>()
    }

    /// The end of the last hole that lies wholly below `position` and came to light before `time_ns`.
    pub fn last_end_below(&self, position: u64, time_ns: i64) -> Option<u64> {
        self.list.iter().rev().find(|hole| hole.end <= position && hole.exposure.time_ns < time_ns).map(|hole| hole.end)
    }

    /// Start and end of the last one, if it came to light at that time.
    pub fn exposed_at(&self, time_ns: i64) -> Option<[u64; 2]> {
        self.list.back().filter(|hole| hole.exposure.time_ns == time_ns).map(|hole| [hole.start, hole.end])
    }

    /// True if any of them ends behind `position`.
    pub fn reach_beyond(&self, position: u64) -> bool {
        self.list.back().is_some_and(|hole| hole.end > position)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXPOSURE: Exposure = Exposure { time_ns: 0, tsval: None, ip_id: 0, by_acknowledgement: false };

    #[test]
    fn of_too_many_the_oldest_are_forgotten_but_for_their_bytes() {
        let mut holes = Holes::default();
        let number = MOST_HOLES as u64 + 3;
        (0..number).for_each(|at| holes.push(Hole { start: 10 * at, end: 10 * at + 2, exposure: EXPOSURE }));
        assert_eq!(holes.list.len(), MOST_HOLES);
        assert_eq!([holes.next(0), holes.next(30)], [Some(30), Some(30)]);
        assert_eq!(holes.missing(0, 10 * number).0, 2 * MOST_HOLES as u64);
        assert_eq!(holes.bytes_below(10 * number), 2 * number);
    }

    proptest! {
        #[test]
        fn filling_agrees_with_single_positions(lengths in proptest::collection::vec((1u64..10, 1u64..10), 1..10), fills in proptest::collection::vec((0u64..150, 1u64..40), 0..20)) {
            let mut holes = Holes::default();
            let mut model = std::collections::BTreeSet::new();
            let mut position = 0;
            for (gap, length) in lengths {
                position += gap;
                holes.push(Hole { start: position, end: position + length, exposure: EXPOSURE });
                model.extend(position..position + length);
                position += length;
            }
            for (start, length) in fills {
                let expected = model.range(start..start + length).count() as u64;
                prop_assert_eq!(holes.missing(start, start + length).0, expected);
                let mut filled = 0;
                holes.fill(start, start + length, |from, to| filled += to - from);
                prop_assert_eq!(filled, expected);
                model.retain(|at| !(start..start + length).contains(at));
                prop_assert_eq!(holes.bytes_below(u64::MAX), model.len() as u64);
            }
        }
    }
}
