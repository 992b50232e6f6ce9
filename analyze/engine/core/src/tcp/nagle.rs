//! Short segments that Nagle's algorithm kept back (RFC 9293 section 3.7.4) until an acknowledgement came, which most often the
//! receiver had delayed (RFC 1122 section 4.2.3.2): each waits for the other. An application that writes in pieces what belongs
//! together loses the delay each time.
//!
//! A segment is alone in flight, its acknowledgement comes late and without data, and right behind that comes a short segment. No
//! application hears of acknowledgements; it meets them by chance, once in forty times at most, so that one is no proof. Beside the
//! sender only: elsewhere nothing tells what is right behind. When the application wrote, nothing tells.

use super::half::Live;
use super::segments::Segment;
use super::verdict::Place;
use crate::packet::Packet;

/// So long after an acknowledgement comes what a kernel has kept back for it.
const BEHIND_NS: i64 = 500_000;
/// Fewer prove nothing; nor do they if data follows more often at another time.
const FEWEST: u32 = 3;
/// Waits whose frames are kept.
const MOST_SHOWN: usize = 3;

/// An acknowledgement that was delayed, until it is known what followed.
#[derive(Debug, Clone, Copy)]
struct Delayed {
    /// What it acknowledged, and itself.
    sent: Place,
    came: Place,
    /// Up to where.
    position: u64,
    /// By so much it came later than others.
    late_ns: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct NagleWatch {
    last: Option<Delayed>,
    /// Data followed on so many.
    followed: u32,
    waits: NagleWaits,
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
    fn followed_by(&mut self, next: impl FnOnce(u64) -> Option<Segment>) {
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

impl Live {
    /// `packet` acknowledges all that was in flight, a single segment, by much later than others were acknowledged.
    pub(super) fn note_delayed(&mut self, packet: &Packet) {
        self.settle_nagle();
        // With data of its own, the other side asks the application for more.
        let is_alone = packet.payload_length == 0 && packet.sequence == self.peer_max_then as u32;
        let last = self.segments.last().filter(|_| is_alone && !self.window_closed).copied();
        if let Some(sent) = last {
            let took_ns = u64::try_from(packet.time_ns.saturating_sub(sent.time_ns)).unwrap_or(0);
            let came = Place { frame: packet.frame, time_ns: packet.time_ns };
            self.nagle.get_or_insert_default().last = Some(Delayed {
                sent: Place { frame: sent.frame, time_ns: sent.time_ns },
                came,
                position: sent.end(),
                late_ns: took_ns.saturating_sub(self.round_trips.moments.min_ns),
            });
        }
    }

    fn settle_nagle(&mut self) {
        let segments = &self.segments;
        if let Some(watch) = self.nagle.as_deref_mut() {
            watch.followed_by(|position| segments.recent(position).copied());
        }
    }

    /// The waits of a sender beside the capture point, if there are enough of them to be told.
    pub(super) fn nagle_waits(&mut self) -> Option<NagleWaits> {
        self.settle_nagle();
        let watch = self.nagle.take()?;
        let NagleWatch { followed, waits, .. } = *watch;
        (waits.count >= FEWEST && 2 * waits.count >= followed).then_some(waits)
    }
}
