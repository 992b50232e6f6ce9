//! `sack_not_agreed`: one loss was repaired in each round trip, since SACK was not agreed.
//!
//! Rule: docs/verdict.md, "SACK not agreed".

mod without_sack;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, OPEN_CONFIDENCE, Remedy, Tally};

const REMEDY: Remedy =
    Remedy { words: "SACK (RFC 2018) on both hosts and on the path", change: Change::RepairedAtOnce };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::SackNotAgreed,
    in_words: "repairs without SACK",
    labels: Labels { column: "no SACK", ..Labels::list("SACK not agreed") },
    least_share: 0.2,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    in_second_stage: &[Reassignment {
        turn: 130,
        heading: "Repairs without SACK",
        apply: |limits, facts| {
            if let Some((offers, retransmitted)) = facts.offers {
                without_sack::take_without_sack(limits, offers, retransmitted);
            }
        },
    }],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let (count, time) = (case.direction.loss.retransmitted, tally.time());
    let who = match case.limits.sack_offered {
        [true, false] => "SACK was offered by the client and not agreed",
        [false, true] => "SACK was offered by the server alone",
        _ => "neither side offered SACK",
    };
    format!("Repairs took {time}, one loss in each round trip ({count} segments retransmitted): {who}")
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let missing = ConfidenceBound { confidence: OPEN_CONFIDENCE, needed: "a capture that misses no packets" };
    case.direction.loss_caveat().map(|_| missing).into_iter().collect()
}
