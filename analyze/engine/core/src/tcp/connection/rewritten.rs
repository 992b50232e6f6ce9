//! A flow that was captured on both sides of a device that rewrites sequence numbers (firewalls that draw the client's first
//! number anew): what the other side shows is a copy of what this one does, by other numbers.
//!
//! Rule: docs/methods.md, "Rewritten sequence numbers".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;

/// What a SYN or SYN-ACK is where numbers are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Nothing shows that numbers are rewritten, or it is of the side that counts.
    Own,
    /// It is a copy of what has passed, or will.
    Copy,
    /// The SYN-ACK that was taken is the copy of this one.
    Original,
}

/// The SYN is the client's only one in all but its number, and came right behind it.
pub(crate) fn is_moved_syn(connection: &Connection, packet: &Packet, side: usize) -> bool {
    side == 0
        && !packet.has(tcp_flags::ACK)
        && connection.handshake.syn_ack.count == 0
        && connection.handshake.syn.moved_by(packet).is_some()
}

/// What an opening is; what it shows of the device is remembered.
pub(crate) fn judge_opening(connection: &mut Connection, packet: &Packet, side: usize) -> Opening {
    if is_moved_syn(connection, packet, side) {
        connection.doubts.rewritten_by = connection.handshake.syn.moved_by(packet);
        return Opening::Copy;
    }
    let client = &connection.directions[0];
    if side == 0 || !packet.has(tcp_flags::ACK) || !client.offer.seen || connection.handshake.complete {
        return Opening::Own;
    }
    let expected = client.base as u32;
    let by = packet.acknowledgement.wrapping_sub(expected);
    if by != 0 && connection.doubts.rewritten_by == Some(by) {
        return Opening::Copy;
    }
    let before = connection.handshake.syn_ack;
    let Some(before_by) = before.acknowledged_otherwise(packet).map(|number| number.wrapping_sub(expected)) else {
        return Opening::Own;
    };
    match (by, before_by) {
        (0, _) => {
            connection.doubts.rewritten_by = Some(before_by);
            Opening::Original
        }
        (_, 0) => {
            connection.doubts.rewritten_by = Some(by);
            Opening::Copy
        }
        _ => Opening::Own,
    }
}

/// The packet is of the other side of the device: the client's number in it is nearer to that side's.
pub(crate) fn is_copy(connection: &Connection, packet: &Packet, side: usize) -> bool {
    let Some(by) = connection.doubts.rewritten_by else { return false };
    let number = match side {
        0 => packet.sequence,
        _ if packet.has(tcp_flags::ACK) => packet.acknowledgement,
        _ => return false,
    };
    let client = connection.directions[0].max as u32;
    let distance = |number: u32| (number.wrapping_sub(client) as i32).unsigned_abs();
    distance(number.wrapping_sub(by)) < distance(number)
}
