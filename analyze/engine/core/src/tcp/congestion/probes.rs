//! Rounds in which BBR (version 1) probes: for more bandwidth with five quarters of its rate once in eight round trips, and for
//! the shortest round trip with four segments in flight for 200 ms, once in ten seconds.

use crate::tcp::congestion::evidence::CongestionEvidence;
use crate::tcp::congestion::recent::Recent;
use crate::tcp::congestion::round_trip::FlightRoundTrip;

/// A flight in which a probe shows, segments.
const FEWEST_SEGMENTS: f64 = 12.0;

/// Four segments, and one that the capture puts beside them.
const SMALL: (f64, f64) = (3.0, 5.0);

/// What is seen of the 200 ms of four segments, at least: the round that empties the path and the one that fills it are apart.
const SHORTEST_SMALL_NS: f64 = 80e6;

/// So many rounds after it at most, the flight is half of what it was again, or more: slow start would take longer.
const MOST_ROUNDS_BACK: u8 = 3;

/// A rise for more bandwidth is above the usual flight by so much, in shares and segments, and no more than by the last.
const LEAST_RISE: f64 = 1.06;
const LEAST_RISE_SEGMENTS: f64 = 1.5;
const MOST_RISE: f64 = 1.7;

/// After it the flight is the usual one again, within so many rounds.
const BACK: (f64, f64) = (0.92, 1.05);
const MOST_ROUNDS_UP: u8 = 4;

/// From rise to rise, in shortest round trips: eight phases, of which the first may wait for the path to be filled.
const CYCLE: (f64, f64) = (7.2, 9.8);

#[derive(Debug, Clone, Copy)]
struct Small {
    usual: f64,
    time_ns: f64,
    rounds_since: u8,
}

#[derive(Debug, Clone, Copy)]
struct Rise {
    start_ns: i64,
    usual: f64,
    rounds: u8,
}

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BandwidthProbes {
    shortest_ns: Option<u64>,
    small: Option<Small>,
    rise: Option<Rise>,
    last_rise_ns: Option<i64>,
}

impl BandwidthProbes {
    /// Another round is over. `recent` are the flights of those before.
    pub(crate) fn take(&mut self, round: &FlightRoundTrip, recent: &Recent, evidence: &mut CongestionEvidence) {
        self.shortest_ns = self.shortest_ns.into_iter().chain(round.rtt_ns).min();
        let usual = || recent.usual().filter(|&usual| usual >= FEWEST_SEGMENTS);
        self.look_for_small(round, usual, evidence);
        if round.is_bound {
            (self.rise, self.last_rise_ns) = (None, None);
        } else if round.is_blurred {
            self.rise = None;
        } else if self.small.is_none()
            // Most rounds are no rise, whatever is usual.
            && (self.rise.is_some() || round.mean >= LEAST_RISE * recent.least())
            && let Some(usual) = usual()
        {
            self.look_for_rise(round, usual, evidence);
        }
    }

    fn look_for_small(
        &mut self,
        round: &FlightRoundTrip,
        usual: impl Fn() -> Option<f64>,
        evidence: &mut CongestionEvidence,
    ) {
        if is_small(round)
            && !round.is_bound
            && !round.repairs
            && !round.is_idle
            && let Some(usual) = usual()
        {
            let small = self.small.get_or_insert(Small { usual, time_ns: 0.0, rounds_since: 0 });
            small.time_ns += round.duration_ns();
            return;
        }
        let Some(small) = &mut self.small else { return };
        small.rounds_since += 1;
        if round.largest >= small.usual / 2.0 && small.time_ns >= SHORTEST_SMALL_NS && !round.is_bound {
            evidence.round_trip_probes += 1;
            (self.small, self.rise, self.last_rise_ns) = (None, None, None);
        } else if small.rounds_since >= MOST_ROUNDS_BACK || round.is_bound {
            self.small = None;
        }
    }

    fn look_for_rise(&mut self, round: &FlightRoundTrip, usual: f64, evidence: &mut CongestionEvidence) {
        let least = (LEAST_RISE * usual).max(usual + LEAST_RISE_SEGMENTS);
        let is_up = (least..=MOST_RISE * usual).contains(&round.mean);
        let Some(rise) = &mut self.rise else {
            self.rise = is_up.then_some(Rise { start_ns: round.start_ns, usual, rounds: 0 });
            return;
        };
        rise.rounds += 1;
        if !is_up && (BACK.0 * rise.usual..=BACK.1 * rise.usual).contains(&round.mean) {
            let start_ns = rise.start_ns;
            if let (Some(last_ns), Some(shortest_ns)) = (self.last_rise_ns, self.shortest_ns) {
                let trips = start_ns.saturating_sub(last_ns) as f64 / shortest_ns.max(1) as f64;
                let in_time = (CYCLE.0..=CYCLE.1).contains(&trips);
                *(if in_time { &mut evidence.cycles } else { &mut evidence.other_rises }) += 1;
            }
            (self.rise, self.last_rise_ns) = (None, Some(start_ns));
        } else if rise.rounds > MOST_ROUNDS_UP {
            (self.rise, self.last_rise_ns) = (None, None);
        }
    }
}

/// So few segments are in flight as where BBR probes for the shortest round trip.
pub(crate) fn is_small(round: &FlightRoundTrip) -> bool {
    round.mean >= SMALL.0 && round.largest <= SMALL.1
}
