//! The sender keeps no more in flight by a limit of its own, its send buffer or pacing (docs/verdict.md, `send_buffer`): the
//! flight has a ceiling, and neither a window nor a queue makes it.
//!
//! Rule: docs/verdict.md, "A flight with a ceiling".

use crate::tcp::limits::background::{Background, QUEUE_NS, SAME_SEGMENTS, any_window, is_window_limited, neighbours};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::Round;

/// Rounds with one flight that show a limit of the sender's own (in short transfers, or where the flight has slack), and how far
/// their flights may lie apart.
const SEND_BUFFER_ROUNDS: usize = 12;

const FEWEST_SEND_BUFFER_ROUNDS: usize = 8;

/// Rounds whose peaks are equal, in a transfer of fewer than twice as many.
const EQUAL_ROUNDS: usize = 6;

const SAME_FLIGHT: f64 = 0.15;

/// Share of the rounds whose flight reaches the same.
const REACHED_SHARE: f64 = 0.75;

/// Share of its peak that the flight keeps on average, at most, where the congestion window leaves room. A sender that fills its
/// congestion window sends with each acknowledgement, or waits for room for a third of the window at most
/// (`tcp_tso_should_defer`), which leaves 5/6 on average.
const MOST_WITH_SLACK: f64 = 0.8;

/// A sender's own limit leaves the path without a queue.
const NO_QUEUE_RATIO: f64 = 1.15;

/// Share of the rounds in which a longer round trip is none of a queue that stands.
const MOST_QUEUED: f64 = 0.25;

/// The highest flight stays the same for many rounds, below the window and without a queue. A congestion window that
/// is in the way grows in each round (RFC 5681 section 3.1); one that is not shows in a flight that falls well below its peak and
/// is not filled up though nothing was lost in between. After a loss that takes longer to tell (`limits/plateau.rs`).
pub fn is_send_buffer_limited(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let Some(min_rtt_ns) = background.min_rtt_ns.map(|rtt| rtt as f64) else { return false };
    let free = |round: &KnownRound| is_free(round);
    let steady = |window: &[KnownRound], shown: fn(&[KnownRound]) -> bool| {
        ceiling(window).is_some() && shown(window) && leaves_no_queue(window, min_rtt_ns)
    };
    let length = SEND_BUFFER_ROUNDS.min(rounds.len().max(FEWEST_SEND_BUFFER_ROUNDS));
    background.no_loss_yet
        && (any_window(rounds, index, FEWEST_SEND_BUFFER_ROUNDS, free, |window| steady(window, has_slack))
            || any_window(rounds, index, length, free, |window| steady(window, does_not_grow))
            || rounds.len() < 2 * EQUAL_ROUNDS
                && any_window(rounds, index, EQUAL_ROUNDS, free, |window| steady(window, is_equal)))
}

/// All peaks are the same: in so few rounds no trend would show, but a congestion window grows by half a segment in each.
fn is_equal(window: &[KnownRound]) -> bool {
    let segment = window.first().map_or(0, |round| u64::from(round.segment_size));
    let (least, most) = peaks(window).fold((u64::MAX, 0), |(least, most), peak| (peak.min(least), peak.max(most)));
    most > 0 && most - least <= segment && window.iter().all(|round| !round.slow_start)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::rules::tests::rounds;
    use proptest::prelude::*;

    proptest! {
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
