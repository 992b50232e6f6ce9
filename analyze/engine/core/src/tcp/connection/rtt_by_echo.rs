//! The round trip between the capture point and a sender of data to whom nobody sends any, where the handshake was not captured:
//! how long after an acknowledgement the first data passes that echoes it (RFC 7323: TSecr repeats the newest TSval received).
//! With it [`crate::tcp::connection::vantage`] is known of a transfer that was under way when the capture began.
//!
//! That is never less than the round trip, but more if the sender had nothing to send. So it counts only if data kept coming
//! meanwhile, or if it is so short that the capture is at the sender in any case. Or if most such times are one.
//!
//! Rule: docs/methods.md, "Place by echoes".

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::groups::{Loops, Terms};
use crate::tcp::connection::loops;
use crate::tcp::direction::direction::Direction;
use crate::tcp::kernel::BESIDE_SHARE;
use crate::tcp::stats::sequence::serial_difference;

/// So many round trips are enough.
const ENOUGH: u32 = 8;

/// The other host acknowledges so soon where the capture is at it. Elsewhere pauses may be the application's: regular ones look the same.
const AT_THE_OTHER_HOST_NS: i64 = 1_000_000;

/// A connection that has not shown them by then is given up: its packets take the long way meanwhile.
const MOST_PACKETS: u32 = 4096;

/// Looks at a packet before it changes anything.
#[cold]
pub(crate) fn seek_loops(terms: &mut Terms, directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    clock_client(terms, directions, packet, side);
    let Some(mut echoes) = terms.loops.echo_loops.take() else { return };
    echoes.packets += 1;
    let is_stamped = packet.options & option_bits::TIMESTAMPS != 0;
    if echoes.packets > MOST_PACKETS || !(is_stamped || terms.handshake.is_clocked()) {
        return;
    }
    if !is_stamped {
        terms.loops.echo_loops = Some(echoes);
        return;
    }
    if packet.payload_length > 0
        && let Some((taken_ns, kept_coming)) = echoes.sides[side].sent(packet.tsecr, packet.time_ns)
    {
        let beside = |far_ns: i64| taken_ns as f64 <= BESIDE_SHARE * far_ns as f64;
        if kept_coming || terms.loops.loops_ns[1 - side].is_some_and(beside) {
            echoes.sides[side].found += 1;
            if terms.loops.loops_ns[side].is_none_or(|known_ns| taken_ns < known_ns) {
                loops::set_loop(terms, directions, side, taken_ns);
            }
        } else if let Some(loop_ns) = echoes.sides[side].paused(taken_ns)
            && terms.loops.loops_ns[side].is_none()
            && terms.loops.loops_ns[1 - side].is_some_and(|far_ns| far_ns <= AT_THE_OTHER_HOST_NS)
        {
            loops::set_loop(terms, directions, side, loop_ns);
            return sees_through_loop(&terms.loops, directions, side);
        }
    }
    let newest = directions[side].live.as_deref().and_then(|live| live.capture.clock.newest());
    if packet.has(tcp_flags::ACK) && newest.is_some_and(|newest| serial_difference(packet.tsval, newest) > 0) {
        echoes.sides[1 - side].acknowledged(packet.tsval, packet.time_ns);
    }
    match (0..2).find(|&side| echoes.sides[side].found >= ENOUGH) {
        Some(side) => sees_through_loop(&terms.loops, directions, side),
        None => terms.loops.echo_loops = Some(echoes),
    }
}

/// See [`crate::tcp::connection::handshake::Handshake::clock`].
fn clock_client(terms: &mut Terms, directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    let client = &directions[0];
    let goes_on = side == 0 && packet.payload_length > 0 && packet.sequence == client.max as u32;
    let acknowledges_all = side == 1
        && packet.has(tcp_flags::ACK)
        && client.max > client.base
        && packet.acknowledgement == client.max as u32;
    if (goes_on || acknowledges_all)
        && let Some(loop_ns) = terms.handshake.clock(packet, acknowledges_all)
    {
        terms.loops.handshake_rtt_ns = terms.handshake.rtt_ns();
        let shortest_ns = terms.loops.loops_ns[0].map_or(loop_ns, |known_ns| known_ns.min(loop_ns));
        loops::set_loop(terms, directions, 0, shortest_ns);
        sees_through_loop(&terms.loops, directions, 0);
    }
}

/// Away from the sender what passes reaches it only later.
fn sees_through_loop(loops: &Loops, directions: &mut [Direction; 2], side: usize) {
    if let (false, Some(loop_ns)) = (loops.beside[side], loops.loops_ns[side])
        && let Some(live) = directions[side].live.as_deref_mut()
    {
        live.view.set_loop(loop_ns);
    }
}
