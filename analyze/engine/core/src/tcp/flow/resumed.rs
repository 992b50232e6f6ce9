//! Which packets make one connection: when it is over, which SYN opens another one with the same addresses and ports, and
//! which tries the same once more (RFC 9293 section 3.5).
//!
//! Rule: docs/methods.md, "Refused and reset connections".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::{crossing, open, rewritten};
use crate::tcp::events::close::{Close, Refused};
use crate::tcp::events::openings::Openings;
use crate::tcp::loss::asked::Asked;
use crate::tcp::loss::retransmissions::LossCounters;
use crate::tcp::stats::pool::Pool;
use crate::tcp::summary::summary::ConnectionSummary;

/// Repeats of a SYN come within this time of the one before (Linux `tcp_syn_retries` at its highest wait).
const LONGEST_SYN_WAIT_NS: i64 = 130_000_000_000;

/// True when nothing but stragglers can follow.
#[inline]
pub fn is_over(connection: &Connection) -> bool {
    (connection.endings.first_fin_ns.is_some() || connection.endings.reset.is_some()) && has_ended(connection)
}

fn has_ended(connection: &Connection) -> bool {
    connection.endings.reset.is_some()
        || connection.directions.iter().all(|direction| direction.fin_acknowledged_ns.is_some())
}

/// It was reset when it was open: more data may be under way, and if it goes on, the reset did not count.
pub fn is_cut_short(connection: &Connection) -> bool {
    connection.endings.reset.is_some()
        && (connection.terms.handshake.complete
            || connection.directions.iter().any(|direction| direction.payload_bytes > 0))
}

/// What was retransmitted may prove needless by what its receiver still says.
pub fn awaits_answers(connection: &Connection) -> bool {
    let mut lives = connection.directions.iter().filter_map(|direction| direction.live.as_deref());
    lives.any(|live| {
        let is_unanswered = live.loss.unanswered.as_deref().is_some_and(|unanswered| unanswered.is_waited_for());
        is_unanswered || live.loss.asked.as_deref().is_some_and(Asked::awaits_another)
    })
}

/// Does this SYN open another connection with the same addresses and ports?
pub fn is_followed_by(connection: &Connection, packet: &Packet, from_client: bool) -> bool {
    if !packet.has(tcp_flags::SYN) {
        return false;
    }
    let own = &connection.directions[usize::from(!from_client)];
    let same_isn = own.offer.seen && own.base as u32 == packet.sequence.wrapping_add(1);
    let over =
        connection.endings.reset.is_some() || connection.directions.iter().any(|direction| direction.fin.is_some());
    if packet.has(tcp_flags::ACK) {
        let opening = &connection.directions[usize::from(from_client)];
        let answers_opening = opening.offer.seen && opening.base as u32 == packet.acknowledgement;
        return over && !same_isn && !answers_opening;
    }
    if !own.offer.seen {
        let peer = &connection.directions[usize::from(from_client)];
        // Or its own SYN, recorded behind what followed it: no other begins with the same number.
        let is_awaited = crossing::awaits_syn(connection, usize::from(!from_client))
            || own.base as u32 == packet.sequence.wrapping_add(1);
        return own.begun && !(peer.offer.seen && own.packets == 0) && !is_awaited;
    }
    if rewritten::is_moved_syn(&connection.terms.handshake, packet, usize::from(!from_client)) {
        return false;
    }
    let openings = if from_client { &connection.terms.handshake.syn } else { &connection.terms.handshake.syn_ack };
    let waited = packet.time_ns.saturating_sub(openings.last_ns);
    !same_isn || over || waited > LONGEST_SYN_WAIT_NS
}

/// Goes on with an attempt to connect that was refused, before this begins with the same SYN: it begins where that began.
fn go_on_from(connection: &mut Connection, attempt: &ConnectionSummary) {
    connection.identity.order = attempt.order;
    (connection.identity.input, connection.identity.first_frame, connection.times.start_ns) =
        (attempt.input, attempt.first_frame, attempt.start_ns);
    for (direction, tried) in connection.directions.iter_mut().zip(&attempt.directions) {
        (direction.packets, direction.wire_bytes, direction.ledger) = (tried.packets, tried.wire_bytes, tried.ledger);
        (direction.data_packets, direction.data_segments, direction.payload_bytes) =
            (tried.data_packets, tried.data_segments, tried.payload_bytes);
        // Copies were counted when the attempt was over.
        direction.loss = LossCounters { capture_duplicates: 0, ..*tried.loss };
    }
    connection.terms.handshake.syn = Openings::refused(connection.directions[0].loss.syn + 1, attempt.start_ns);
}

/// The SYN that `packet`, of the server, answers although a reset had: somebody on the way sent that, or the client, who had given
/// up.
fn answered_by<'a>(summary: &'a ConnectionSummary, packet: &Packet) -> Option<&'a Refused> {
    let refused = summary.kept.as_ref()?.refused.as_ref()?;
    may_be_answered_by(summary, packet).then_some(refused)
}

/// The packet is a SYN-ACK for the client's SYN, which does not come too late.
fn may_be_answered_by(summary: &ConnectionSummary, packet: &Packet) -> bool {
    packet.has(tcp_flags::SYN | tcp_flags::ACK)
        && packet.acknowledgement == summary.client_isn.wrapping_add(1)
        && ends_near(summary, packet)
}

/// No more time lies between its end and the packet than a SYN waits.
fn ends_near(summary: &ConnectionSummary, packet: &Packet) -> bool {
    packet.time_ns.saturating_sub(summary.end_ns).saturating_abs() <= LONGEST_SYN_WAIT_NS
}

/// The connection that goes on with `packet` though it seemed to be over, if that is so.
pub fn resumed_by(
    summary: &ConnectionSummary,
    packet: &Packet,
    bytes: &[u8],
    from_client: bool,
    spares: &mut Pool<Connection>,
) -> Option<Box<Connection>> {
    let mut place = || spares.place(|| Connection::new(summary.id, packet, bytes));
    if from_client && is_tried_again_by(summary, packet) {
        let mut connection = place();
        go_on_from(&mut connection, summary);
        return Some(connection);
    }
    let refused = answered_by(summary, packet).filter(|_| !from_client)?;
    let mut connection = place();
    go_on_from(&mut connection, summary);
    let Connection { terms, directions, endings, .. } = &mut *connection;
    // It seemed to be refused, and begins with the answer to its SYN.
    terms.handshake.syn = refused.syn;
    endings.refused = Some(refused.reset);
    directions[0].begin(summary.client_isn.wrapping_add(1));
    open::offers(&mut terms.agreed, directions, 0, refused.offer);
    Some(connection)
}

/// The server, which has not got the client's reset, repeats its SYN-ACK.
pub(crate) fn is_answered_again_by(summary: &ConnectionSummary, packet: &Packet, from_client: bool) -> bool {
    !from_client && summary.openings_seen == [true; 2] && may_be_answered_by(summary, packet)
}

/// The SYN with which it began, recorded behind all that followed it.
pub(crate) fn began_with(summary: &ConnectionSummary, packet: &Packet, from_client: bool) -> bool {
    from_client
        && !summary.openings_seen[0]
        && !packet.has(tcp_flags::ACK)
        && summary.client_isn == packet.sequence
        && ends_near(summary, packet)
}

/// The client's SYN was refused with a reset, and `packet`, of the same client, is that SYN again: the same attempt to
/// connect (Windows tries so several times, half a second apart; so does who had to reset a connection of former times first,
/// RFC 9293 section 3.5.1).
fn is_tried_again_by(summary: &ConnectionSummary, packet: &Packet) -> bool {
    packet.has(tcp_flags::SYN)
        && !packet.has(tcp_flags::ACK)
        && summary.close == Close::Reset
        && !summary.handshake_complete
        && summary.openings_seen[0]
        && summary.client_isn == packet.sequence
        && summary.directions.iter().all(|direction| direction.payload_bytes == 0)
        && ends_near(summary, packet)
}
