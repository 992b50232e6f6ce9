//! The data of one direction that was seen and is not yet acknowledged, in stream order.
//!
//! One [`Segment`] stands for one captured frame (a superpacket stays one record and is cut into its wire segments by
//! arithmetic). Acknowledgements take records off the front; retransmissions and SACK split them where they must.
//! Bulk transfers without loss only push at the back and pop at the front. Where much is outstanding and comes in any order, the
//! records are kept as a tree ([`crate::tcp::direction::wide_queue`]); then `list` is empty and without room.

use crate::tcp::direction::tsval_history::{Stamp, Stamps};
use crate::tcp::direction::wide_queue::Wide;
use crate::tcp::events::segment::{Acknowledged, Covered, Reported, Retransmitted, Sampled, Segment, state};
use crate::tcp::stats::reuse::room_of;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct SegmentQueue {
    /// Those before `front` are done with. The oldest are moved away now and then, which costs less for each segment than a
    /// ring costs, and every search has one slice.
    pub(super) list: Vec<Segment>,
    pub(super) front: usize,
    pub(super) wide: Option<Box<Wide>>,
    pub(super) stamps: Stamps,
    lost_bytes: u64,
    resent_bytes: u64,
    lost_below: u64,
    pub(super) has_forgotten: bool,
}

/// Room that is made at first: enough for an initial window of ten segments (RFC 6928).
const FIRST_ROOM: usize = 16;

/// Records that are kept of what is done with, for copies that come late.
pub(super) const REMEMBERED: usize = 128;

/// Records kept when no acknowledgement is ever seen; the oldest go first.
pub(super) const MOST_SEGMENTS: usize = 1 << 17;

/// A record that is put before more than so many makes the queue wide.
const MOST_MOVED: usize = 512;

impl SegmentQueue {
    /// A new one in the room of this one.
    #[inline(always)]
    pub fn renewed(&mut self) -> Self {
        Self { list: room_of(&mut self.list), ..Self::default() }
    }

    /// Adds a record above all others.
    #[inline]
    pub fn push(&mut self, segment: Segment) {
        if self.list.len() == self.list.capacity() {
            return self.push_with_room(segment);
        }
        self.list.push(segment);
    }

    /// Nobody acknowledged them, and there were too many: the oldest were forgotten.
    pub fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    #[cold]
    fn push_with_room(&mut self, segment: Segment) {
        if self.wide.is_some() {
            return self.insert_wide(segment);
        }
        self.make_room();
        self.list.push(segment);
    }

    fn make_room(&mut self) {
        if self.list.is_empty() {
            self.list.reserve_exact(FIRST_ROOM);
        }
        if self.open().len() >= MOST_SEGMENTS {
            self.has_forgotten = true;
            for _ in 0..MOST_SEGMENTS / 2 {
                let oldest = self.list[self.front];
                self.settle(&oldest);
                self.front += 1;
            }
        }
        // Grown when less than a quarter of it is of no more use: each segment is then moved three times on average, at most.
        let forgotten = self.front.saturating_sub(REMEMBERED);
        if forgotten >= self.list.len() / 4 {
            self.stamps.add(&self.list[..forgotten]);
            self.list.drain(..forgotten);
            self.front -= forgotten;
        }
    }

    /// Those not done with, in order.
    #[inline]
    pub(super) fn open(&self) -> &[Segment] {
        self.list.get(self.front..).unwrap_or_default()
    }

    /// What is not acknowledged and ends at or below `position`.
    pub fn unacknowledged_below(&self, position: u64) -> impl Iterator<Item = &Segment> {
        let wide = self.wide.iter().flat_map(|wide| wide.open.values());
        self.open().iter().chain(wide).take_while(move |segment| segment.end() <= position)
    }

    /// The last record.
    pub fn last(&self) -> Option<&Segment> {
        self.list.last().or_else(|| self.wide.as_deref()?.last())
    }

    /// Nothing on record is outstanding.
    pub fn is_empty(&self) -> bool {
        self.open().is_empty() && self.wide.is_none()
    }

    /// Inserts a record that fills a hole.
    pub fn insert(&mut self, segment: Segment) {
        if self.wide.is_some() {
            return self.insert_wide(segment);
        }
        let index = self.front + self.open().partition_point(|other| other.start < segment.start);
        self.list.insert(index, segment);
        self.widen_behind(index);
    }

    /// What would be moved for each record that is put here is taken into a tree.
    fn widen_behind(&mut self, index: usize) {
        if self.list.len() - index > MOST_MOVED {
            self.widen();
        }
    }

    /// Bytes to take off (lost) and to add (retransmitted) for RFC 6675's pipe.
    #[inline]
    pub fn lost_and_resent(&self) -> (u64, u64) {
        (self.lost_bytes, self.resent_bytes)
    }

    #[inline]
    pub(super) fn settle(&mut self, segment: &Segment) {
        if segment.is(state::LOST) {
            self.lost_bytes -= u64::from(segment.length);
        }
        if segment.is(state::RESENT) {
            self.resent_bytes -= u64::from(segment.length);
        }
    }

    /// As [`Self::acknowledge`] where nothing had been reported before. None if it covers nothing, or anything but unmarked
    /// segments; then nothing has changed.
    #[inline(always)]
    pub fn acknowledge_unmarked(&mut self, position: u64) -> Option<Covered> {
        let (mut covered, mut records) = (Covered::default(), 0);
        for segment in self.open().iter().take_while(|segment| segment.start < position) {
            if segment.end() > position || segment.state != 0 {
                return None;
            }
            covered.add(segment);
            records += 1;
        }
        self.front += records;
        (records > 0).then_some(covered)
    }

    /// Takes off everything below `position`; `highest_sacked` is what had been reported before.
    pub fn acknowledge(&mut self, position: u64, highest_sacked: u64) -> Acknowledged {
        if self.wide.is_some() {
            return self.acknowledge_wide(position, highest_sacked);
        }
        self.acknowledge_listed(position, highest_sacked)
    }

    pub(super) fn acknowledge_listed(&mut self, position: u64, highest_sacked: u64) -> Acknowledged {
        let mut result = Acknowledged::default();
        let before = self.front;
        while let Some(segment) = self.list.get(self.front) {
            if segment.end() > position {
                if segment.start < position {
                    self.acknowledge_part(position, &mut result);
                }
                break;
            }
            result.covered.add(segment);
            if segment.state != 0 || segment.start < highest_sacked {
                self.acknowledge_marked(before, highest_sacked, &mut result);
            }
            self.front += 1;
        }
        result
    }

    #[cold]
    fn acknowledge_marked(&mut self, first: usize, highest_sacked: u64, result: &mut Acknowledged) {
        let segment = self.list[self.front];
        self.settle(&segment);
        result.any_sacked |= segment.is(state::SACKED);
        if segment.is(state::RETRANSMITTED) {
            result.any_retransmitted = true;
            if self.front == first {
                result.first_retransmitted = Some(segment);
            }
        }
        if segment.start < highest_sacked && !segment.is(state::RETRANSMITTED | state::SACKED | state::LATE) {
            result.late_originals += segment.wire_segments();
        }
    }

    #[cold]
    fn acknowledge_part(&mut self, position: u64, result: &mut Acknowledged) {
        let Some(segment) = self.list.get_mut(self.front) else { return };
        let covered = Segment { length: (position - segment.start) as u32, ..*segment };
        if segment.length <= u32::from(segment.segment_size) {
            result.partial = true;
        } else {
            result.covered.add(&covered);
            result.any_retransmitted |= segment.is(state::RETRANSMITTED);
            result.any_sacked |= segment.is(state::SACKED);
        }
        segment.start = position;
        segment.length -= covered.length;
        self.settle(&covered);
    }

    /// Index of the first record that ends above `position`.
    fn index_above(&self, position: u64) -> usize {
        let open = self.open();
        // Most often all segments are as long as the first, and none is missing: then no search is needed.
        let guess = open.first().map_or(0, |first| {
            position.saturating_sub(first.start).checked_div(u64::from(first.length)).unwrap_or(0) as usize
        });
        let begins_by = |index: usize| index == 0 || open.get(index - 1).is_some_and(|before| before.end() <= position);
        if open.get(guess).is_some_and(|segment| segment.end() > position) && begins_by(guess) {
            return self.front + guess;
        }
        self.front + open.partition_point(|segment| segment.end() <= position)
    }

    /// Cuts the record at `index` in two at `position`, which lies within it.
    fn split(&mut self, index: usize, position: u64) {
        let Some(segment) = self.list.get_mut(index) else { return };
        let left = (position - segment.start) as u32;
        let right = Segment { start: position, length: segment.length - left, ..*segment };
        segment.length = left;
        self.list.insert(index + 1, right);
    }

    /// Applies `change` to the records of `start..end`, split at both ends.
    fn change(&mut self, start: u64, end: u64, mut change: impl FnMut(&mut Segment)) {
        if let Some(wide) = &mut self.wide {
            return wide.change(start, end, change);
        }
        let mut index = self.index_above(start);
        let (first, before) = (index, self.list.len());
        if self.list.get(index).is_some_and(|segment| segment.start < start) {
            self.split(index, start);
            index += 1;
        }
        while let Some(segment) = self.list.get(index)
            && segment.start < end
        {
            if segment.end() > end {
                self.split(index, end);
            }
            if let Some(segment) = self.list.get_mut(index) {
                change(segment);
            }
            index += 1;
        }
        if self.list.len() > before {
            self.widen_behind(first);
        }
    }

    /// Notes that `start..end` was retransmitted.
    pub fn retransmit(&mut self, start: u64, end: u64, time_ns: i64, frame: u32, tsval: u32) -> Retransmitted {
        let mut known = Retransmitted { previous_time_ns: None, all_sacked: true };
        let mut resent = 0;
        self.change(start, end, |segment| {
            known.previous_time_ns.get_or_insert(segment.time_ns);
            known.all_sacked &= segment.is(state::SACKED);
            if segment.is(state::LOST) && !segment.is(state::RESENT) {
                segment.state |= state::RESENT;
                resent += u64::from(segment.length);
            }
            segment.state = (segment.state & !state::SAME_STAMP) | state::RETRANSMITTED;
            if segment.tsval == tsval {
                segment.state |= state::SAME_STAMP;
            }
            (segment.time_ns, segment.frame, segment.tsval) = (time_ns, frame, tsval);
        });
        self.resent_bytes += resent;
        known.all_sacked &= known.previous_time_ns.is_some();
        known
    }

    /// Notes that of what is taken for lost, `start..end` is out again.
    pub fn mark_resent(&mut self, start: u64, end: u64) {
        let mut resent = 0;
        self.change(start, end, |segment| {
            if segment.is(state::LOST) && !segment.is(state::RESENT) {
                segment.state |= state::RESENT;
                resent += u64::from(segment.length);
            }
        });
        self.resent_bytes += resent;
    }

    /// Notes that `start..end` was selectively acknowledged, where data up to `highest_before` had been before.
    pub fn sack(&mut self, start: u64, end: u64, highest_before: u64) -> Reported {
        let (mut lost, mut resent) = (0, 0);
        let mut reported = Reported { late_originals: 0, latest_time_ns: i64::MIN };
        self.change(start, end, |segment| {
            if segment.is(state::SACKED) {
                return;
            }
            if segment.is(state::LOST) {
                lost += u64::from(segment.length);
            }
            if segment.is(state::RESENT) {
                resent += u64::from(segment.length);
            }
            if segment.start < highest_before && segment.was_sent_once() {
                reported.late_originals += segment.wire_segments();
            }
            reported.latest_time_ns = reported.latest_time_ns.max(segment.time_ns);
            segment.state = (segment.state & !(state::LOST | state::RESENT)) | state::SACKED;
        });
        self.lost_bytes -= lost;
        self.resent_bytes -= resent;
        reported
    }

    /// The segment of the byte at `position`, if that is on record and was sent once.
    pub fn sent_once(&self, position: u64) -> Option<Sampled> {
        let listed = self.list.get(self.index_above(position));
        let segment = listed.or_else(|| self.wide.as_deref()?.open_at(position))?;
        (segment.start <= position && segment.was_sent_once()).then(|| Sampled::of(segment))
    }

    /// When that segment was sent.
    pub fn sent_once_ns(&self, position: u64) -> Option<i64> {
        self.sent_once(position).map(|sampled| sampled.time_ns)
    }

    /// When the byte at `position` was sent, and with which TSval, if that is on record.
    pub fn stamped(&self, position: u64) -> Option<Stamp> {
        self.recent(position).map(Stamp::of).or_else(|| self.stamps.before(position))
    }

    /// The record with the byte at `position`, also of what was acknowledged not long ago.
    pub fn recent(&self, position: u64) -> Option<&Segment> {
        let index = self.list.partition_point(|segment| segment.end() <= position);
        let listed = self.list.get(index).filter(|segment| segment.start <= position);
        listed.or_else(|| self.wide.as_deref()?.recent(position))
    }

    /// The lowest record not acknowledged, if it ends by `position` and was sent more than once.
    pub fn first_repeated_below(&self, position: u64) -> Option<Segment> {
        let first = self.first().filter(|segment| segment.end() <= position);
        first.filter(|segment| segment.is(state::RETRANSMITTED)).copied()
    }

    /// Notes that the record of `start..end`, known as sent once, has repeated what got lost before; returns it.
    pub fn repeat_only(&mut self, start: u64, end: u64) -> Option<Segment> {
        self.narrow();
        let index = self.list.partition_point(|segment| segment.end() <= start);
        let is_all = |segment: &&mut Segment| segment.start == start && segment.end() == end && segment.state == 0;
        let segment = self.list.get_mut(index).filter(is_all)?;
        segment.state = state::RETRANSMITTED;
        Some(*segment)
    }

    /// Takes everything below `position` that is not selectively acknowledged for lost. Each record is looked at once.
    pub fn mark_lost_below(&mut self, position: u64) {
        if position <= self.lost_below {
            return;
        }
        let lost_below = self.lost_below;
        let first = self.index_above(lost_below);
        let mut lost = 0;
        let wide = self.wide.iter_mut().flat_map(|wide| wide.open_above(lost_below));
        for segment in self.list[first..].iter_mut().chain(wide).take_while(|segment| segment.end() <= position) {
            if !segment.is(state::SACKED | state::LOST) {
                segment.state |= state::LOST;
                lost += u64::from(segment.length);
                if segment.is(state::RETRANSMITTED) {
                    segment.state |= state::RESENT;
                    self.resent_bytes += u64::from(segment.length);
                }
            }
            self.lost_below = segment.end();
        }
        self.lost_bytes += lost;
    }

    /// After a retransmission timeout everything outstanding is lost, including what was retransmitted (RFC 6675 5.1).
    pub fn mark_all_lost(&mut self) {
        self.lost_bytes = 0;
        self.resent_bytes = 0;
        let wide = self.wide.iter_mut().flat_map(|wide| wide.open.values_mut());
        for segment in self.list[self.front..].iter_mut().chain(wide) {
            segment.state &= !state::RESENT;
            if !segment.is(state::SACKED) {
                segment.state |= state::LOST;
                self.lost_bytes += u64::from(segment.length);
            }
        }
        let last = self.open().last().or_else(|| self.wide.as_deref()?.last());
        self.lost_below = last.map_or(self.lost_below, Segment::end);
    }
}

#[cfg(test)]
#[path = "send_queue_tests.rs"]
mod tests;
