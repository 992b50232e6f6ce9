//! What a side had sent before the capture began, in mid-stream (docs/methods.md, section 2 rule 7).
//!
//! Data below the first position that was seen has not been seen: it is a repeat, or an original that was overtaken, by the rules for
//! what fills a hole, which the first packet exposed. What had been sent and was not acknowledged yet when the capture began, the
//! capture did not miss; it is in flight.

use super::arrival::FARTHEST_JUMP;
use super::connection::Connection;
use super::half::{Half, Live};
use super::holes::{Exposure, Hole, Holes};
use super::sequence::unwrap;
use super::shard::Environment;
use crate::packet::Packet;

/// What is recorded in another order is so by less.
const LONGEST_DISORDER_NS: i64 = 1_000_000_000;

/// See the module.
#[derive(Debug)]
pub struct Before {
    /// What of it has not come since.
    pub holes: Holes,
    /// What acknowledgements told first, when nothing of the side had been seen.
    acknowledged: u64,
    /// Position of the first that was seen.
    end: u64,
    /// For how long the capture had run when the last of what was sent before was acknowledged, or was not yet.
    waited_ns: i64,
}

impl Connection {
    /// The first packet of a side, of a connection whose opening was not captured. `acknowledged_first`: packets of the other side were.
    #[cold]
    pub(super) fn begin_in_mid_stream(
        &mut self,
        packet: &Packet,
        side: usize,
        acknowledged_first: bool,
        environment: &mut Environment,
    ) {
        let start_ns = self.start_ns;
        let half = &mut self.halves[side];
        let position = unwrap(half.max, packet.sequence);
        if position.abs_diff(half.max) > FARTHEST_JUMP {
            return;
        }
        half.unheard = !acknowledged_first;
        let newer = half.begin_at(position, packet, start_ns);
        if self.detailed {
            environment.rows.shift_acknowledgements(self.id, side, newer);
        }
    }
}

impl Half {
    /// Begins at `position`, or above it where acknowledgements have told of more; returns by how much later than it did.
    fn begin_at(&mut self, position: u64, packet: &Packet, start_ns: i64) -> u64 {
        let (acknowledged, una) = (self.base, self.una);
        let told = |time_ns: i64| Exposure { time_ns, tsval: None, ip_id: 0, by_acknowledgement: true };
        let shown = Exposure {
            time_ns: packet.time_ns,
            tsval: packet.timestamp(),
            ip_id: packet.ip_id,
            by_acknowledgement: false,
        };
        let is_below = position < self.max;
        self.max = self.max.max(position);
        self.base = self.max;
        let end = self.base;
        let lowest = end.saturating_sub(FARTHEST_JUMP);
        let live = self.live();
        let last_ns = live.last_acknowledgement_ns.filter(|_| una >= end).unwrap_or(packet.time_ns);
        // What was acknowledged until now was sent before.
        live.holes = Holes::default();
        let mut before =
            Before { holes: Holes::default(), acknowledged, end, waited_ns: last_ns.saturating_sub(start_ns) };
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
    pub(super) fn is_reported_before(&self, position: u64) -> bool {
        let is_first = self.data_packets == 0 && self.packets == 0 && !self.opening_seen;
        is_first && (1..=FARTHEST_JUMP).contains(&position.saturating_sub(self.max))
    }

    /// The first acknowledgement of the side's data tells what had arrived when the capture began.
    #[cold]
    pub(super) fn hear_first(&mut self, packet: &Packet) {
        self.unheard = false;
        let position = unwrap(self.una, packet.acknowledgement);
        if self.una == self.base && position < self.una && self.una - position <= FARTHEST_JUMP {
            self.una = position;
        }
    }
}

impl Before {
    /// Bytes that were acknowledged although they had not been seen, so late after the capture began that they would have been before
    /// if they had passed the capture point before it: the receiver answers within `longest_rtt_ns`. Not known, they count.
    pub fn unseen_bytes(&self, una: u64, longest_rtt_ns: Option<i64>) -> u64 {
        let in_time = longest_rtt_ns.is_some_and(|rtt_ns| self.waited_ns <= rtt_ns);
        if in_time { 0 } else { self.holes.missing(self.acknowledged, self.end.min(una)).0 }
    }
}

impl Live {
    /// Bytes of `start..end` that have not been seen, and how the first of them came to light.
    pub fn missing(&self, start: u64, end: u64) -> (u64, Option<Exposure>) {
        let (bytes, exposure) = self.holes.missing(start, end);
        let Some(before) = &self.before else { return (bytes, exposure) };
        let (bytes_before, first) = before.holes.missing(start, end);
        (bytes + bytes_before, first.or(exposure))
    }

    /// The first position from `position` on that is known to be missing.
    pub fn next_missing(&self, position: u64) -> Option<u64> {
        let before = self.before.as_ref().and_then(|before| before.holes.next(position));
        before.or_else(|| self.holes.next(position))
    }
}
