//! Openings of both sides: SYNs that cross (RFC 9293 section 3.5, figure 7), and a server that acknowledges the SYN first and sends
//! its own later. Who sent the first SYN is the client of one connection.
//!
//! Here, too, is a SYN-ACK that seemed to be captured twice and arrived twice, as its receiver reports (RFC 2883).
//!
//! Rule: docs/methods.md, "Openings of both sides".

use crate::decode::options::SackBlocks;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Agreed, Terms};
use crate::tcp::connection::opened;
use crate::tcp::direction::direction::Direction;
use crate::tcp::kernel::SMALLEST_TIMEOUT_NS;

/// A SYN passed: where both crossed, the second SYN-ACK completes the opening.
pub(crate) fn complete_crossed(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    packet: &Packet,
    side: usize,
    environment: &mut Environment,
) {
    let handshake = &terms.handshake;
    let acknowledges = packet.has(tcp_flags::ACK) && packet.acknowledgement == directions[1 - side].base as u32;
    let is_answered = side == 1 || handshake.syn_ack.acknowledges();
    if !handshake.complete && acknowledges && handshake.crossed && is_answered {
        opened::opened(terms, directions, packet, environment);
    }
}

/// The server acknowledges a SYN of the client, who has acknowledged the server's with a SYN-ACK of its own.
#[cold]
pub(crate) fn complete_split(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    packet: &Packet,
    environment: &mut Environment,
) {
    let [client, server] = &*directions;
    if !client.offer.seen || !packet.has(tcp_flags::ACK) || packet.acknowledgement != client.base as u32 {
        return;
    }
    if terms.handshake.crossed {
        opened::opened(terms, directions, packet, environment);
    } else if terms.handshake.syn_ack.count == 0 && server.packets == 0 && packet.payload_length == 0 {
        // It acknowledges the SYN and sends its own later.
        terms.handshake.answered(packet);
    }
}

/// The SYN of `side` is what the other side's SYN still waits for: that was only acknowledged, or a former connection's host
/// has spoken.
pub(crate) fn awaits_syn(connection: &Connection, side: usize) -> bool {
    let opener = &connection.directions[1 - side];
    side == 1
        && opener.offer.seen
        && !connection.terms.handshake.complete
        && connection.endings.reset.is_none()
        && connection.directions.iter().all(|direction| direction.data_packets == 0 && direction.fin.is_none())
}

/// A SYN or SYN-ACK looks like one captured twice; its receiver may yet show that it has come twice.
pub(crate) fn keep_copied_opening(agreed: &mut Agreed, packet: &Packet, side: usize) {
    if packet.has(tcp_flags::ACK) == (side == 1) {
        agreed.copied_opening = Some(Box::new(*packet));
    }
}

/// A SYN-ACK that is no copy comes sooner behind another one, at `before_ns`, than a timer sends it again: the server replies to a
/// second SYN. One that looked like a copy of the first has arrived.
#[cold]
pub(crate) fn refute_copied_syn(terms: &mut Terms, client: &mut Direction, syn_ack: &Packet, before_ns: i64) {
    let is_answered =
        |syn: &mut Box<Packet>| !syn.has(tcp_flags::ACK) && syn_ack.acknowledgement == syn.sequence.wrapping_add(1);
    if syn_ack.time_ns.saturating_sub(before_ns) >= SMALLEST_TIMEOUT_NS {
        return;
    }
    let Some(again) = terms.agreed.copied_opening.take_if(is_answered) else { return };
    terms.agreed.openings_twice[0] = false;
    terms.handshake.syn.count += 1;
    count_again(client, &again);
}

/// What seemed to be a copy of an opening was one that its sender had retransmitted.
fn count_again(direction: &mut Direction, again: &Packet) {
    direction.count(again);
    direction.loss.capture_duplicates = direction.loss.capture_duplicates.saturating_sub(1);
    direction.loss.syn += 1;
    direction.ledger.add_retransmission(again, 0);
}

/// The client reports (D-SACK) that the SYN-ACK came twice: it was no copy that the capture made.
#[cold]
pub(crate) fn refute_copied_syn_ack(agreed: &mut Agreed, server: &mut Direction, packet: &Packet, bytes: &[u8]) {
    let behind_syn = server.base as u32;
    let reported = SackBlocks::of_packet(packet, bytes).as_slice().first().copied();
    if reported.is_none_or(|(start, end)| start != behind_syn.wrapping_sub(1) || end != behind_syn) {
        return;
    }
    let is_syn_ack = |again: &mut Box<Packet>| again.has(tcp_flags::ACK);
    let Some(again) = agreed.copied_opening.take_if(is_syn_ack) else { return };
    agreed.openings_twice[1] = false;
    count_again(server, &again);
}
