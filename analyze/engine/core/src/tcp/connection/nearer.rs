//! Who answered the SYN: a SYN proxy, a load balancer or a NAT device may do so for a host that is farther away, and which alone
//! acknowledges data. Then the handshake's round trip is not that of the path, and what data takes longer is no queue.
//!
//! How it works: the shortest round trip of bulk data is compared with the handshake's on the same side of the capture point. A queue
//! of the transfer's own is not there yet when its first segments pass, and the SYN waited in those of others.
//!
//! Rule: docs/methods.md, "Answered by something nearer".

use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::groups::Terms;
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::place::Place;

/// Clean samples of data, and round trips that they must extend over.
const FEWEST_SAMPLES: u64 = 8;

const FEWEST_ROUND_TRIPS: i64 = 3;

/// Segments in flight at once, below which acknowledgements may have been delayed (RFC 5681 section 4.2).
const FEWEST_IN_FLIGHT: u64 = 4;

/// The shortest round trip of data is so many times that of the handshake, and so much longer, where something nearer answered.
const FARTHER: f64 = 2.5;

const FARTHER_NS: u64 = 5_000_000;

/// The mean lies no further above the shortest: else its own queue may never have been empty.
const MOST_SPREAD: f64 = 3.0;

/// What answered the SYN is nearer than what acknowledges data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearer {
    /// Round trip of the handshake between the capture point and that side.
    pub handshake_ns: u64,
    /// The shortest of data.
    pub data_ns: u64,
    /// SYN and SYN-ACK, or SYN-ACK and its acknowledgement.
    pub places: [Place; 2],
}

/// Whether the opening was answered by something nearer than what acknowledges data; none if too little is known.
pub(crate) fn answered_nearer(connection: &Connection) -> Option<bool> {
    let sides = [0, 1].map(|side| is_answered_nearer(&connection.terms.handshake, &connection.directions, side));
    sides.into_iter().flatten().reduce(|one, other| one || other)
}

/// The same with its numbers, if it is so.
pub(crate) fn nearer(connection: &Connection) -> Option<Nearer> {
    let Connection { identity, terms: Terms { handshake, .. }, directions, .. } = connection;
    let side = [1, 0].into_iter().find(|&side| is_answered_nearer(handshake, directions, side) == Some(true))?;
    // Between SYN, SYN-ACK and acknowledgement stand what was retransmitted of them.
    let [syn, _, syn_ack, _, acknowledgement] = handshake.steps(identity.first_frame);
    let answered = [syn_ack, syn][side & 1].zip([acknowledgement, syn_ack][side & 1]);
    let place = |(time_ns, frame): (i64, u32)| Place { frame, time_ns };
    Some(Nearer {
        handshake_ns: handshake_loop_ns(handshake, side)?,
        data_ns: shortest_ns(&directions[1 - side])?,
        places: answered.map(|(first, answer)| [place(first), place(answer)])?,
    })
}

/// The round trip of the path without a queue: the handshake's, but the shortest of data where something nearer answered that.
pub(crate) fn path_rtt_ns(connection: &Connection) -> Option<u64> {
    farther_rtt_ns(&connection.terms.handshake, &connection.directions)
        .or_else(|| connection.terms.loops.handshake_rtt_ns.and_then(|rtt_ns| u64::try_from(rtt_ns).ok()))
}

/// The shortest round trip of data, where something nearer answered the opening.
pub(crate) fn farther_rtt_ns(handshake: &Handshake, directions: &[Direction; 2]) -> Option<u64> {
    let is_nearer = [0, 1].map(|side| is_answered_nearer(handshake, directions, side) == Some(true));
    if is_nearer == [false; 2] {
        return None;
    }
    let part_ns = |side: usize| {
        let far_ns = shortest_ns(&directions[1 - side]).filter(|_| is_nearer[side]);
        far_ns.or(handshake_loop_ns(handshake, side))
    };
    part_ns(0).zip(part_ns(1)).map(|(client_ns, server_ns)| client_ns.saturating_add(server_ns))
}

/// The shortest round trip to the host of `side` that acknowledges data, from the capture point.
pub(crate) fn data_loop_ns(terms: &Terms, directions: &[Direction; 2], side: usize) -> Option<i64> {
    if is_answered_nearer(&terms.handshake, directions, side) == Some(true) {
        return shortest_ns(&directions[1 - side]).and_then(|loop_ns| i64::try_from(loop_ns).ok());
    }
    terms.loops.loops_ns[side]
}

fn handshake_loop_ns(handshake: &Handshake, side: usize) -> Option<u64> {
    let loops_ns = [handshake.client_loop_ns, handshake.server_loop_ns];
    loops_ns.get(side).copied().flatten().and_then(|loop_ns| u64::try_from(loop_ns).ok())
}

fn is_answered_nearer(handshake: &Handshake, directions: &[Direction; 2], side: usize) -> Option<bool> {
    let handshake_ns = handshake_loop_ns(handshake, side)?;
    let direction = &directions[1 - side];
    let shortest_ns = shortest_ns(direction)?;
    let is_farther =
        shortest_ns >= handshake_ns.saturating_add(FARTHER_NS) && shortest_ns as f64 >= FARTHER * handshake_ns as f64;
    if !is_farther {
        return (shortest_ns < handshake_ns.saturating_add(FARTHER_NS)).then_some(false);
    }
    is_telling(direction, shortest_ns).then_some(true)
}

fn shortest_ns(direction: &Direction) -> Option<u64> {
    direction.live.as_deref()?.round_trips.moments.min()
}

/// Its samples are enough, of bulk data, and near the shortest.
fn is_telling(direction: &Direction, shortest_ns: u64) -> bool {
    let Some(live) = direction.live.as_deref() else { return false };
    let moments = &live.round_trips.moments;
    let span_ns = direction.last_data_ns.saturating_sub(direction.first_data_ns.unwrap_or(direction.last_data_ns));
    let least_span_ns = i64::try_from(shortest_ns).unwrap_or(i64::MAX).saturating_mul(FEWEST_ROUND_TRIPS);
    let least_flight = FEWEST_IN_FLIGHT * u64::from(live.size.segment_size.max(1));
    moments.count >= FEWEST_SAMPLES
        && span_ns >= least_span_ns
        && moments.sum_ns as f64 <= MOST_SPREAD * shortest_ns as f64 * moments.count as f64
        && live.view.flight_statistics().is_some_and(|(_, largest)| largest.get() >= least_flight)
}
