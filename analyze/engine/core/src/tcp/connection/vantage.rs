//! Where the capture stands: at the client, at the server, or between them (docs/methods.md, section 3).
//!
//! The share of the round trip that lies on the client's side decides; without a handshake, the shortest answers of
//! either side do. Addresses never do. Superpackets say that the capture is on an end host, an initial TTL that it is at
//! most a switch away from that end.
//!
//! Rule: docs/methods.md, "Place by the round trip".

use crate::tcp::kernel::{BESIDE_SHARE, LONGEST_BESIDE_NS, SHORT_TRIP_NS, SHORTEST_TELLING_NS};

/// Where the capture stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At the host that opened the connection.
    Client,
    /// At the host that accepted it.
    Server,
    /// On the way.
    Middle,
    /// Cannot be told.
    Unknown,
}

impl Side {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
        }
    }
}

/// A side with how sure it is, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vantage {
    /// Where.
    pub side: Side,
    /// How sure.
    pub confidence: f64,
}

/// What is known for deciding; index 0 is the client, 1 the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clues {
    /// Round trip between the capture point and either side, nanoseconds.
    pub loops_ns: [Option<i64>; 2],
    /// The loops come from the handshake, where nothing waits for an application.
    pub from_handshake: bool,
    /// Time to live of either side's packets.
    pub ttl: [u8; 2],
    /// Superpackets were seen.
    pub superpackets: bool,
}

/// [`BESIDE_SHARE`] of a short round trip.
const BESIDE_SHARE_OF_SHORT: f64 = 0.35;

/// How sure the share of the handshake's round trip is; that of the shortest answers, which may have waited for an application;
/// and an untouched TTL alone.
const BY_HANDSHAKE: f64 = 0.95;

const BY_ANSWERS: f64 = 0.7;

const BY_TTL: f64 = 0.5;

/// Of what the share says this much is left between the hosts; beside one, as much as the share is clear.
const OF_MIDDLE: f64 = 0.8;

/// What a TTL or superpackets add that say the same.
const CONFIRMED: f64 = 0.04;

const MOST_CONFIDENCE: f64 = 0.99;

impl Clues {
    /// Decides.
    pub fn vantage(&self) -> Vantage {
        let by_loops = match self.loops_ns {
            [Some(client), Some(server)] => self.by_share(client, server),
            [Some(_), None] | [None, Some(_)] | [None, None] => Vantage { side: Side::Unknown, confidence: 0.0 },
        };
        if by_loops.side == Side::Unknown { self.by_ttl() } else { self.confirm(by_loops) }
    }

    fn by_share(&self, client: i64, server: i64) -> Vantage {
        let total = client + server;
        if total < SHORTEST_TELLING_NS {
            return Vantage { side: Side::Unknown, confidence: 0.0 };
        }
        let share = client as f64 / total as f64;
        let base = if self.from_handshake { BY_HANDSHAKE } else { BY_ANSWERS };
        let border = if total < SHORT_TRIP_NS { BESIDE_SHARE_OF_SHORT } else { BESIDE_SHARE };
        let side = match share {
            share if share <= border => Side::Client,
            share if share >= 1.0 - border => Side::Server,
            _ => Side::Middle,
        };
        if side != Side::Middle && !self.from_handshake && client.min(server) > LONGEST_BESIDE_NS {
            return Vantage { side: Side::Unknown, confidence: 0.0 };
        }
        let sharpness = if side == Side::Middle { OF_MIDDLE } else { 1.0 - share.min(1.0 - share) };
        Vantage { side, confidence: base * sharpness }
    }

    /// Hosts start with 64, 128 or 255; a packet that still has that has passed no router.
    ///
    /// Rule: docs/methods.md, "Place by TTL".
    fn by_ttl(&self) -> Vantage {
        let initial = self.ttl.map(|ttl| matches!(ttl, 64 | 128 | 255));
        match initial {
            [true, false] => Vantage { side: Side::Client, confidence: BY_TTL },
            [false, true] => Vantage { side: Side::Server, confidence: BY_TTL },
            _ => Vantage { side: Side::Unknown, confidence: 0.0 },
        }
    }

    fn confirm(&self, vantage: Vantage) -> Vantage {
        let by_ttl = self.by_ttl().side;
        let agrees = by_ttl == vantage.side || (self.superpackets && vantage.side != Side::Middle);
        let bonus = if agrees { CONFIRMED } else { 0.0 };
        Vantage { confidence: (vantage.confidence + bonus).min(MOST_CONFIDENCE), ..vantage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(client_ns: i64, server_ns: i64) -> Vantage {
        Clues { loops_ns: [Some(client_ns), Some(server_ns)], from_handshake: true, ..Clues::default() }.vantage()
    }

    #[test]
    fn the_short_loop_is_the_near_side() {
        assert_eq!(handshake(60_000, 40_000_000).side, Side::Client);
        assert_eq!(handshake(40_000_000, 60_000).side, Side::Server);
        assert_eq!(handshake(20_000_000, 20_000_000).side, Side::Middle);
    }

    #[test]
    fn without_a_handshake_an_answer_must_be_near_itself() {
        let answers =
            |near_ns| Clues { loops_ns: [Some(40_000_000), Some(near_ns)], ..Clues::default() }.vantage().side;
        assert_eq!((answers(900_000), answers(3_000_000)), (Side::Server, Side::Unknown));
        assert_eq!(handshake(40_000_000, 3_000_000).side, Side::Server);
    }

    #[test]
    fn loopback_cannot_be_told() {
        assert_eq!(handshake(20_000, 30_000).side, Side::Unknown);
    }

    #[test]
    fn an_initial_ttl_of_one_side_only_tells_without_handshake() {
        let clues = Clues { ttl: [64, 53], ..Clues::default() };
        assert_eq!(clues.vantage(), Vantage { side: Side::Client, confidence: BY_TTL });
        assert_eq!(Clues { ttl: [64, 64], ..Clues::default() }.vantage().side, Side::Unknown);
    }
}
