//! What is delivered is as much as the path's narrowest place lets pass (docs/verdict.md, `bottleneck_bandwidth`): the rate
//! stays at its highest though a queue stands there, or though more is sent.
//!
//! Rule: docs/verdict.md, "A full path".

use std::ops::Range;

use crate::tcp::kernel::PACED_SEGMENTS;
use crate::tcp::limits::ack_wait::waited_ns;
use crate::tcp::limits::background::{
    Background, QUEUE_NS, QUEUE_RATIO, REACH, SMOOTHED, STANDING_RATIO, is_window_limited, neighbours, own_pause_ns,
    queued_from_ns, rests,
};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::Round;
use crate::tcp::limits::share::Share;
use crate::tcp::sender::pauses::ANSWER_NS;

/// Rounds at one rate that show a bottleneck.
const BOTTLENECK_ROUNDS: usize = 4;

/// What counts as the same rate.
const SAME_RATE: f64 = 0.85;

/// A window that is full shows no other path, so that the queue must be longer to be sure of.
const LONG_QUEUE_RATIO: f64 = 1.5;

/// One that is so much longer, and by so much, is no host's delay and no delayed acknowledgement.
const FAR_LONGER_RATIO: f64 = 4.0;

const FAR_LONGER_NS: f64 = 500e6;

/// A managed queue drops, or marks, when it is no longer than this for a while.
const SHORT_QUEUE_RATIO: f64 = 1.02;

/// Coefficient of variation up to which a rate is even, and rounds with losses in which it stays so.
const EVEN_RATE: f64 = 0.1;

const ROUNDS_WITH_LOSS: usize = 3;

/// What comes at once leaves so much of a round without data, and is let go by so few acknowledgements.
const MOST_OF_ROUND: f64 = 0.6;

const ACKNOWLEDGEMENTS_AT_ONCE: u64 = 2;

/// How much larger the flight and how much longer the round trip are in a round that probes.
const PROBE_FLIGHT: f64 = 1.15;

const PROBE_ROUND_TRIP: f64 = 1.1;

/// Such rounds among all that are looked at: BBR probes in one of eight, and a host that is late once makes one such round, too.
const PROBES: usize = 2;

/// Share of its largest flight that a round keeps in flight on average where data comes without a pause.
const WITHOUT_PAUSE: f64 = 0.85;

/// How much longer than the mean the longest time between two packets may be where they are spaced evenly, and packets that tell.
const EVEN_SPACING: f64 = 3.0;

const FEWEST_SPACED_PACKETS: u32 = 8;

/// Rounds looked at for losses on either side.
const NEAR: usize = 3;

/// The window is full because the path is: a queue stands in every round around this one and the rate is even, so that with more of
/// a window more would wait there.
///
/// Rule: docs/verdict.md, "A window that a queue fills".
pub fn is_full_behind_window(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let Some(round) = rounds.get(index).filter(|round| is_window_limited(round)) else { return false };
    let long = (LONG_QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS);
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    // A path that is full never leaves the window closed and nothing in flight, and lets packet after packet pass: a window that is used
    // up and opened all at once is a reader's, and the time until it reads is in round trips.
    let queued = |other: &KnownRound| {
        other.least_rtt_ns.is_some_and(|least| of_data_ns(other, least, min_rtt_ns) >= long)
            && !rests(other)
            && other.blocked_ns == 0
            && !comes_at_once(other)
    };
    !round.tells_of_congestion()
        && nearest.len() >= BOTTLENECK_ROUNDS
        && nearest.iter().all(|other| other.tells_rate() && queued(other))
        && evenness(nearest.iter().map(KnownRound::rate_bytes_s)) < EVEN_RATE
}

/// A queue so much longer than the path stands that nothing else makes round trips as long, in however few rounds. Such a link is slow,
/// and a round trip through its queue takes seconds.
///
/// Rule: docs/verdict.md, "A queue far longer than the path".
pub fn is_behind_long_queue(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let far_ns = (FAR_LONGER_RATIO * min_rtt_ns).max(min_rtt_ns + FAR_LONGER_NS);
    rounds.get(index).is_some_and(|round| {
        round.tells_rate()
            && !rests(round)
            && round.blocked_ns == 0
            && round.delivered_bytes > 0
            && round.least_rtt_ns.is_some_and(|least| of_data_ns(round, least, min_rtt_ns) >= far_ns)
    })
}

/// A burst, and nothing for most of the round trip: away from the sender by its packets, at the sender by the acknowledgements that let
/// them go.
fn comes_at_once(round: &Round) -> bool {
    let most = |time_ns: u64| time_ns as f64 >= MOST_OF_ROUND * round.duration_ns() as f64;
    most(round.longest_gap_ns)
        || most(round.pauses.paused_ns) && round.pauses.covered_ns <= ACKNOWLEDGEMENTS_AT_ONCE * ANSWER_NS as u64
}

/// The rate stays at its highest though a queue stands at the path's narrowest place.
pub fn is_bottleneck_limited(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let around = neighbours(rounds, index, REACH);
    if around.iter().filter(|round| round.tells_rate()).nth(BOTTLENECK_ROUNDS - 1).is_none() {
        return false;
    }
    let least_is = |round: &KnownRound, ratio: f64| {
        round.least_rtt_ns.map(|least| of_data_ns(round, least, min_rtt_ns) >= ratio * min_rtt_ns)
    };
    let long = queued_from_ns(min_rtt_ns);
    // Pauses show a sender that waits for something else than the path, unless it has lost packets: then others may fill the
    // path between its bursts.
    let queued = |round: &&KnownRound| {
        (!background.no_loss_yet || !round.pauses())
            && !rests(round)
            && round.round_trip_ns().is_some_and(|rtt| of_data_ns(round, rtt, min_rtt_ns) >= long)
            && least_is(round, STANDING_RATIO).unwrap_or(true)
    };
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    let queued_rounds = nearest.iter().filter(queued).count();
    // A queue that never empties keeps the path busy, whatever it carried at other times: data comes all the time.
    let never_empty = || {
        nearest.len() >= BOTTLENECK_ROUNDS
            && 2 * nearest.iter().filter(|round| round.pauses()).count() <= nearest.len()
            && queued_rounds == nearest.len()
            && nearest.iter().all(|round| least_is(round, QUEUE_RATIO) == Some(true))
            && evenness(nearest.iter().map(KnownRound::rate_bytes_s)) < EVEN_RATE
    };
    let standing = queued_rounds * 2 >= nearest.len();
    let full = || {
        standing
            || holds_through_loss(neighbours(rounds, index, NEAR))
            || arrives_without_pause(nearest)
            || is_probed_in_vain(rounds, index)
    };
    never_empty() || full() && SmoothedRates::around(rounds, index).stay_highest_at(index)
}

/// A round trip of a round, without what its sender paused for and without what acknowledgements waited for: the data's queue is left.
fn of_data_ns(round: &Round, round_trip_ns: u64, min_rtt_ns: f64) -> f64 {
    let waited_ns = if round.ack_wait_ns > 0 { waited_ns(round, round_trip_ns, min_rtt_ns as u64) } else { 0 };
    round_trip_ns.saturating_sub(own_pause_ns(round)).saturating_sub(waited_ns) as f64
}

/// A queue stands in all rounds around this one, whatever pauses the data comes with: other traffic may fill the path between
/// this transfer's bursts, so that it is not sure to be the congestion window that limits.
pub fn has_standing_queue(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let long = queued_from_ns(min_rtt_ns);
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    let queued =
        |round: &KnownRound| round.least_rtt_ns.is_some_and(|least| of_data_ns(round, least, min_rtt_ns) >= long);
    nearest.len() >= BOTTLENECK_ROUNDS && nearest.iter().all(queued)
}

/// Even the shortest of its round trips was longer than the path's by what a short queue adds.
pub fn shows_queue(round: &Round, background: &Background) -> bool {
    round.least_rtt_ns.zip(background.min_rtt_ns).is_some_and(|(least_ns, min_rtt_ns)| {
        let min_rtt_ns = min_rtt_ns as f64;
        of_data_ns(round, least_ns, min_rtt_ns) >= (SHORT_QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS)
    })
}

/// Where no round trip can be had (away from the sender, without timestamps), data that comes at one rate without a pause
/// shows a path that is always busy: a window leaves a pause in each round (T-RAT: Zhang et al., SIGCOMM 2002).
fn arrives_without_pause(around: &[KnownRound]) -> bool {
    let untimed = |round: &KnownRound| round.rtt_ns.is_none() && round.longest_gap_ns > 0 && !round.pauses();
    let keeps_flight = |round: &KnownRound| {
        let busy = 1.0 - round.idle_ns as f64 / round.duration_ns().max(1) as f64;
        round.mean_flight * busy >= WITHOUT_PAUSE * round.max_flight as f64
    };
    // A window leaves a pause in every round: one packet that comes late is none.
    let uneven = || around.iter().filter(|round| !is_evenly_spaced(round)).count();
    around.len() >= BOTTLENECK_ROUNDS
        && around.iter().all(untimed)
        && (uneven() <= 1
            || around.iter().all(keeps_flight) && evenness(around.iter().map(KnownRound::rate_bytes_s)) < EVEN_RATE)
}

/// One packet follows the other as the narrowest place lets them pass: not even the longest time between two is much longer
/// than the mean. A round's rate tells less, since a packet more or less is much of a short one.
fn is_evenly_spaced(round: &Round) -> bool {
    round.data_packets >= FEWEST_SPACED_PACKETS
        && round.longest_gap_ns as f64 * f64::from(round.data_packets) <= EVEN_SPACING * round.duration_ns() as f64
}

/// A sender that probes for more, as BBR does in one round of eight, gets a longer round trip and no more. Not where data
/// comes with pauses: a path that is full has none.
fn is_probed_in_vain(rounds: &[KnownRound], index: usize) -> bool {
    let around = neighbours(rounds, index, REACH).iter().filter(|round| round.tells_rate());
    let (mut telling, mut pausing, mut least_flight, mut most_flights) = (0, 0, u64::MAX, [0; PROBES]);
    for round in around.clone() {
        telling += 1;
        pausing += usize::from(round.pauses());
        least_flight = least_flight.min(round.max_flight);
        if round.max_flight > most_flights[0] {
            most_flights[0] = round.max_flight;
            most_flights.sort_unstable();
        }
    }
    // One send more or less in flight is no probe.
    let one_send = PACED_SEGMENTS * rounds.get(index).map_or(0, |round| u64::from(round.segment_size));
    2 * pausing < telling
        && most_flights[0] as f64 >= PROBE_FLIGHT * least_flight as f64
        && most_flights[0] > least_flight + one_send
        && evenness(around.clone().map(KnownRound::rate_bytes_s)) < EVEN_RATE
        && (is_longer(around.filter_map(KnownRound::round_trip_ns).map(|rtt| rtt as f64))
            || is_longer(round_trips_by_flight(&SmoothedRates::around(rounds, index))))
}

/// One of some round trips is as much longer than another as a probe makes it.
fn is_longer(round_trips: impl Iterator<Item = f64>) -> bool {
    let (least, most) = extremes(round_trips);
    most >= PROBE_ROUND_TRIP * least && most > 0.0
}

/// Away from the sender, where a round has the shortest sample of the loop to the sender, which a probe of a part of the round
/// leaves as it is: what was in flight on average over the rate there, which is the mean round trip (Little's law).
fn round_trips_by_flight(rates: &SmoothedRates) -> impl Iterator<Item = f64> {
    let away = |round: &KnownRound| round.longest_gap_ns > 0 && round.rtt_ns.is_some();
    let told = rates.told().filter(move |(_, round)| away(round));
    told.map(|(at, round)| round.mean_flight / rates.at(at).max(1.0)).filter(|time_s| *time_s > 0.0)
}

/// The rate stays the same through losses and marks: it is no congestion window that shrinks with each of them.
fn holds_through_loss(around: &[KnownRound]) -> bool {
    let losing = || around.iter().filter(|round| round.tells_of_congestion()).count();
    around.len() > NEAR
        && losing() >= ROUNDS_WITH_LOSS
        && evenness(around.iter().map(KnownRound::rate_bytes_s)) < EVEN_RATE
}

/// Rounds of which the rate is asked, with those that it is taken over.
const SMOOTHED_ROUNDS: usize = 2 * (REACH + SMOOTHED) + 1;

/// Rates of five rounds each, which evens out how acknowledgements fall into one or the next.
struct SmoothedRates<'a> {
    rounds: &'a [KnownRound],
    /// The rounds that are no more than [`REACH`] away, and the first that their rates are taken over.
    reach: Range<usize>,
    first: usize,
    /// What all rounds before the first, the second and so on delivered in which time, without those that tell no rate. The
    /// last stands for all that come after it.
    sums: [Share; SMOOTHED_ROUNDS + 1],
}

impl<'a> SmoothedRates<'a> {
    /// The rounds up to [`REACH`] away from one.
    fn around(rounds: &'a [KnownRound], index: usize) -> Self {
        let mut sum = Share::default();
        let mut sums = [sum; SMOOTHED_ROUNDS + 1];
        let mut taken = neighbours(rounds, index, REACH + SMOOTHED).iter();
        for after in &mut sums[1..] {
            if let Some(round) = taken.next().filter(|round| round.tells_rate()) {
                sum.add(Share { time_ns: round.duration_ns(), bytes: round.delivered_bytes });
            }
            *after = sum;
        }
        let reach = index.saturating_sub(REACH)..rounds.len().min(index + REACH + 1);
        Self { rounds, reach, first: index.saturating_sub(REACH + SMOOTHED), sums }
    }

    /// The rate at a round, bytes/s.
    fn at(&self, index: usize) -> f64 {
        let place = index - self.first;
        let before = self.sums[place.saturating_sub(SMOOTHED)];
        let after = self.sums[SMOOTHED_ROUNDS.min(place + SMOOTHED + 1)];
        (after.bytes - before.bytes) as f64 * 1e9 / (after.time_ns - before.time_ns).max(1) as f64
    }

    /// Rounds that tell a rate, and their numbers.
    fn told(&self) -> impl Iterator<Item = (usize, &'a KnownRound)> {
        self.reach.clone().zip(&self.rounds[self.reach.clone()]).filter(|(_, round)| round.tells_rate())
    }

    /// No round tells a rate that is higher than the one at a round by more than what counts as the same.
    fn stay_highest_at(&self, index: usize) -> bool {
        let rate = self.at(index);
        self.told().all(|(other, _)| rate >= SAME_RATE * self.at(other))
    }
}

/// The least and the most of values that are not negative.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

/// Coefficient of variation.
fn evenness(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (count, sum) = values.clone().fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    let count = f64::max(count, 1.0);
    let mean = sum / count;
    let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::rules::tests::rounds;
    use crate::tcp::sender::pauses::SenderPauses;
    use proptest::prelude::*;

    /// Whether the middle of nine rounds of 60 ms is full because the path is, whose shortest round trip is 20 ms: a full window, with
    /// nothing in flight for a part.
    fn full_behind_window(blocked_ns: u64) -> bool {
        behind_window(Round { blocked_ns, ..Round::default() })
    }

    fn behind_window(Round { blocked_ns, longest_gap_ns, pauses, .. }: Round) -> bool {
        let round = Round {
            end_ns: 60_000_000,
            limited_ns: 50_000_000,
            blocked_ns,
            longest_gap_ns,
            pauses,
            delivered_bytes: 65_536,
            max_flight: 65_536,
            mean_flight: 65_000.0,
            rtt_ns: Some(60_000_000),
            least_rtt_ns: Some(55_000_000),
            data_packets: 45,
            segment_size: 1448,
            ..Round::default()
        };
        let rounds = vec![KnownRound::from(round); 9];
        is_full_behind_window(&rounds, 4, &Background { min_rtt_ns: Some(20_000_000), ..Background::default() })
    }

    #[test]
    fn a_window_that_a_queue_fills_is_the_path_s_and_one_that_closes_is_the_reader_s() {
        assert!(full_behind_window(0));
        assert!(!full_behind_window(5_000_000));
    }

    #[test]
    fn a_window_that_opens_all_at_once_is_a_readers_seen_from_either_end() {
        let pauses = |acknowledgements: u64| {
            let covered_ns = acknowledgements * ANSWER_NS as u64;
            SenderPauses { paused_ns: 50_000_000, answered_ns: 50_000_000, covered_ns, ..SenderPauses::default() }
        };
        assert!(!behind_window(Round { longest_gap_ns: 45_000_000, ..Round::default() }));
        assert!(!behind_window(Round { pauses: pauses(1), ..Round::default() }));
        assert!(behind_window(Round { pauses: pauses(20), longest_gap_ns: 3_000_000, ..Round::default() }));
    }

    proptest! {
        #[test]
        fn a_smoothed_rate_is_that_of_the_rounds_nearby_that_tell_one(
            list in prop::collection::vec((0u64..1 << 40, 1i64..1000, 0u64..9, any::<bool>()), 1..40),
            index in 0usize..40,
        ) {
            let rounds = rounds(&list);
            let index = index % rounds.len();
            let rates = SmoothedRates::around(&rounds, index);
            for at in rates.reach.clone() {
                let near = neighbours(&rounds, at, SMOOTHED).iter().filter(|round| round.tells_rate());
                let bytes: u64 = near.clone().map(|round| round.delivered_bytes).sum();
                let time_ns: u64 = near.map(|round| round.duration_ns()).sum();
                prop_assert_eq!(rates.at(at), bytes as f64 * 1e9 / time_ns.max(1) as f64);
            }
        }
    }
}
