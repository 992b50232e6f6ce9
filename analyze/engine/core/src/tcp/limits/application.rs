//! The sending application gave too little (docs/verdict.md, `application`): short segments and waits, turns, pauses of its own.

use crate::tcp::limits::background::{Background, any_window, neighbours, pauses_of, queued_from_ns, rests};
use crate::tcp::limits::bottleneck::has_standing_queue;
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

pub(super) const PAUSED_SHARE: f64 = 0.25;

const ANSWERED_BEYOND_CHANCE: f64 = 0.5;

/// Share of the pauses that a limit of the sender's own may leave without an acknowledgement to answer.
const MOST_UNANSWERED: f64 = 0.5;

/// The same of those that end later than an answer by any share of the pause: pacing lets an answer wait, and a busy host, but not
/// nearly each.
const MOST_LATE: f64 = 0.8;

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
    let is_late = || idle_most || gives_too_little(round) || wrote() && !answers_acknowledgements(rounds, index);
    speaks_in_turns(rounds, index) || is_late() && !has_waited(rounds, index)
}

/// What came after the pauses had waited in a queue of the host ([`crate::tcp::limits::host_queue`]): it was there, and the application
/// was not late.
fn has_waited(rounds: &[KnownRound], index: usize) -> bool {
    let (pauses, time_ns) = pauses_of(neighbours(rounds, index, PAUSE_REACH));
    pauses.paused_ns as f64 >= PAUSED_SHARE * time_ns && pauses.ended_from_a_queue()
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

/// Nothing else explains the pauses that it keeps by itself: no window, and no queue of others'. A flight with a ceiling that it
/// pauses at is its own, too.
pub fn pauses_by_itself(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let may_pause = |round: &KnownRound| {
        background.no_loss_yet && !round.slow_start && !has_standing_queue(rounds, index, background)
    };
    let Some(round) = rounds.get(index).filter(|_| keeps_its_own_pace(rounds, index)) else { return false };
    is_send_buffer_limited(rounds, index, background) || may_pause(round)
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
        && !pauses.ended_from_a_queue()
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
