//! Addresses and ports that another connection uses whose SYN is not in the capture: a filtered export, or a host behind a device
//! that translates addresses.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::acceptable;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::doubtful::{DoubtfulPackets, agree, is_next};
use crate::tcp::connection::elsewhere::is_elsewhere;

/// What the other side may have sent and this packet not heard of, where nothing is known of windows.
const AGREEMENT_BYTES: u64 = 1 << 20;

/// Packets of one side that go on with each other prove the same as both sides do.
const ENOUGH_BEFORE: u8 = 2;

/// The packets of the other connection that were held, its first side's first; none if `packet` is no proof of it.
#[inline]
pub(super) fn taken_over(
    connection: &Connection,
    packet: &Packet,
    side: usize,
) -> Option<[Option<DoubtfulPackets>; 2]> {
    connection.doubts.doubtful.as_ref()?;
    let [own, other] = acceptable::held_now(&connection.directions, &connection.doubts, side);
    if packet.flags & (tcp_flags::SYN | tcp_flags::RST) != 0 {
        return None;
    }
    let proves = |held: &DoubtfulPackets| {
        is_elsewhere(connection, &held.first, 1 - side) && agree(packet, &held.last, [AGREEMENT_BYTES; 2])
    };
    let goes_on = |held: &DoubtfulPackets| {
        held.in_row >= ENOUGH_BEFORE && is_elsewhere(connection, &held.first, side) && is_next(packet, &held.last)
    };
    (other.as_ref().is_some_and(proves) || own.as_ref().is_some_and(goes_on)).then_some([own, other])
}
