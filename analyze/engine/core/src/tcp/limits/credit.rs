//! An application's own window: round after round the sender has the same amount outstanding and then waits for a small message of
//! its peer, as HTTP/2, SSH, SFTP, SMB and iSCSI have it. TCP's window and path would carry more.
//!
//! Rule: docs/verdict.md, "Waiting for credit".

use crate::tcp::limits::background::{Background, SAME_SEGMENTS, any_window, is_window_limited, neighbours};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::Round;
use crate::tcp::limits::send_buffer::is_send_buffer_limited;

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

/// Rounds on either side in which the peer gives credit while the flight stands at its ceiling.
const FLOWING_REACH: usize = 4;

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
    neighbours(rounds, index, FLOWING_REACH).iter().all(gives) && is_send_buffer_limited(rounds, index, background)
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
    // A short message is credit where it is the same each time.
    let message = |round: &KnownRound| round.peer_bytes;
    let is_one_message = window.windows(2).all(|pair| message(&pair[0]) == message(&pair[1]));
    let is_large = window.iter().all(|round| round.max_flight >= SMALLEST_WINDOW);
    (is_large || is_one_message) && same(|round| round.max_flight) && same(|round| round.delivered_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn other_amounts_long_messages_and_small_pieces_are_none() {
        assert!(!waits(|number| 40_000 + number * 5000, 13));
        assert!(!waits(|_| 65_535, 900), "a request");
        assert!(!waits(|_| 1448, 13), "a segment");
        assert!(!waits(|_| 20_000, 120), "small objects");
        assert!(!waits(|_| 65_535, 0));
    }
}
