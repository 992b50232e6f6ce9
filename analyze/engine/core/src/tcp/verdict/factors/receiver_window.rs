//! `receiver_window`: the window that the receiver advertised left no room.
//!
//! Rule: docs/verdict.md, "Receiver's window".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::background::{Background, is_window_limited};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::rules::Condition;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Tally, saved_at_twice_the_rate_s};
use crate::tcp::verdict::words::{bytes, seconds};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ReceiverWindow,
    in_words: "the receiver's window",
    in_rounds: &[Condition { turn: 10, holds: is_full, beneath_slow_start: false }],
    least_share: 0.15,
    sets_the_rate: true,
    blames_loss: false,
    because,
    change,
    saved_s: saved_at_twice_the_rate_s,
    bounds,
};

fn is_full(rounds: &[KnownRound], index: usize, _background: &Background) -> bool {
    rounds.get(index).is_some_and(|round| is_window_limited(round))
}

fn because(case: &Case, tally: &Tally) -> String {
    let window = &case.direction.window;
    if window.zero_time_ns * 2 > tally.share.time_ns {
        return format!(
            "The receiver closed its window for {}: its application read too slowly",
            seconds(window.zero_time_ns)
        );
    }
    let most = window.extremes.map_or(0, |(_, _, most)| most);
    format!("The receiver's window of at most {} allowed no more than {}", bytes(most as f64), tally.rate())
}

fn change(_case: &Case) -> Option<&'static str> {
    Some("twice the receiver's window")
}

fn bounds(_case: &Case) -> Vec<Bound> {
    Vec::new()
}
