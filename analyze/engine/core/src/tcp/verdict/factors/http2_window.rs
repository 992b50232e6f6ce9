//! `http2_window`: the receiver's window of HTTP/2 left no room, round trip after round trip.
//!
//! Rule: docs/verdict.md, "HTTP/2 window".

mod stalls;

use crate::http2::WindowUse;
use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::move_all;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, Remedy, SURE_CONFIDENCE, Tally};
use crate::tcp::verdict::words::bytes;

const REMEDY: Remedy = Remedy { words: "twice the receiver's HTTP/2 window", change: Change::TwiceApplicationWindow };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Http2Window,
    in_words: "the receiver's HTTP/2 window",
    labels: Labels::list("HTTP/2 window"),
    least_share: 0.15,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    in_second_stage: &[Reassignment {
        turn: 150,
        heading: "Stalls at an HTTP/2 window",
        apply: |limits, facts| {
            facts.http2.iter().for_each(|used| stalls::take_stalls(limits, used));
            if facts.is_http2 {
                move_all(limits, Factor::ApplicationWindow, Factor::Http2Window);
            }
        },
    }],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let most = case.direction.flight.map_or(0.0, |(_, most)| most.get() as f64);
    let (window, often) = match read(case) {
        Some(used) => (window_bytes(used, most), format!("{} times", used.times)),
        None => (most, "in each round trip".to_owned()),
    };
    format!("The receiver's HTTP/2 window of {} was used up {often}, and allowed {}", bytes(window), tally.rate())
}

/// What frames show of the window, if they were read and the sender stood at it.
fn read<'a>(case: &Case<'a>) -> Option<&'a WindowUse> {
    let http2 = case.connection.details.as_deref()?.http2.as_deref()?;
    http2.windows.get(case.side).filter(|used| used.times > 0)
}

/// That of a stream, if no more was ever in flight than it and heads; else what was.
fn window_bytes(used: &WindowUse, most_bytes: f64) -> f64 {
    let stream = used.initial_window_bytes.map_or(DEFAULT_WINDOW_BYTES, f64::from);
    if most_bytes <= NEARLY_ALL_DATA * stream { stream } else { most_bytes }
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let by_pattern = ConfidenceBound { confidence: BY_PATTERN_CONFIDENCE, needed: "the settings of both applications" };
    if read(case).is_some() { Vec::new() } else { vec![by_pattern] }
}

/// RFC 9113 section 6.9.2.
const DEFAULT_WINDOW_BYTES: f64 = 65_535.0;

/// What is in flight of a window, with heads and the frames of others.
const NEARLY_ALL_DATA: f64 = 1.1;

/// Its frames are not read: the pattern of an application's window in a connection of HTTP/2.
const BY_PATTERN_CONFIDENCE: f64 = SURE_CONFIDENCE;
