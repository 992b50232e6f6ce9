//! `loss_recovery`: repairing losses.
//!
//! Rule: docs/verdict.md, "Loss recovery".

use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, Labels, NO_LOSS, Next, SURE_MARGIN_OF_RESIDUES, Tally, UNTIMED_CONFIDENCE, share_lost,
};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::LossRecovery,
    in_words: "repairing losses",
    labels: Labels::list("loss recovery"),
    least_share: 0.2,
    next: Next::Reference,
    blames_loss: true,
    because,
    remedies: |_| &[NO_LOSS],
    bounds,
    instead: doubts::a_policer,
    sure_margin: SURE_MARGIN_OF_RESIDUES,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    format!("Repairing losses held the transfer back for {}{}", tally.time(), share_lost(case))
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let untimed =
        ConfidenceBound { confidence: UNTIMED_CONFIDENCE, needed: "a capture at the sender, or one with timestamps" };
    let untimed = Some(untimed).filter(|_| !doubts::is_timed(case));
    untimed.into_iter().chain(doubts::a_full_link(case)).chain(doubts::losses_in_rows(case)).collect()
}
