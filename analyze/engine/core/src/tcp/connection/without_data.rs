//! Packets without data: acknowledgements alone, keep-alives and probes, FIN.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::closing;
use crate::tcp::connection::groups::Endings;
use crate::tcp::direction::direction::{Direction, Live, direction_and_peer};
use crate::tcp::direction::holes::{Exposure, Hole};
use crate::tcp::direction::{on_ack, passed_over};
use crate::tcp::events::sent::{Arrived, SentKind};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::loss::ip_id::NeighbouringId;
use crate::tcp::stats::sequence::unwrap;

/// Takes one in its own direction.
pub(crate) fn take_empty(
    directions: &mut [Direction; 2],
    endings: &mut Endings,
    beside_sender: bool,
    packet: &Packet,
    side: usize,
) -> Arrived {
    // What answers for a closed connection (TIME-WAIT) numbers its packets on its own.
    let has_number = packet.has(tcp_flags::FIN) || !closing::both_have_closed(directions);
    if has_number {
        take_number(directions, packet, side);
    }
    let [direction, peer] = direction_and_peer(directions, side);
    if packet.has(tcp_flags::FIN) {
        match direction.fin {
            None => direction.ledger.add_first_transmission(packet),
            Some(_) => direction.ledger.add_retransmission(packet, 0),
        }
        take_fin(direction, endings, packet);
        return Arrived { kind: SentKind::Fin, ..Arrived::default() };
    }
    direction.ledger.add_acknowledgement(packet);
    if packet.sequence != direction.max as u32 {
        passed_over::shows_sent(direction, packet, peer, beside_sender);
    }
    let live = Live::of(&mut direction.live);
    let behind = unwrap(direction.max, packet.sequence) + 1 == direction.una;
    let kind = match (behind && direction.una > direction.base, live.acks.window_closed) {
        (true, true) => SentKind::WindowProbe,
        (true, false) if direction.all_acknowledged() => SentKind::KeepAlive,
        _ => SentKind::PureAck,
    };
    direction.loss.probes += u32::from(kind != SentKind::PureAck);
    let (position, highest) = (unwrap(direction.max, packet.sequence), direction.max);
    if position < highest {
        // Its receiver, which has gone on, may say so (RFC 9293 section 3.10.7.4).
        let asked = direction.live().loss.asked.get_or_insert_default();
        match kind {
            SentKind::PureAck => asked.push_overtaken(packet.time_ns, highest),
            _ => asked.push(packet.time_ns, position, 1),
        }
    }
    Arrived { kind, ..Arrived::default() }
}

/// Takes an acknowledgement alone, in its own direction, where all that was sent before it was seen.
#[inline(always)]
pub(super) fn take_next(directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    take_number(directions, packet, side);
    directions[side].ledger.add_acknowledgement(packet);
}

/// The number that its host gave the packet.
#[inline(always)]
fn take_number(directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    let [direction, peer] = direction_and_peer(directions, side);
    let Live { holes, loss, .. } = Live::of(&mut direction.live);
    if packet.ip_version == 4 {
        let around = || NeighbouringId {
            whole: packet.sequence == direction.max as u32 && !holes.reach_beyond(direction.una),
            acknowledges: on_ack::newly_acknowledged_by(peer, packet),
            ..NeighbouringId::default()
        };
        loss.identifications.add(packet.ip_id, 1, false, around);
    }
}

/// Takes a FIN, with data or without.
pub(crate) fn take_fin(direction: &mut Direction, endings: &mut Endings, packet: &Packet) {
    endings.first_fin_ns.get_or_insert(packet.time_ns);
    let position = unwrap(direction.max, packet.sequence) + u64::from(packet.payload_length);
    if direction.fin.is_some() {
        direction.loss.fin += u32::from(packet.payload_length == 0);
        direction.live().loss.asked.get_or_insert_default().push(packet.time_ns, position + 1, 1);
        return;
    }
    direction.fin = Some(position);
    direction.fin_ns = Some(packet.time_ns);
    if position > direction.max && position - direction.max <= FARTHEST_JUMP {
        let exposure =
            Exposure { time_ns: packet.time_ns, tsval: None, ip_id: packet.ip_id, by_acknowledgement: false };
        let start = direction.max;
        direction.live().holes.push(Hole { start, end: position, exposure });
        direction.max = position;
    }
    if position == direction.max {
        direction.max += 1;
    } else if position + 1 == direction.max {
        // What showed before that it was sent made a hole, of which this is the FIN itself.
        direction.live().holes.fill(position, position + 1, |_, _| ());
        if direction.una == direction.max {
            direction.fin_acknowledged_ns.get_or_insert(packet.time_ns);
        }
    }
}
