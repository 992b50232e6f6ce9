//! `path_mtu`: segments larger than the path's MTU did not pass, and were retransmitted in smaller ones.
//!
//! Rule: docs/verdict.md, "Path MTU".

mod repairs;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};

const REMEDY: Remedy = Remedy { words: "an MTU of the host that fits the path", change: Change::RepairedAtOnce };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::PathMtu,
    in_words: "the path's MTU",
    labels: Labels::list("path MTU"),
    least_share: 0.15,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    in_second_stage: &[Reassignment {
        turn: 160,
        heading: "Repairs after an MTU was named",
        apply: |limits, facts| {
            facts.mtu_errors_ns.into_iter().for_each(|between_ns| repairs::take_path_mtu(limits, between_ns));
        },
    }],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let mtu = case
        .connection
        .icmp_errors()
        .and_then(|errors| errors.of_mtu().next()?.mtu)
        .map_or_else(String::new, |mtu| format!(" of {mtu}"));
    format!("Segments larger than the path's MTU{mtu} were retransmitted in smaller ones, which took {}", tally.time())
}
