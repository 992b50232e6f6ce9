//! Which packets go to the [`EndingLog`] of their connection. Nothing of it is on the way of next data and plain acknowledgements
//! but a look at their window.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::ending_log::{EndingLog, SideLog};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Endings, Times};
use crate::tcp::connection::standstills;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::bounds::{BoundsReached, ListBound};
use crate::tcp::events::ending::{Reset, Resumed, SentAgain};
use crate::tcp::events::place::Place;
use crate::tcp::events::segment::Segment;
use crate::tcp::events::sent::{Arrived, SentKind};
use crate::tcp::kernel::LONG_IDLE_NS;
use crate::tcp::stats::sequence::unwrap;

/// Places of one kind that are kept for one side: evidence has at most ten frames.
pub(crate) const MOST_PLACES: usize = 10;

/// Resets that are kept of a connection.
const MOST_RESETS: usize = 6;

fn ending_log(endings: &mut Endings) -> &mut EndingLog {
    endings.log.get_or_insert_default()
}

/// The connection goes on to this packet. Recorded twice, the last one ends it once; what is refused does not at all.
#[inline(always)]
pub(crate) fn ends_later(connection: &mut Connection, packet: &Packet, side: usize, environment: &mut Environment) {
    if standstills::ends_silence(connection, packet, side) {
        let shown = standstills::shown_by(connection, packet, side);
        standstills::note(&mut connection.watch, &connection.times, packet, side, shown, environment);
    }
    // Times lie within 2^62 of zero.
    if packet.time_ns - connection.times.end_ns >= LONG_IDLE_NS {
        note_long_silence(&mut connection.endings, &connection.times, &connection.directions, packet, side);
    }
    connection.times.passes(packet, side);
}

/// Nothing has passed for long before `packet`. A silence in which something is outstanding is none of the application's.
#[cold]
fn note_long_silence(endings: &mut Endings, times: &Times, directions: &[Direction; 2], packet: &Packet, side: usize) {
    if directions.iter().all(|direction| direction.all_acknowledged()) {
        let resumed = Resumed { from_ns: times.end_ns, to: Place::of(packet), side: side as u8 };
        ending_log(endings).resumed = Some(resumed);
    }
}

/// A SYN or a SYN-ACK that is not the first.
#[cold]
pub(crate) fn note_repeated_opening(endings: &mut Endings, packet: &Packet, side: usize) {
    let places = &mut ending_log(endings).sides[side].openings;
    if places.len() < MOST_PLACES {
        places.push(Place::of(packet));
    } else if let Some(last) = places.last_mut() {
        *last = Place::of(packet);
    }
}

/// A reset, believed or not.
#[cold]
pub(crate) fn note_reset(
    endings: &mut Endings,
    bounds: &mut BoundsReached,
    directions: &[Direction; 2],
    packet: &Packet,
    side: usize,
) {
    let direction = &directions[side];
    let reset = Reset {
        place: Place::of(packet),
        side: side as u8,
        ttl: packet.ttl,
        ttl_of_host: if direction.packets > 0 { direction.ttl } else { 0 },
        ip_id: (packet.ip_version == 4).then_some(packet.ip_id),
        ip_id_ahead: direction.live.as_deref().and_then(|live| live.loss.identifications.regular_step(packet.ip_id)),
        acknowledges: packet.has(tcp_flags::ACK),
        outstanding_bytes: [0, 1].map(|of| outstanding_behind(&directions[of], packet, of != side)),
    };
    let log = ending_log(endings);
    if log.resets.len() >= MOST_RESETS {
        log.resets.pop();
        bounds.add(ListBound::Resets, true);
    }
    log.resets.push(reset);
}

/// What was sent and is not acknowledged, not even by a reset if that is of the peer.
fn outstanding_behind(direction: &Direction, reset: &Packet, is_of_peer: bool) -> u64 {
    let by_reset = unwrap(direction.una, reset.acknowledgement);
    let counts = is_of_peer && reset.has(tcp_flags::ACK) && by_reset <= direction.max;
    direction.max.saturating_sub(if counts { direction.una.max(by_reset) } else { direction.una })
}

/// A packet with data that may have been sent before: when that was, before its record says something else.
#[inline]
pub(crate) fn note_oldest(direction: &Direction, endings: &mut Endings, packet: &Packet, side: usize) {
    if packet.payload_length > 0 && packet.sequence != direction.max as u32 {
        note_oldest_sent(direction, endings, side);
    }
}

#[cold]
fn note_oldest_sent(direction: &Direction, endings: &mut Endings, side: usize) {
    let first = direction.live.as_deref().and_then(|live| live.segments.first()).copied();
    let Some(first) = first.filter(Segment::was_sent_once) else { return };
    let place = Place { frame: first.frame, time_ns: first.time_ns };
    let oldest = SentAgain { place, start: first.start, length: first.length, kind: SentKind::Data };
    let known = &mut ending_log(endings).sides[side].oldest;
    if known.is_none_or(|known| known.start < oldest.start) {
        *known = Some(oldest);
    }
}

/// A packet that was retransmitted, or asks whether anybody is there.
#[inline]
pub(crate) fn note_sent_again(
    direction: &Direction,
    endings: &mut Endings,
    packet: &Packet,
    side: usize,
    arrived: &Arrived,
) {
    let is_again = match arrived.kind {
        SentKind::Retransmission | SentKind::WindowProbe | SentKind::KeepAlive => true,
        SentKind::Fin => direction.loss.fin > 0,
        _ => false,
    };
    if is_again {
        note_again(direction, endings, packet, side, arrived.kind);
    }
}

#[cold]
fn note_again(direction: &Direction, endings: &mut Endings, packet: &Packet, side: usize, kind: SentKind) {
    let (start, una) = (unwrap(direction.max, packet.sequence), direction.una);
    let sent = SentAgain { place: Place::of(packet), start, length: packet.payload_length, kind };
    let SideLog { times_again: times, sent_again: places, .. } = &mut ending_log(endings).sides[side];
    if places.front().is_some_and(|first| first.kind != kind || first.is_done(una)) {
        places.clear();
        *times = 0;
    }
    *times = times.saturating_add(1);
    // The first and the last ones stay.
    if places.len() >= MOST_PLACES {
        places.remove(MOST_PLACES / 2);
    }
    places.push_back(sent);
}

/// `side` says how much room it has for the data of the other.
#[inline(always)]
pub(crate) fn note_window(endings: &mut Endings, packet: &Packet, side: usize) {
    if packet.window == 0 || endings.log.as_deref().is_some_and(|log| log.sides[1 - side].closed.is_some()) {
        note_closed_window(endings, packet, 1 - side);
    }
}

#[cold]
fn note_closed_window(endings: &mut Endings, packet: &Packet, sender: usize) {
    let place = Place::of(packet);
    let log = &mut ending_log(endings).sides[sender];
    match (&mut log.closed, packet.window) {
        (Some([_, last]), 0) => *last = place,
        (nothing @ None, 0) => *nothing = Some([place; 2]),
        (closed, _) => {
            if let Some([first, _]) = closed.take() {
                let lasted_ns = place.time_ns.saturating_sub(first.time_ns);
                log.longest_closed_ns = log.longest_closed_ns.max(lasted_ns);
            }
        }
    }
}
