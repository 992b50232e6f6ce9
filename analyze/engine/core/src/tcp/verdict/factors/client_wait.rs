//! `client_wait`: the client's application took its time from the end of a response to its next request.
//!
//! Rule: docs/verdict.md, "Client wait".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::replay::change::Change;
use crate::tcp::requests::longest::Exchange;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};

const REMEDY: Remedy = Remedy { words: "a client that sends its next request at once", change: Change::NoClientWait };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ClientWait,
    in_words: "the client's application",
    labels: Labels::list("client wait"),
    least_share: 0.15,
    next: Next::Nothing,
    because,
    remedies: |_| &[REMEDY],
    intervals,
    of_writers: true,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let count = case.connection.requests().map_or(0, |requests| requests.longest.count());
    let pauses = count.saturating_sub(1);
    let requests = if pauses == 1 { "its next request".to_owned() } else { format!("{pauses} of its requests") };
    format!("The client's application took {} between the end of a response and {requests}", tally.time())
}

/// From the end of a response to the next request, where all exchanges are known one by one.
fn intervals(case: &Case) -> Vec<FactorRun> {
    let Ok(requests) = case.connection.requests() else { return Vec::new() };
    let list = &requests.longest.list;
    let between = |pair: &[Exchange]| FactorRun {
        start_ns: pair[0].at_ns(pair[0].duration_ns()),
        end_ns: pair[1].start.0,
        factor: RULE.factor,
        bytes: 0,
        frames: [pair[0].frames[1], pair[1].start.1],
    };
    if requests.longest.lists_all() { list.windows(2).map(between).collect() } else { Vec::new() }
}
