//! An application's own window: round after round the sender has the same amount outstanding and then waits for a small message of
//! its peer, as HTTP/2, SSH, SFTP, SMB and iSCSI have it. TCP's window and path would carry more.
//!
//! Rule: docs/verdict.md, "Waiting for credit".

use crate::tcp::limits::application::PAUSED_SHARE;
use crate::tcp::limits::background::{
    Background, SAME_SEGMENTS, any_window, is_window_limited, neighbours, pauses_of, rests,
};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::Round;
use crate::tcp::limits::send_buffer::{is_free, is_send_buffer_limited, leaves_no_queue};

/// The longest message that gives credit or asks for the next piece: 13 bytes of HTTP/2, 48 of iSCSI, 117 of SMB, each perhaps
/// within TLS.
const LONGEST_MESSAGE: u64 = 200;

/// How many times as much is sent for it, and full segments of that at least.
const TIMES_AS_MUCH: u64 = 20;

const FEWEST_SEGMENTS: u64 = 4;

/// The smallest windows that protocols begin with: 32 KiB of SFTP's reads, 64 KiB of HTTP/2, SMB and iSCSI, less what headers take. Smaller
/// pieces are objects that were asked for.
const SMALLEST_WINDOW: u64 = 30_000;

/// Rounds, one after another, with the same amount.
const SAME_ROUNDS: usize = 6;

/// Messages that give credit and nothing else, so that windows of any size are ones: 13 bytes of HTTP/2 for each of two windows, perhaps
/// within TLS, each in a record of its own.
const LONGEST_CREDIT: u64 = 72;

/// Bytes of a frame that gives credit: messages of several differ by that (RFC 9113 section 6.9).
const CREDIT_FRAME: u64 = 13;

/// Rounds on either side in which the peer gives credit while the flight stands at its ceiling.
const FLOWING_REACH: usize = 4;

/// Share of them that comes up to nearly the same ceiling, that gives credit, that goes on all the time, and that keeps as much in flight.
const COMES_UP_SHARE: f64 = 0.65;

const NEARLY_CEILING: f64 = 0.93;

const GIVING_SHARE: f64 = 0.75;

const MOVING_SHARE: f64 = 0.8;

const STANDING_SHARE: f64 = 0.5;

const STANDING_FLIGHT: f64 = 0.8;

/// Share of the pauses that end right behind a message, where credit comes in portions; so many in a round at most.
const ASKED_SHARE: f64 = 0.6;

const MESSAGES_OF_CREDIT: u64 = 2;

/// See the module.
pub fn waits_for_credit(rounds: &[KnownRound], index: usize, _background: &Background) -> bool {
    any_window(rounds, index, SAME_ROUNDS, |round| is_given_credit(round), is_same_amount)
}

/// Credit comes before the window is used up, as SSH gives it: the flight has a ceiling that is neither TCP's nor the path's, and never
/// drains. In each round the peer sends a little.
///
/// Rule: docs/verdict.md, "Credit that flows".
pub fn flows_with_credit(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    let gives = |round: &KnownRound| {
        round.peer_bytes > 0
            && round.turns == 0
            && round.delivered_bytes >= TIMES_AS_MUCH * round.peer_bytes
            && round.max_flight >= SMALLEST_WINDOW
    };
    let around = neighbours(rounds, index, FLOWING_REACH);
    around.iter().all(gives) && is_send_buffer_limited(rounds, index, background)
        || stands_at_credit(around, background)
        || is_let_go_by_credit(around, background)
}

/// The same where credit comes in portions: whatever is in flight, what ends a pause comes right behind a small message. An application
/// at its own pace meets those by chance, and a window of TCP's is let go by acknowledgements.
///
/// Rule: docs/verdict.md, "Credit in portions".
fn is_let_go_by_credit(around: &[KnownRound], background: &Background) -> bool {
    let Some(least_ns) = background.min_rtt_ns else { return false };
    let is_credit = |round: &KnownRound| {
        round.peer_bytes <= MESSAGES_OF_CREDIT * LONGEST_CREDIT
            && round.delivered_bytes >= TIMES_AS_MUCH * round.peer_bytes
            && !round.slow_start
            && is_free(round)
    };
    if around.len() <= FLOWING_REACH || !around.iter().all(is_credit) {
        return false;
    }
    let giving = around.iter().filter(|round| round.peer_bytes > 0).count() as f64;
    let ceiling = around.iter().map(|round| round.max_flight).max().unwrap_or(0);
    let (pauses, time_ns) = pauses_of(around);
    ceiling >= SMALLEST_WINDOW
        && pauses.paused_ns as f64 >= PAUSED_SHARE * time_ns
        && pauses.asked_ns as f64 >= ASKED_SHARE * pauses.paused_ns as f64
        && giving >= GIVING_SHARE * around.len() as f64
        && leaves_no_queue(around, least_ns as f64)
}

/// The same where credit comes in larger portions now and smaller ones then: most rounds come up to one ceiling, and half of them stand
/// at it. A congestion window that grows raises it.
fn stands_at_credit(around: &[KnownRound], background: &Background) -> bool {
    let Some(least_ns) = background.min_rtt_ns.filter(|_| background.no_loss_yet) else { return false };
    let moves_on = |round: &KnownRound| {
        round.turns == 0 && !rests(round) && round.delivered_bytes >= TIMES_AS_MUCH * round.peer_bytes
    };
    let ceiling = around.iter().map(|round| round.max_flight).max().unwrap_or(0);
    let reaches =
        |share: f64, flight: fn(&KnownRound) -> f64| move |round: &KnownRound| flight(round) >= share * ceiling as f64;
    let share_of = |holds: &dyn Fn(&KnownRound) -> bool| {
        around.iter().filter(|round| holds(round)).count() as f64 / around.len().max(1) as f64
    };
    let (earlier, later) = around.split_at(around.len() / 2);
    let [before, after] = [earlier, later].map(|half| half.iter().map(|round| round.max_flight).max().unwrap_or(0));
    let segment_bytes = around.first().map_or(0.0, |round| f64::from(round.segment_size));
    around.len() > FLOWING_REACH
        && ceiling >= SMALLEST_WINDOW
        && around.iter().all(|round| !round.slow_start && is_free(round))
        && share_of(&moves_on) >= MOVING_SHARE
        && share_of(&|round| round.peer_bytes > 0) >= GIVING_SHARE
        && share_of(&reaches(NEARLY_CEILING, |round| round.max_flight as f64)) >= COMES_UP_SHARE
        && share_of(&reaches(STANDING_FLIGHT, |round| round.mean_flight)) >= STANDING_SHARE
        && after as f64 - before as f64 <= SAME_SEGMENTS * segment_bytes
        && leaves_no_queue(around, least_ns as f64)
}

fn is_given_credit(round: &Round) -> bool {
    let segment = u64::from(round.segment_size.max(1));
    let smallest = if round.peer_bytes <= LONGEST_CREDIT { 0 } else { SMALLEST_WINDOW };
    (1..=LONGEST_MESSAGE).contains(&round.peer_bytes)
        && round.delivered_bytes >= TIMES_AS_MUCH * round.peer_bytes
        && round.max_flight >= (FEWEST_SEGMENTS * segment).max(smallest)
        && round.turns > 0
        && !round.tells_of_congestion()
        && !is_window_limited(round)
}

/// The most in flight is the same in all of them, and so is what is delivered.
fn is_same_amount(window: &[KnownRound]) -> bool {
    let segment = window.first().map_or(0.0, |round| f64::from(round.segment_size));
    let same = |amount: fn(&KnownRound) -> u64| {
        let amounts = || window.iter().map(amount);
        let (least, most) = (amounts().min().unwrap_or(0), amounts().max().unwrap_or(0));
        (most - least) as f64 <= SAME_SEGMENTS * segment
    };
    // A short message is credit where it is the same each time, but for a frame of credit more or less.
    let message = |round: &KnownRound| round.peer_bytes;
    let differ_by_frames =
        |pair: &[KnownRound]| message(&pair[0]).abs_diff(message(&pair[1])).is_multiple_of(CREDIT_FRAME);
    let is_one_message = window.windows(2).all(differ_by_frames);
    let is_large = window.iter().all(|round| round.max_flight >= SMALLEST_WINDOW);
    // What is acknowledged at the end of one round may be counted in the next: over all of them as much is delivered as was let go.
    let sum = |amount: fn(&KnownRound) -> u64| window.iter().map(amount).sum::<u64>();
    let (delivered, let_go) = (sum(|round| round.delivered_bytes), sum(|round| round.max_flight));
    let is_delivered = || delivered.abs_diff(let_go) as f64 <= 2.0 * SAME_SEGMENTS * segment;
    (is_large || is_one_message)
        && same(|round| round.max_flight)
        && (same(|round| round.delivered_bytes) || is_delivered())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::sender::pauses::SenderPauses;

    /// Whether the middle of twelve rounds waits for credit: what is in flight in each, and the length of the peer's message.
    fn waits(flight: impl Fn(u64) -> u64, message: u64) -> bool {
        let round = |number: u64| {
            let max_flight = flight(number);
            let end_ns = 100_000_000;
            Round {
                max_flight,
                delivered_bytes: max_flight,
                peer_bytes: message,
                turns: 1,
                segment_size: 1448,
                end_ns,
                ..Round::default()
            }
        };
        let rounds: Vec<KnownRound> = (0..12).map(|number| round(number).into()).collect();
        waits_for_credit(&rounds, 6, &Background::default())
    }

    #[test]
    fn the_same_amount_for_each_small_message_is_credit() {
        assert!(waits(|_| 65_535, 13));
        assert!(waits(|number| 65_536 + number % 2 * 1448, 117));
        assert!(waits(|_| 16_384, 26), "a window of any size");
    }

    #[test]
    fn a_frame_of_credit_more_and_a_segment_that_is_acknowledged_later_change_nothing() {
        let round = |number: u64| Round {
            max_flight: 16_460,
            delivered_bytes: 16_460 + if number == 5 { 2896 } else { 0 } - if number == 6 { 2896 } else { 0 },
            peer_bytes: 42 + number % 2 * CREDIT_FRAME,
            turns: 1,
            segment_size: 1448,
            end_ns: 100_000_000,
            ..Round::default()
        };
        let rounds: Vec<KnownRound> = (0..12).map(|number| round(number).into()).collect();
        assert!(waits_for_credit(&rounds, 6, &Background::default()));
    }

    /// Whether the middle of nine rounds of 200 ms without a queue stands at a window whose credit flows: the most in flight and its mean,
    /// in kilobytes, and the length of the peer's messages.
    fn flows(of: impl Fn(u64) -> (u64, u64, u64)) -> bool {
        let round = |number: u64| {
            let (most, mean, peer_bytes) = of(number);
            Round {
                max_flight: most * 1000,
                mean_flight: mean as f64 * 1000.0,
                delivered_bytes: mean * 1000,
                peer_bytes,
                segment_size: 8948,
                rtt_ns: Some(202_000_000),
                least_rtt_ns: Some(200_000_000),
                end_ns: 202_000_000,
                ..Round::default()
            }
        };
        let rounds: Vec<KnownRound> = (0..9).map(|number| round(number).into()).collect();
        stands_at_credit(&rounds, &Background { min_rtt_ns: Some(200_000_000), no_loss_yet: true })
    }

    #[test]
    fn a_flight_that_comes_up_to_one_ceiling_and_stands_there_waits_for_credit_that_flows() {
        assert!(flows(|number| if number % 3 == 2 { (1400, 750, 900) } else { (2099, 1950, 500) }));
        assert!(flows(|number| (2066 + number % 2 * 33, 2000, if number == 4 { 0 } else { 540 })));
    }

    #[test]
    fn a_window_that_grows_a_writer_in_bursts_and_a_silent_peer_are_no_credit() {
        assert!(!flows(|number| (1900 + 30 * number, 1800 + 30 * number, 500)), "grows");
        assert!(!flows(|_| (2099, 1200, 500)), "drains");
        assert!(!flows(|number| (if number % 2 == 0 { 2099 } else { 1500 }, 1900, 500)), "other amounts");
        assert!(!flows(|_| (2099, 1950, 0)), "no credit");
    }

    /// Whether the middle of nine rounds of 60 ms is let go by credit: the most in flight in kilobytes, what the peer sends, and
    /// milliseconds of pauses that end right behind it, of 45.
    fn is_let_go(of: impl Fn(u64) -> (u64, u64, u64)) -> bool {
        let round = |number: u64| {
            let (most, peer_bytes, asked_ms) = of(number);
            let pauses =
                SenderPauses { paused_ns: 45_000_000, asked_ns: asked_ms * 1_000_000, ..SenderPauses::default() };
            Round {
                max_flight: most * 1000,
                delivered_bytes: most * 1000,
                peer_bytes,
                segment_size: 1448,
                pauses,
                least_rtt_ns: Some(60_500_000),
                end_ns: 60_000_000,
                ..Round::default()
            }
        };
        let rounds: Vec<KnownRound> = (0..9).map(|number| round(number).into()).collect();
        is_let_go_by_credit(&rounds, &Background { min_rtt_ns: Some(60_000_000), no_loss_yet: true })
    }

    #[test]
    fn what_comes_right_behind_small_messages_waits_for_credit_whatever_is_in_flight() {
        assert!(is_let_go(|number| (73 + number % 3 * 10, 26 + number % 2 * 26, 40)));
        assert!(is_let_go(|number| (73, if number == 4 { 0 } else { 26 }, 40)), "one round without");
    }

    #[test]
    fn what_comes_at_another_time_after_requests_or_in_small_pieces_waits_for_no_credit() {
        assert!(!is_let_go(|_| (73, 26, 10)), "a writer that meets them by chance");
        assert!(!is_let_go(|_| (73, 400, 40)), "requests");
        assert!(!is_let_go(|_| (20, 26, 40)), "small pieces");
        assert!(!is_let_go(|_| (73, 0, 0)), "a silent peer");
    }

    #[test]
    fn other_amounts_long_messages_and_small_pieces_are_none() {
        assert!(!waits(|number| 40_000 + number * 5000, 13));
        assert!(!waits(|_| 65_535, 900), "a request");
        assert!(!waits(|_| 1448, 13), "a segment");
        assert!(!waits(|_| 20_000, 120), "small objects");
        assert!(!waits(|_| 65_535, 0));
    }
}
