//! `syn_unanswered`: no SYN of the client was answered.
//!
//! Rule: docs/verdict.md, "SYN unanswered".

use crate::decode::icmp::{IcmpError, Meaning};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, meaning_in_words, plural, reporter};

/// A single SYN has waited in vain after this; the first timeout is a second (RFC 6298 section 2.1).
const ALONE_NS: i64 = 3_000_000_000;

/// One that was repeated has, when most of that second is over.
const REPEATED_NS: i64 = 900_000_000;

/// Errors that say why.
const REASONS: [Meaning; 4] =
    [Meaning::Prohibited, Meaning::HostUnreachable, Meaning::NetworkUnreachable, Meaning::TimeExceeded];

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let (count, client) = (u64::from(case.ending.openings[0]), case.side(0));
    let first_ns = case.ending.steps[0]?.time_ns;
    let only_syns = client.data_packets == 0 && case.side(1).packets == 0 && case.ending.openings[1] == 0;
    if count == 0 || !only_syns {
        return None;
    }
    let waited_ns = case.summary.end_ns.saturating_sub(first_ns);
    let to_the_end_ns = case.ending.capture_end_ns.saturating_sub(first_ns);
    let error = case.icmp_of(&REASONS);
    let is_enough = error.is_some() || if count > 1 { waited_ns >= REPEATED_NS } else { to_the_end_ns >= ALONE_NS };
    is_enough.then(|| finding(case, error, count, if count > 1 { waited_ns } else { to_the_end_ns }))
}

fn finding(case: &OutcomeCase, error: Option<&IcmpError>, count: u64, waited_ns: i64) -> Finding {
    let syns = plural(count, "SYN");
    let within =
        if count == 1 || waited_ns < REPEATED_NS { String::new() } else { format!(" in {}", lasting(waited_ns)) };
    let why = match error {
        Some(error) => format!("{} reports {}", reporter(case.summary, error), meaning_in_words(error)),
        None => "filtered, or no such host".to_owned(),
    };
    Finding {
        kind: OutcomeKind::SynUnanswered,
        sentence: format!("No reply to {syns}{within}: {why}"),
        confidence: match (error, count) {
            (Some(_), _) | (None, 3..) => 0.95,
            (None, 2) => 0.85,
            _ => 0.7,
        },
        shown: vec![(format!("{syns} without a reply"), case.opening_places(0))],
        remedy: remedy(case, error),
    }
}

fn remedy(case: &OutcomeCase, error: Option<&IcmpError>) -> String {
    let port = case.summary.ports[1];
    match error.map(IcmpError::meaning) {
        Some(Meaning::Prohibited) => format!("allow port {port} in the filter that reports this"),
        Some(Meaning::HostUnreachable) => "check the address, and whether the host is up on its network".to_owned(),
        Some(Meaning::NetworkUnreachable) => "check the routes towards the server".to_owned(),
        Some(Meaning::TimeExceeded) => "look for a routing loop on the way to the server".to_owned(),
        _ => format!(
            "check the address, and security groups, firewalls and routes for port {port}; capture at the server to see \
             whether the SYNs arrive"
        ),
    }
}
