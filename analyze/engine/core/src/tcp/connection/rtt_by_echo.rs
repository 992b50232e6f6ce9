//! The round trip between the capture point and a sender of data to whom nobody sends any, where the handshake was not captured:
//! how long after an acknowledgement the first data passes that echoes it (RFC 7323: TSecr repeats the newest TSval received).
//! With it [`crate::tcp::connection::vantage`] is known of a transfer that was under way when the capture began.
//!
//! That is never less than the round trip, but more if the sender had nothing to send. So it counts only if data kept coming
//! meanwhile, or if it is so short that the capture is beside the sender in any case.
//!
//! Rule: docs/methods.md, "Place by echoes".

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::kernel::BESIDE_SHARE;
use crate::tcp::stats::sequence::serial_difference;

/// So many round trips are enough.
const ENOUGH: u32 = 8;

/// A connection that has not shown them by then is given up: its packets take the long way meanwhile.
const MOST_PACKETS: u32 = 4096;

impl Connection {
    /// Looks at a packet before it changes anything.
    #[cold]
    pub(crate) fn seek_loops(&mut self, packet: &Packet, side: usize) {
        self.clock_client(packet, side);
        let Some(mut loops) = self.echo_loops.take() else { return };
        loops.packets += 1;
        let is_stamped = packet.options & option_bits::TIMESTAMPS != 0;
        if loops.packets > MOST_PACKETS || !(is_stamped || self.handshake.is_clocked()) {
            return;
        }
        if !is_stamped {
            self.echo_loops = Some(loops);
            return;
        }
        if packet.payload_length > 0
            && let Some((taken_ns, kept_coming)) = loops.sides[side].sent(packet.tsecr, packet.time_ns)
        {
            let beside = |far_ns: i64| taken_ns as f64 <= BESIDE_SHARE * far_ns as f64;
            if kept_coming || self.loops_ns[1 - side].is_some_and(beside) {
                loops.sides[side].found += 1;
                if self.loops_ns[side].is_none_or(|known_ns| taken_ns < known_ns) {
                    self.set_loop(side, taken_ns);
                }
            }
        }
        let newest = self.directions[side].live.as_deref().and_then(|live| live.capture.clock.newest());
        if packet.has(tcp_flags::ACK) && newest.is_some_and(|newest| serial_difference(packet.tsval, newest) > 0) {
            loops.sides[1 - side].acknowledged(packet.tsval, packet.time_ns);
        }
        match (0..2).find(|&side| loops.sides[side].found >= ENOUGH) {
            Some(side) => self.sees_through_loop(side),
            None => self.echo_loops = Some(loops),
        }
    }

    /// See [`crate::tcp::connection::handshake::Handshake::clock`].
    fn clock_client(&mut self, packet: &Packet, side: usize) {
        let client = &self.directions[0];
        let goes_on = side == 0 && packet.payload_length > 0 && packet.sequence == client.max as u32;
        let acknowledges_all = side == 1
            && packet.has(tcp_flags::ACK)
            && client.max > client.base
            && packet.acknowledgement == client.max as u32;
        if (goes_on || acknowledges_all)
            && let Some(loop_ns) = self.handshake.clock(packet, acknowledges_all)
        {
            self.handshake_rtt_ns = self.handshake.rtt_ns();
            self.set_loop(0, self.loops_ns[0].map_or(loop_ns, |known_ns| known_ns.min(loop_ns)));
            self.sees_through_loop(0);
        }
    }

    /// Away from the sender what passes reaches it only later.
    fn sees_through_loop(&mut self, side: usize) {
        if let (false, Some(loop_ns)) = (self.beside[side], self.loops_ns[side])
            && let Some(live) = self.directions[side].live.as_deref_mut()
        {
            live.view.set_loop(loop_ns);
        }
    }
}
