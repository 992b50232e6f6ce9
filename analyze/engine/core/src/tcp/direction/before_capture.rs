//! What a side had sent before the capture began, in mid-stream (docs/methods.md, section 2 rule 7).
//!
//! Data below the first position that was seen has not been seen: it is a repeat, or an original that was overtaken, by the rules for
//! what fills a hole, which the first packet exposed. What had been sent and was not acknowledged yet when the capture began, the
//! capture did not miss; it is in flight.
//!
//! Rule: docs/methods.md, "Sent before the capture began".

use crate::packet::Packet;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::holes::{Exposure, Hole, Holes};
use crate::tcp::direction::sent_before::Before;
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// What is recorded in another order is so by less.
const LONGEST_DISORDER_NS: i64 = 1_000_000_000;

/// Begins at `position`, or above it where acknowledgements have shown more; returns by how much later than it did.
pub(crate) fn begin_at(direction: &mut Direction, position: u64, packet: &Packet, start_ns: i64) -> u64 {
    let (acknowledged, una) = (direction.base, direction.una);
    let told = |time_ns: i64| Exposure { time_ns, tsval: None, ip_id: 0, by_acknowledgement: true };
    let shown =
        Exposure { time_ns: packet.time_ns, tsval: packet.timestamp(), ip_id: packet.ip_id, by_acknowledgement: false };
    let is_below = position < direction.max;
    direction.max = direction.max.max(position);
    direction.base = direction.max;
    let end = direction.base;
    let lowest = end.saturating_sub(FARTHEST_JUMP);
    let live = direction.live();
    let last_ns = live.acks.last_acknowledgement_ns.filter(|_| una >= end).unwrap_or(packet.time_ns);
    // What was acknowledged until now was sent before.
    live.holes = Holes::default();
    let mut before = Before { holes: Holes::default(), acknowledged, end, waited_ns: last_ns.saturating_sub(start_ns) };
    if is_below {
        before.holes.push(Hole { start: lowest, end: una, exposure: told(start_ns) });
        // Reports tell that it was missing behind the capture point.
        before.holes.push(Hole { start: una, end, exposure: told(start_ns.saturating_sub(LONGEST_DISORDER_NS)) });
    } else {
        before.holes.push(Hole { start: lowest, end, exposure: shown });
    }
    live.before = Some(Box::new(before));
    end - acknowledged
}

/// Nothing of this side has been seen yet, so that what its peer reports up to `position` was sent before the capture began, if the
/// capture sees the side at all.
pub(crate) fn is_reported_before(direction: &Direction, position: u64) -> bool {
    let is_first = direction.data_packets == 0 && direction.packets == 0 && !direction.opening_seen;
    is_first && (1..=FARTHEST_JUMP).contains(&position.saturating_sub(direction.max))
}

/// The first acknowledgement of the side's data tells what had arrived when the capture began.
#[cold]
pub(crate) fn hear_first(direction: &mut Direction, packet: &Packet) {
    direction.unheard = false;
    let position = unwrap(direction.una, packet.acknowledgement);
    if direction.una == direction.base && position < direction.una && direction.una - position <= FARTHEST_JUMP {
        direction.una = position;
    }
}

/// Bytes of `start..end` that have not been seen, and how the first of them came to light.
pub fn missing(live: &Live, start: u64, end: u64) -> (u64, Option<Exposure>) {
    let (bytes, exposure) = live.holes.missing(start, end);
    let Some(before) = &live.before else { return (bytes, exposure) };
    let (bytes_before, first) = before.holes.missing(start, end);
    (bytes + bytes_before, first.or(exposure))
}

/// The first position from `position` on that is known to be missing.
pub fn next_missing(live: &Live, position: u64) -> Option<u64> {
    let before = live.before.as_ref().and_then(|before| before.holes.next(position));
    before.or_else(|| live.holes.next(position))
}
