//! What limited a round of which no gap, no loss and no full window tells it already: the last rules of methods section 6.6.
//! Each looks at the rounds around it.

use std::ops::Range;

use super::Share;
use super::factor::Factor;
use super::known::KnownRound;
use super::round::Round;
use crate::tcp::restarts::Pauses;

/// Share of a round that the window must have been full for. T-RAT asks for 80 % of the time within three segments of the
/// window; here full means that not even the next send fits, which each acknowledgement ends for a moment.
const WINDOW_SHARE: f64 = 0.5;
/// A queue shows when the round trip is so many times its minimum, and longer by so much. It stands when even the shortest
/// round trip of a round is longer than the minimum: the queue that a burst makes for itself is gone before the next
/// (RFC 8289 section 3 tells good queues from bad ones in that way).
const QUEUE_RATIO: f64 = 1.25;
const QUEUE_NS: f64 = 500e3;
pub(super) const STANDING_RATIO: f64 = 1.05;
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
/// Share of the rounds whose flight reaches the same.
const REACHED_SHARE: f64 = 0.75;
/// Segments by which the flight of the later half may differ: Reno's window grows by one in each round.
pub(super) const SAME_SEGMENTS: f64 = 1.5;
/// Share of its peak that the flight keeps on average, at most, where the congestion window leaves room. A sender that fills its
/// congestion window sends with each acknowledgement, or waits for room for a third of the window at most
/// (`tcp_tso_should_defer`), which leaves 5/6 on average.
const MOST_WITH_SLACK: f64 = 0.8;
/// A sender's own limit leaves the path without a queue.
const NO_QUEUE_RATIO: f64 = 1.15;
/// Share of the rounds in which a longer round trip is none of a queue that stands.
const MOST_QUEUED: f64 = 0.25;
/// Data segments of which one is short in an application that writes piece by piece.
const PACKETS_FOR_A_SHORT_ONE: u32 = 64;
/// Rounds, one after another, that end in a short segment and a wait.
const WRITING_ROUNDS: usize = 3;

/// Rounds on either side that pauses are looked at in, share of the time that these must take, and by how much of what chance
/// leaves more of them must end with an answer to an acknowledgement than by chance.
const PAUSE_REACH: usize = 4;
const PAUSED_SHARE: f64 = 0.25;
const ANSWERED_BEYOND_CHANCE: f64 = 0.5;
/// Share of the pauses that a limit of the sender's own may leave without an acknowledgement to answer.
const MOST_UNANSWERED: f64 = 0.5;

/// What holds for the whole direction so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Background {
    /// Round trip without a queue.
    pub min_rtt_ns: Option<u64>,
    /// Nothing had been lost or marked before the rounds that are looked at.
    pub no_loss_yet: bool,
}

/// The factor of `rounds[index]` outside of its gaps, its recovery and its idle time; and what it would be without slow start.
pub fn factors(rounds: &[KnownRound], index: usize, background: &Background) -> [Factor; 2] {
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
        if keeps_its_own_pace(rounds, index) {
            return [Factor::Application; 2];
        }
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
pub fn is_application_limited(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let writes = |round: &KnownRound| {
        round.short_packets > 0
            && u64::from(round.short_packets.saturating_mul(PACKETS_FOR_A_SHORT_ONE)) >= round.segments()
    };
    let Some(round) = rounds.get(index) else { return false };
    let idle_most = round.idle_ns * 2 > round.duration_ns();
    let beside =
        || [index.checked_sub(1), Some(index + 1)].map(|at| at.and_then(|at| rounds.get(at)).is_some_and(writes));
    let in_pieces = || match writes(round) {
        true => round.short_packets > 1 || beside().contains(&true),
        // The end of a piece may fill a segment, or wait for the next one (Nagle).
        false => round.pauses() && beside() == [true, true],
    };
    // What is delivered still grows by a quarter in each round: a writer that the send buffer holds up now and then does no harm.
    let wrote = || !round.slow_start && in_pieces() || writes_and_waits(rounds, index, background);
    idle_most || gives_too_little(round) || wrote() && !answers_acknowledgements(rounds, index)
}

/// What came after a pause was an answer to an acknowledgement much more often than by chance. Only a kernel hears of those, so
/// that a window or the send buffer had kept it back ([`crate::tcp::restarts`]), whatever sizes the application writes in. Not
/// where the other side has sent data, which an application answers.
fn answers_acknowledgements(rounds: &[KnownRound], index: usize) -> bool {
    let around = neighbours(rounds, index, PAUSE_REACH);
    let (pauses, time_ns) = pauses_of(around);
    let chance = (pauses.covered_ns as f64 / time_ns).min(1.0);
    let least = chance + ANSWERED_BEYOND_CHANCE * (1.0 - chance);
    let paused_ns = pauses.paused_ns as f64;
    paused_ns >= PAUSED_SHARE * time_ns
        && pauses.answered_ns as f64 >= least * paused_ns
        && !around.iter().any(|round| round.peer_spoke)
}

/// What came after most of the pauses answered no acknowledgement, and was more than pacing keeps back: neither a window nor the
/// send buffer had.
pub fn keeps_its_own_pace(rounds: &[KnownRound], index: usize) -> bool {
    // Most rounds have none of those pauses.
    if neighbours(rounds, index, 1).iter().all(|round| round.pauses.unanswered_ns == 0) {
        return false;
    }
    let (pauses, time_ns) = pauses_of(neighbours(rounds, index, PAUSE_REACH));
    let paused_ns = pauses.paused_ns as f64;
    paused_ns >= PAUSED_SHARE * time_ns && pauses.unanswered_ns as f64 > MOST_UNANSWERED * paused_ns
}

/// All pauses of some rounds, and nanoseconds.
fn pauses_of(around: &[KnownRound]) -> (Pauses, f64) {
    let mut pauses = Pauses::default();
    around.iter().for_each(|round| pauses.add(&round.pauses));
    (pauses, around.iter().map(|round| round.duration_ns()).sum::<u64>().max(1) as f64)
}

/// Less than a segment was in flight on average, and no window is smaller than that unless something was lost (RFC 5681 section 3.1):
/// short messages, each of which waits for its answer, as at a login.
fn gives_too_little(round: &Round) -> bool {
    round.short_packets > 0 && !round.tells_of_congestion() && round.mean_flight < f64::from(round.segment_size)
}

/// Every round has a short segment, and then nothing is in flight for a while: pieces of any size, and no window, end so. Away
/// from the sender that shows as a round trip with a delay that no queue can have made, since no data came all the time.
fn writes_and_waits(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let waits = |round: &KnownRound| {
        let delayed = || {
            round
                .least_rtt_ns
                .zip(background.min_rtt_ns)
                .is_some_and(|(least, min)| least as f64 >= queued_from_ns(min as f64))
        };
        round.idle_ns as f64 >= IDLE_SHARE * round.duration_ns() as f64 || (round.pauses() && delayed())
    };
    any_window(rounds, index, WRITING_ROUNDS, |round| round.short_packets > 0 && waits(round), |_| true)
}

/// No data came for a good part of the round: its path was not busy. A frame of many segments keeps it busy for as long as
/// they take, and comes all at once.
pub fn pauses(round: &Round) -> bool {
    let gap_ns = round.longest_gap_ns as f64;
    let within_gap_bytes = || gap_ns / 1e9 * round.rate_bytes_s();
    let offloaded = round.data_packets > 1 && round.largest_frame > u64::from(round.segment_size);
    gap_ns >= LONG_PAUSE * round.duration_ns() as f64
        && !(offloaded && within_gap_bytes() <= FRAME_SLACK * round.largest_frame as f64)
}

/// Round trips from here on show a queue.
pub(super) fn queued_from_ns(min_rtt_ns: f64) -> f64 {
    (QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS)
}

/// Nothing stood still, and the application did not pause for long: what was delivered is what the path or a window allowed.
pub fn tells_rate(round: &Round) -> bool {
    let (share, of) = MOST_IDLE;
    !round.disturbed && round.idle_ns.saturating_mul(of) <= round.duration_ns().saturating_mul(share)
}

/// Rule 9: the rate stays at its highest though a queue stands at the path's narrowest place.
pub fn is_bottleneck_limited(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let around = neighbours(rounds, index, REACH);
    if around.iter().filter(|round| round.tells_rate()).nth(BOTTLENECK_ROUNDS - 1).is_none() {
        return false;
    }
    let least_is = |round: &KnownRound, ratio: f64| round.least_rtt_ns.map(|least| least as f64 >= ratio * min_rtt_ns);
    let long = queued_from_ns(min_rtt_ns);
    // Pauses tell of a sender that waits for something else than the path, unless it has lost packets: then others may fill the
    // path between its bursts.
    let queued = |round: &&KnownRound| {
        (!background.no_loss_yet || !round.pauses())
            && round.round_trip_ns().is_some_and(|rtt| rtt as f64 >= long)
            && least_is(round, STANDING_RATIO).unwrap_or(true)
    };
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    let queued_rounds = nearest.iter().filter(queued).count();
    // A queue that never empties keeps the path busy, whatever it carried at other times.
    let never_empty = || {
        nearest.len() >= BOTTLENECK_ROUNDS
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

/// A queue stands in all rounds around this one, whatever pauses the data comes with: other traffic may fill the path between
/// this transfer's bursts, so that it is not sure to be the congestion window that limits.
pub fn has_standing_queue(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let long = queued_from_ns(min_rtt_ns);
    let nearest = neighbours(rounds, index, BOTTLENECK_ROUNDS / 2);
    nearest.len() >= BOTTLENECK_ROUNDS
        && nearest.iter().all(|round| round.least_rtt_ns.is_some_and(|least| least as f64 >= long))
}

/// Where no round trip can be had (away from the sender, without timestamps), data that comes at one rate without a pause
/// shows a path that is always busy: a window leaves a pause in each round (T-RAT; methods, section 6.6).
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
    let (mut telling, mut pausing, mut least_flight, mut most_flight) = (0, 0, u64::MAX, 0);
    for round in around.clone() {
        telling += 1;
        pausing += usize::from(round.pauses());
        least_flight = least_flight.min(round.max_flight);
        most_flight = most_flight.max(round.max_flight);
    }
    2 * pausing < telling
        && most_flight as f64 >= PROBE_FLIGHT * least_flight as f64
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

/// Rule 10: the highest flight stays the same for many rounds, below the window and without a queue. A congestion window that
/// is in the way grows in each round (RFC 5681 section 3.1); one that is not shows in a flight that falls well below its peak and
/// is not filled up though nothing was lost in between. After a loss that takes longer to tell ([`super::plateau`]).
pub fn is_send_buffer_limited(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let free = |round: &KnownRound| is_free(round);
    let steady = |window: &[KnownRound], shown: fn(&[KnownRound]) -> bool| {
        ceiling(window).is_some() && shown(window) && leaves_no_queue(window, min_rtt_ns)
    };
    let length = SEND_BUFFER_ROUNDS.min(rounds.len().max(FEWEST_SEND_BUFFER_ROUNDS));
    background.no_loss_yet
        && (any_window(rounds, index, FEWEST_SEND_BUFFER_ROUNDS, free, |window| steady(window, has_slack))
            || any_window(rounds, index, length, free, |window| steady(window, does_not_grow)))
}

/// Some `length` rounds one after another, that round among them, all are what `each` asks for and together what `all` does.
fn any_window(
    rounds: &[KnownRound],
    index: usize,
    length: usize,
    each: impl Fn(&KnownRound) -> bool,
    all: impl Fn(&[KnownRound]) -> bool,
) -> bool {
    let end = rounds.len().min(index + length);
    let (Some(before), Some(after)) = (rounds.get(index.saturating_sub(length - 1)..index), rounds.get(index..end))
    else {
        return false;
    };
    // One round that is not so ends the search on its side: most often the round itself.
    let behind = after.iter().take_while(|round| each(round)).count();
    if behind == 0 {
        return false;
    }
    let ahead = before.iter().rev().take_while(|round| each(round)).count();
    rounds[index - ahead..index + behind].windows(length).any(all)
}

/// No queue stood in most of the rounds: a host that answers late makes a round trip longer now and then. Where no round trip is
/// seen, pauses show that the path was not full.
pub fn leaves_no_queue(window: &[KnownRound], min_rtt_ns: f64) -> bool {
    let longest_ns = (NO_QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS);
    let queued = |round: &&KnownRound| round.least_rtt_ns.is_some_and(|rtt| rtt as f64 > longest_ns);
    let untimed = || window.iter().all(|round| round.least_rtt_ns.is_none() && round.longest_gap_ns > 0);
    let pausing = || window.iter().filter(|round| round.pauses()).count();
    window.iter().filter(queued).count() as f64 <= MOST_QUEUED * window.len() as f64
        && (!untimed() || 2 * pausing() >= window.len())
}

/// The highest flight around each round: a burst and the wait after it may lie on either side of a border.
fn peaks(window: &[KnownRound]) -> impl Iterator<Item = u64> {
    let pairs = window.windows(2).map(|pair| pair[0].max_flight.max(pair[1].max_flight));
    let last = pairs.clone().next_back();
    let mut before = 0;
    pairs.chain(last).map(move |pair| pair.max(std::mem::replace(&mut before, pair)))
}

/// Nothing was lost or marked in it, and the window was not full.
pub fn is_free(round: &Round) -> bool {
    !round.tells_of_congestion() && !is_window_limited(round)
}

/// What the flight comes up to in the first of the rounds and in most of them, and never beyond, bytes; none if it does not. A
/// writer that is late now and then leaves the flight below what its buffer lets it be; a flight that grows begins below.
fn ceiling(window: &[KnownRound]) -> Option<u64> {
    let most = peaks(window).max()?;
    let reached = peaks(window).filter(|peak| comes_up_to(*peak, most)).count();
    let begins_with_it = peaks(window).next().is_some_and(|peak| comes_up_to(peak, most));
    (begins_with_it && reached as f64 >= REACHED_SHARE * window.len() as f64).then_some(most)
}

/// The same around a round; none if the path was full.
pub fn even_flight(rounds: &[KnownRound], index: usize, min_rtt_ns: f64) -> Option<u64> {
    let around = neighbours(rounds, index, FEWEST_SEND_BUFFER_ROUNDS / 2);
    ceiling(around).filter(|_| leaves_no_queue(around, min_rtt_ns))
}

/// On average the flight stays well below its peak.
fn has_slack(window: &[KnownRound]) -> bool {
    let mean = window.iter().map(|round| round.mean_flight).sum::<f64>() / window.len().max(1) as f64;
    let peak = window.iter().map(|round| round.max_flight).max().unwrap_or(0);
    peak > 0 && mean <= MOST_WITH_SLACK * peak as f64
}

/// The later half of the rounds had no more in flight than the earlier half: at most, or on average of those that come up to the
/// ceiling. A window that grows raises both, and a writer in bursts of changing size now the one and now the other.
fn does_not_grow(window: &[KnownRound]) -> bool {
    let Some(ceiling) = peaks(window).max() else { return false };
    let half = window.len() / 2;
    let of_half = |peaks: &mut dyn Iterator<Item = u64>| {
        let reaching = peaks.filter(|peak| comes_up_to(*peak, ceiling));
        let (count, sum, most) =
            reaching.fold((0, 0, 0), |(count, sum, most), peak| (count + 1, sum + peak, peak.max(most)));
        [most as f64, sum as f64 / f64::from(count.max(1))]
    };
    let [earlier, later] = [of_half(&mut peaks(window).take(half)), of_half(&mut peaks(window).skip(half))];
    let segment_bytes = window.first().map_or(0.0, |round| f64::from(round.segment_size));
    ceiling > 0
        && earlier.iter().zip(later).any(|(earlier, later)| (later - earlier).abs() <= SAME_SEGMENTS * segment_bytes)
}

/// A flight is the same as the highest.
fn comes_up_to(peak: u64, ceiling: u64) -> bool {
    peak as f64 >= (1.0 - SAME_FLIGHT) * ceiling as f64
}

fn neighbours(rounds: &[KnownRound], index: usize, reach: usize) -> &[KnownRound] {
    let end = rounds.len().min(index + reach + 1);
    rounds.get(index.saturating_sub(reach)..end).unwrap_or_default()
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
    pub fn take(&mut self, rounds: &mut [KnownRound]) {
        let Some((round, before)) = rounds.split_last_mut() else { return };
        if round.timeouts > 0 {
            (self.active, self.highest, self.without_growth) = (true, 0.0, 0);
            return;
        }
        if round.recovering_ns > 0 || round.tells_of_congestion() {
            self.active = false;
        }
        if !self.active {
            return;
        }
        round.change(|round| round.slow_start = true);
        let rate = round.rate_bytes_s();
        if rate >= GROWTH * self.highest {
            (self.highest, self.without_growth) = (rate, 0);
            return;
        }
        self.without_growth += 1;
        if self.without_growth >= ROUNDS_WITHOUT_GROWTH {
            self.active = false;
            round.change(|round| round.slow_start = false);
            before
                .iter_mut()
                .rev()
                .take(usize::from(ROUNDS_WITHOUT_GROWTH) - 1)
                .for_each(|other| other.change(|other| other.slow_start = false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rounds one after another: bytes, milliseconds, largest flight, and whether a host stood still.
    fn rounds(list: &[(u64, i64, u64, bool)]) -> Vec<KnownRound> {
        let mut start_ns = 0;
        let mut next = |&(delivered_bytes, duration_ms, max_flight, disturbed): &(u64, i64, u64, bool)| {
            let end_ns = start_ns + duration_ms * 1_000_000;
            let round = Round { start_ns, end_ns, delivered_bytes, max_flight, disturbed, ..Round::default() };
            start_ns = end_ns;
            KnownRound::from(round)
        };
        list.iter().map(&mut next).collect()
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

        #[test]
        fn a_window_is_found_wherever_the_round_lies_in_it(
            list in prop::collection::vec((0u64..1, 1i64..2, 0u64..9, any::<bool>()), 1..40),
            index in 0usize..40,
            length in 1usize..13,
        ) {
            let rounds = rounds(&list);
            let each = |round: &KnownRound| round.max_flight > 0;
            let all = |window: &[KnownRound]| window[0].max_flight == 1;
            let is_one = |window: &[KnownRound]| window.iter().all(each) && all(window);
            let mut starts = index.saturating_sub(length - 1)..=index;
            let found = starts.any(|start| rounds.get(start..start + length).is_some_and(is_one));
            prop_assert_eq!(any_window(&rounds, index, length, each, all), found);
        }

        #[test]
        fn a_peak_is_the_highest_flight_of_a_round_and_its_neighbours(
            list in prop::collection::vec((0u64..1, 1i64..2, 0u64..9, any::<bool>()), 2..13),
        ) {
            let rounds = rounds(&list);
            let around = |at| neighbours(&rounds, at, 1).iter().map(|round| round.max_flight).max().unwrap_or(0);
            prop_assert!(peaks(&rounds).eq((0..rounds.len()).map(around)));
        }
    }
}
