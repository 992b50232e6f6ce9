//! `receiver_window`: the window that the receiver advertised left no room.
//!
//! Rule: docs/verdict.md, "Receiver's window".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::background::{Background, is_window_limited};
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::rules::Condition;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Tally};
use crate::tcp::verdict::words::{bytes, seconds};

/// What helps where the window is too small.
pub(crate) const TWICE_THE_WINDOW: &str = "twice the receiver's window";

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
    bounds,
};

fn is_full(rounds: &[KnownRound], index: usize, _background: &Background) -> bool {
    rounds.get(index).is_some_and(|round| is_window_limited(round))
}

fn because(case: &Case, tally: &Tally) -> String {
    let window = &case.direction.window;
    if case.direction.window.zero_time_ns * 2 > tally.share.time_ns {
        return format!(
            "The receiver closed its window for {}: its application read too slowly",
            seconds(window.zero_time_ns)
        );
    }
    if let Some(InferredWindow { scale, bytes: most }) = case.limits.inferred_window {
        let (most, rate) = (bytes(most as f64), tally.rate());
        return format!("The receiver's window of {most} (scale {scale} by the flight) allowed no more than {rate}");
    }
    let most = window.extremes.map_or(0, |(_, _, most)| most);
    format!("The receiver's window of at most {} allowed no more than {}", bytes(most as f64), tally.rate())
}

/// Whether it is the window that is too small, or its reader too slow, only the replay shows.
fn change(_case: &Case) -> Option<&'static str> {
    Some(TWICE_THE_WINDOW)
}

fn bounds(case: &Case) -> Vec<Bound> {
    let inferred = Bound { confidence: INFERRED_CONFIDENCE, needed: "a capture with the handshake" };
    case.limits.inferred_window.map(|_| inferred).into_iter().collect()
}

/// One of twenty flights of any size would fit some scale.
const INFERRED_CONFIDENCE: f64 = 0.85;
