//! The rates of a direction's rounds, sampled: what a transfer reaches where only path and congestion control limit it.
//!
//! Rule: docs/verdict.md, "Reference rate".

use crate::tcp::limits::background::SMOOTHED;
use crate::tcp::limits::round::Round;

/// Samples kept; then neighbours become one.
const MOST_RATES: usize = 512;

/// The rank whose rate is the reference (docs/verdict.md, "The verdict").
const REFERENCE_RANK: f64 = 0.95;

/// Share of the rounds' time that must show the capacity; with less, all rounds are asked.
const LEAST_SHARE: f64 = 0.02;

#[derive(Debug, Clone, Copy)]
struct Rate {
    bytes: u64,
    time_ns: u64,
    shows_capacity: bool,
    /// What is delivered still grows from round to round.
    grows: bool,
    /// From, to.
    between_ns: [i64; 2],
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct RoundRates {
    list: Vec<Rate>,
    count: u64,
}

impl RoundRates {
    /// Adds a round; `shows_capacity` if nothing but path and congestion control limited it.
    pub fn add(&mut self, round: &Round, shows_capacity: bool) {
        self.count += 1;
        // What is delivered in a round that a gap cuts was sent in the time of the gap, too.
        let cut_ns = if round.disturbed { round.cut_ns } else { 0 };
        let time_ns = round.duration_ns().saturating_add(cut_ns);
        let bytes = round.delivered_bytes.min(most_bytes(round, time_ns));
        let between_ns = [round.start_ns, round.end_ns];
        self.list.push(Rate { bytes, time_ns, shows_capacity, grows: round.slow_start, between_ns });
        if self.list.len() >= MOST_RATES {
            self.halve();
        }
    }

    /// Rounds added.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn halve(&mut self) {
        let mut halved: Vec<Rate> = Vec::with_capacity(MOST_RATES);
        let mut waiting: [Option<Rate>; 2] = [None; 2];
        for rate in self.list.drain(..) {
            let place = &mut waiting[usize::from(rate.shows_capacity)];
            match place.take() {
                None => *place = Some(rate),
                Some(before) => halved.push(Rate {
                    bytes: before.bytes + rate.bytes,
                    time_ns: before.time_ns + rate.time_ns,
                    between_ns: [before.between_ns[0], rate.between_ns[1]],
                    ..rate
                }),
            }
        }
        halved.extend(waiting.into_iter().flatten());
        self.list = halved;
    }

    /// 95th percentile by time of the rates that show the capacity; of all where those are too few, or slower than the whole
    /// was. None without any.
    pub fn reference_bytes_s(&self) -> Option<f64> {
        let all_ns: u64 = self.list.iter().map(|rate| rate.time_ns).sum();
        let bytes: u64 = self.list.iter().map(|rate| rate.bytes).sum();
        let telling: Vec<Rate> = self.list.iter().filter(|rate| rate.shows_capacity).copied().collect();
        let telling_ns: u64 = telling.iter().map(|rate| rate.time_ns).sum();
        let mean = bytes as f64 * 1e9 / all_ns.max(1) as f64;
        percentile(&telling, smoothed)
            .filter(|rate| telling_ns as f64 >= LEAST_SHARE * all_ns as f64 && *rate >= mean)
            .or_else(|| percentile(&self.list, own))
    }
}

/// What the largest flight of a round can have delivered in its time, round trip after round trip. A round that begins
/// before a burst of acknowledgements and ends behind the next one has seen two flights in little more than one round trip.
fn most_bytes(round: &Round, time_ns: u64) -> u64 {
    let round_trip_ns = round.least_rtt_ns.filter(|rtt_ns| *rtt_ns > 0 && !round.disturbed);
    let most = |rtt_ns: u64| round.max_flight as f64 * time_ns as f64 / rtt_ns as f64;
    round_trip_ns.map_or(u64::MAX, |rtt_ns| most(rtt_ns).ceil() as u64)
}

/// The rate that is not exceeded for 95 % of the time.
fn percentile(list: &[Rate], bytes_s: fn(&[Rate], usize) -> f64) -> Option<f64> {
    let timed = list.iter().enumerate().filter(|(_, rate)| rate.time_ns > 0);
    by_time(timed.map(|(at, rate)| (bytes_s(list, at), rate.time_ns)).collect(), REFERENCE_RANK)
}

/// The rate that is not exceeded for a share of the time, of rates and how long each lasted; none without any, or if it is 0.
pub(crate) fn by_time(mut rates: Vec<(f64, u64)>, share: f64) -> Option<f64> {
    rates.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let wanted_ns = share * rates.iter().map(|(_, time_ns)| *time_ns as f64).sum::<f64>();
    let mut passed_ns = 0.0;
    let reached = |&(_, time_ns): &(f64, u64)| {
        passed_ns += time_ns as f64;
        passed_ns >= wanted_ns
    };
    let found = rates.iter().copied().find(reached).or(rates.last().copied());
    found.map(|(rate, _)| rate).filter(|rate| *rate > 0.0)
}

/// Bytes a second of a round.
fn own(list: &[Rate], at: usize) -> f64 {
    list[at].bytes as f64 * 1e9 / list[at].time_ns as f64
}

/// The same, or that of it and those right before and after it, if that is less: an acknowledgement of many segments
/// that falls into the one or the other makes much of a single round's. Where rounds still grow each stands for itself.
fn smoothed(list: &[Rate], at: usize) -> f64 {
    let follow = |pair: &[Rate]| !pair[0].grows && !pair[1].grows && pair[0].between_ns[1] == pair[1].between_ns[0];
    let before = list[..=at].windows(2).rev().take(SMOOTHED).take_while(|pair| follow(pair)).count();
    let after = list[at..].windows(2).take(SMOOTHED).take_while(|pair| follow(pair)).count();
    let near = list[at - before..=at + after].iter();
    let (bytes, time_ns) = near.fold((0, 0), |(bytes, time_ns), rate| (bytes + rate.bytes, time_ns + rate.time_ns));
    own(list, at).min(bytes as f64 * 1e9 / time_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference, in segments of 1000 bytes for each round of 10 ms; the first `growing` of them are slow start.
    fn reference(segments: &[u64], growing: usize) -> Option<f64> {
        let mut rates = RoundRates::default();
        for (number, segments) in segments.iter().enumerate() {
            let start_ns = number as i64 * 10_000_000;
            let slow_start = number < growing;
            let round = Round {
                start_ns,
                end_ns: start_ns + 10_000_000,
                delivered_bytes: segments * 1000,
                slow_start,
                ..Round::default()
            };
            rates.add(&round, true);
        }
        rates.reference_bytes_s().map(|bytes_s| bytes_s / 100_000.0)
    }

    #[test]
    fn acknowledgements_that_fall_into_the_next_round_make_no_higher_rate() {
        let uneven: Vec<u64> = (0..100).map(|number| if number % 5 == 0 { 70 } else { 45 }).collect();
        assert_eq!(reference(&uneven, 0), Some(50.0));
    }

    #[test]
    fn rounds_with_others_between_them_that_tell_nothing_are_no_neighbours() {
        let mut rates = RoundRates::default();
        for number in 0..40 {
            let (start_ns, end_ns) = (number * 10_000_000, (number + 1) * 10_000_000);
            let round = Round { start_ns, end_ns, delivered_bytes: 50_000, ..Round::default() };
            let fast = Round { delivered_bytes: 80_000, ..round };
            match number % 4 {
                0 => rates.add(&fast, true),
                2 => rates.add(&round, true),
                _ => rates.add(&round, false),
            }
        }
        assert_eq!(rates.reference_bytes_s(), Some(8e6));
    }

    #[test]
    fn where_rounds_grow_the_last_one_is_what_was_reached() {
        assert_eq!(reference(&[10, 20, 40, 80, 160], 5), Some(160.0));
    }
}
