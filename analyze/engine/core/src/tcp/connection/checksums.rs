//! Which segments of a connection have a look at their checksum: a sample, what opens it, and data that was sent before.

use crate::packet::Packet;
use crate::tcp::capture::checksums::{check, is_sampled};
use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::segment_size;
use crate::tcp::stats::sequence::serial_difference;

/// Looks at what is in the sample.
#[inline(always)]
pub fn sample(direction: &mut Direction, packet: &Packet, bytes: &[u8]) {
    if is_sampled(packet) {
        look(direction, packet, bytes);
    }
}

/// Data that was sent before may have been dropped for its checksum, and be dropped again.
pub(crate) fn look_at_repeat(direction: &mut Direction, packet: &Packet, bytes: &[u8]) {
    let is_old = direction.begun && serial_difference(packet.sequence, direction.max as u32) < 0;
    if packet.payload_length > 0 && is_old && !is_sampled(packet) {
        look(direction, packet, bytes);
    }
}

#[cold]
#[inline(never)]
fn look(direction: &mut Direction, packet: &Packet, bytes: &[u8]) {
    // What a card or kernel has joined has the checksum of none of its segments.
    let is_joined = packet.payload_length > u32::from(segment_size::segment_size(direction, packet));
    if !is_joined && let Some(checked) = check(packet, bytes) {
        direction.checksums.count(checked);
    }
}

/// Of each side, how many are wrong with nothing that explains it.
pub(crate) fn unexplained(connection: &Connection, side: usize) -> u32 {
    let direction = &connection.directions[side];
    let is_answered = match direction.data_packets_so_far() {
        0 => connection.terms.handshake.complete,
        _ => direction.acknowledged_bytes() > 0,
    };
    let loss = &direction.loss;
    direction.checksums.unexplained(is_answered, loss.retransmitted > 0 || loss.syn > 0)
}
