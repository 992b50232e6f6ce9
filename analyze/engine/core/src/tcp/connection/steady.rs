//! The short way of a connection in the middle of a transfer: next data in order and pure acknowledgements.
//!
//! Here it is asked what stands in the way of that; what the packets change are the rules of every packet to change.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::acknowledged::Proved;
use crate::tcp::connection::connection::{Connection, peer_of};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::padded::may_be_padded;
use crate::tcp::connection::{
    acceptable, acknowledged, clock_steps, ending_notes, on_packet, own_data, standstills, watching, without_data,
};
use crate::tcp::direction::direction::direction_and_peer;
use crate::tcp::direction::{fast_path, on_data, sampling};
use crate::tcp::events::ecn;
use crate::tcp::events::sent::Delivered;

/// Open, and nothing of the opening is awaited: packets without SYN, FIN and RST leave it so.
#[inline]
pub fn is_steady(connection: &Connection) -> bool {
    let awaits_no_syn_ack = !connection.directions[1].offer.seen && connection.terms.agreed.other_syn_acks.is_empty();
    let opened = connection.terms.handshake.complete || awaits_no_syn_ack;
    opened
        && connection.endings.first_fin_ns.is_none()
        && connection.endings.reset.is_none()
        && connection.endings.over_since.is_none()
        && !connection.detailed
        && connection.terms.loops.echo_loops.is_none()
        && connection.doubts.two_points.is_none()
        && connection.doubts.padding.is_none()
        && (connection.doubts.doubtful.is_none()
            || acceptable::held_now(&connection.directions, &connection.doubts, 0) == [None, None])
}

/// Packets with one of these bits want a look of their own: where both sides agreed on congestion marks, those that report
/// them, too.
#[inline]
pub fn telling_bits(connection: &Connection) -> u16 {
    let of_marks = if connection.terms.agreed.ecn.is_some() { ecn::BITS } else { 0 };
    tcp_flags::SYN | tcp_flags::FIN | tcp_flags::RST | tcp_flags::IN_FRAGMENTS | of_marks
}

/// Takes a packet without [`telling_bits`] while the connection [`is_steady`]. The two kinds that bulk transfers
/// are made of, next data and pure acknowledgements, go a short way to the same result.
///
/// `SIDE` sent it, known when this is compiled: nothing has to be looked up by it. False if the connection is steady no more.
#[inline(always)]
pub fn steady_packet<const SIDE: usize>(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    shortest_gap_ns: i64,
    environment: &mut Environment,
) -> bool {
    let taken = if packet.payload_length > 0 {
        steady_data::<SIDE>(connection, packet, bytes, shortest_gap_ns, environment)
    } else {
        steady_acknowledgement::<SIDE>(connection, packet, bytes, environment)
    };
    if !taken {
        on_packet::on_packet(connection, packet, bytes, SIDE == 0, environment);
    }
    taken || is_steady(connection)
}

/// The next data in order. False if it is something else; then nothing has changed.
// Apart from the other kind of packet: both in one function want more registers than there are.
#[inline(never)]
fn steady_data<const SIDE: usize>(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    shortest_gap_ns: i64,
    environment: &mut Environment,
) -> bool {
    let is_watched = watching::is_watched(connection, packet, SIDE, connection.times.end_ns, shortest_gap_ns)
        || standstills::ends_silence(connection, packet, SIDE);
    if is_watched || !acceptable::acknowledges_near(&connection.directions[1 - SIDE], packet) || may_be_padded(packet) {
        return false;
    }
    let context = connection.terms.context(SIDE);
    let Some(follows) = fast_path::next_data(&mut connection.directions[SIDE], packet, bytes, &context) else {
        return false;
    };
    connection.times.passes(packet, SIDE);
    sampling::keep_steps(&mut connection.directions[SIDE], packet);
    clock_steps::take_stamp(&mut connection.directions[SIDE], &mut connection.doubts, packet, SIDE, environment);
    let [direction, peer] = direction_and_peer(&mut connection.directions, SIDE);
    on_data::next_data(direction, packet, follows, &context, peer_of(SIDE, peer, &connection.terms.handshake));
    let end = direction.max;
    own_data::read_data(connection, packet, bytes, SIDE, true, || {
        Delivered::Range((end - u64::from(packet.payload_length), end, false))
    });
    acknowledged::take_answer(connection, packet, bytes, SIDE, Proved::WithNextData, environment.round_rules);
    true
}

/// A pure acknowledgement. False if it is something else; then nothing has changed.
#[inline(never)]
fn steady_acknowledgement<const SIDE: usize>(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    environment: &mut Environment,
) -> bool {
    let is_watched = watching::is_watched_answer(connection, packet, SIDE);
    if is_watched || !acceptable::acknowledges_near(&connection.directions[1 - SIDE], packet) {
        return false;
    }
    let [direction, peer] = direction_and_peer(&mut connection.directions, SIDE);
    let Some(position) = fast_path::pure_acknowledgement(direction, packet, bytes, peer) else { return false };
    ending_notes::ends_later(connection, packet, SIDE, environment);
    clock_steps::take_stamp(&mut connection.directions[SIDE], &mut connection.doubts, packet, SIDE, environment);
    connection.directions[SIDE].count(packet);
    without_data::take_next(&mut connection.directions, packet, SIDE);
    acknowledged::take_answer(connection, packet, bytes, SIDE, Proved::UpTo(position), environment.round_rules);
    true
}
