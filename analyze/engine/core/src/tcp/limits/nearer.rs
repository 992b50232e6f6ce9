//! The SYN was answered by something nearer than the host that acknowledges data: a SYN proxy, a load balancer, a device
//! that acknowledges for others. Then the handshake's round trip says nothing of the path.
//!
//! A queue makes round trips longer, too, but the first burst of data finds the path as the handshake has left it: its first
//! segment takes as long as the SYN did. Bursts of a few segments are acknowledged at once (RFC 5681 section 4.2).
//!
//! Rule: docs/verdict.md, "A handshake answered nearer".

use crate::tcp::limits::round::Round;

/// The shortest round trip of data is so many times the handshake's, and longer by so much.
const TIMES_LONGER: u64 = 3;

const LONGER_NS: u64 = 3_000_000;

/// The first burst's is no longer than so many times the shortest of all: it met no queue.
const SAME_FROM_THE_BEGINNING: f64 = 1.3;

/// Rounds of so many segments that must have shown it.
const FEWEST_ROUNDS: u32 = 4;

const FEWEST_SEGMENTS: u64 = 4;

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nearer {
    handshake_ns: Option<u64>,
    first_ns: u64,
    least_ns: u64,
    rounds: u32,
}

impl Nearer {
    /// With the handshake's round trip, if that is known.
    pub(crate) fn new(handshake_ns: Option<u64>) -> Self {
        Self { handshake_ns, ..Self::default() }
    }

    /// A round of data, seen at its sender.
    pub(crate) fn take(&mut self, round: &Round) {
        let Some(least_ns) = round.least_rtt_ns.filter(|_| round.segments() >= FEWEST_SEGMENTS) else { return };
        if self.rounds == 0 {
            (self.first_ns, self.least_ns) = (least_ns, least_ns);
        }
        self.least_ns = self.least_ns.min(least_ns);
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Round trips of handshake and data, if something nearer answered.
    pub(crate) fn both_ns(&self) -> Option<[u64; 2]> {
        let handshake_ns = self.handshake_ns?;
        let is_longer = self.least_ns >= TIMES_LONGER.saturating_mul(handshake_ns).saturating_add(LONGER_NS);
        let from_the_beginning = self.first_ns as f64 <= SAME_FROM_THE_BEGINNING * self.least_ns as f64;
        let found = self.rounds >= FEWEST_ROUNDS && is_longer && from_the_beginning;
        found.then_some([handshake_ns, self.least_ns])
    }

    /// The path's round trip, if something nearer answered the SYN.
    pub(crate) fn data_ns(&self) -> Option<u64> {
        self.both_ns().map(|[_, data_ns]| data_ns)
    }

    /// The shortest of all.
    pub(crate) fn shortest_ns(&self) -> Option<u64> {
        let data_ns = Some(self.least_ns).filter(|_| self.rounds > 0);
        self.handshake_ns.into_iter().chain(data_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Whether a handshake and then rounds of ten segments with these shortest round trips, ms, show it.
    fn shows(handshake_ms: u64, rounds_ms: &[u64]) -> bool {
        let mut nearer = Nearer::new(Some(handshake_ms * MS));
        for round_trip_ms in rounds_ms {
            let least_rtt_ns = Some(round_trip_ms * MS);
            nearer.take(&Round { least_rtt_ns, delivered_bytes: 10_000, segment_size: 1000, ..Round::default() });
        }
        nearer.data_ns().is_some()
    }

    #[test]
    fn data_that_never_comes_near_the_handshake_goes_another_way() {
        assert!(shows(1, &[80; 8]));
        assert!(shows(2, &[40, 44, 38, 39, 60]));
        assert!(!shows(1, &[80; 3]), "too few");
        assert!(!shows(20, &[50; 8]), "may be other traffic");
    }

    #[test]
    fn a_queue_that_grows_begins_at_the_path_itself() {
        assert!(!shows(1, &[1, 20, 60, 80, 80, 80]));
        assert!(!shows(1, &[80, 80, 80, 80, 2]), "it went by once");
        assert!(!shows(1, &[80, 40, 20, 20, 20]), "others' queue that drains");
    }
}
