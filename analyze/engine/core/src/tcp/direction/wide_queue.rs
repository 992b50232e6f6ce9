//! What [`crate::tcp::direction::send_queue`] holds where much is outstanding, and is seen or reported in any order: a tree. In a list
//! each record that is put in place, or cut, moves all behind it, which grows with the square of what is outstanding.
//!
//! What is done with stays a list, [`Wide::done`]. `widening` makes one of a queue, and a queue of one.

use std::collections::BTreeMap;

use crate::tcp::events::segment::Segment;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Wide {
    /// Done with, the latest.
    pub(super) done: Vec<Segment>,
    /// Not done with, by where they begin.
    pub(super) open: BTreeMap<u64, Segment>,
}

impl Wide {
    /// The last record.
    pub(super) fn last(&self) -> Option<&Segment> {
        self.open.values().next_back().or_else(|| self.done.last())
    }

    /// The open record with the byte at `position`.
    pub(super) fn open_at(&self, position: u64) -> Option<&Segment> {
        let (_, segment) = self.open.range(..=position).next_back()?;
        Some(segment).filter(|segment| segment.end() > position)
    }

    /// The record with that byte, also of what was acknowledged not long ago.
    pub(super) fn recent(&self, position: u64) -> Option<&Segment> {
        self.open_at(position).or_else(|| {
            let index = self.done.partition_point(|segment| segment.end() <= position);
            self.done.get(index).filter(|segment| segment.start <= position)
        })
    }

    /// Open records from the first on that ends above `position`.
    pub(super) fn open_above(&mut self, position: u64) -> impl Iterator<Item = &mut Segment> {
        let from = self.open_at(position).map_or(position, |segment| segment.start);
        self.open.range_mut(from..).map(|(_, segment)| segment)
    }

    /// Applies `change` to the records of `start..end`, split at both ends.
    pub(super) fn change(&mut self, start: u64, end: u64, mut change: impl FnMut(&mut Segment)) {
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        self.open.range_mut(start..end).for_each(|(_, segment)| change(segment));
    }

    /// Cuts the record that has bytes on both sides of `position` in two.
    fn split(&mut self, position: u64) {
        let before = self.open.range_mut(..position).next_back().map(|(_, segment)| segment);
        let Some(segment) = before.filter(|segment| segment.end() > position) else { return };
        let left = (position - segment.start) as u32;
        let right = Segment { start: position, length: segment.length - left, ..*segment };
        segment.length = left;
        self.open.insert(position, right);
    }
}
