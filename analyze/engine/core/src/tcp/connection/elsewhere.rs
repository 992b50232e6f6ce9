//! Packets that seem to be of another connection with the same addresses and ports, whose SYN is not in the capture.
//!
//! Rule: docs/methods.md, "Ports used again without a SYN".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::at_two_taps;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::doubtful::FARTHEST_STEP;
use crate::tcp::direction::direction::Direction;

/// Behind a silence so long another connection may have begun.
const LEAST_SILENCE_NS: i64 = 1_000_000_000;

/// Both numbers of the packet are, behind a silence, further from what both sides have sent than a capture passes over. What goes on
/// in one direction and in the other by so much has not been sent unseen.
#[inline(always)]
pub(crate) fn is_elsewhere(connection: &Connection, packet: &Packet, side: usize) -> bool {
    packet.time_ns.saturating_sub(connection.times.end_ns) >= LEAST_SILENCE_NS
        && has_other_numbers(connection, packet, side)
}

#[cold]
#[inline(never)]
fn has_other_numbers(connection: &Connection, packet: &Packet, side: usize) -> bool {
    let is_far = |number: u32, direction: &Direction| {
        (number.wrapping_sub(direction.max as u32) as i32).unsigned_abs() > FARTHEST_STEP
    };
    packet.has(tcp_flags::ACK)
        && !at_two_taps::has_two_points(&connection.doubts)
        && connection.directions.iter().all(|direction| direction.packets_so_far() > 0)
        && is_far(packet.sequence, &connection.directions[side])
        && is_far(packet.acknowledgement, &connection.directions[1 - side])
}
