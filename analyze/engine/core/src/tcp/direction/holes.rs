//! Stretches of a stream that were passed over: not seen at the capture point although later bytes were.

use std::collections::BTreeMap;

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

/// All holes of a direction. A tree, since they are filled in any order.
#[derive(Debug, Clone, Default)]
pub struct Holes {
    by_start: BTreeMap<u64, Hole>,
    /// Bytes of holes that had to be forgotten because there were too many.
    forgotten_bytes: u64,
}

const MOST_HOLES: usize = 4096;

impl Holes {
    /// Adds a hole above all others.
    pub fn push(&mut self, hole: Hole) {
        if self.by_start.len() >= MOST_HOLES {
            let old = self.by_start.pop_first();
            self.forgotten_bytes += old.map_or(0, |(_, old)| old.end - old.start);
        }
        self.by_start.insert(hole.start, hole);
    }

    /// Bytes that are missing right below `position`, without a byte between that is there.
    pub fn missing_right_below(&self, position: u64) -> u64 {
        let mut start = position;
        for hole in self.by_start.range(..position).rev().map(|(_, hole)| hole) {
            if hole.end < start {
                break;
            }
            start = hole.start;
        }
        position - start
    }

    /// Bytes of `start..end` that are missing, and how the first of them came to light.
    pub fn missing(&self, start: u64, end: u64) -> (u64, Option<Exposure>) {
        let (mut bytes, mut exposure) = (0, None);
        if self.is_empty() {
            return (bytes, exposure);
        }
        for hole in self.ending_above(start).take_while(|hole| hole.start < end) {
            bytes += hole.end.min(end) - hole.start.max(start);
            exposure.get_or_insert(hole.exposure);
        }
        (bytes, exposure)
    }

    /// The first missing position from `position` on.
    pub fn next(&self, position: u64) -> Option<u64> {
        self.ending_above(position).next().map(|hole| hole.start.max(position))
    }

    /// Those with bytes at or above `position`, ascending.
    fn ending_above(&self, position: u64) -> impl Iterator<Item = &Hole> {
        let over = self.by_start.range(..position).next_back().into_iter();
        over.chain(self.by_start.range(position..)).map(|(_, hole)| hole).filter(move |hole| hole.end > position)
    }

    /// Takes `start..end` out of the holes; calls `filled` for each part that was missing.
    pub fn fill(&mut self, start: u64, end: u64, mut filled: impl FnMut(u64, u64)) {
        loop {
            let next = self.ending_above(start).next().copied();
            let Some(hole) = next.filter(|hole| hole.start < end) else { return };
            filled(hole.start.max(start), hole.end.min(end));
            self.by_start.remove(&hole.start);
            if hole.start < start {
                self.by_start.insert(hole.start, Hole { end: start, ..hole });
            }
            if end < hole.end {
                self.by_start.insert(end, Hole { start: end, ..hole });
                return;
            }
        }
    }

    /// Some had to be forgotten.
    pub fn have_forgotten(&self) -> bool {
        self.forgotten_bytes > 0
    }

    /// The first of them.
    pub fn first(&self) -> Option<&Hole> {
        self.by_start.values().next()
    }

    /// Bytes below `position` that were never seen.
    pub fn bytes_below(&self, position: u64) -> u64 {
        self.forgotten_bytes
            + self
                .by_start
                .values()
                .take_while(|hole| hole.start < position)
                .map(|hole| hole.end.min(position) - hole.start)
                .sum::<u64>()
    }

    /// The end of the last hole that lies wholly below `position` and came to light before `time_ns`.
    pub fn last_end_below(&self, position: u64, time_ns: i64) -> Option<u64> {
        self.by_start
            .values()
            .rev()
            .find(|hole| hole.end <= position && hole.exposure.time_ns < time_ns)
            .map(|hole| hole.end)
    }

    /// Start and end of the last one, if it came to light at that time.
    pub fn exposed_at(&self, time_ns: i64) -> Option<[u64; 2]> {
        let last = self.by_start.values().next_back();
        last.filter(|hole| hole.exposure.time_ns == time_ns).map(|hole| [hole.start, hole.end])
    }

    /// True if any of them ends behind `position`.
    pub fn reach_beyond(&self, position: u64) -> bool {
        self.by_start.values().next_back().is_some_and(|hole| hole.end > position)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
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
        assert_eq!(holes.by_start.len(), MOST_HOLES);
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
