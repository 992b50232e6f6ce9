//! `application_window`: the sender waits for a message of its peer, round trip after round trip, with the same amount outstanding.
//!
//! Rule: docs/verdict.md, "Application window".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::credit::{flows_with_credit, waits_for_credit};
use crate::tcp::limits::rules::Condition;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::application;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::bytes;

const REMEDIES: [Remedy; 2] =
    [Remedy { words: "twice the application's window", change: Change::TwiceApplicationWindow }, application::REMEDY];

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ApplicationWindow,
    in_words: "the peer's application window",
    labels: Labels::list("application window"),
    in_rounds: &[
        Condition { turn: 15, holds: waits_for_credit, beneath_slow_start: false },
        Condition { turn: 16, holds: flows_with_credit, beneath_slow_start: false },
    ],
    least_share: 0.15,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    because,
    remedies: |_| &REMEDIES,
    bounds,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let most = case.direction.flight.map_or(0.0, |(_, most)| most.get() as f64);
    format!(
        "After every {} the sender waited for a small message from its peer: an application-level window (as in HTTP/2, SSH \
         or SMB), which allowed {}",
        bytes(most),
        tally.rate()
    )
}

fn bounds(_case: &Case) -> Vec<ConfidenceBound> {
    vec![ConfidenceBound { confidence: BY_PATTERN_CONFIDENCE, needed: "the settings of both applications" }]
}

/// Requests of one length for pieces of one length look the same.
const BY_PATTERN_CONFIDENCE: f64 = 0.78;
