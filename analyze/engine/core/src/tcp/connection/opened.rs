//! What follows from an opening that is complete: round trips of its steps, and how near the capture point stands.

use crate::packet::Packet;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::Terms;
use crate::tcp::connection::loops;
use crate::tcp::direction::direction::Direction;

/// Both SYNs are acknowledged.
pub(crate) fn opened(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    packet: &Packet,
    environment: &mut Environment,
) {
    terms.handshake.completed(packet);
    // Echoes tell what the acknowledgement that was lost would have told.
    terms.loops.echo_loops = terms.handshake.acknowledgement_lost.then(Box::default);
    let loops = [terms.handshake.client_loop_ns, terms.handshake.server_loop_ns];
    for (side, measured) in loops.into_iter().enumerate() {
        if let Some(loop_ns) = measured {
            let shortest_ns = terms.loops.loops_ns[side].map_or(loop_ns, |known| known.min(loop_ns));
            loops::set_loop(terms, directions, side, shortest_ns);
        }
    }
    let rtt_ns = terms.handshake.rtt_ns();
    terms.loops.handshake_rtt_ns = rtt_ns;
    for (side, (own_loop, direction)) in loops.into_iter().zip(directions).enumerate() {
        let away = !terms.loops.beside[side];
        if direction.live.is_none() {
            direction.live = environment.live();
        }
        let live = direction.live();
        if let Some(rtt_ns) = rtt_ns {
            live.round_trips.smooth(rtt_ns as f64);
        }
        if let (true, Some(loop_ns)) = (away, own_loop) {
            live.view.set_loop(loop_ns);
        }
    }
}
