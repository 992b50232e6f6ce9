//! Opening a connection: SYN, SYN-ACK and what completes them, with their repeats (RFC 9293 section 3.5).
//!
//! A round trip counts only if it is known which SYN was answered: the only one, or the one whose timestamp comes back
//! (RFC 7323 section 4.1); otherwise Karn's rule forbids it.
//!
//! Rule: docs/methods.md, "Handshake round trip".

use crate::packet::Packet;
use crate::tcp::events::openings::Openings;

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
    /// Frames of the first SYN-ACK and of that acknowledgement.
    frames: [u32; 2],
}

impl Handshake {
    /// The SYN-ACK passed (for the first time).
    pub fn answered(&mut self, syn_ack: &Packet) {
        self.frames[0] = syn_ack.frame;
        if self.syn.count > 0 && self.server_loop_ns.is_none() {
            self.server_loop_ns =
                self.syn.answered_by(syn_ack).map(|sent| syn_ack.time_ns - sent).filter(|rtt| *rtt >= 0);
        }
    }

    /// The client's first acknowledgement passed.
    pub fn completed(&mut self, packet: &Packet) {
        self.complete = true;
        self.completed_ns = Some(packet.time_ns);
        self.frames[1] = packet.frame;
        self.client_loop_ns =
            self.syn_ack.answered_by(packet).map(|sent| packet.time_ns - sent).filter(|rtt| *rtt >= 0);
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
