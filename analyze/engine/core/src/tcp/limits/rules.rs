//! What limited a round of which no gap, no loss and no full window tells it already: the last rules of methods section 6.6.
//! Each looks at the rounds around it.

use std::ops::Range;

use super::Share;
use super::factor::Factor;
use super::round::Round;

/// Share of a round that the window must have been full for. T-RAT asks for 80 % of the time within three segments of the
/// window; here full means that not even the next send fits, which each acknowledgement ends for a moment.
const WINDOW_SHARE: f64 = 0.5;
/// A queue shows when the round trip is so many times its minimum, and longer by so much. It stands when even the shortest
/// round trip of a round is longer than the minimum: the queue that a burst makes for itself is gone before the next
/// (RFC 8289 section 3 tells good queues from bad ones in that way).
const QUEUE_RATIO: f64 = 1.25;
const QUEUE_NS: f64 = 500e3;
const STANDING_RATIO: f64 = 1.05;
/// Growth for each round that slow start shows at least, and rounds without it that end it (BBR's full pipe).
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT_GROWTH: u8 = 3;
/// Rounds that are looked at on either side.
pub const REACH: usize = 8;
/// Rounds at one rate that show a bottleneck.
const BOTTLENECK_ROUNDS: usize = 4;
/// What counts as the same rate.
const SAME_RATE: f64 = 0.85;
/// Rounds on either side that a rate is taken over.
const SMOOTHED: usize = 2;
/// Coefficient of variation up to which a rate is even, and rounds with losses in which it stays so.
const EVEN_RATE: f64 = 0.1;
const ROUNDS_WITH_LOSS: usize = 3;
/// How much larger the flight and how much longer the round trip are in a round that probes.
const PROBE_FLIGHT: f64 = 1.15;
const PROBE_ROUND_TRIP: f64 = 1.1;
/// Share of its largest flight that a round keeps in flight on average where data comes without a pause.
const WITHOUT_PAUSE: f64 = 0.85;
/// How much longer than the mean the longest time between two packets may be where they are spaced evenly, and packets that tell.
const EVEN_SPACING: f64 = 3.0;
const FEWEST_SPACED_PACKETS: u32 = 8;
/// Share of a round from which on it was idle, and share up to which it still tells a rate.
const IDLE_SHARE: f64 = 0.05;
const MOST_IDLE: (u64, u64) = (1, 4);
/// Share of a round without data from which on the path was not busy in it.
const LONG_PAUSE: f64 = 0.25;
/// What a round delivers during a frame's time, more than the frame, without having paused: it is a mean over the round.
const FRAME_SLACK: f64 = 1.25;
/// Rounds looked at for losses on either side.
const NEAR: usize = 3;
/// Rounds with one flight that show a limit of the sender's own (in short transfers, or where the flight has slack), and how far
/// their flights may lie apart.
const SEND_BUFFER_ROUNDS: usize = 12;
const FEWEST_SEND_BUFFER_ROUNDS: usize = 8;
const SAME_FLIGHT: f64 = 0.15;
/// Segments by which the flight of the later half may differ: Reno's window grows by one in each round.
const SAME_SEGMENTS: f64 = 1.5;
/// Share of its peak that the flight keeps on average, at most, where the congestion window leaves room. A sender that fills its
/// congestion window sends with each acknowledgement, or waits for room for a third of the window at most
/// (`tcp_tso_should_defer`), which leaves 5/6 on average.
const MOST_WITH_SLACK: f64 = 0.8;
/// A sender's own limit leaves the path without a queue.
const NO_QUEUE_RATIO: f64 = 1.15;
/// Data segments of which one is short in an application that writes piece by piece.
const PACKETS_FOR_A_SHORT_ONE: u32 = 64;
/// Rounds, one after another, that end in a short segment and a wait.
const WRITING_ROUNDS: usize = 3;

/// What holds for the whole direction so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Background {
    /// Smallest round trip.
    pub min_rtt_ns: Option<u64>,
    /// Nothing had been lost before the rounds that are looked at.
    pub no_loss_yet: bool,
}

/// The factor of `rounds[index]` outside of its gaps, its recovery and its idle time; and what it would be without slow start.
pub fn factors(rounds: &[Round], index: usize, background: &Background) -> [Factor; 2] {
    let Some(round) = rounds.get(index) else { return [Factor::Unknown; 2] };
    if is_window_limited(round) {
        return [Factor::ReceiverWindow; 2];
    }
    if is_application_limited(rounds, index, background) {
        return [Factor::Application; 2];
    }
    let underlying = if is_bottleneck_limited(rounds, index, background) {
        Factor::BottleneckBandwidth
    } else if is_send_buffer_limited(rounds, index, background) {
        Factor::SendBuffer
    } else {
        Factor::CongestionWindow
    };
    [if round.slow_start { Factor::SlowStart } else { underlying }, underlying]
}

/// Rule 5: the window was full for most of it.
pub fn is_window_limited(round: &Round) -> bool {
    let open_ns = round.duration_ns().saturating_sub(round.recovering_ns);
    open_ns > 0 && round.limited_ns as f64 >= WINDOW_SHARE * open_ns as f64
}

/// Rule 6, within a round: a segment is sent short when the application has given no more (`tcp_rate`'s app_limited). A
/// bulk transfer ends with one; an application that writes piece by piece sends one for each piece, round after round.
pub fn is_application_limited(rounds: &[Round], index: usize, background: &Background) -> bool {
    let writes = |round: &Round| {
        round.short_packets > 0
            && u64::from(round.short_packets.saturating_mul(PACKETS_FOR_A_SHORT_ONE)) >= round.segments()
    };
    let Some(round) = rounds.get(index) else { return false };
    let idle_most = round.idle_ns * 2 > round.duration_ns();
    let beside = |other: Option<usize>| other.and_then(|other| rounds.get(other)).is_some_and(writes);
    let again_and_again = round.short_packets > 1 || beside(index.checked_sub(1)) || beside(Some(index + 1));
    // What is delivered still grows by a quarter in each round: a writer that the send buffer holds up now and then does no harm.
    idle_most || (writes(round) && again_and_again && !round.slow_start) || writes_and_waits(rounds, index, background)
}

/// Every round has a short segment, and then nothing is in flight for a while: pieces of any size, and no window, end so. Away
/// from the sender that shows as a round trip with a delay that no queue can have made, since no data came all the time.
fn writes_and_waits(rounds: &[Round], index: usize, background: &Background) -> bool {
    let waits = |round: &Round| {
        let delayed = round
            .least_rtt_ns
            .zip(background.min_rtt_ns)
            .is_some_and(|(least, min)| least as f64 >= (QUEUE_RATIO * min as f64).max(min as f64 + QUEUE_NS));
        round.idle_ns as f64 >= IDLE_SHARE * round.duration_ns() as f64 || (delayed && pauses(round))
    };
    let all_wait = |together: &[Round]| together.iter().all(|round| round.short_packets > 0 && waits(round));
    let first = index.saturating_sub(WRITING_ROUNDS - 1);
    (first..=index).any(|start| rounds.get(start..start + WRITING_ROUNDS).is_some_and(all_wait))
}

/// No data came for a good part of the round: its path was not busy. A frame of many segments keeps it busy for as long as
/// they take, and comes all at once.
fn pauses(round: &Round) -> bool {
    let gap_ns = round.longest_gap_ns as f64;
    let within_gap_bytes = gap_ns / 1e9 * round.rate_bytes_s();
    let offloaded = round.data_packets > 1 && round.largest_frame > u64::from(round.segment_size);
    gap_ns >= LONG_PAUSE * round.duration_ns() as f64
        && !(offloaded && within_gap_bytes <= FRAME_SLACK * round.largest_frame as f64)
}

/// Nothing stood still, and the application did not pause for long: what was delivered is what the path or a window allowed.
fn tells_rate(round: &Round) -> bool {
    let (share, of) = MOST_IDLE;
    !round.disturbed && round.idle_ns.saturating_mul(of) <= round.duration_ns().saturating_mul(share)
}

/// Rule 9: the rate stays at its highest though a queue stands at the path's narrowest place.
pub fn is_bottleneck_limited(rounds: &[Round], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let around = neighbours(rounds, index, REACH);
    if around.iter().filter(|round| tells_rate(round)).nth(BOTTLENECK_ROUNDS - 1).is_none() {
        return false;
    }
    let stands = |round: &Round| round.least_rtt_ns.is_none_or(|least| least as f64 >= STANDING_RATIO * min_rtt_ns);
    let queued = |round: &Round| {
        let long = (QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS);
        stands(round) && !pauses(round) && round.round_trip_ns().is_some_and(|rtt| rtt as f64 >= long)
    };
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    let standing = nearest.iter().filter(|round| queued(round)).count() * 2 >= nearest.len();
    let losing = holds_through_loss(neighbours(rounds, index, NEAR));
    let full = standing || is_probed_in_vain(around) || losing || arrives_without_pause(nearest);
    // A queue that never empties keeps the path busy, whatever it carried at other times.
    let never_empty = nearest.len() >= BOTTLENECK_ROUNDS
        && nearest.iter().all(|round| {
            queued(round) && round.least_rtt_ns.is_some_and(|least| least as f64 >= QUEUE_RATIO * min_rtt_ns)
        })
        && evenness(nearest.iter().map(Round::rate_bytes_s)) < EVEN_RATE;
    never_empty
        || full && {
            let rates = SmoothedRates::around(rounds, index);
            rates.at(index) >= SAME_RATE * rates.highest()
        }
}

/// Where no round trip can be had (away from the sender, without timestamps), data that comes at one rate without a pause
/// shows a path that is always busy: a window leaves a pause in each round (T-RAT; methods, section 6.6).
fn arrives_without_pause(around: &[Round]) -> bool {
    let untimed = |round: &Round| round.rtt_ns.is_none() && round.longest_gap_ns > 0 && !pauses(round);
    let keeps_flight = |round: &Round| {
        let busy = 1.0 - round.idle_ns as f64 / round.duration_ns().max(1) as f64;
        round.mean_flight * busy >= WITHOUT_PAUSE * round.max_flight as f64
    };
    around.len() >= BOTTLENECK_ROUNDS
        && around.iter().all(untimed)
        && (around.iter().all(is_evenly_spaced)
            || around.iter().all(keeps_flight) && evenness(around.iter().map(Round::rate_bytes_s)) < EVEN_RATE)
}

/// One packet follows the other as the narrowest place lets them pass: not even the longest time between two is much longer
/// than the mean. A round's rate tells less, since a packet more or less is much of a short one.
fn is_evenly_spaced(round: &Round) -> bool {
    round.data_packets >= FEWEST_SPACED_PACKETS
        && round.longest_gap_ns as f64 * f64::from(round.data_packets) <= EVEN_SPACING * round.duration_ns() as f64
}

/// A sender that probes for more, as BBR does in one round of eight, gets a longer round trip and no more.
fn is_probed_in_vain(around: &[Round]) -> bool {
    let around = around.iter().filter(|round| tells_rate(round));
    let (least_flight, most_flight) = extremes(around.clone().map(|round| round.max_flight as f64));
    let (least_rtt, most_rtt) = extremes(around.clone().filter_map(Round::round_trip_ns).map(|rtt| rtt as f64));
    most_flight >= PROBE_FLIGHT * least_flight
        && most_rtt >= PROBE_ROUND_TRIP * least_rtt
        && evenness(around.map(Round::rate_bytes_s)) < EVEN_RATE
}

/// The rate stays the same through losses: it is no congestion window that shrinks with each of them.
fn holds_through_loss(around: &[Round]) -> bool {
    let losing = around.iter().filter(|round| round.retransmitted > 0).count();
    around.len() > NEAR && losing >= ROUNDS_WITH_LOSS && evenness(around.iter().map(Round::rate_bytes_s)) < EVEN_RATE
}

/// Rule 10: the highest flight stays the same for many rounds, below the window and without a queue. A congestion window that
/// is in the way grows in each round (RFC 5681 section 3.1); one that is not shows in a flight that falls well below its peak and
/// is not filled up though nothing was lost in between.
pub fn is_send_buffer_limited(rounds: &[Round], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let steady = |window: &[Round], shown: &dyn Fn(&[Round], &[f64]) -> bool| {
        let peaks = peaks(window);
        let (least, most) = extremes(peaks.iter().copied());
        most - least <= SAME_FLIGHT * most
            && shown(window, &peaks)
            && window.iter().all(|round| round.retransmitted == 0 && !is_window_limited(round))
            && leaves_no_queue(window, min_rtt_ns)
    };
    let any_window = |length: usize, shown: &dyn Fn(&[Round], &[f64]) -> bool| {
        let first = index.saturating_sub(length - 1);
        (first..=index).any(|start| rounds.get(start..start + length).is_some_and(|window| steady(window, shown)))
    };
    let length = SEND_BUFFER_ROUNDS.min(rounds.len().max(FEWEST_SEND_BUFFER_ROUNDS));
    background.no_loss_yet && (any_window(FEWEST_SEND_BUFFER_ROUNDS, &has_slack) || any_window(length, &does_not_grow))
}

/// Round trips stay short. Where none is seen, pauses show that the path was not full.
fn leaves_no_queue(window: &[Round], min_rtt_ns: f64) -> bool {
    let longest_ns = (NO_QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS);
    let untimed = window.iter().all(|round| round.least_rtt_ns.is_none() && round.longest_gap_ns > 0);
    let pausing = window.iter().filter(|round| pauses(round)).count();
    window.iter().all(|round| round.least_rtt_ns.is_none_or(|rtt| rtt as f64 <= longest_ns))
        && (!untimed || 2 * pausing >= window.len())
}

/// The highest flight around each round: a burst and the wait after it may lie on either side of a border.
fn peaks(window: &[Round]) -> Vec<f64> {
    let around = |index| neighbours(window, index, 1).iter().map(|round| round.max_flight).max().unwrap_or(0) as f64;
    (0..window.len()).map(around).collect()
}

/// On average the flight stays well below its peak.
fn has_slack(window: &[Round], peaks: &[f64]) -> bool {
    let mean = window.iter().map(|round| round.mean_flight).sum::<f64>() / window.len().max(1) as f64;
    let (_, peak) = extremes(peaks.iter().copied());
    peak > 0.0 && mean <= MOST_WITH_SLACK * peak
}

/// The later half of the rounds had no more in flight than the earlier half.
fn does_not_grow(window: &[Round], peaks: &[f64]) -> bool {
    let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len().max(1) as f64;
    let (earlier, later) = peaks.split_at(peaks.len() / 2);
    let segment_bytes = window.first().map_or(0.0, |round| f64::from(round.segment_size));
    mean(later) > 0.0 && (mean(later) - mean(earlier)).abs() <= SAME_SEGMENTS * segment_bytes
}

fn neighbours(rounds: &[Round], index: usize, reach: usize) -> &[Round] {
    let end = rounds.len().min(index + reach + 1);
    rounds.get(index.saturating_sub(reach)..end).unwrap_or_default()
}

/// Rates of five rounds each, which evens out how acknowledgements fall into one or the next. Each round is asked once what
/// it tells, for it stands in five of them.
struct SmoothedRates {
    /// Number of the first round.
    first: usize,
    /// What rounds delivered and in which time; none for those that tell no rate.
    told: [Option<Share>; 2 * (REACH + SMOOTHED) + 1],
    /// Those of them that are no more than [`REACH`] away.
    reach: Range<usize>,
}

impl SmoothedRates {
    /// The rounds up to [`REACH`] away from one, and those their rates are taken over.
    fn around(rounds: &[Round], index: usize) -> Self {
        let first = index.saturating_sub(REACH + SMOOTHED);
        let mut told = [None; 2 * (REACH + SMOOTHED) + 1];
        for (told, round) in told.iter_mut().zip(neighbours(rounds, index, REACH + SMOOTHED)) {
            let share = Share { time_ns: round.duration_ns(), bytes: round.delivered_bytes };
            *told = tells_rate(round).then_some(share);
        }
        Self { first, told, reach: index.saturating_sub(REACH)..rounds.len().min(index + REACH + 1) }
    }

    /// The rate at a round, bytes/s.
    fn at(&self, index: usize) -> f64 {
        let place = index - self.first;
        let near = self.told.get(place.saturating_sub(SMOOTHED)..self.told.len().min(place + SMOOTHED + 1));
        let near = near.unwrap_or_default().iter().flatten();
        let (bytes, time_ns) =
            near.fold((0, 0), |(bytes, time_ns), share| (bytes + share.bytes, time_ns + share.time_ns));
        bytes as f64 * 1e9 / time_ns.max(1) as f64
    }

    /// The highest rate at a round that tells one; 0 if none does.
    fn highest(&self) -> f64 {
        let telling = self.reach.clone().filter(|index| self.told.get(index - self.first).is_some_and(Option::is_some));
        telling.map(|index| self.at(index)).fold(0.0, f64::max)
    }
}

/// The least and the most of values that are not negative.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

/// Coefficient of variation.
fn evenness(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { f64::INFINITY }
}

/// Rule 7: what is delivered in a round trip grows by a quarter with each round; three rounds without that end it, and were
/// not part of it. The flight alone proves nothing: it also grows into a queue.
#[derive(Debug, Clone, Copy)]
pub struct SlowStart {
    active: bool,
    /// Highest rate so far, bytes/s.
    highest: f64,
    without_growth: u8,
}

impl Default for SlowStart {
    fn default() -> Self {
        Self { active: true, highest: 0.0, without_growth: 0 }
    }
}

impl SlowStart {
    /// Takes the newest of `rounds`, and marks what belongs to slow start.
    pub fn take(&mut self, rounds: &mut [Round]) {
        let Some((round, before)) = rounds.split_last_mut() else { return };
        if round.timeouts > 0 {
            (self.active, self.highest, self.without_growth) = (true, 0.0, 0);
            return;
        }
        if round.recovering_ns > 0 || round.retransmitted > 0 {
            self.active = false;
        }
        if !self.active {
            return;
        }
        round.slow_start = true;
        let rate = round.rate_bytes_s();
        if rate >= GROWTH * self.highest {
            (self.highest, self.without_growth) = (rate, 0);
            return;
        }
        self.without_growth += 1;
        if self.without_growth >= ROUNDS_WITHOUT_GROWTH {
            self.active = false;
            round.slow_start = false;
            before
                .iter_mut()
                .rev()
                .take(usize::from(ROUNDS_WITHOUT_GROWTH) - 1)
                .for_each(|other| other.slow_start = false);
        }
    }
}
