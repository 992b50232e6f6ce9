//! What rules may know of the rounds around the one they judge.

use crate::tcp::limits::known::{IDLE_SHARE, KnownRound};
use crate::tcp::limits::round::Round;
use crate::tcp::sender::pauses::SenderPauses;

/// Share of a round that the window must have been full for. T-RAT asks for 80 % of the time within three segments of the
/// window; here full means that not even the next send fits, which each acknowledgement ends for a moment.
const WINDOW_SHARE: f64 = 0.5;

/// A queue shows when the round trip is so many times its minimum, and longer by so much. It stands when even the shortest
/// round trip of a round is longer than the minimum: the queue that a burst makes for itself is gone before the next
/// (RFC 8289 section 3 tells good queues from bad ones in that way).
pub(crate) const QUEUE_RATIO: f64 = 1.25;

pub(crate) const QUEUE_NS: f64 = 500e3;

pub(crate) const STANDING_RATIO: f64 = 1.05;

/// Rounds that are looked at on either side.
pub const REACH: usize = 8;

/// Segments by which the flight of the later half may differ: Reno's window grows by one in each round.
pub(crate) const SAME_SEGMENTS: f64 = 1.5;

/// Rounds on either side that a rate is taken over.
pub(crate) const SMOOTHED: usize = 2;

/// What holds for the whole direction so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Background {
    /// Round trip without a queue.
    pub min_rtt_ns: Option<u64>,
    /// Nothing had been lost or marked before the rounds that are looked at.
    pub no_loss_yet: bool,
}

/// `receiver_window`: the window was full for most of it.
pub fn is_window_limited(round: &Round) -> bool {
    let open_ns = round.duration_ns().saturating_sub(round.recovering_ns);
    open_ns > 0 && round.limited_ns as f64 >= WINDOW_SHARE * open_ns as f64
}

/// How much longer than the path's a round trip seemed because its sender had nothing to send, away from it: what it writes one
/// segment after the other echoes no acknowledgement before its time has come.
pub(crate) fn own_pause_ns(round: &Round) -> u64 {
    let SenderPauses { paused_ns, all_sent_ns, .. } = round.pauses;
    if 2 * all_sent_ns > paused_ns { round.longest_gap_ns } else { 0 }
}

/// All pauses of some rounds, and nanoseconds.
pub(crate) fn pauses_of(around: &[KnownRound]) -> (SenderPauses, f64) {
    let mut pauses = SenderPauses::default();
    around.iter().for_each(|round| pauses.add(&round.pauses));
    (pauses, around.iter().map(|round| round.duration_ns()).sum::<u64>().max(1) as f64)
}

/// Nothing was in flight for a while: no queue outlasted that.
pub(crate) fn rests(round: &Round) -> bool {
    round.idle_ns as f64 >= IDLE_SHARE * round.duration_ns() as f64
}

/// Round trips from here on show a queue.
pub(crate) fn queued_from_ns(min_rtt_ns: f64) -> f64 {
    (QUEUE_RATIO * min_rtt_ns).max(min_rtt_ns + QUEUE_NS)
}

/// Some `length` rounds one after another, that round among them, all are what `each` asks for and together what `all` does.
pub(crate) fn any_window(
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

pub(crate) fn neighbours(rounds: &[KnownRound], index: usize, reach: usize) -> &[KnownRound] {
    let end = rounds.len().min(index + reach + 1);
    rounds.get(index.saturating_sub(reach)..end).unwrap_or_default()
}
