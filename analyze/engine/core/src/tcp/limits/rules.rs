//! What limited a round of which no gap, no loss and no full window tells it already: the last factors of docs/verdict.md,
//! "What limits". Each looks at the rounds around it. Here are their order and those of the application; the path's are in
//! [`crate::tcp::limits::bottleneck`], those of a send buffer in [`crate::tcp::limits::send_buffer`].

use crate::tcp::limits::background::{
    Background, any_window, is_window_limited, neighbours, pauses_of, queued_from_ns, rests,
};
use crate::tcp::limits::bottleneck::{has_standing_queue, is_bottleneck_limited};
use crate::tcp::limits::factor::Factor;
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::Round;
use crate::tcp::limits::send_buffer::is_send_buffer_limited;

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

/// `application`, within a round: a segment is sent short when the application has given no more (`tcp_rate`'s app_limited).
/// A bulk transfer ends with one; an application that writes piece by piece sends one for each piece, round after round.
///
/// Rule: docs/verdict.md, "Small writes".
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
/// that a window or the send buffer had kept it back ([`crate::tcp::sender::pauses`]), whatever sizes the application writes in. Not
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
///
/// Rule: docs/verdict.md, "The application's own pauses".
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

/// Less than a segment was in flight on average, and no window is smaller than that unless something was lost (RFC 5681 section 3.1):
/// short messages, each of which waits for its answer, as at a login.
fn gives_too_little(round: &Round) -> bool {
    round.short_packets > 0 && !round.tells_of_congestion() && round.mean_flight < f64::from(round.segment_size)
}

/// In every round it was asked, and answered, when all that it had said before was acknowledged: messages of any size, each of which
/// one round trip takes whole. No window held anything back, and the flight is the same where the messages are.
///
/// Rule: docs/verdict.md, "Turns".
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

#[cfg(test)]
pub(crate) mod tests {
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
