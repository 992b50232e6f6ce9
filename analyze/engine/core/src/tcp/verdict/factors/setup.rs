//! `setup`: the handshake.
//!
//! Rule: docs/verdict.md, "Setup".

mod opening;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::seconds;

const REMEDY: Remedy = Remedy { words: "a connection that is already open", change: Change::OpenAlready };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::Setup,
    in_words: "the handshake",
    labels: Labels::list("handshake"),
    least_share: 0.3,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    explains_alone: true,
    in_second_stage: &[Reassignment {
        turn: 20,
        heading: "Setup",
        apply: |limits, facts| facts.opening.into_iter().for_each(|found| opening::take_opening(limits, found)),
    }],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let [syn, syn_ack] = case.connection.opening_repeats().map(|repeats| repeats.unwrap_or(0));
    let lost = match (syn, syn_ack) {
        (0, 0) => return format!("The handshake took {} before data could flow", tally.time()),
        (0, 1) => "The SYN-ACK was retransmitted".to_owned(),
        (0, times) => format!("The SYN-ACK was retransmitted {times} times"),
        (1, _) => "The SYN got no reply and was retransmitted".to_owned(),
        (times, _) => format!("The SYN got no reply and was retransmitted {times} times"),
    };
    let after =
        case.limits.syn_retransmitted_ns.map_or_else(String::new, |after_ns| format!(" after {}", seconds(after_ns)));
    format!("{lost}{after}: the handshake took {} before data could flow", tally.time())
}
