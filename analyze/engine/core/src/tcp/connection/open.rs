//! How a connection takes SYN, SYN-ACK, the acknowledgement that completes them, and RST: what both sides offer and what
//! follows from it (RFC 9293 section 3.5, RFC 7323, RFC 7413). The steps themselves are timed in [`crate::tcp::connection::handshake`].

use crate::decode::options::Options;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::packet_row::packet_row;
use crate::tcp::connection::reset::{Believed, is_acceptable};
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::events::row::Seen;
use crate::tcp::events::sent::{Arrived, Kind};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// SYN-ACKs with numbers of their own that are remembered for one connection; more are an attack.
const MOST_SYN_ACKS: usize = 4;

impl Connection {
    /// The first packet of a side, of a connection whose opening was not captured. `acknowledged_first`: packets of the other side were.
    #[cold]
    pub(crate) fn begin_in_mid_stream(
        &mut self,
        packet: &Packet,
        side: usize,
        acknowledged_first: bool,
        environment: &mut Environment,
    ) {
        let start_ns = self.start_ns;
        let direction = &mut self.directions[side];
        let position = unwrap(direction.max, packet.sequence);
        if position.abs_diff(direction.max) > FARTHEST_JUMP {
            return;
        }
        direction.unheard = !acknowledged_first;
        let newer = direction.begin_at(position, packet, start_ns);
        if self.detailed {
            environment.rows.shift_acknowledgements(self.id, side, newer);
        }
    }

    /// Shift of the windows `side` advertises; none if it is not known (RFC 7323 section 2.2: both must offer).
    pub fn advertised_shift(&self, side: usize) -> Option<u8> {
        let (own, peer) = (&self.directions[side].offer, &self.directions[1 - side].offer);
        match (own.tells_scale(), peer.tells_scale()) {
            (true, true) => Some(own.window_scale.filter(|_| peer.window_scale.is_some()).unwrap_or(0)),
            // A SYN-ACK has the option only if the SYN had it.
            (true, false) if side == 1 => Some(own.window_scale.unwrap_or(0)),
            (false, true) if side == 0 && peer.window_scale.is_none() => Some(0),
            _ => None,
        }
    }

    /// Of several SYN-ACKs the one counts that the client acknowledges. Rule: docs/methods.md, "Several SYN-ACKs".
    fn take_acknowledged_syn_ack(&mut self, packet: &Packet) {
        let acknowledged = self.other_syn_acks.iter().find(|other| other.base == packet.acknowledgement).copied();
        if let Some(OtherSynAck { base, offer }) = acknowledged.filter(|_| packet.has(tcp_flags::ACK)) {
            self.directions[1].begin(base);
            self.watchers[1] = Watchers::NONE;
            self.offers(1, offer);
        }
    }

    #[cold]
    pub(crate) fn complete_handshake(&mut self, packet: &Packet, environment: &mut Environment) {
        self.take_acknowledged_syn_ack(packet);
        let server = &self.directions[1];
        if packet.has(tcp_flags::ACK) && server.offer.seen && packet.acknowledgement == server.base as u32 {
            self.opened(packet, environment);
        }
    }

    /// Both SYNs are acknowledged.
    pub(crate) fn opened(&mut self, packet: &Packet, environment: &mut Environment) {
        self.handshake.completed(packet);
        // Echoes tell what the acknowledgement that was lost would have told.
        self.echo_loops = self.handshake.acknowledgement_lost.then(Box::default);
        let loops = [self.handshake.client_loop_ns, self.handshake.server_loop_ns];
        for (side, measured) in loops.into_iter().enumerate() {
            if let Some(loop_ns) = measured {
                self.set_loop(side, self.loops_ns[side].map_or(loop_ns, |known| known.min(loop_ns)));
            }
        }
        let rtt_ns = self.handshake.rtt_ns();
        self.handshake_rtt_ns = rtt_ns;
        for (side, own_loop) in loops.into_iter().enumerate() {
            let away = !self.beside[side];
            let direction = &mut self.directions[side];
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

    #[cold]
    pub(crate) fn opening_or_reset(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        side: usize,
        environment: &mut Environment,
    ) {
        let syn = packet.has(tcp_flags::SYN);
        let mut repeated = false;
        let mut seen = Seen {
            arrived: Arrived { kind: if syn { Kind::Syn } else { Kind::Rst }, ..Arrived::default() },
            ..Seen::default()
        };
        if syn {
            let Some(is_repeat) = self.take_syn(packet, bytes, side) else { return };
            repeated = is_repeat;
            environment.openings.syn(packet, self.repeats(side) > 0);
            self.complete_crossed(packet, side, environment);
        } else {
            if self.two_points.is_some() && self.has_passed_other_point(packet, bytes, side).is_some() {
                self.directions[side].loss.capture_duplicates += 1;
                return;
            }
            if self.handshake.complete && !is_acceptable(packet, &self.directions[side], self.room_bytes(side)) {
                self.directions[side].loss.unacceptable += 1;
                return;
            }
            self.reset.get_or_insert_with(|| Believed::now(side, packet.time_ns, &self.directions));
            environment.openings.reset(packet);
        }
        if repeated {
            self.note_repeated_opening(packet, side);
        } else if !syn {
            self.note_reset(packet, side);
        }
        self.count(packet, side);
        let ledger = &mut self.directions[side].ledger;
        if repeated {
            ledger.add_retransmission(packet, 0)
        } else {
            ledger.add_first_transmission(packet)
        }
        if syn && packet.payload_length > 0 {
            seen.arrived = self.take_fast_open_data(packet, bytes, side);
        }
        if self.detailed {
            let directions = [&self.directions[side], &self.directions[1 - side]];
            environment.rows.push(&packet_row(self.id, packet, side, directions, &seen));
        }
    }

    /// Takes what a side offers.
    pub(crate) fn offers(&mut self, side: usize, offer: Offer) {
        self.directions[side].offer = offer;
        self.directions.iter_mut().for_each(|direction| direction.opening_seen = true);
        self.offers_changed();
    }

    /// Draws the conclusions from what both sides offer.
    fn offers_changed(&mut self) {
        self.shifts = [self.advertised_shift(0), self.advertised_shift(1)];
        self.sack = self.directions.iter().all(|direction| direction.offer.sack_permitted);
        let largest =
            self.directions.iter().map(|direction| direction.offer.maximum_segment_size).filter(|size| *size > 0).min();
        let [of_client, of_server] = [0, 1].map(|side| self.directions[side].offer.maximum_segment_size);
        for (direction, accepted) in self.directions.iter_mut().zip([of_server, of_client]) {
            // What was cut into segments of another size is a row of its own.
            direction.settle_counters();
            direction.offered_segment_size = largest.unwrap_or(0);
            direction.accepted_segment_size = accepted;
            direction.sent_segment_size = 0;
        }
    }

    fn repeats(&self, side: usize) -> u32 {
        self.directions[side].loss.syn
    }

    /// Whether it is a repeat; none for a copy.
    fn take_syn(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> Option<bool> {
        let asked_ns =
            (packet.has(tcp_flags::ACK) && self.handshake.syn.count > 1).then_some(self.handshake.syn.last_ns);
        let openings = if side == 0 { &mut self.handshake.syn } else { &mut self.handshake.syn_ack };
        let repeated = openings.count > 0 && !openings.answers_crossing(packet);
        let before_ns = openings.last_ns;
        let newest_ns = openings.newest_ns;
        if !openings.add(packet, asked_ns.is_some_and(|asked_ns| asked_ns > newest_ns)) {
            self.directions[side].loss.capture_duplicates += 1;
            self.opening_passed_again(side, packet.time_ns.saturating_sub(before_ns));
            self.keep_copied_syn_ack(packet, side);
            return None;
        }
        self.agree_on_ecn(packet);
        let direction = &mut self.directions[side];
        let isn_changed = direction.begun && direction.base as u32 != packet.sequence.wrapping_add(1);
        // What has been acknowledged stands: of two servers (or proxies) that answer, the client talks to the first.
        let may_change = direction.payload_bytes == 0 && !self.handshake.complete;
        let begins = !direction.begun || (isn_changed && may_change);
        if begins && isn_changed && packet.has(tcp_flags::ACK) && self.other_syn_acks.len() < MOST_SYN_ACKS {
            self.other_syn_acks.push(OtherSynAck { base: direction.base as u32, offer: direction.offer });
        }
        if begins {
            direction.begin(packet.sequence.wrapping_add(1));
            self.watchers[side] = Watchers::NONE;
        }
        // What answers it may have been recorded before it.
        if begins || (!direction.offer.seen && !isn_changed) {
            self.offers(side, Offer::of(&Options::of_packet(packet, bytes)));
        }
        let direction = &mut self.directions[side];
        direction.loss.syn += u32::from(repeated);
        if packet.has(tcp_flags::ACK) {
            match side {
                _ if repeated => {}
                0 => self.handshake.answered_by_client(packet),
                _ => self.handshake.answered(packet),
            }
            let client = &mut self.directions[1 - side];
            if !client.begun {
                client.begin(packet.acknowledgement);
                self.watchers[1 - side] = Watchers::NONE;
            }
        }
        Some(repeated)
    }

    /// Data in a SYN (RFC 7413): counted once; repeats of the SYN repeat it without being data retransmissions.
    fn take_fast_open_data(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
        if self.repeats(side) > 0 {
            return Arrived { kind: Kind::Syn, ..Arrived::default() };
        }
        Arrived { kind: Kind::Syn, ..self.take_data_of_counted(packet, bytes, side) }
    }
}
