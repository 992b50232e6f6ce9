//! `timeout_wait`: waiting for a retransmission timeout or a tail loss probe.
//!
//! Rule: docs/verdict.md, "Timeout wait".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, NO_LOSS, Next, SURE_MARGIN_OF_RESIDUES, Tally};

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::TimeoutWait,
    in_words: "waiting for timeouts",
    labels: Labels::list("timeouts"),
    least_share: 0.1,
    next: Next::Reference,
    blames_loss: true,
    because,
    remedies: |_| &[NO_LOSS],
    instead: doubts::a_policer,
    explains_alone: true,
    sure_margin: SURE_MARGIN_OF_RESIDUES,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let of = |trigger: Trigger| u64::from(case.direction.loss.by_trigger[trigger as usize]);
    let by_timers = match of(Trigger::Rto) + of(Trigger::Tlp) {
        0 => String::new(),
        1 => " (1 segment retransmitted by a timer)".to_owned(),
        segments => format!(" ({segments} segments retransmitted by timers)"),
    };
    format!("The sender waited {} for timeouts after losses{by_timers}", tally.time())
}
