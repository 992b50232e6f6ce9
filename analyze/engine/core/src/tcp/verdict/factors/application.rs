//! `application`: the sending application supplied no data.
//!
//! Rule: docs/verdict.md, "Application".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::application::{is_application_limited, pauses_by_itself};
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::share::Share;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, Instead, Labels, Next, Remedy, Tally, UNTIMED_CONFIDENCE,
};
use crate::tcp::verdict::words::rate;

/// What would help, also against a peer that asks for piece after piece.
pub(crate) const REMEDY: Remedy =
    Remedy { words: "an application that always has data to send", change: Change::BusyApplication };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Application,
    in_words: "the sending application",
    labels: Labels::list("application"),
    in_rounds: &[
        Condition { turn: 20, holds: is_application_limited, beneath_slow_start: false },
        Condition { turn: 40, holds: pauses_by_itself, beneath_slow_start: false },
    ],
    least_share: 0.15,
    sets_the_rate: true,
    next: Next::Path,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    instead,
    of_writers: true,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let set = case
        .limits
        .steady_bps
        .map_or_else(String::new, |bps| format!(", which gave a steady {}, as if that was set", rate(bps)));
    format!(
        "The sending application did not supply data fast enough: the connection waited {} for it{set}",
        tally.time()
    )
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let untimed =
        ConfidenceBound { confidence: UNTIMED_CONFIDENCE, needed: "a capture at the sender, or one with timestamps" };
    let untimed = may_be_a_buffer(case).then_some(untimed);
    doubts::unknown_window(case).into_iter().chain(untimed).collect()
}

/// Pieces came at half of what the path carried or more. A small send buffer lets pieces go as well, when an acknowledgement has come,
/// which nothing shows away from it without timestamps.
fn may_be_a_buffer(case: &Case) -> bool {
    let Share { time_ns, bytes } = case.limits.shares[Factor::Application];
    let carried = case.limits.reference_bytes_s.map_or(0.0, |bytes_s| bytes_s * time_ns as f64 / 1e9);
    !doubts::is_timed(case) && !doubts::is_beside_sender(case) && 2.0 * bytes as f64 > carried
}

/// What comes evenly from nearby may have waited in a queue before the path.
fn instead(case: &Case) -> Option<Instead> {
    let is_even = || doubts::latest_spacing(case).is_some_and(|latest| latest <= doubts::EVEN_SPACING);
    (doubts::is_unseen_nearby(case) && is_even()).then(doubts::the_path)
}
