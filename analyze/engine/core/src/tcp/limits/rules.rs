//! What limited a round of which no gap, no loss and no full window tells it already: the last rules of the table in
//! docs/verdict.md. Each looks at the rounds around it. Here are their order and those of the application; the path's are in
//! [`super::bottleneck`], those of a send buffer in [`super::send_buffer`].

use super::bottleneck::{has_standing_queue, is_bottleneck_limited};
use super::factor::Factor;
use super::known::KnownRound;
use super::round::Round;
use super::send_buffer::is_send_buffer_limited;
use crate::tcp::restarts::Pauses;

/// Share of a round that the window must have been full for. T-RAT asks for 80 % of the time within three segments of the
/// window; here full means that not even the next send fits, which each acknowledgement ends for a moment.
const WINDOW_SHARE: f64 = 0.5;
/// A queue shows when the round trip is so many times its minimum, and longer by so much. It stands when even the shortest
/// round trip of a round is longer than the minimum: the queue that a burst makes for itself is gone before the next
/// (RFC 8289 section 3 tells good queues from bad ones in that way).
pub(super) const QUEUE_RATIO: f64 = 1.25;
pub(super) const QUEUE_NS: f64 = 500e3;
pub(super) const STANDING_RATIO: f64 = 1.05;
/// Rounds that are looked at on either side.
pub const REACH: usize = 8;
/// Share of a round from which on it was idle, and share up to which it still tells a rate.
const IDLE_SHARE: f64 = 0.05;
const MOST_IDLE: (u64, u64) = (1, 4);
/// Share of a round without data from which on the path was not busy in it.
const LONG_PAUSE: f64 = 0.25;
/// What a round delivers during a frame's time, more than the frame, without having paused: it is a mean over the round.
const FRAME_SLACK: f64 = 1.25;
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
/// The same of those that end later than an answer by any share of the pause: pacing lets an answer wait, and a busy host, but not
/// nearly each.
const MOST_LATE: f64 = 0.8;

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
    } else if background.no_loss_yet
        && !round.slow_start
        && keeps_its_own_pace(rounds, index)
        && !has_standing_queue(rounds, index, background)
    {
        return [Factor::Application; 2];
    } else {
        Factor::CongestionWindow
    };
    [if round.slow_start { Factor::SlowStart } else { underlying }, underlying]
}

/// `receiver_window`: the window was full for most of it.
pub fn is_window_limited(round: &Round) -> bool {
    let open_ns = round.duration_ns().saturating_sub(round.recovering_ns);
    open_ns > 0 && round.limited_ns as f64 >= WINDOW_SHARE * open_ns as f64
}

/// `application`, within a round: a segment is sent short when the application has given no more (`tcp_rate`'s app_limited).
/// A bulk transfer ends with one; an application that writes piece by piece sends one for each piece, round after round.
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
    idle_most
        || gives_too_little(round)
        || speaks_in_turns(rounds, index)
        || wrote() && !answers_acknowledgements(rounds, index)
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
    if neighbours(rounds, index, 1).iter().all(|round| round.pauses.unanswered_ns == 0 && round.pauses.late_ns == 0) {
        return false;
    }
    let (pauses, time_ns) = pauses_of(neighbours(rounds, index, PAUSE_REACH));
    let paused_ns = pauses.paused_ns as f64;
    paused_ns >= PAUSED_SHARE * time_ns
        && (pauses.unanswered_ns as f64 > MOST_UNANSWERED * paused_ns || pauses.late_ns as f64 > MOST_LATE * paused_ns)
}

/// How much longer than the path's a round trip seemed because its sender had nothing to send, away from it: what it writes one
/// segment after the other echoes no acknowledgement before its time has come.
pub(super) fn own_pause_ns(round: &Round) -> u64 {
    let Pauses { paused_ns, all_sent_ns, .. } = round.pauses;
    if 2 * all_sent_ns > paused_ns { round.longest_gap_ns } else { 0 }
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

/// In every round it was asked, and answered, when all that it had said before was acknowledged: messages of any size, each of which
/// one round trip takes whole. No window held anything back, and the flight is the same where the messages are.
fn speaks_in_turns(rounds: &[KnownRound], index: usize) -> bool {
    any_window(rounds, index, WRITING_ROUNDS, |round| round.turns > 0 && !round.slow_start, |_| true)
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
        rests(round) || (round.pauses() && delayed())
    };
    any_window(rounds, index, WRITING_ROUNDS, |round| round.short_packets > 0 && waits(round), |_| true)
}

/// Nothing was in flight for a while: no queue outlasted that.
pub(super) fn rests(round: &Round) -> bool {
    round.idle_ns as f64 >= IDLE_SHARE * round.duration_ns() as f64
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

/// Some `length` rounds one after another, that round among them, all are what `each` asks for and together what `all` does.
pub(super) fn any_window(
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

pub(super) fn neighbours(rounds: &[KnownRound], index: usize, reach: usize) -> &[KnownRound] {
    let end = rounds.len().min(index + reach + 1);
    rounds.get(index.saturating_sub(reach)..end).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rounds one after another: bytes, milliseconds, largest flight, and whether a host stood still.
    pub(in crate::tcp::limits) fn rounds(list: &[(u64, i64, u64, bool)]) -> Vec<KnownRound> {
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
    }
}
