//! `expect_continue`: the client waited for `100 Continue`, which did not come, before it sent its body.
//!
//! Rule: docs/verdict.md, "Expect continue".

use crate::tcp::events::factor::Factor;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::fine_seconds;

const REMEDY: Remedy = Remedy { words: "a client that does not ask for 100 Continue", change: Change::NoClientWait };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ExpectContinue,
    in_words: "waiting for 100 Continue",
    labels: Labels::list("100 Continue"),
    least_share: 0.15,
    next: Next::Nothing,
    because,
    remedies: |_| &[REMEDY],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let count = case.connection.requests().map_or(0, |requests| requests.longest.expected().count).max(1);
    let each = fine_seconds(tally.share.time_ns / count);
    let requests = if count == 1 { "a request".to_owned() } else { format!("each of {count} requests") };
    format!("In {requests} the client waited {each} for 100 Continue, which the server did not send")
}
