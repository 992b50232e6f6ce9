//! What became of the last segments of a direction: which sizes were acknowledged, and which never were.

use crate::tcp::direction::send_queue::SegmentQueue;
use crate::tcp::events::place::Place;
use crate::tcp::events::segment::{Segment, state};

/// See the module. Sizes are payloads of single packets on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fates {
    /// Largest payload of a packet that was acknowledged, of those that are still on record; 0 without any.
    pub largest_acknowledged: u32,
    /// Smallest payload of a packet that is outstanding and was not reported as arrived; 0 without any.
    pub smallest_lost: u32,
    /// Payload of the packet that is outstanding longest.
    pub first_lost: u32,
    /// Segments outstanding that were reported as arrived.
    pub reported: u32,
    /// The earliest transmission on record of what is outstanding and was not reported.
    pub oldest: Option<Place>,
}

impl Fates {
    /// Of nothing.
    pub const NONE: Self = Self { largest_acknowledged: 0, smallest_lost: 0, first_lost: 0, reported: 0, oldest: None };

    /// Of segments that are done with, and of those that are not.
    pub(crate) fn of(acknowledged: &[Segment], open: &[Segment]) -> Self {
        let is_reported = |segment: &&Segment| segment.is(state::SACKED);
        let lost = || open.iter().filter(|segment| !segment.is(state::SACKED));
        let arrived = acknowledged.iter().chain(open.iter().filter(is_reported));
        let place = |segment: &Segment| Place { frame: segment.frame, time_ns: segment.time_ns };
        Self {
            largest_acknowledged: arrived.map(largest_packet).max().unwrap_or(0),
            smallest_lost: lost().map(smallest_packet).min().unwrap_or(0),
            first_lost: lost().next().map_or(0, largest_packet),
            reported: open.iter().filter(is_reported).map(Segment::wire_segments).sum(),
            oldest: lost().min_by_key(|segment| segment.time_ns).map(place),
        }
    }
}

impl SegmentQueue {
    /// What became of those on record.
    pub fn fates(&self) -> Fates {
        if let Some(wide) = &self.wide {
            return Fates::of(&wide.done, &wide.open.values().copied().collect::<Vec<_>>());
        }
        Fates::of(self.list.get(..self.front).unwrap_or_default(), self.open())
    }

    /// The first that is not done with.
    pub fn first(&self) -> Option<&Segment> {
        self.open().first().or_else(|| self.wide.as_deref()?.open.values().next())
    }
}

fn largest_packet(segment: &Segment) -> u32 {
    segment.length.min(u32::from(segment.segment_size.max(1)))
}

/// The last packet of a frame that was cut may be short.
fn smallest_packet(segment: &Segment) -> u32 {
    let size = u32::from(segment.segment_size.max(1));
    match segment.length % size {
        0 => size.min(segment.length),
        rest => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, length: u32, state: u8) -> Segment {
        Segment { start, length, time_ns: start as i64, frame: start as u32, tsval: 0, segment_size: 1000, state }
    }

    #[test]
    fn sizes_are_those_of_packets_and_not_of_frames() {
        let fates = Fates::of(&[segment(0, 300, 0)], &[segment(300, 3200, 0), segment(3500, 500, state::SACKED)]);
        assert_eq!((fates.largest_acknowledged, fates.smallest_lost, fates.first_lost), (500, 200, 1000));
        assert_eq!((fates.reported, fates.oldest.map(|place| place.frame)), (1, Some(300)));
    }

    #[test]
    fn nothing_sent_has_no_fate() {
        assert_eq!(Fates::of(&[], &[]), Fates::default());
    }
}
