//! Data that is acknowledged and that the capture never saw.

use crate::packet::Packet;
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::holes::{Exposure, Hole};

/// Rule: docs/methods.md, "What the capture missed".
#[cold]
pub(crate) fn acknowledge_unseen(direction: &mut Direction, packet: &Packet, position: u64) {
    let exposure = Exposure { time_ns: packet.time_ns, tsval: None, ip_id: 0, by_acknowledgement: true };
    let start = direction.max;
    // The byte after the last may be a FIN that passed before its acknowledgement.
    direction.live().holes.push(Hole { start, end: position, exposure });
    direction.max = position;
}
