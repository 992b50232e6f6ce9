//! `http2_window`: the receiver's window of HTTP/2 left no room, round trip after round trip.
//!
//! Rule: docs/verdict.md, "HTTP/2 window".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::bytes;

const REMEDY: Remedy = Remedy { words: "twice the receiver's HTTP/2 window", change: Change::TwiceApplicationWindow };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Http2Window,
    in_words: "the receiver's HTTP/2 window",
    labels: Labels::list("HTTP/2 window"),
    in_rounds: &[],
    least_share: 0.15,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds,
};

fn because(case: &Case, tally: &Tally) -> String {
    let most = case.direction.flight.map_or(0.0, |(_, most)| most.get() as f64);
    format!(
        "The receiver's HTTP/2 window of {} was used up in each round trip, and allowed {}",
        bytes(most),
        tally.rate()
    )
}

fn bounds(_case: &Case) -> Vec<Bound> {
    vec![Bound { confidence: BY_PATTERN_CONFIDENCE, needed: "the settings of both applications" }]
}

/// Its frames are not read: the pattern of an application's window in a connection of HTTP/2.
const BY_PATTERN_CONFIDENCE: f64 = 0.85;
