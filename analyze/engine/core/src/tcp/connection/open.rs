//! How a connection takes SYN, SYN-ACK, the acknowledgement that completes them, and RST: what both sides offer and what
//! follows from it (RFC 9293 section 3.5, RFC 7323, RFC 7413). The steps themselves are timed in [`crate::tcp::connection::handshake`].

use crate::decode::options::Options;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::acceptable;
use crate::tcp::connection::at_two_taps;
use crate::tcp::connection::congestion_bits;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::crossing;
use crate::tcp::connection::ending_notes;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::opened;
use crate::tcp::connection::own_data;
use crate::tcp::connection::packet_row::packet_row;
use crate::tcp::connection::reset::{Believed, is_acceptable};
use crate::tcp::connection::rewritten;
use crate::tcp::connection::rewritten::Opening;
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::direction::before_capture;
use crate::tcp::events::bounds::Bound;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::events::row::Seen;
use crate::tcp::events::sent::{Arrived, Kind};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// SYN-ACKs with numbers of their own that are remembered for one connection; more are an attack.
const MOST_SYN_ACKS: usize = 4;

/// The first packet of a side, of a connection whose opening was not captured. `acknowledged_first`: packets of the other side were.
#[cold]
pub(crate) fn begin_in_mid_stream(
    connection: &mut Connection,
    packet: &Packet,
    side: usize,
    acknowledged_first: bool,
    environment: &mut Environment,
) {
    let start_ns = connection.times.start_ns;
    let direction = &mut connection.directions[side];
    let position = unwrap(direction.max, packet.sequence);
    if position.abs_diff(direction.max) > FARTHEST_JUMP {
        return;
    }
    direction.unheard = !acknowledged_first;
    let newer = before_capture::begin_at(direction, position, packet, start_ns);
    if connection.detailed {
        environment.rows.shift_acknowledgements(connection.identity.id, side, newer);
    }
}

/// Of several SYN-ACKs the one counts that the client acknowledges. Rule: docs/methods.md, "Several SYN-ACKs".
fn take_acknowledged_syn_ack(connection: &mut Connection, packet: &Packet) {
    let acknowledged =
        connection.agreed.other_syn_acks.iter().find(|other| other.base == packet.acknowledgement).copied();
    if let Some(OtherSynAck { base, offer }) = acknowledged.filter(|_| packet.has(tcp_flags::ACK)) {
        connection.directions[1].begin(base);
        connection.watch.watchers[1] = Watchers::NONE;
        offers(connection, 1, offer);
    }
}

#[cold]
pub(crate) fn complete_handshake(connection: &mut Connection, packet: &Packet, environment: &mut Environment) {
    take_acknowledged_syn_ack(connection, packet);
    let server = &connection.directions[1];
    let acknowledged = unwrap(server.base, packet.acknowledgement);
    // Written by hand, as if a SYN took no number, on both sides.
    let are_at_syns = acknowledged.wrapping_add(1) == server.base
        && packet.sequence.wrapping_add(1) == connection.directions[0].base as u32;
    let is_acknowledged = (server.base..=server.max).contains(&acknowledged) || are_at_syns;
    if packet.has(tcp_flags::ACK) && server.offer.seen && is_acknowledged {
        opened::opened(connection, packet, environment);
    }
}

#[cold]
pub(crate) fn opening_or_reset(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    environment: &mut Environment,
) {
    let syn = packet.has(tcp_flags::SYN);
    let mut repeated = false;
    let mut seen = Seen {
        arrived: Arrived { kind: if syn { Kind::Syn } else { Kind::Rst }, ..Arrived::default() },
        ..Seen::default()
    };
    if syn {
        let Some(is_repeat) = take_syn(connection, packet, bytes, side) else { return };
        repeated = is_repeat;
        environment.openings.syn(packet, repeats(connection, side) > 0);
        crossing::complete_crossed(connection, packet, side, environment);
    } else {
        if connection.doubts.two_points.is_some()
            && at_two_taps::has_passed_other_point(connection, packet, bytes, side).is_some()
        {
            connection.directions[side].loss.capture_duplicates += 1;
            return;
        }
        if rewritten::is_copy(connection, packet, side) {
            connection.directions[side].loss.capture_duplicates += 1;
            return;
        }
        if connection.handshake.complete
            && !is_acceptable(packet, &connection.directions[side], acceptable::room_bytes(connection, side))
        {
            connection.directions[side].loss.unacceptable += 1;
            return;
        }
        connection.endings.reset.get_or_insert_with(|| Believed::now(side, packet.time_ns, &connection.directions));
        environment.openings.reset(packet);
    }
    ending_notes::ends_later(connection, packet, side, environment);
    if repeated {
        ending_notes::note_repeated_opening(&mut connection.endings, packet, side);
    } else if !syn {
        ending_notes::note_reset(connection, packet, side);
    }
    connection.count(packet, side);
    let ledger = &mut connection.directions[side].ledger;
    if repeated {
        ledger.add_retransmission(packet, 0)
    } else {
        ledger.add_first_transmission(packet)
    }
    if syn && packet.payload_length > 0 {
        seen.arrived = take_fast_open_data(connection, packet, bytes, side);
    }
    if connection.detailed {
        let directions = [&connection.directions[side], &connection.directions[1 - side]];
        environment.rows.push(&packet_row(connection.identity.id, packet, side, directions, &seen));
    }
}

/// Takes what a side offers.
pub(crate) fn offers(connection: &mut Connection, side: usize, offer: Offer) {
    connection.directions[side].offer = offer;
    connection.directions.iter_mut().for_each(|direction| direction.opening_seen = true);
    offers_changed(connection);
}

/// Draws the conclusions from what both sides offer.
fn offers_changed(connection: &mut Connection) {
    connection.agreed.shifts = [connection.advertised_shift(0), connection.advertised_shift(1)];
    connection.agreed.sack = connection.directions.iter().all(|direction| direction.offer.sack_permitted);
    let largest = connection
        .directions
        .iter()
        .map(|direction| direction.offer.maximum_segment_size)
        .filter(|size| *size > 0)
        .min();
    let [of_client, of_server] = [0, 1].map(|side| connection.directions[side].offer.maximum_segment_size);
    for (direction, accepted) in connection.directions.iter_mut().zip([of_server, of_client]) {
        // What was cut into segments of another size is a row of its own.
        direction.settle_counters();
        direction.offered_segment_size = largest.unwrap_or(0);
        direction.accepted_segment_size = accepted;
        direction.sent_segment_size = 0;
    }
}

fn repeats(connection: &Connection, side: usize) -> u32 {
    connection.directions[side].loss.syn
}

/// Whether it is a repeat; none for a copy.
fn take_syn(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Option<bool> {
    let asked_ns =
        (packet.has(tcp_flags::ACK) && connection.handshake.syn.count > 1).then_some(connection.handshake.syn.last_ns);
    match rewritten::judge_opening(connection, packet, side) {
        Opening::Own => {}
        Opening::Copy => {
            connection.directions[side].loss.capture_duplicates += 1;
            return None;
        }
        Opening::Original => {
            // What was taken in its place stays counted as this one, and this one as the copy.
            let direction = &mut connection.directions[side];
            direction.loss.capture_duplicates += 1;
            direction.begin(packet.sequence.wrapping_add(1));
            connection.watch.watchers[side] = Watchers::NONE;
            return None;
        }
    }
    let openings = if side == 0 { &mut connection.handshake.syn } else { &mut connection.handshake.syn_ack };
    let repeated = openings.count > 0 && !openings.answers_crossing(packet);
    let before_ns = openings.last_ns;
    let newest_ns = openings.newest_ns;
    if !openings.add(packet, asked_ns.is_some_and(|asked_ns| asked_ns > newest_ns)) {
        connection.directions[side].loss.capture_duplicates += 1;
        at_two_taps::opening_passed_again(connection, side, packet.time_ns.saturating_sub(before_ns));
        crossing::keep_copied_opening(&mut connection.agreed, packet, side);
        return None;
    }
    congestion_bits::agree_on_ecn(&mut connection.agreed, &connection.handshake, packet);
    let direction = &mut connection.directions[side];
    let isn_changed = direction.begun && direction.base as u32 != packet.sequence.wrapping_add(1);
    let is_acknowledged_before = side == 1 && packet.has(tcp_flags::ACK) && direction.begun && !isn_changed;
    // What has been acknowledged stands: of two servers (or proxies) that answer, the client talks to the first.
    let may_change = direction.payload_bytes == 0 && !connection.handshake.complete;
    let begins = !direction.begun || (isn_changed && may_change);
    if begins && isn_changed && packet.has(tcp_flags::ACK) {
        let is_full = connection.agreed.other_syn_acks.len() >= MOST_SYN_ACKS;
        connection.bounds.add(Bound::SynAcks, is_full);
        if !is_full {
            connection.agreed.other_syn_acks.push(OtherSynAck { base: direction.base as u32, offer: direction.offer });
        }
    }
    if begins {
        direction.begin(packet.sequence.wrapping_add(1));
        connection.watch.watchers[side] = Watchers::NONE;
    }
    // What answers it may have been recorded before it.
    if begins || (!direction.offer.seen && !isn_changed) {
        offers(connection, side, Offer::of(&Options::of_packet(packet, bytes)));
    }
    let direction = &mut connection.directions[side];
    direction.loss.syn += u32::from(repeated);
    if is_acknowledged_before && !repeated {
        let client_packets = connection.directions[0].packets;
        connection.handshake.acknowledged_before = client_packets > u64::from(connection.handshake.syn.count);
    }
    if packet.has(tcp_flags::ACK) {
        match side {
            _ if repeated => crossing::refute_copied_syn(connection, packet, newest_ns),
            0 => connection.handshake.answered_by_client(packet),
            _ => connection.handshake.answered(packet),
        }
        let client = &mut connection.directions[1 - side];
        if !client.begun {
            client.begin(packet.acknowledgement);
            connection.watch.watchers[1 - side] = Watchers::NONE;
        }
    }
    Some(repeated)
}

/// Data in a SYN (RFC 7413): counted once; repeats of the SYN repeat it without being data retransmissions.
fn take_fast_open_data(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
    if repeats(connection, side) > 0 {
        return Arrived { kind: Kind::Syn, ..Arrived::default() };
    }
    Arrived { kind: Kind::Syn, ..own_data::take_data_of_counted(connection, packet, bytes, side) }
}
