//! Round trips by the spin bit (RFC 9000 section 17.4, RFC 9312 section 4.2): one edge of each side in a round trip.
//!
//! The time from edge to edge of one side holds both halves of the round trip and what either side let pass before it sent.
//! A sample of twice the shortest one is stretched: by silence of both, or in the half that is longer than its shortest.
//!
//! Rule: docs/methods.md, "Round trips of QUIC by the spin bit".

use crate::quic::samples::{Durations, Samples};

/// Part of a round trip within which a second edge is a reordered packet.
const REORDERED_SHARE: i64 = 4;

/// Packets in which a side that spins has changed the bit.
const FEWEST_PACKETS: u64 = 16;

/// One side's bit.
#[derive(Debug, Clone, Copy, Default)]
struct SpinSide {
    value: bool,
    packets: u64,
    edges: u64,
    edge_ns: Option<i64>,
    shortest_half_ns: Option<i64>,
    /// From the other side's edge to this side's last one.
    half_ns: i64,
}

/// Edges of both sides, the client's and the server's.
#[derive(Debug, Clone, Default)]
pub(super) struct Spin {
    sides: [SpinSide; 2],
    /// Samples by the server's edges.
    samples: Samples,
    stretched: Stretched,
    last_ns: Option<i64>,
    /// Longest silence of both sides since the server's last edge.
    silence_ns: i64,
}

/// Samples of twice the shortest round trip, by what they waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretched {
    /// Neither side sent for half of it.
    pub idle: u64,
    /// The client's half.
    pub client: u64,
    /// The server's half.
    pub server: u64,
}

/// What the bit comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinRtt {
    /// From edge to edge.
    pub durations: Durations,
    /// Those that are longer than the path, and why.
    pub stretched: Stretched,
}

impl Spin {
    /// A packet with a short header from the client (0) or the server (1). `handshake_ns` is the round trip of the handshake.
    pub(super) fn packet(&mut self, from: usize, value: bool, time_ns: i64, handshake_ns: Option<i64>) {
        if let Some(last_ns) = self.last_ns {
            self.silence_ns = self.silence_ns.max(time_ns.saturating_sub(last_ns));
        }
        self.last_ns = Some(time_ns);
        let round_trip_ns = self.samples.min_ns().or(handshake_ns).unwrap_or(0);
        let [client, server] = &mut self.sides;
        let (side, other) = if from == 0 { (client, server) } else { (server, client) };
        side.packets += 1;
        if side.packets == 1 {
            side.value = value;
        }
        let since_ns = side.edge_ns.map(|edge_ns| time_ns.saturating_sub(edge_ns));
        if side.value == value || since_ns.is_some_and(|since_ns| since_ns < round_trip_ns / REORDERED_SHARE) {
            return;
        }
        side.value = value;
        side.edges += 1;
        if let Some(other_ns) = other.edge_ns.filter(|&other_ns| side.edge_ns.is_none_or(|edge_ns| other_ns >= edge_ns))
        {
            side.half_ns = time_ns.saturating_sub(other_ns);
            side.shortest_half_ns = Some(side.shortest_half_ns.map_or(side.half_ns, |least| least.min(side.half_ns)));
        }
        side.edge_ns = Some(time_ns);
        if from == 1 {
            if let Some(sample_ns) = since_ns {
                self.sample(sample_ns);
            }
            self.silence_ns = 0;
        }
    }

    fn sample(&mut self, sample_ns: i64) {
        self.samples.add(sample_ns);
        let shortest_ns = self.samples.min_ns().unwrap_or(sample_ns);
        if sample_ns / 2 > shortest_ns {
            let [client, server] =
                self.sides.map(|side| side.half_ns.saturating_sub(side.shortest_half_ns.unwrap_or(0)));
            let stretched = &mut self.stretched;
            *match () {
                () if self.silence_ns > sample_ns / 2 => &mut stretched.idle,
                () if client > server => &mut stretched.client,
                () => &mut stretched.server,
            } += 1;
        }
    }

    /// The round trips, or why there are none.
    pub(super) fn round_trips(&self, handshake_ns: Option<i64>) -> Result<SpinRtt, &'static str> {
        let [client, server] = &self.sides;
        if client.packets < FEWEST_PACKETS || server.packets < FEWEST_PACKETS {
            return Err("too few packets");
        }
        match [client.edges, server.edges] {
            [0, 0] => return Err("neither side changes the bit"),
            [0, _] => return Err("the client does not change the bit"),
            [_, 0] => return Err("the server does not change the bit"),
            _ => {}
        }
        let Some(durations) = self.samples.durations() else { return Err("too few round trips") };
        if handshake_ns.is_some_and(|handshake_ns| durations.median_ns < handshake_ns / 2) {
            return Err("the bit changes within a round trip, by chance");
        }
        Ok(SpinRtt { durations, stretched: self.stretched })
    }
}
