//! The rates of a direction's rounds, sampled: what a transfer reaches where only path and congestion control limit it.

use super::round::Round;

/// Samples kept; then neighbours become one.
const MOST_RATES: usize = 512;
/// The rank whose rate is the reference (methods, section 6.6).
const REFERENCE_RANK: f64 = 0.95;
/// Share of the rounds' time that must show the capacity; with less, all rounds are asked.
const LEAST_SHARE: f64 = 0.02;

#[derive(Debug, Clone, Copy)]
struct Rate {
    bytes: u64,
    time_ns: u64,
    shows_capacity: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Rates {
    list: Vec<Rate>,
    count: u64,
}

impl Rates {
    /// Adds a round; `shows_capacity` if nothing but path and congestion control limited it.
    pub fn add(&mut self, round: &Round, shows_capacity: bool) {
        self.count += 1;
        // What is delivered in a round that a gap cuts was sent in the time of the gap, too.
        let cut_ns = if round.disturbed { round.cut_ns } else { 0 };
        let time_ns = round.duration_ns().saturating_add(cut_ns);
        self.list.push(Rate { bytes: round.delivered_bytes.min(most_bytes(round, time_ns)), time_ns, shows_capacity });
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
        percentile(&telling)
            .filter(|rate| telling_ns as f64 >= LEAST_SHARE * all_ns as f64 && *rate >= mean)
            .or_else(|| percentile(&self.list))
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
fn percentile(list: &[Rate]) -> Option<f64> {
    let mut rates: Vec<(f64, u64)> = list
        .iter()
        .filter(|rate| rate.time_ns > 0)
        .map(|rate| (rate.bytes as f64 * 1e9 / rate.time_ns as f64, rate.time_ns))
        .collect();
    rates.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let wanted_ns = REFERENCE_RANK * rates.iter().map(|(_, time_ns)| *time_ns as f64).sum::<f64>();
    let mut passed_ns = 0.0;
    let reached = |&(_, time_ns): &(f64, u64)| {
        passed_ns += time_ns as f64;
        passed_ns >= wanted_ns
    };
    let found = rates.iter().copied().find(reached).or(rates.last().copied());
    found.map(|(rate, _)| rate).filter(|rate| *rate > 0.0)
}
