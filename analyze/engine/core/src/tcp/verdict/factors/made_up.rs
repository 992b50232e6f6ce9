//! A factor that only the tests have: a round of the segment size below, and an opening whose SYN was retransmitted. Nothing but this file and a line in
//! [`crate::tcp::events::factor`] knows of it, and it is in the results (`output::json`).

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::move_all;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::second_stage::{Facts, Reassignment};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};

/// Of no round of any other test.
pub const SEGMENT_SIZE: u16 = 1357;

/// Of no rule of the document.
pub const HEADING: &str = "What was made up";

/// After which no other test retransmits a SYN.
pub const SYN_AGAIN_NS: u64 = 1_357_000_000;

const REMEDY: Remedy = Remedy { words: "less made up", change: Change::TwiceBandwidth };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::MadeUp,
    in_words: "a factor that was made up",
    labels: Labels::list("made up"),
    in_rounds: &[Condition {
        turn: 5,
        holds: |rounds, index, _| rounds.get(index).is_some_and(|round| round.segment_size == SEGMENT_SIZE),
        beneath_slow_start: false,
    }],
    least_share: 0.1,
    sets_the_rate: true,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    in_second_stage: &[Reassignment { turn: u8::MAX, heading: HEADING, apply: take }],
    ..FactorRule::PLAIN
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("What was made up took {}", tally.time())
}

/// The opening of a connection whose SYN was retransmitted after that time.
fn take(limits: &mut LimitsSummary, _facts: &Facts) {
    if limits.syn_retransmitted_ns == Some(SYN_AGAIN_NS) {
        move_all(limits, Factor::Setup, Factor::MadeUp);
    }
}
