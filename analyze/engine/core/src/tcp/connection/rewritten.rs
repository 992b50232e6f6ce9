//! A flow that was captured on both sides of a device that rewrites sequence numbers (firewalls that draw the client's first
//! number anew): what the other side shows is a copy of what this one does, by other numbers.
//!
//! Rule: docs/methods.md, "Rewritten sequence numbers".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::groups::Doubts;
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::direction::direction::Direction;

/// What a SYN or SYN-ACK is where numbers are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewrittenOpening {
    /// Nothing shows that numbers are rewritten, or it is of the side that counts.
    Own,
    /// It is a copy of what has passed, or will.
    Copy,
    /// The SYN-ACK that was taken is the copy of this one.
    Original,
}

/// The SYN is the client's only one in all but its number, and came right behind it.
pub(crate) fn is_moved_syn(handshake: &Handshake, packet: &Packet, side: usize) -> bool {
    side == 0 && !packet.has(tcp_flags::ACK) && handshake.syn_ack.count == 0 && handshake.syn.moved_by(packet).is_some()
}

/// What an opening is; what it shows of the device is remembered.
pub(crate) fn judge_opening(
    doubts: &mut Doubts,
    handshake: &Handshake,
    client: &Direction,
    packet: &Packet,
    side: usize,
) -> RewrittenOpening {
    if is_moved_syn(handshake, packet, side) {
        doubts.rewritten_by = handshake.syn.moved_by(packet);
        return RewrittenOpening::Copy;
    }
    if side == 0 || !packet.has(tcp_flags::ACK) || !client.offer.seen || handshake.complete {
        return RewrittenOpening::Own;
    }
    let expected = client.base as u32;
    let by = packet.acknowledgement.wrapping_sub(expected);
    if by != 0 && doubts.rewritten_by == Some(by) {
        return RewrittenOpening::Copy;
    }
    let before = handshake.syn_ack.acknowledged_otherwise(packet);
    let Some(before_by) = before.map(|number| number.wrapping_sub(expected)) else { return RewrittenOpening::Own };
    match (by, before_by) {
        (0, _) => {
            doubts.rewritten_by = Some(before_by);
            RewrittenOpening::Original
        }
        (_, 0) => {
            doubts.rewritten_by = Some(by);
            RewrittenOpening::Copy
        }
        _ => RewrittenOpening::Own,
    }
}

/// The packet is of the other side of the device: the client's number in it is nearer to that side's.
pub(crate) fn is_copy(doubts: &Doubts, client: &Direction, packet: &Packet, side: usize) -> bool {
    let Some(by) = doubts.rewritten_by else { return false };
    let number = match side {
        0 => packet.sequence,
        _ if packet.has(tcp_flags::ACK) => packet.acknowledgement,
        _ => return false,
    };
    let distance = |number: u32| (number.wrapping_sub(client.max as u32) as i32).unsigned_abs();
    distance(number.wrapping_sub(by)) < distance(number)
}
