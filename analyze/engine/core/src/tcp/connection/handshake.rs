//! Opening a connection: SYN, SYN-ACK and what completes them, with their repeats (RFC 9293 section 3.5).
//!
//! A round trip counts only if it is known which SYN was answered: the only one, or the one whose timestamp comes back
//! (RFC 7323 section 4.1); otherwise Karn's rule forbids it.
//!
//! Rule: docs/methods.md, "Handshake round trip".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::events::openings::Openings;
use crate::tcp::kernel::{FEWEST_OF_A_FLIGHT, SMALLEST_TIMEOUT_NS};

/// The handshake of a connection.
#[derive(Debug, Default, Clone, Copy)]
pub struct Handshake {
    /// The client's SYNs.
    pub syn: Openings,
    /// The server's SYN-ACKs.
    pub syn_ack: Openings,
    /// SYN to SYN-ACK as they passed, nanoseconds: capture point to server and back.
    pub server_loop_ns: Option<i64>,
    /// SYN-ACK to the client's acknowledgement: capture point to client and back.
    pub client_loop_ns: Option<i64>,
    /// The client has acknowledged the SYN-ACK.
    pub complete: bool,
    /// When that passed.
    pub completed_ns: Option<i64>,
    /// The acknowledgement that completed it was not the first: that was lost, or not captured, so that its time tells no round trip.
    pub acknowledgement_lost: bool,
    /// And a timer of the client's ran out before it came: data was lost, too.
    pub waited_for_timer: bool,
    /// Since then: when everything that the client has sent was acknowledged.
    clocked_ns: Option<i64>,
    /// What acknowledges the SYN-ACK was stored before it.
    pub acknowledged_before: bool,
    /// The client answered the server's SYN with a SYN-ACK of its own, since both had crossed.
    pub crossed: bool,
    /// Frames of the first SYN-ACK and of that acknowledgement.
    frames: [u32; 2],
}

impl Handshake {
    /// The SYN-ACK passed (for the first time).
    pub fn answered(&mut self, syn_ack: &Packet) {
        self.frames[0] = syn_ack.frame;
        if self.syn.count > 0 && self.server_loop_ns.is_none() {
            // A server that retransmits its SYN-ACK, since the first was lost, echoes the first SYN, too.
            let answered =
                self.syn.answered_by(syn_ack).filter(|sent| self.syn.count == 1 || *sent >= self.syn.last_ns);
            self.server_loop_ns = answered.map(|sent| syn_ack.time_ns - sent).filter(|rtt| *rtt >= 0);
        }
    }

    /// The client's SYN-ACK passed (for the first time): its SYN and the server's had crossed.
    pub fn answered_by_client(&mut self, packet: &Packet) {
        self.crossed = true;
        self.client_loop_ns = self.client_answered_ns(packet);
    }

    /// The client's first acknowledgement passed.
    pub fn completed(&mut self, packet: &Packet) {
        self.complete = true;
        self.completed_ns = Some(packet.time_ns);
        self.frames[1] = packet.frame;
        if self.crossed {
            return;
        }
        self.client_loop_ns = self.client_answered_ns(packet);
        self.acknowledgement_lost = self.client_loop_ns.is_some_and(|loop_ns| self.comes_late(packet, loop_ns));
        if self.acknowledgement_lost {
            self.waited_for_timer = self.is_sent_by_timer(packet);
            self.client_loop_ns = None;
            // Nothing was waited for but a timer of the client's.
            self.completed_ns = Some(self.syn_ack.last_ns);
        }
    }

    /// The connection is over: an opening whose steps are all there is complete, in whatever order they were stored. When is not known.
    ///
    /// Rule: docs/methods.md, "Handshake round trip".
    pub fn settle(&mut self) {
        if self.acknowledged_before && !self.complete {
            (self.complete, self.server_loop_ns) = (true, None);
        }
    }

    /// Data was lost before what completed the opening, not only the acknowledgement: a timer has sent it again.
    fn is_sent_by_timer(&self, packet: &Packet) -> bool {
        let is_late = packet.time_ns.saturating_sub(self.syn_ack.last_ns) >= SMALLEST_TIMEOUT_NS;
        let lost = self.syn.packets_until(packet);
        is_late && packet.payload_length > 0 && lost.is_none_or(|lost| lost >= FEWEST_OF_A_FLIGHT)
    }

    /// The round trip to the client is still to be shown by what it sends next.
    pub fn is_clocked(&self) -> bool {
        self.waited_for_timer && self.client_loop_ns.is_none()
    }

    /// Behind a timeout one segment is sent, and the next when it is acknowledged (RFC 5681 section 3.1): the round trip to the client
    /// that the lost acknowledgement would have shown. `all_acknowledged`: so is everything that the client has sent, by a packet of
    /// the server's; else it is the client's next data.
    pub fn clock(&mut self, packet: &Packet, all_acknowledged: bool) -> Option<i64> {
        if !self.is_clocked() {
            return None;
        }
        if all_acknowledged {
            self.clocked_ns.get_or_insert(packet.time_ns);
            return None;
        }
        self.client_loop_ns = self.clocked_ns.map(|sent_ns| packet.time_ns - sent_ns).filter(|loop_ns| *loop_ns >= 0);
        self.waited_for_timer &= self.clocked_ns.is_some();
        self.client_loop_ns
    }

    fn client_answered_ns(&self, packet: &Packet) -> Option<i64> {
        self.syn_ack.answered_by(packet).map(|sent| packet.time_ns - sent).filter(|rtt| *rtt >= 0)
    }

    /// A client acknowledges a SYN-ACK at once (RFC 9293 section 3.10.7.3). What completes the opening with data or FIN, after a timeout,
    /// or after other packets by its number or position, is not that acknowledgement.
    ///
    /// Rule: docs/methods.md, "Acknowledgement of the handshake lost".
    fn comes_late(&self, packet: &Packet, loop_ns: i64) -> bool {
        let is_far = self.server_loop_ns.is_none_or(|server_loop_ns| loop_ns > server_loop_ns);
        let is_first = packet.payload_length == 0 && !packet.has(tcp_flags::FIN);
        let numbered_between = self.syn.packets_until(packet).is_some_and(|between| between > 0);
        !is_first && is_far && (loop_ns >= SMALLEST_TIMEOUT_NS || numbered_between)
    }

    /// When SYN, SYN-ACK and the acknowledgement of it passed first, with their frames; `first` is that of the connection.
    /// Between them the last retransmissions of SYN and SYN-ACK.
    pub fn steps(&self, first: u32) -> [Option<(i64, u32)>; 5] {
        let seen = |openings: &Openings, frame: u32| (openings.count > 0).then_some((openings.first_ns, frame));
        [
            seen(&self.syn, first),
            self.syn.retransmitted(),
            seen(&self.syn_ack, self.frames[0]).filter(|(_, frame)| *frame > 0),
            self.syn_ack.retransmitted(),
            self.completed_ns.map(|time_ns| (time_ns, self.frames[1])),
        ]
    }

    /// From the capture point to the client and back, and to the server and back, if both were measured.
    pub fn loops_ns(&self) -> Option<[i64; 2]> {
        Some([self.client_loop_ns?, self.server_loop_ns?])
    }

    /// The whole round trip between client and server, wherever the capture stands.
    pub fn rtt_ns(&self) -> Option<i64> {
        self.loops_ns().map(|[client_ns, server_ns]| client_ns + server_ns)
    }
}
