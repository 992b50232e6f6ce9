//! Opening a connection: SYN, SYN-ACK and what completes them, with their repeats (RFC 9293 section 3.5).
//!
//! A round trip counts only if it is known which SYN was answered: the only one, or the one whose timestamp comes back
//! (RFC 7323 section 4.1); otherwise Karn's rule forbids it.

use crate::packet::{Packet, option_bits};
use crate::tcp::kernel::SMALLEST_TIMEOUT_NS;

/// No stack sends a SYN again with the same TSval within most of the second that RFC 6298 section 2 has it wait, in which every clock of
/// timestamps has a step (RFC 7323 section 5.4).
const SOONEST_REPEAT_STAMPED_NS: i64 = 900_000_000;

/// SYNs of one side: first and last, so that an answer can be matched.
#[derive(Debug, Default, Clone, Copy)]
pub struct Openings {
    /// How many, without captured copies.
    pub count: u32,
    /// When the first passed.
    pub first_ns: i64,
    /// When the last passed that is not like the one before.
    pub last_ns: i64,
    /// When the last of all passed.
    pub newest_ns: i64,
    first_tsval: Option<u32>,
    last_tsval: Option<u32>,
    last_identity: (u16, u16),
    /// The first of them, which were refused: nothing that comes later answers those.
    refused: u32,
}

impl Openings {
    /// So many SYNs, the first of them at `first_ns`, that were refused with a reset.
    pub fn refused(count: u32, first_ns: i64) -> Self {
        Self { count, refused: count, first_ns, ..Self::default() }
    }

    /// Takes a SYN (or SYN-ACK); false if it is the last one, captured again. `asked_since`: it answers a SYN that came since the
    /// last one, which it may equal if the server's clock has not gone on.
    pub fn add(&mut self, packet: &Packet, asked_since: bool) -> bool {
        let tsval = packet.timestamp();
        let identity = (packet.ip_id, packet.checksum);
        let longest_ns = if tsval.is_some() { SOONEST_REPEAT_STAMPED_NS } else { SMALLEST_TIMEOUT_NS };
        let soon = packet.time_ns.saturating_sub(self.last_ns).abs() < longest_ns;
        if self.count > self.refused && soon && identity.0 == self.last_identity.0 && tsval == self.last_tsval {
            // Which of the two is answered nobody can tell: they are less than a step of the clock apart, and the first stands.
            if asked_since {
                (self.count, self.newest_ns) = (self.count + 1, packet.time_ns);
            }
            return asked_since;
        }
        if self.count == 0 {
            self.first_ns = packet.time_ns;
            self.first_tsval = tsval;
        }
        self.count += 1;
        (self.last_ns, self.newest_ns) = (packet.time_ns, packet.time_ns);
        (self.last_tsval, self.last_identity) = (tsval, identity);
        true
    }

    /// When the one passed that `answer` answers; none if that cannot be told.
    fn answered_by(&self, answer: &Packet) -> Option<i64> {
        if self.count == self.refused + 1 {
            return Some(self.last_ns);
        }
        let echo = (answer.options & option_bits::TIMESTAMPS != 0).then_some(answer.tsecr)?;
        if self.first_tsval == self.last_tsval {
            return None;
        }
        if self.last_tsval == Some(echo) {
            Some(self.last_ns)
        } else {
            (self.first_tsval == Some(echo)).then_some(self.first_ns)
        }
    }
}

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
    pub fn steps(&self, first: u32) -> [Option<(i64, u32)>; 3] {
        let seen = |openings: &Openings, frame: u32| (openings.count > 0).then_some((openings.first_ns, frame));
        [
            seen(&self.syn, first),
            seen(&self.syn_ack, self.frames[0]).filter(|(_, frame)| *frame > 0),
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
