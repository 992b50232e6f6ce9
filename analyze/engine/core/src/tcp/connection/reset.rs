//! Which RST is believed, and what refutes one that was. A watcher cannot ask the host that got it: that decides by its
//! window (RFC 9293 section 3.10.7.4, RFC 5961 section 3), by an MD5 or AO option, or because a device on the way took
//! the RST out. What both hosts do afterwards shows it. Rule: docs/methods.md, "Resets that are believed".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::direction::Direction;
use crate::tcp::stats::sequence::unwrap;

/// What a host sends later than two round trips to it and this after an RST, it does not send for not having got it yet.
const DELAY_NS: i64 = 5_000_000;

/// Round trip where none was measured.
const UNKNOWN_ROUND_TRIP_NS: i64 = 1_000_000_000;

/// An RST that was believed, with the highest positions that both sides had sent by then.
#[derive(Debug, Clone, Copy)]
pub struct Believed {
    /// Client (0) or server (1) sent it, or somebody for it.
    pub side: u8,
    /// When it passed.
    pub time_ns: i64,
    max: [u64; 2],
}

impl Believed {
    /// The RST of `side` that passes now.
    pub fn now(side: usize, time_ns: i64, directions: &[Direction; 2]) -> Self {
        Self { side: side as u8, time_ns, max: directions.each_ref().map(|direction| direction.max) }
    }

    /// Who sent it, and when.
    pub fn by(&self) -> (u8, i64) {
        (self.side, self.time_ns)
    }

    /// `packet` of `side` shows that its receiver goes on: it acknowledges what was sent after the RST; or the sender of the RST
    /// acknowledges what its receiver sent when it must have had it.
    pub fn is_refuted_by(
        &self,
        packet: &Packet,
        side: usize,
        directions: &[Direction; 2],
        round_trip_ns: Option<i64>,
    ) -> bool {
        let other = 1 - side;
        let direction = &directions[other];
        let acknowledged = unwrap(direction.una, packet.acknowledgement);
        let is_new = packet.has(tcp_flags::ACK) && acknowledged > self.max[other] && acknowledged <= direction.max;
        if side != usize::from(self.side) {
            return is_new;
        }
        let round_trip_ns = round_trip_ns.unwrap_or(UNKNOWN_ROUND_TRIP_NS);
        let in_flight_until_ns = self.time_ns.saturating_add(round_trip_ns.saturating_mul(2)).saturating_add(DELAY_NS);
        is_new
            && direction.data_packets > 0
            && direction.last_data_ns >= in_flight_until_ns
            && direction.last_sent.0 >= in_flight_until_ns
    }
}

/// The number of an RST lies where its receiver may expect what `direction` sends: no farther than `room_bytes` from what it has sent.
pub fn is_acceptable(packet: &Packet, direction: &Direction, room_bytes: u64) -> bool {
    !direction.begun || unwrap(direction.max, packet.sequence).abs_diff(direction.max) <= room_bytes
}
