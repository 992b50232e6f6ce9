//! Sends that waited for a delayed ACK (RFC 1122 section 4.2.3.4, Nagle): the record of one direction.
//!
//! Rule: docs/verdict.md, "Small writes kept back".

use crate::tcp::events::place::Place;
use crate::tcp::events::segment::Segment;

/// So long after an acknowledgement comes what a kernel has kept back for it.
const BEHIND_NS: i64 = 500_000;

/// Waits whose frames are kept.
const MOST_SHOWN: usize = 3;

/// An acknowledgement that was delayed, until it is known what followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delayed {
    /// What it acknowledged, and itself.
    pub(crate) sent: Place,
    pub(crate) came: Place,
    /// Up to where.
    pub(crate) position: u64,
    /// By so much it came later than others.
    pub(crate) late_ns: u64,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct NagleWatch {
    pub(crate) last: Option<Delayed>,
    /// Data followed on so many.
    pub(crate) followed: u32,
    pub(crate) waits: NagleWaits,
}

/// Waits of short segments for late acknowledgements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NagleWaits {
    /// How many.
    pub count: u32,
    /// By how much longer these acknowledgements took than the fastest one.
    pub time_ns: u64,
    /// Of the first of them: the segment that was in flight, its acknowledgement, and what had waited for that.
    pub places: Vec<Place>,
}

impl NagleWatch {
    /// What followed on the last acknowledgement that was delayed.
    pub(crate) fn followed_by(&mut self, next: impl FnOnce(u64) -> Option<Segment>) {
        let Some((delayed, segment)) = self.last.take().and_then(|last| Some((last, next(last.position)?))) else {
            return;
        };
        self.followed += 1;
        let behind_ns = segment.time_ns.saturating_sub(delayed.came.time_ns);
        let is_short = segment.start == delayed.position && segment.length < u32::from(segment.segment_size);
        if is_short && segment.was_sent_once() && (0..=BEHIND_NS).contains(&behind_ns) {
            self.waits.count += 1;
            self.waits.time_ns = self.waits.time_ns.saturating_add(delayed.late_ns);
            if self.waits.places.len() < 3 * MOST_SHOWN {
                let next = Place { frame: segment.frame, time_ns: segment.time_ns };
                self.waits.places.extend([delayed.sent, delayed.came, next]);
            }
        }
    }
}
