//! A set of disjoint half-open ranges of stream positions, sorted: the SACK scoreboard (RFC 2018, RFC 6675).

/// Ranges `start..end`, ascending, disjoint, not touching.
#[derive(Debug, Default, Clone)]
pub struct RangeSet {
    ranges: Vec<(u64, u64)>,
    total: u64,
    has_forgotten: bool,
}

/// More ranges than this are taken for nonsense: the oldest are forgotten.
const MOST_RANGES: usize = 4096;

impl RangeSet {
    /// Bytes in the set.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// True if nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Highest position in the set, exclusive.
    pub fn highest(&self) -> Option<u64> {
        self.ranges.last().map(|&(_, end)| end)
    }

    /// True if all of `start..end` is in the set.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        let index = self.ranges.partition_point(|&(_, range_end)| range_end < end);
        self.ranges.get(index).is_some_and(|&(range_start, range_end)| range_start <= start && end <= range_end)
    }

    /// Bytes of `start..end` that are in the set.
    pub fn total_within(&self, start: u64, end: u64) -> u64 {
        let index = self.ranges.partition_point(|&(_, range_end)| range_end <= start);
        let reached = self.ranges[index..].iter().take_while(|&&(range_start, _)| range_start < end);
        reached.map(|&(range_start, range_end)| range_end.min(end) - range_start.max(start)).sum()
    }

    /// How many ranges there are.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Adds `start..end`; calls `added` for each part that was not in the set before, ascending.
    pub fn insert(&mut self, start: u64, end: u64, mut added: impl FnMut(u64, u64)) {
        if start >= end || self.extends_last(start, end, &mut added) {
            return;
        }
        let first = self.ranges.partition_point(|&(_, range_end)| range_end < start);
        let mut last = first;
        let (mut merged_start, mut merged_end, mut position) = (start, end, start);
        while let Some(&(range_start, range_end)) = self.ranges.get(last)
            && range_start <= end
        {
            if position < range_start {
                added(position, range_start);
                self.total += range_start - position;
            }
            position = position.max(range_end);
            merged_start = merged_start.min(range_start);
            merged_end = merged_end.max(range_end);
            last += 1;
        }
        if position < end {
            added(position, end);
            self.total += end - position;
        }
        if last == first + 1 {
            self.ranges[first] = (merged_start, merged_end);
        } else {
            self.ranges.splice(first..last, [(merged_start, merged_end)]);
        }
        if self.ranges.len() > MOST_RANGES {
            let (start, end) = self.ranges.remove(0);
            self.total -= end - start;
            self.has_forgotten = true;
        }
    }

    /// There were too many: some were forgotten.
    pub fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// Adds what begins within the last range, or right behind it; false if it begins elsewhere. Most reports do.
    #[inline]
    fn extends_last(&mut self, start: u64, end: u64, added: &mut impl FnMut(u64, u64)) -> bool {
        let Some((last_start, last_end)) = self.ranges.last_mut() else { return false };
        if !(*last_start..=*last_end).contains(&start) {
            return false;
        }
        if *last_end < end {
            added(*last_end, end);
            self.total += end - *last_end;
            *last_end = end;
        }
        true
    }

    /// Forgets everything below `position`.
    pub fn remove_below(&mut self, position: u64) {
        let whole = self.ranges.partition_point(|&(_, end)| end <= position);
        for (start, end) in self.ranges.drain(..whole) {
            self.total -= end - start;
        }
        if let Some((start, _)) = self.ranges.first_mut()
            && *start < position
        {
            self.total -= position - *start;
            *start = position;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_set_agrees_with_single_positions(inserts in proptest::collection::vec((0u64..60, 1u64..20), 1..20), cut in 0u64..40) {
            let mut set = RangeSet::default();
            let mut model = std::collections::BTreeSet::new();
            for (start, length) in inserts {
                let mut new = Vec::new();
                set.insert(start, start + length, |from, to| new.extend(from..to));
                let expected: Vec<u64> = (start..start + length).filter(|position| model.insert(*position)).collect();
                prop_assert_eq!(new, expected);
            }
            prop_assert_eq!(set.total(), model.len() as u64);
            set.remove_below(cut);
            model.retain(|position| *position >= cut);
            prop_assert_eq!(set.total(), model.len() as u64);
            prop_assert_eq!(set.highest(), model.last().map(|last| last + 1));
            for position in 0..80 {
                prop_assert_eq!(set.contains(position, position + 1), model.contains(&position));
                let within = model.range(position..position + 3).count() as u64;
                prop_assert_eq!(set.total_within(position, position + 3), within);
            }
        }
    }
}
