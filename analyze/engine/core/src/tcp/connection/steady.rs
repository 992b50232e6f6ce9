//! The short way of a connection in the middle of a transfer: next data in order and pure acknowledgements.
//!
//! The guards are here, the events and what they change are those of every packet ([`crate::tcp::direction::fast_path`]).

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::{Connection, peer_of};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::padded::may_be_padded;
use crate::tcp::direction::direction::direction_and_peer;
use crate::tcp::events::ecn;

impl Connection {
    /// Open, and nothing of the opening is awaited: packets without SYN, FIN and RST leave it so.
    #[inline]
    pub fn is_steady(&self) -> bool {
        let awaits_no_syn_ack = !self.directions[1].offer.seen && self.other_syn_acks.is_empty();
        let opened = self.handshake.complete || awaits_no_syn_ack;
        opened
            && self.first_fin_ns.is_none()
            && self.reset.is_none()
            && self.over_since.is_none()
            && !self.detailed
            && self.echo_loops.is_none()
            && self.two_points.is_none()
            && self.padding.is_none()
    }

    /// Packets with one of these bits want a look of their own: where both sides agreed on marks of congestion, those that tell of
    /// them, too.
    #[inline]
    pub fn telling_bits(&self) -> u16 {
        let of_marks = if self.ecn.is_some() { ecn::BITS } else { 0 };
        tcp_flags::SYN | tcp_flags::FIN | tcp_flags::RST | of_marks
    }

    /// Takes a packet without [`Self::telling_bits`] while the connection [`Self::is_steady`]. The two kinds that bulk transfers
    /// are made of, next data and pure acknowledgements, go a short way to the same result.
    ///
    /// `SIDE` sent it, known when this is compiled: nothing has to be looked up by it. False if the connection is steady no more.
    #[inline(always)]
    pub fn steady_packet<const SIDE: usize>(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        shortest_gap_ns: i64,
        environment: &mut Environment,
    ) -> bool {
        let taken = if packet.payload_length > 0 {
            self.steady_data::<SIDE>(packet, bytes, shortest_gap_ns, environment)
        } else {
            self.steady_acknowledgement::<SIDE>(packet, bytes, environment)
        };
        if !taken {
            self.packet(packet, bytes, SIDE == 0, environment);
        }
        taken || self.is_steady()
    }

    /// The next data in order. False if it is something else; then nothing has changed.
    // Apart from the other kind of packet: both in one function want more registers than there are.
    #[inline(never)]
    fn steady_data<const SIDE: usize>(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        shortest_gap_ns: i64,
        environment: &mut Environment,
    ) -> bool {
        let is_watched = self.is_watched(packet, SIDE, self.end_ns, shortest_gap_ns) || self.ends_long_silence(packet);
        if is_watched || !self.acknowledges_near(packet, SIDE) || may_be_padded(packet) {
            return false;
        }
        let context = self.context(SIDE);
        let [direction, peer] = direction_and_peer(&mut self.directions, SIDE);
        let peer = peer_of(SIDE, peer, &self.handshake);
        let Some(ahead_ns) = direction.next_data(packet, bytes, &context, peer) else { return false };
        self.end_ns = self.end_ns.max(packet.time_ns);
        if ahead_ns != 0 {
            self.suspect_step(packet, SIDE, ahead_ns, environment);
        }
        if self.speaker != SIDE as u8 {
            self.speaks(packet, bytes, SIDE);
        }
        if !self.tls_settled {
            self.feed_next_tls(packet, bytes, SIDE);
        }
        let window_shift = self.shifts[SIDE];
        let is_repeated = packet.has(tcp_flags::ACK) && self.directions[1 - SIDE].repeated_while_idle(packet, window_shift);
        let rtt_ns = if is_repeated {
            self.pass_tls_holes(packet, 1 - SIDE);
            None
        } else {
            self.take_acknowledgement(packet, bytes, SIDE).rtt_ns()
        };
        self.answered(packet, SIDE, rtt_ns);
        self.check_round(packet, SIDE, environment.round_rules);
        true
    }

    /// A pure acknowledgement. False if it is something else; then nothing has changed.
    #[inline(never)]
    fn steady_acknowledgement<const SIDE: usize>(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        environment: &mut Environment,
    ) -> bool {
        let is_watched = self.is_watched_answer(packet, SIDE) || self.ends_long_silence(packet);
        if is_watched || !self.acknowledges_near(packet, SIDE) {
            return false;
        }
        let [direction, peer] = direction_and_peer(&mut self.directions, SIDE);
        let Some((ahead_ns, position)) = direction.pure_acknowledgement(packet, bytes, peer) else { return false };
        let is_more = position > peer.una;
        self.end_ns = self.end_ns.max(packet.time_ns);
        if ahead_ns != 0 {
            self.suspect_step(packet, SIDE, ahead_ns, environment);
        }
        let context = self.context(1 - SIDE);
        let window_shift = self.shifts[SIDE];
        let answer = (is_more && packet.has(tcp_flags::ACK))
            .then(|| self.directions[1 - SIDE].more_acknowledged(packet, position, window_shift, &context))
            .flatten();
        let rtt_ns = match answer {
            Some(answer) => {
                self.note_window(packet, SIDE);
                self.take_round_trip(answer, SIDE);
                self.pass_tls_holes(packet, 1 - SIDE);
                answer.rtt_ns()
            }
            None => self.take_acknowledgement(packet, bytes, SIDE).rtt_ns(),
        };
        self.answered(packet, SIDE, rtt_ns);
        self.check_round(packet, SIDE, environment.round_rules);
        true
    }
}
