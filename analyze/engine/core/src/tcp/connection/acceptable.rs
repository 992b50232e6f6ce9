//! Packets whose sequence or acknowledgement number no window allows: old duplicates of a former connection, challenge ACKs,
//! injected or damaged packets. Their receiver drops them (RFC 9293 section 3.10.7.4, RFC 5961 section 5), so they count and
//! touch nothing else.
//!
//! A watcher knows the windows less well than the hosts do, and its capture may have missed what lies between. Such a packet is
//! therefore held: it is believed after all as soon as the other side agrees with its numbers, or its own side goes on with them.
//!
//! Rule: docs/methods.md, "Numbers outside every window".

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::offers_are_known;
use crate::tcp::connection::doubtful::{DoubtfulPackets, agree, has_numbers_of, is_next};
use crate::tcp::connection::groups::{Doubts, Terms};
use crate::tcp::connection::rewritten;
use crate::tcp::direction::direction::Direction;
use crate::tcp::kernel::{FARTHEST_JUMP, NEAR_BYTES};
use crate::tcp::loss::ip_id::NeighbouringId;
use crate::tcp::stats::sequence::unwrap;

/// Data so many windows behind was sent long ago and delayed, or repeated by a sender that knows no better: it counts as that.
const WINDOWS_BEHIND: u64 = 4;

/// So many packets of one side that go on with each other, and none where it had been, are no strays.
const ENOUGH_IN_ROW: u8 = 3;

/// Nor are so many, though neither of their numbers is where it had been and the other side is silent.
const MANY_IN_ROW: u8 = 16;

/// Which numbers of a packet lie outside.
#[derive(Clone, Copy)]
struct Outside {
    sequence: bool,
    acknowledgement: bool,
}

/// What is made of a packet whose numbers may lie outside every window.
pub(crate) enum Judged {
    /// No window allows them: it is counted, and that is all.
    Refused,
    /// They lie within.
    Inside,
    /// They are believed, and so is what was held of its side and of the other one.
    Believed(Box<[Option<DoubtfulPackets>; 2]>),
}

/// A number of the packet lies so far above what was sent that a window may not allow it.
#[inline(always)]
pub(crate) fn is_far_ahead(directions: &[Direction; 2], packet: &Packet, side: usize) -> bool {
    let above =
        |number: u32, direction: &Direction| number.wrapping_sub(direction.max as u32) as i32 > NEAR_BYTES as i32;
    above(packet.sequence, &directions[side]) || above(packet.acknowledgement, &directions[1 - side])
}

/// A number of the packet lies so far below what was acknowledged that a window may not allow it.
#[inline(always)]
pub(crate) fn is_far_behind(directions: &[Direction; 2], packet: &Packet, side: usize) -> bool {
    let below = |number: u32, direction: &Direction| (number.wrapping_sub(lowest_near(direction) as u32) as i32) < 0;
    below(packet.sequence, &directions[side]) || below(packet.acknowledgement, &directions[1 - side])
}

/// What the packet acknowledges was seen, and is not far behind.
#[inline(always)]
pub(crate) fn acknowledges_near(peer: &Direction, packet: &Packet) -> bool {
    let lowest = lowest_near(peer);
    let room_bytes = (peer.max - lowest) as u32;
    packet.acknowledgement.wrapping_sub(lowest as u32) <= room_bytes
}

/// Asked of what [`is_far_ahead`]: no window allows its numbers, and nothing shows yet that the capture has missed what
/// lies between. It is counted then. If this packet shows it of earlier ones, those are to be taken now.
#[cold]
#[inline(never)]
pub(crate) fn judge_ahead(
    terms: &Terms,
    directions: &mut [Direction; 2],
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
) -> Judged {
    judged(directions, doubts, packet, side, |directions, _| {
        let [direction, peer] = [&directions[side], &directions[1 - side]];
        let known = direction.packets > 0 || direction.opening_seen;
        let above = |number: u32, direction: &Direction, room_bytes: u64| {
            let position = unwrap(direction.max, number);
            position > direction.max && position - direction.max > room_bytes
        };
        Outside {
            sequence: direction.begun && known && above(packet.sequence, direction, room_bytes(directions, side)),
            acknowledgement: hears_of(terms, peer, packet, side)
                && above(packet.acknowledgement, peer, room_bytes(directions, 1 - side)),
        }
    })
}

/// Asked of what [`is_far_behind`], and was not seen before: as [`judge_ahead`].
#[cold]
#[inline(never)]
pub(crate) fn judge_behind(
    terms: &Terms,
    directions: &mut [Direction; 2],
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
) -> Judged {
    judged(directions, doubts, packet, side, |directions, doubts| {
        let [direction, peer] = [&directions[side], &directions[1 - side]];
        // What passes two points, a second apart, is behind by more than a window.
        if doubts.two_points.is_some() || direction.unheard || peer.unheard {
            return Outside { sequence: false, acknowledgement: false };
        }
        let below = |position: u64, direction: &Direction, room_bytes: u64| {
            let lowest = direction.una.min(direction.max).saturating_sub(room_bytes);
            position < lowest || (direction.opening_seen && position + 1 < direction.base)
        };
        let windows = if packet.payload_length > 0 { WINDOWS_BEHIND } else { 1 };
        let end = unwrap(direction.max, packet.sequence) + u64::from(packet.payload_length);
        let acknowledged = unwrap(peer.una, packet.acknowledgement);
        Outside {
            sequence: below(end, direction, room_bytes(directions, side) * windows),
            acknowledgement: hears_of(terms, peer, packet, side)
                && below(acknowledged, peer, room_bytes(directions, 1 - side)),
        }
    })
}

/// Refused if it is a copy; otherwise judged where a number lies `outside`.
fn judged(
    directions: &mut [Direction; 2],
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
    outside: impl FnOnce(&[Direction; 2], &Doubts) -> Outside,
) -> Judged {
    if rewritten::is_copy(doubts, &directions[0], packet, side) {
        directions[side].loss.capture_duplicates += 1;
        return Judged::Refused;
    }
    let outside = outside(directions, doubts);
    if outside.sequence || outside.acknowledgement {
        judge(directions, doubts, packet, side, outside)
    } else {
        Judged::Inside
    }
}

/// The packet acknowledges, and something is known of what it may.
fn hears_of(terms: &Terms, peer: &Direction, packet: &Packet, side: usize) -> bool {
    // Of several SYN-ACKs the client has taken another one.
    let takes_other = || terms.agreed.other_syn_acks.iter().any(|other| other.base == packet.acknowledgement);
    if side == 0 && !terms.handshake.complete && takes_other() {
        return false;
    }
    packet.has(tcp_flags::ACK) && peer.begun && (peer.packets > 0 || peer.opening_seen || peer.window.is_known())
}

/// How far from what is known of the data of `side` a number may lie: the largest window advertised for it, as well as that is
/// known.
pub(crate) fn room_bytes(directions: &[Direction; 2], side: usize) -> u64 {
    let direction = &directions[side];
    // Of a window that nobody has advertised the handshake has said all, if it was captured.
    let has_said_all = direction.opening_seen && (directions[1 - side].packets > 0 || direction.data_packets == 0);
    direction.window.room_bytes(offers_are_known(directions), if has_said_all { 0 } else { FARTHEST_JUMP })
}

/// What passed before, of either side, and this packet have numbers that prove each other. Otherwise it is held, and counted.
fn judge(
    directions: &mut [Direction; 2],
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
    outside: Outside,
) -> Judged {
    let [own, other] = held_now(directions, doubts, side);
    let goes_on = own.filter(|held| is_next(packet, &held.last));
    let in_row = goes_on.map_or(0, |held| held.in_row) + 1;
    let is_alone = directions[1 - side].packets == 0;
    let one_outside = is_alone || !(outside.sequence && outside.acknowledgement);
    let is_row = in_row >= if one_outside { ENOUGH_IN_ROW } else { MANY_IN_ROW };
    let room_bytes = [room_bytes(directions, side), room_bytes(directions, 1 - side)];
    if is_row || other.is_some_and(|held| agree(packet, &held.last, room_bytes)) {
        doubts.doubtful = None;
        return Judged::Believed(Box::new([goes_on, other]));
    }
    hold(&mut directions[side], doubts, packet, side, [own, goes_on]);
    Judged::Refused
}

/// Counts a packet as one that no window allows, and keeps it for what follows to prove it.
fn hold(
    direction: &mut Direction,
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
    [own, goes_on]: [Option<DoubtfulPackets>; 2],
) {
    let believed = direction.packets_so_far();
    let in_row = goes_on.map_or(0, |held| held.in_row) + 1;
    direction.loss.unacceptable += 1;
    // The number that its host gave it was not that of a packet which got lost.
    if let Some(live) = direction.live.as_deref_mut().filter(|_| packet.ip_version == 4)
        && live.loss.identifications.missing_before(packet.ip_id) == Some(0)
    {
        live.loss.identifications.add(packet.ip_id, 1, false, NeighbouringId::default);
    }
    let is_repeated = own.is_some_and(|held| has_numbers_of(packet, &held.last));
    if !is_repeated {
        let last = Packet {
            options: packet.options & option_bits::TIMESTAMPS,
            options_captured: 0,
            payload_captured: 0,
            ..*packet
        };
        let first = goes_on.map_or(last, |held| if in_row > 2 { held.last } else { held.first });
        let held = DoubtfulPackets { first, last, in_row, believed };
        doubts.doubtful.get_or_insert_default().0[side] = Some(held);
    }
}

/// Holds a packet that seems to be another connection's.
#[cold]
#[inline(never)]
pub(crate) fn hold_elsewhere(directions: &mut [Direction; 2], doubts: &mut Doubts, packet: &Packet, side: usize) {
    let [own, _] = held_now(directions, doubts, side);
    let goes_on = own.filter(|held| is_next(packet, &held.last));
    hold(&mut directions[side], doubts, packet, side, [own, goes_on]);
}

/// What is held of the side, and of the other one, if they have sent nothing since that is believed.
pub(crate) fn held_now(directions: &[Direction; 2], doubts: &Doubts, side: usize) -> [Option<DoubtfulPackets>; 2] {
    let doubtful = doubts.doubtful.as_deref();
    [side, 1 - side].map(|side| {
        let held = doubtful.and_then(|doubtful| doubtful.0[side]);
        held.filter(|held| held.believed == directions[side].packets_so_far())
    })
}

/// Numbers from here on are near what was sent.
#[inline(always)]
fn lowest_near(direction: &Direction) -> u64 {
    direction.una.saturating_sub(u64::from(NEAR_BYTES)).max(direction.base.saturating_sub(1))
}
