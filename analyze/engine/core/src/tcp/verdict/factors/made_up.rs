//! A factor that only the tests have: a round of the segment size below. Nothing but this file and a line in
//! [`crate::tcp::events::factor`] knows of it, and it is in the results (`output::json`).

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::rules::Condition;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};

/// Of no round of any other test.
pub const SEGMENT_SIZE: u16 = 1357;

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
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds: |_| Vec::new(),
    instead: |_| None,
    intervals: |_| Vec::new(),
};

fn because(_case: &Case, tally: &Tally) -> String {
    format!("What was made up took {}", tally.time())
}
