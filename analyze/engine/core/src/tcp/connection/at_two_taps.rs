//! What two capture points far apart saw, in one file: the captures of both hosts put together, or of both ends of a long
//! link. Nearly every packet of both directions is there twice, one way between the points apart (docs/methods.md, section 2
//! rule 3).
//!
//! That both SYN and SYN-ACK were captured twice shows it, since no stack sends them again so soon; where the capture begins in
//! mid-stream, that nearly all packets are. What follows counts once, at the point it passed first: as in a capture between the
//! hosts, from which each of them is as far as the points are from one another.
//!
//! Only a packet that is the same in all that its sender says is one that passed before. Without numbers and timestamps that may
//! be a repeat as well, and is one as soon as an answer can have come: no repeat is taken for a copy.
//!
//! Rule: docs/methods.md, "Two capture points".

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::recent_packets::identity;
use crate::tcp::capture::two_taps::{PassedTwice, SHORTEST_WAY_NS, TapPacket, TwoPoints};
use crate::tcp::connection::groups::{Agreed, Doubts, Loops};
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::copy::CopySeen;
use crate::tcp::kernel::{FASTEST_ANSWER, LONGEST_WAY_NS};
use crate::tcp::stats::sequence::serial_difference;

/// So many packets of both directions must have passed twice if the opening was not captured.
const FEWEST_TWICE: u32 = 8;

/// The SYN or SYN-ACK of a side was captured again, so long after.
pub(crate) fn opening_passed_again(agreed: &mut Agreed, doubts: &mut Doubts, side: usize, age_ns: i64) {
    agreed.openings_twice[side] |= age_ns >= SHORTEST_WAY_NS;
    if agreed.openings_twice == [true; 2] && doubts.two_points.is_none() {
        doubts.two_points = Some(TwoPoints::certain());
    }
}

/// There certainly are two.
pub(crate) fn has_two_points(doubts: &Doubts) -> bool {
    doubts.two_points.as_deref().is_some_and(|points| points.are_certain)
}

/// The packet has passed the other one of two capture points before; or, as long as it is not certain that there are two, something
/// on the way has copied it.
#[cold]
pub(crate) fn has_passed_other_point(
    doubts: &mut Doubts,
    direction: &Direction,
    loops: &Loops,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> Option<CopySeen> {
    let mut points = doubts.two_points.take()?;
    let rtt_ns = loops.handshake_rtt_ns.or_else(|| points.there_and_back_ns()).unwrap_or(0);
    let twice = &mut points.directions[side];
    twice.forget_before(packet.time_ns.saturating_sub(LONGEST_WAY_NS));
    let identity = identity(packet, bytes);
    let before = twice.passed.get(&identity).copied();
    let is_same = before.is_some_and(|before| is_same_transmission(direction, packet, &before, twice, rtt_ns));
    match before.filter(|_| is_same) {
        // Acknowledgements that differ in nothing may be several: each has one copy.
        Some(before) => twice.passed_again(identity, before, packet),
        None => twice.remember(identity, packet.time_ns),
    }
    points.are_certain |= points.directions.iter().all(|direction| direction.twice >= FEWEST_TWICE);
    let seen = if points.are_certain { CopySeen::AtOnce } else { CopySeen::Late };
    let is_sought = points.are_certain || loops.echo_loops.is_some();
    let given_up = !is_sought || points.directions.iter().any(PassedTwice::is_mostly_once);
    doubts.two_points = Some(points).filter(|_| !given_up);
    is_same.then_some(seen)
}

/// What looks the same as a packet that passed before is that: its sender would have numbered or stamped it anew since, or cannot
/// have heard anything.
fn is_same_transmission(
    direction: &Direction,
    packet: &Packet,
    before: &TapPacket,
    twice: &PassedTwice,
    rtt_ns: i64,
) -> bool {
    let age_ns = packet.time_ns.saturating_sub(before.time_ns);
    let answered_after_ns = FASTEST_ANSWER * rtt_ns as f64;
    if (age_ns as f64) < answered_after_ns || packet.has(tcp_flags::RST) {
        return true;
    }
    let Some(live) = direction.live.as_deref() else { return false };
    let others_stamped =
        || live.capture.clock.newest().is_some_and(|newest| serial_difference(packet.tsval, newest) < 0);
    let would_stamp = || live.capture.clock.tick_ns().is_some_and(|tick_ns| 2.0 * tick_ns < age_ns as f64);
    if packet.options & option_bits::TIMESTAMPS != 0 && (others_stamped() || would_stamp())
        || packet.ip_id != 0 && live.loss.identifications.looks_rising()
    {
        return true;
    }
    // Behind a queue: nothing sent later has arrived, so that nobody can miss it, and it took hardly longer than the last.
    let back_ns = (answered_after_ns / 2.0) as i64;
    before.time_ns >= twice.last_first_ns && age_ns < twice.last_way_ns.saturating_add(back_ns)
}
