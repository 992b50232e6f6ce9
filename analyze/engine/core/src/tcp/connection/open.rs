//! How a connection takes SYN, SYN-ACK, the acknowledgement that completes them, and RST: what both sides offer and what
//! follows from it (RFC 9293 section 3.5, RFC 7323, RFC 7413). The steps themselves are timed in [`crate::tcp::connection::handshake`].

use crate::decode::options::Options;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::{Connection, advertised_shift};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Agreed, Terms, Watch};
use crate::tcp::connection::packet_row::packet_row;
use crate::tcp::connection::reset::{Believed, is_acceptable};
use crate::tcp::connection::rewritten::RewrittenOpening;
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::connection::{
    acceptable, at_two_taps, congestion_bits, crossing, ending_notes, opened, own_data, rewritten,
};
use crate::tcp::direction::before_capture;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::bounds::ListBound;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::events::row::RowSeen;
use crate::tcp::events::sent::{Arrived, SentKind};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// SYN-ACKs with numbers of their own that are remembered for one connection; more are an attack.
const MOST_SYN_ACKS: usize = 4;

/// The first packet of a side, of a connection whose opening was not captured. `acknowledged_first`: packets of the other side were.
/// Returns by how much positions that were known are moved.
#[cold]
pub(crate) fn begin_in_mid_stream(
    direction: &mut Direction,
    packet: &Packet,
    start_ns: i64,
    acknowledged_first: bool,
) -> u64 {
    let position = unwrap(direction.max, packet.sequence);
    if position.abs_diff(direction.max) > FARTHEST_JUMP {
        return 0;
    }
    direction.unheard = !acknowledged_first;
    before_capture::begin_at(direction, position, packet, start_ns)
}

/// Of several SYN-ACKs the one counts that the client acknowledges. Rule: docs/methods.md, "Several SYN-ACKs".
fn take_acknowledged_syn_ack(agreed: &mut Agreed, directions: &mut [Direction; 2], watch: &mut Watch, packet: &Packet) {
    let acknowledged = agreed.other_syn_acks.iter().find(|other| other.base == packet.acknowledgement).copied();
    if let Some(OtherSynAck { base, offer }) = acknowledged.filter(|_| packet.has(tcp_flags::ACK)) {
        directions[1].begin(base);
        watch.watchers[1] = Watchers::NONE;
        offers(agreed, directions, 1, offer);
    }
}

/// The opening, which is not complete, may be with this packet of the client.
#[cold]
pub(crate) fn complete_handshake(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    watch: &mut Watch,
    packet: &Packet,
    environment: &mut Environment,
) {
    take_acknowledged_syn_ack(&mut terms.agreed, directions, watch, packet);
    let [client, server] = &*directions;
    let acknowledged = unwrap(server.base, packet.acknowledgement);
    // Written by hand, as if a SYN took no number, on both sides.
    let are_at_syns =
        acknowledged.wrapping_add(1) == server.base && packet.sequence.wrapping_add(1) == client.base as u32;
    let is_acknowledged = (server.base..=server.max).contains(&acknowledged) || are_at_syns;
    if packet.has(tcp_flags::ACK) && server.offer.seen && is_acknowledged {
        opened::opened(terms, directions, packet, environment);
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
    let mut seen = RowSeen {
        arrived: Arrived { kind: if syn { SentKind::Syn } else { SentKind::Rst }, ..Arrived::default() },
        ..RowSeen::default()
    };
    if syn {
        let Some(is_repeat) = take_syn(connection, packet, bytes, side) else { return };
        repeated = is_repeat;
        environment.openings.syn(packet, connection.directions[side].loss.syn > 0);
        crossing::complete_crossed(&mut connection.terms, &mut connection.directions, packet, side, environment);
    } else {
        let Connection { doubts, directions, terms, .. } = &mut *connection;
        let passed = at_two_taps::has_passed_other_point(doubts, &directions[side], &terms.loops, packet, bytes, side);
        if passed.is_some() || rewritten::is_copy(doubts, &directions[0], packet, side) {
            connection.directions[side].loss.capture_duplicates += 1;
            return;
        }
        if connection.terms.handshake.complete
            && !is_acceptable(
                packet,
                &connection.directions[side],
                acceptable::room_bytes(&connection.directions, side),
            )
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
        ending_notes::note_reset(&mut connection.endings, &mut connection.bounds, &connection.directions, packet, side);
    }
    let direction = &mut connection.directions[side];
    direction.count(packet);
    if repeated {
        direction.ledger.add_retransmission(packet, 0)
    } else {
        direction.ledger.add_first_transmission(packet)
    }
    // Data in a SYN (RFC 7413) counts once; repeats of the SYN repeat it without being data retransmissions.
    if syn && packet.payload_length > 0 && direction.loss.syn == 0 {
        seen.arrived =
            Arrived { kind: SentKind::Syn, ..own_data::take_data_of_counted(connection, packet, bytes, side) };
    }
    if connection.detailed {
        environment.rows.push(&packet_row(connection, packet, side, &seen));
    }
}

/// Takes what a side offers.
pub(crate) fn offers(agreed: &mut Agreed, directions: &mut [Direction; 2], side: usize, offer: Offer) {
    directions[side].offer = offer;
    agreed.shifts = [advertised_shift(directions, 0), advertised_shift(directions, 1)];
    agreed.sack = directions.iter().all(|direction| direction.offer.sack_permitted);
    let sizes = directions.each_ref().map(|direction| direction.offer.maximum_segment_size);
    let largest = sizes.into_iter().filter(|size| *size > 0).min();
    for (direction, accepted) in directions.iter_mut().zip([sizes[1], sizes[0]]) {
        direction.opening_seen = true;
        // What was cut into segments of another size is a row of its own.
        direction.settle_counters();
        direction.offered_segment_size = largest.unwrap_or(0);
        direction.accepted_segment_size = accepted;
        direction.sent_segment_size = 0;
    }
}

/// Whether it is a repeat; none for a copy.
fn take_syn(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Option<bool> {
    let Connection { directions, doubts, watch, bounds, terms, .. } = connection;
    let syn = &terms.handshake.syn;
    let asked_ns = (packet.has(tcp_flags::ACK) && syn.count > 1).then_some(syn.last_ns);
    match rewritten::judge_opening(doubts, &terms.handshake, &directions[0], packet, side) {
        RewrittenOpening::Own => {}
        RewrittenOpening::Copy => {
            directions[side].loss.capture_duplicates += 1;
            return None;
        }
        RewrittenOpening::Original => {
            // What was taken in its place stays counted as this one, and this one as the copy.
            let direction = &mut directions[side];
            direction.loss.capture_duplicates += 1;
            direction.begin(packet.sequence.wrapping_add(1));
            watch.watchers[side] = Watchers::NONE;
            return None;
        }
    }
    let openings = if side == 0 { &mut terms.handshake.syn } else { &mut terms.handshake.syn_ack };
    let repeated = openings.count > 0 && !openings.answers_crossing(packet);
    let before_ns = openings.last_ns;
    let newest_ns = openings.newest_ns;
    if !openings.add(packet, asked_ns.is_some_and(|asked_ns| asked_ns > newest_ns)) {
        directions[side].loss.capture_duplicates += 1;
        let age_ns = packet.time_ns.saturating_sub(before_ns);
        at_two_taps::opening_passed_again(&mut terms.agreed, doubts, side, age_ns);
        crossing::keep_copied_opening(&mut terms.agreed, packet, side);
        return None;
    }
    congestion_bits::agree_on_ecn(&mut terms.agreed, &terms.handshake, packet);
    let direction = &mut directions[side];
    let isn_changed = direction.begun && direction.base as u32 != packet.sequence.wrapping_add(1);
    let is_acknowledged_before = side == 1 && packet.has(tcp_flags::ACK) && direction.begun && !isn_changed;
    // What has been acknowledged stands: of two servers (or proxies) that answer, the client talks to the first.
    let may_change = direction.payload_bytes == 0 && !terms.handshake.complete;
    let begins = !direction.begun || (isn_changed && may_change);
    if begins && isn_changed && packet.has(tcp_flags::ACK) {
        let is_full = terms.agreed.other_syn_acks.len() >= MOST_SYN_ACKS;
        bounds.add(ListBound::SynAcks, is_full);
        if !is_full {
            let other = OtherSynAck { base: direction.base as u32, offer: direction.offer };
            terms.agreed.other_syn_acks.push(other);
        }
    }
    if begins {
        direction.begin(packet.sequence.wrapping_add(1));
        watch.watchers[side] = Watchers::NONE;
    }
    // What answers it may have been recorded before it.
    if begins || (!direction.offer.seen && !isn_changed) {
        let offer = Offer::of(&Options::of_packet(packet, bytes));
        offers(&mut terms.agreed, directions, side, offer);
    }
    let direction = &mut directions[side];
    direction.loss.syn += u32::from(repeated);
    if is_acknowledged_before && !repeated {
        let client_packets = directions[0].packets;
        terms.handshake.acknowledged_before = client_packets > u64::from(terms.handshake.syn.count);
    }
    if packet.has(tcp_flags::ACK) {
        match side {
            _ if repeated => crossing::refute_copied_syn(terms, &mut directions[0], packet, newest_ns),
            0 => terms.handshake.answered_by_client(packet),
            _ => terms.handshake.answered(packet),
        }
        let client = &mut directions[1 - side];
        if !client.begun {
            client.begin(packet.acknowledgement);
            watch.watchers[1 - side] = Watchers::NONE;
        }
    }
    Some(repeated)
}
