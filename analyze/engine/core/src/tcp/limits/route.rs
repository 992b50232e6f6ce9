//! The round trip of the path without a queue, which may become longer in the middle of a connection (docs/verdict.md, "What
//! limits": the minimum of the round trip).
//!
//! How it works: the shortest round trip so far holds until none near it was seen for ten seconds (the window of BBR's minimum,
//! `min_rtt_win_sec`). Passively that alone proves nothing: a queue that never drains looks the same. But a queue of the transfer's own
//! holds what is in flight, so that the round trip is no longer than the flight takes at the bottleneck bandwidth (Little's law), and it is
//! gone when nothing is in flight. Stretches in which the flight accounts for less than the round trip, all with the same round
//! trip, show a longer way. A queue of others' comes and goes.
//!
//! What to check on a change: a sender whose flight never varies and never rests shows nothing of this, and is judged by the
//! shortest round trip as before. Away from the sender a round trip holds the sender's pauses, too: nothing is concluded there.
//!
//! Rule: docs/verdict.md, "A longer path".

use crate::tcp::limits::background::{STANDING_RATIO, queued_from_ns};
use crate::tcp::limits::round::Round;

/// For so long no round trip near the shortest was seen.
const WINDOW_NS: i64 = 10_000_000_000;

/// Rounds of a stretch, and stretches kept; of more two become one.
const ROUNDS: usize = 8;

const MOST_STRETCHES: usize = 64;

/// The flight of a stretch accounts for so much of the round trip at most, at the highest rate of all.
const MOST_ACCOUNTED: f64 = 0.8;

/// Stretches that the flight does not account for, and the share of them that have the same round trip.
const FEWEST_STRETCHES: usize = 4;

const SHARE_ALIKE: f64 = 0.9;

/// Round trips this near are the same, whatever share of them that is.
const ALIKE_NS: f64 = 500e3;

/// Rounds that a rate is taken over.
const RATE_ROUNDS: usize = 5;

/// Fewer segments may have waited for a delayed acknowledgement (RFC 5681 section 4.2).
const FEWEST_SEGMENTS: u64 = 4;

/// Some rounds, one after another.
#[derive(Debug, Clone, Copy, Default)]
struct RouteRounds {
    rounds: usize,
    /// Most in flight; none where nothing was at some time.
    flight: u64,
    rests: bool,
    /// The longest of the rounds' shortest round trips.
    round_trip_ns: u64,
}

impl RouteRounds {
    fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.flight = self.flight.max(other.flight);
        self.rests |= other.rests;
        self.round_trip_ns = self.round_trip_ns.max(other.round_trip_ns);
    }
}

/// Time without a round trip near the shortest.
#[derive(Debug, Clone, Default)]
struct Without {
    start_ns: i64,
    /// The shortest round trip in it.
    least_ns: u64,
    /// The highest rate, bytes/s, and what the last rounds delivered in which time.
    highest_rate: f64,
    last: [(u64, u64); RATE_ROUNDS],
    rounds: usize,
    open: RouteRounds,
    /// Rounds that make one.
    length: usize,
    closed: Vec<RouteRounds>,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Route {
    shortest_ns: Option<u64>,
    without: Option<Box<Without>>,
}

impl Route {
    /// Begins with the one of the path, as far as that is known.
    pub fn new(shortest_ns: Option<u64>) -> Self {
        Self { shortest_ns, without: None }
    }

    /// The round trip without a queue, as far as is known.
    pub fn shortest_ns(&self) -> Option<u64> {
        self.shortest_ns
    }

    /// A round trip was seen.
    pub fn seen(&mut self, round_trip_ns: u64) {
        self.shortest_ns = Some(self.shortest_ns.map_or(round_trip_ns, |least| least.min(round_trip_ns)));
    }

    /// A round, of which it is known by now whether a host stalled in it.
    #[inline]
    pub fn take(&mut self, round: &Round) {
        let (Some(shortest_ns), Some(least_ns)) = (self.shortest_ns, round.least_rtt_ns) else { return };
        if (least_ns as f64) < queued_from_ns(shortest_ns as f64) || round.longest_gap_ns > 0 {
            self.without = None;
            return;
        }
        let begun = || Box::new(Without::at(round.start_ns));
        let without = self.without.get_or_insert_with(begun);
        without.take(round, least_ns);
        if let Some(longer_ns) = without.longer_way_ns(round.end_ns) {
            (self.shortest_ns, self.without) = (Some(longer_ns), None);
        }
    }
}

impl Without {
    fn at(start_ns: i64) -> Self {
        Self { start_ns, least_ns: u64::MAX, length: ROUNDS, ..Self::default() }
    }

    fn take(&mut self, round: &Round, least_ns: u64) {
        self.least_ns = self.least_ns.min(least_ns);
        if round.disturbed {
            return;
        }
        self.last[self.rounds % RATE_ROUNDS] = (round.delivered_bytes, round.duration_ns());
        self.rounds += 1;
        if self.rounds >= RATE_ROUNDS {
            let (bytes, time_ns) =
                self.last.iter().fold((0, 0), |(bytes, time_ns), one| (bytes + one.0, time_ns + one.1));
            self.highest_rate = self.highest_rate.max(bytes as f64 * 1e9 / time_ns.max(1) as f64);
        }
        if round.segments() < FEWEST_SEGMENTS {
            return;
        }
        let rests = round.idle_ns > 0;
        self.open.add(&RouteRounds { rounds: 1, flight: round.max_flight, rests, round_trip_ns: least_ns });
        if self.open.rounds >= self.length {
            self.closed.push(std::mem::take(&mut self.open));
            if self.closed.len() >= MOST_STRETCHES {
                self.halve();
            }
        }
    }

    fn halve(&mut self) {
        let pairs = self.closed.chunks_exact(2).map(|pair| {
            let mut both = pair[0];
            both.add(&pair[1]);
            both
        });
        self.closed = pairs.collect();
        self.length *= 2;
    }

    /// The shortest round trip of a way that is longer than the one before; none as long as it may be a queue.
    fn longer_way_ns(&self, now_ns: i64) -> Option<u64> {
        // Only what has just come to its end says something new.
        if now_ns.saturating_sub(self.start_ns) < WINDOW_NS || self.open.rounds > 0 {
            return None;
        }
        let least_ns = self.least_ns as f64;
        let accounted = MOST_ACCOUNTED * self.highest_rate * least_ns / 1e9;
        let alike_ns = (STANDING_RATIO * least_ns).max(least_ns + ALIKE_NS);
        let telling = || self.closed.iter().filter(|stretch| stretch.rests || (stretch.flight as f64) <= accounted);
        let number = telling().count();
        let alike = telling().filter(|stretch| stretch.round_trip_ns as f64 <= alike_ns).count();
        (number >= FEWEST_STRETCHES && alike as f64 >= SHARE_ALIKE * number as f64).then_some(self.least_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const SHORT_MS: f64 = 20.0;

    /// What a path of a rate (bytes/ms) makes of flights, each for as many rounds: round trips of `way_ms`, or as long as the flight
    /// takes, and what others' queue adds. The shortest round trip that is known by the end, ms.
    fn shortest_ms(rate: f64, way_ms: f64, flights: &[(f64, usize)], others_ms: impl Fn(usize) -> f64) -> f64 {
        let mut route = Route::new(Some((SHORT_MS * MS as f64) as u64));
        let (mut start_ns, mut number) = (0, 0);
        for &(flight, rounds) in flights {
            for _ in 0..rounds {
                let round_trip_ms = f64::max(way_ms, flight / rate) + others_ms(number);
                let round_trip_ns = (round_trip_ms * MS as f64) as i64;
                let round = Round {
                    start_ns,
                    end_ns: start_ns + round_trip_ns,
                    delivered_bytes: flight as u64,
                    max_flight: flight as u64,
                    least_rtt_ns: Some(round_trip_ns as u64),
                    segment_size: 1000,
                    ..Round::default()
                };
                route.seen(round_trip_ns as u64);
                route.take(&round);
                start_ns = round.end_ns;
                number += 1;
            }
        }
        route.shortest_ns().unwrap_or(0) as f64 / MS as f64
    }

    /// A window between 0.7 and 1 of `most`, up again in so many steps of eight rounds each, time after time.
    fn saw(most: f64) -> Vec<(f64, usize)> {
        (0..40).map(|step| (most * (0.7 + 0.3 * f64::from(step % 8) / 7.0), 8)).collect()
    }

    const ALONE: fn(usize) -> f64 = |_| 0.0;

    #[test]
    fn a_round_trip_that_stays_while_the_flight_varies_is_a_longer_way() {
        assert_eq!(shortest_ms(1e5, 60.0, &saw(300e3), ALONE), 60.0);
    }

    #[test]
    fn a_queue_that_never_drains_is_none_whatever_the_flight_does() {
        // Between 42 and 60 ms, and from 60 ms on.
        for most in [300e3, 430e3] {
            assert_eq!(shortest_ms(5e3, SHORT_MS, &saw(most), ALONE), SHORT_MS);
        }
    }

    #[test]
    fn a_queue_that_others_make_is_none_while_it_comes_and_goes() {
        let others = |round: usize| 20.0 + 20.0 * ((round / 12) % 4) as f64 / 3.0;
        assert_eq!(shortest_ms(1e5, SHORT_MS, &saw(300e3), others), SHORT_MS);
    }

    #[test]
    fn a_flight_that_never_varies_does_not_tell_a_longer_way_from_a_queue() {
        assert_eq!(shortest_ms(1e5, 60.0, &[(300e3, 400)], ALONE), SHORT_MS);
    }

    #[test]
    fn less_than_ten_seconds_tell_nothing() {
        let short: Vec<(f64, usize)> = saw(300e3).into_iter().take(20).collect();
        assert_eq!(shortest_ms(1e5, 60.0, &short, ALONE), SHORT_MS);
    }

    #[test]
    fn stretches_stay_few() {
        let mut without = Without::at(0);
        let round = Round { delivered_bytes: 100_000, max_flight: 100_000, segment_size: 1000, ..Round::default() };
        for _ in 0..100_000 {
            without.take(&round, 30_000_000);
        }
        assert!(without.closed.len() < MOST_STRETCHES);
    }
}
