//! Round trips between the capture point and both hosts while a connection lasts: beside which of them the capture seems to be.
//!
//! When the connection is over, [`crate::tcp::connection::vantage`] says where it was.

use crate::tcp::connection::groups::{Loops, Terms};
use crate::tcp::connection::vantage::{Clues, Side};
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::acked::AckProgress;
use crate::tcp::kernel::{BESIDE_SHARE, LONGEST_BESIDE_NS, SHORT_TRIP_NS, SHORTEST_TELLING_NS};

/// Share of the round trip's far part that the near part may be where the far one is short.
const BESIDE_SHARE_OF_SHORT_PART: f64 = 0.5;

/// The shortest round trip between the capture point and the side that answered.
#[inline(always)]
pub(crate) fn take_round_trip(terms: &mut Terms, directions: &mut [Direction; 2], answer: AckProgress, side: usize) {
    if let Some((rtt_ns, _)) = answer.round_trip
        && terms.loops.loops_ns[side].is_none_or(|known| (rtt_ns as i64) < known)
    {
        set_loop(terms, directions, side, rtt_ns as i64);
    }
}

/// The shortest round trip between the hosts so far. That of the handshake alone may be a second too long: beside the client
/// nobody sees that a SYN-ACK was lost.
pub(crate) fn shortest_rtt_ns(loops: &Loops) -> Option<i64> {
    let [client_ns, server_ns] = loops.loops_ns;
    let both_ns = client_ns.zip(server_ns).map(|(client_ns, server_ns)| client_ns.saturating_add(server_ns));
    loops.handshake_rtt_ns.map(|rtt_ns| both_ns.map_or(rtt_ns, |both_ns| rtt_ns.min(both_ns)))
}

/// The shortest round trip between the capture point and a side so far, or at least that between the hosts.
pub(crate) fn loop_ns(loops: &Loops, side: usize) -> Option<i64> {
    loops.loops_ns[side].or_else(|| shortest_rtt_ns(loops))
}

pub(crate) fn set_loop(terms: &mut Terms, directions: &mut [Direction; 2], side: usize, loop_ns: i64) {
    terms.loops.loops_ns[side] = Some(loop_ns);
    let beside = [is_beside(terms, directions, 0), is_beside(terms, directions, 1)];
    let before = std::mem::replace(&mut terms.loops.beside, beside);
    for (near, was_beside) in before.into_iter().enumerate() {
        // A handshake that was held up on one side makes the capture seem to be beside the other one.
        if let (true, false, Some(near_ns)) = (was_beside, terms.loops.beside[near], terms.loops.loops_ns[near])
            && let Some(live) = directions[near].live.as_deref_mut()
        {
            live.view.set_loop(near_ns);
        }
    }
}

/// The capture point seems to be beside this side, by the round trips so far; when the connection is over,
/// [`crate::tcp::connection::vantage`] says where it was.
fn is_beside(terms: &Terms, directions: &[Direction; 2], side: usize) -> bool {
    let Terms { handshake, loops, .. } = terms;
    if loops.behind_queue[side] {
        return false;
    }
    let [Some(near), Some(far)] = [loops.loops_ns[side], loops.loops_ns[1 - side]] else {
        return false;
    };
    let is_near = |near: i64, far: i64| is_near(handshake.complete, near, far);
    if near.saturating_add(far) >= SHORTEST_TELLING_NS {
        return is_near(near, far);
    }
    // A loop that was measured often is shorter than one that was measured once, by no more than what hosts take.
    let ttl = [directions[0].ttl, directions[1].ttl];
    match (Clues { ttl, ..Clues::default() }.vantage().side, handshake.loops_ns()) {
        (Side::Client, _) => side == 0,
        (Side::Server, _) => side == 1,
        (_, loops_ns) => {
            let is_near_in_opening = |loops_ns: [i64; 2]| is_near(loops_ns[side], loops_ns[1 - side]);
            is_near(near, far) && loops_ns.is_none_or(is_near_in_opening)
        }
    }
}

fn is_near(is_complete: bool, near: i64, far: i64) -> bool {
    let share = if far < SHORT_TRIP_NS { BESIDE_SHARE_OF_SHORT_PART } else { BESIDE_SHARE };
    (near <= LONGEST_BESIDE_NS || is_complete) && near < far && near as f64 <= share * far as f64
}
