//! The short way of a connection in the middle of a transfer: next data in order and pure acknowledgements.
//!
//! The guards are here, the events and what they change are those of every packet ([`crate::tcp::direction::fast_path`]).

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::acceptable;
use crate::tcp::connection::acknowledged;
use crate::tcp::connection::clock_steps;
use crate::tcp::connection::connection::{Connection, peer_of};
use crate::tcp::connection::ending_notes;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::loops;
use crate::tcp::connection::on_packet;
use crate::tcp::connection::padded::may_be_padded;
use crate::tcp::connection::payload_feed;
use crate::tcp::connection::speaking;
use crate::tcp::connection::standstills;
use crate::tcp::connection::watching;
use crate::tcp::direction::direction::direction_and_peer;
use crate::tcp::direction::fast_path;
use crate::tcp::direction::on_ack;
use crate::tcp::events::ecn;

/// Open, and nothing of the opening is awaited: packets without SYN, FIN and RST leave it so.
#[inline]
pub fn is_steady(connection: &Connection) -> bool {
    let awaits_no_syn_ack = !connection.directions[1].offer.seen && connection.agreed.other_syn_acks.is_empty();
    let opened = connection.handshake.complete || awaits_no_syn_ack;
    opened
        && connection.endings.first_fin_ns.is_none()
        && connection.endings.reset.is_none()
        && connection.endings.over_since.is_none()
        && !connection.detailed
        && connection.loops.echo_loops.is_none()
        && connection.doubts.two_points.is_none()
        && connection.doubts.padding.is_none()
        && (connection.doubts.doubtful.is_none() || acceptable::held_now(connection, 0) == [None, None])
}

/// Packets with one of these bits want a look of their own: where both sides agreed on congestion marks, those that report
/// them, too.
#[inline]
pub fn telling_bits(connection: &Connection) -> u16 {
    let of_marks = if connection.agreed.ecn.is_some() { ecn::BITS } else { 0 };
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
        steady_acknowledgement::<SIDE, false>(connection, packet, bytes, environment)
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
    if is_watched || !acceptable::acknowledges_near(connection, packet, SIDE) || may_be_padded(packet) {
        return false;
    }
    let context = connection.context(SIDE);
    let [direction, peer] = direction_and_peer(&mut connection.directions, SIDE);
    let peer = peer_of(SIDE, peer, &connection.handshake);
    let Some(ahead_ns) = fast_path::next_data(direction, packet, bytes, &context, peer) else { return false };
    connection.times.end_ns = connection.times.end_ns.max(packet.time_ns);
    connection.times.passed_ns[SIDE] = packet.time_ns;
    if ahead_ns != 0 {
        clock_steps::suspect_step(connection, packet, SIDE, ahead_ns, environment);
    }
    if connection.speech.speaker != SIDE as u8 {
        speaking::speaks(connection, packet, bytes, SIDE);
    }
    if !connection.streams.tls_settled {
        payload_feed::feed_next_tls(connection, packet, bytes, SIDE);
    }
    let window_shift = connection.agreed.shifts[SIDE];
    let is_repeated = packet.has(tcp_flags::ACK)
        && on_ack::repeated_while_idle(&mut connection.directions[1 - SIDE], packet, window_shift);
    let rtt_ns = if is_repeated {
        payload_feed::pass_tls_holes(connection, packet, 1 - SIDE);
        None
    } else {
        acknowledged::take_acknowledgement(connection, packet, bytes, SIDE).rtt_ns()
    };
    watching::answered(connection, packet, SIDE, rtt_ns);
    watching::check_round(connection, packet, SIDE, environment.round_rules);
    true
}

/// A pure acknowledgement. False if it is something else; then nothing has changed. `ENDS_SILENCE`: the host said
/// nothing for a while before, which the few such packets pay for alone.
#[inline(never)]
fn steady_acknowledgement<const SIDE: usize, const ENDS_SILENCE: bool>(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    environment: &mut Environment,
) -> bool {
    if !ENDS_SILENCE && standstills::ends_silence(connection, packet, SIDE) {
        return !ending_notes::ends_long_silence(connection, packet)
            && steady_acknowledgement::<SIDE, true>(connection, packet, bytes, environment);
    }
    let is_watched = watching::is_watched_answer(connection, packet, SIDE);
    if is_watched || !acceptable::acknowledges_near(connection, packet, SIDE) {
        return false;
    }
    let ended = if ENDS_SILENCE { standstills::ended_silences(connection, packet, SIDE) } else { [None; 2] };
    let [direction, peer] = direction_and_peer(&mut connection.directions, SIDE);
    let Some((ahead_ns, position)) = fast_path::pure_acknowledgement(direction, packet, bytes, peer) else {
        return false;
    };
    let is_more = position > peer.una;
    if ENDS_SILENCE {
        standstills::keep_silences(connection, ended, SIDE, environment);
    }
    connection.times.end_ns = connection.times.end_ns.max(packet.time_ns);
    connection.times.passed_ns[SIDE] = packet.time_ns;
    if ahead_ns != 0 {
        clock_steps::suspect_step(connection, packet, SIDE, ahead_ns, environment);
    }
    let context = connection.context(1 - SIDE);
    let window_shift = connection.agreed.shifts[SIDE];
    let answer = (is_more && packet.has(tcp_flags::ACK))
        .then(|| {
            on_ack::more_acknowledged(&mut connection.directions[1 - SIDE], packet, position, window_shift, &context)
        })
        .flatten();
    let rtt_ns = match answer {
        Some(answer) => {
            ending_notes::note_window(connection, packet, SIDE);
            loops::take_round_trip(connection, answer, SIDE);
            payload_feed::pass_tls_holes(connection, packet, 1 - SIDE);
            answer.rtt_ns()
        }
        None => acknowledged::take_acknowledgement(connection, packet, bytes, SIDE).rtt_ns(),
    };
    watching::answered(connection, packet, SIDE, rtt_ns);
    watching::check_round(connection, packet, SIDE, environment.round_rules);
    true
}
