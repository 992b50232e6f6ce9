//! A packet's own direction: data, FIN, probe or nothing.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::{Connection, peer_of};
use crate::tcp::connection::{payload_feed, speaking, without_data};
use crate::tcp::direction::direction::direction_and_peer;
use crate::tcp::direction::{on_data, sampling};
use crate::tcp::events::sent::{Arrived, Delivered, SentKind};

/// The packet's own direction: data, FIN, probe or nothing.
#[inline]
pub(crate) fn take_own(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
    if packet.payload_length > 0 || packet.has(tcp_flags::FIN) {
        sampling::keep_steps(&mut connection.directions[side], packet);
    }
    connection.directions[side].count(packet);
    let context = connection.terms.context(side);
    if packet.payload_length == 0 {
        let Connection { directions, endings, .. } = connection;
        return without_data::take_empty(directions, endings, context.beside_sender, packet, side);
    }
    let mut delivered = Delivered::default();
    let [direction, peer] = direction_and_peer(&mut connection.directions, side);
    let arrived =
        on_data::data(direction, packet, &context, peer_of(side, peer, &connection.terms.handshake), &mut delivered);
    match arrived.kind {
        SentKind::Data => direction.ledger.add_first_transmission(packet),
        SentKind::Reordered if arrived.first_transmission_bytes == packet.payload_length => {
            direction.ledger.add_first_transmission(packet)
        }
        _ => direction.ledger.add_retransmission(packet, arrived.first_transmission_bytes),
    }
    if packet.has(tcp_flags::FIN) {
        without_data::take_fin(direction, &mut connection.endings, packet);
    }
    let is_new = !delivered.ranges().is_empty();
    read_data(connection, packet, bytes, side, is_new, || delivered);
    arrived
}

/// What readers of the stream make of data that has been taken. `is_new`: some of it had not come before.
#[inline(always)]
pub(super) fn read_data(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    is_new: bool,
    delivered: impl FnOnce() -> Delivered,
) {
    let Connection { identity, directions, streams, speech, .. } = &mut *connection;
    if usize::from(speech.speaker) != side && is_new {
        speaking::speaks(speech, streams, directions, identity.ports[1], packet, bytes, side);
    }
    if !connection.streams.tls_settled {
        payload_feed::feed(connection, packet, bytes, side, &delivered());
    }
}

/// Takes the data of a packet that was counted without it: as a packet, and its bytes by purpose.
pub(crate) fn take_data_of_counted(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
    let direction = &mut connection.directions[side];
    direction.settle_counters();
    let ledger = direction.ledger;
    direction.packets -= 1;
    direction.wire_bytes -= u64::from(packet.wire_length);
    let arrived = take_own(connection, packet, bytes, side);
    connection.directions[side].ledger = ledger;
    arrived
}
