//! What follows from an opening that is complete: round trips of its steps, and how near the capture point stands.

use crate::packet::Packet;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::loops;

/// Both SYNs are acknowledged.
pub(crate) fn opened(connection: &mut Connection, packet: &Packet, environment: &mut Environment) {
    connection.handshake.completed(packet);
    // Echoes tell what the acknowledgement that was lost would have told.
    connection.loops.echo_loops = connection.handshake.acknowledgement_lost.then(Box::default);
    let loops = [connection.handshake.client_loop_ns, connection.handshake.server_loop_ns];
    for (side, measured) in loops.into_iter().enumerate() {
        if let Some(loop_ns) = measured {
            loops::set_loop(
                connection,
                side,
                connection.loops.loops_ns[side].map_or(loop_ns, |known| known.min(loop_ns)),
            );
        }
    }
    let rtt_ns = connection.handshake.rtt_ns();
    connection.loops.handshake_rtt_ns = rtt_ns;
    for (side, own_loop) in loops.into_iter().enumerate() {
        let away = !connection.loops.beside[side];
        let direction = &mut connection.directions[side];
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
