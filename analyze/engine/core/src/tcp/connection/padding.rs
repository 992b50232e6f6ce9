//! Zeros that pad an Ethernet frame to its least length, and that a device on the way has counted into the IP length: a pure
//! acknowledgement then seems to carry up to six bytes of data. They are left out at once. If what follows counts them as data,
//! they are taken for that after all.
//!
//! Rule: docs/methods.md, "Padding counted as data".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::groups::Doubts;
use crate::tcp::connection::padded::SidePadding;
use crate::tcp::direction::direction::Direction;
use crate::tcp::stats::sequence::unwrap;

/// An IP packet of this length or less is padded: an Ethernet frame has at least 60 bytes, 14 of them its header.
const PADDED_BYTES: u32 = 46;

/// The packet without its padding, if it [`may_be_padded`] and is.
#[cold]
pub(crate) fn without_padding(
    direction: &Direction,
    doubts: &mut Doubts,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> Option<Packet> {
    let known = doubts.padding.as_deref().map_or(SidePadding::default(), |padding| padding.0[side]);
    let headers = u32::from(packet.ip_header_length) + u32::from(packet.tcp_header_length);
    let window_closed = direction.live.as_deref().is_some_and(|live| live.acks.window_closed);
    // The first byte of a capture that begins in mid-stream may be a keep-alive.
    let is_next = if direction.begun { packet.sequence == direction.max as u32 } else { packet.payload_length > 1 };
    // A FIN behind zeros has another number than one without.
    let is_certain = known.is_proven || !packet.has(tcp_flags::FIN);
    let is_padding = headers + packet.payload_length <= PADDED_BYTES
        && is_next
        && is_certain
        && !window_closed
        && !known.is_data
        && is_all_zero(packet, bytes);
    if !is_padding {
        return None;
    }
    let last = Packet { payload_captured: 0, ..*packet };
    if !packet.has(tcp_flags::FIN) {
        doubts.padding.get_or_insert_default().0[side].last = Some(last);
    }
    Some(Packet { payload_length: 0, ..last })
}

/// What this packet shows of the last one that was taken for padded. If that was data, it is still to be taken: itself and its side.
#[cold]
pub(crate) fn check_padding(
    directions: &[Direction; 2],
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
) -> Option<(Packet, usize)> {
    for (of, known) in doubts.padding.as_deref_mut()?.0.iter_mut().enumerate() {
        let (Some(last), direction) = (known.last, &directions[of]) else { continue };
        let is_over = direction.max != unwrap(direction.max, last.sequence);
        let behind = last.sequence.wrapping_add(last.payload_length);
        let number = if of == side { packet.sequence } else { packet.acknowledgement };
        let is_told = of == side || packet.has(tcp_flags::ACK);
        if is_over || (of == side && packet.sequence == last.sequence) {
            *known = SidePadding { last: None, is_proven: true, ..*known };
        } else if is_told && number == behind {
            *known = SidePadding { last: None, is_data: true, ..*known };
            return Some((last, of));
        }
    }
    None
}

/// As far as it was captured.
fn is_all_zero(packet: &Packet, bytes: &[u8]) -> bool {
    let from = packet.payload_offset as usize;
    let captured = bytes.get(from..from + packet.payload_captured as usize);
    captured.is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0))
}
