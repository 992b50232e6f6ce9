//! `server_wait`: the server's application took its time from the end of a request to its response.
//!
//! Rule: docs/verdict.md, "Server wait".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::replay::change::Change;
use crate::tcp::requests::longest::Exchange;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::factors::waits;

const REMEDY: Remedy = Remedy { words: "a server that responds at once", change: Change::NoServerWait };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ServerWait,
    in_words: "the server's application",
    labels: Labels::list("server wait"),
    least_share: 0.15,
    next: Next::Nothing,
    because,
    remedies: |_| &[REMEDY],
    intervals,
    of_writers: true,
    in_second_stage: &[Reassignment {
        turn: 140,
        heading: "Waits between messages",
        apply: |limits, facts| {
            if let Some((requests, side)) = facts.requests {
                waits::take_waits(limits, requests, side);
            }
        },
    }],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let count = case.connection.requests().map_or(0, |requests| requests.longest.count());
    let responses = if count == 1 { "a response".to_owned() } else { format!("{count} responses") };
    format!("The server's application took {} before {responses}", tally.time())
}

/// From the end of a request to the first byte of its response, of the exchanges that are known one by one.
fn intervals(case: &Case) -> Vec<FactorRun> {
    let list = case.connection.requests().map_or(&[][..], |requests| &requests.longest.list);
    let of = |one: &Exchange| {
        let [start_ns, end_ns] =
            [one.request_ns, one.request_ns.saturating_add(one.first_byte_ns)].map(|ns| one.at_ns(ns));
        // Of the request only its first frame is known.
        let asked = if one.request_ns == 0 { one.start.1 } else { 0 };
        FactorRun { start_ns, end_ns, factor: RULE.factor, bytes: 0, frames: [asked, one.frames[0]] }
    };
    list.iter().map(of).collect()
}
