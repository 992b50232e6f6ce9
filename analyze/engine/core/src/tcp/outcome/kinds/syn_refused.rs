//! `syn_refused`: the SYN was replied to with a reset, or with an ICMP error that means the same to the client.
//!
//! Rule: docs/verdict.md, "SYN refused".

use crate::decode::icmp::{IcmpError, Meaning};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{is_of_protocol, lasting, plural, reporter};

const REMEDY: &str = "start the service, or correct the port; otherwise look for a firewall that rejects connections";

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let never_opened = case.ending.openings[1] == 0 && !case.summary.handshake_complete;
    if case.ending.openings[0] == 0 || !never_opened || case.side(1).data_packets > 0 {
        return None;
    }
    by_reset(case).or_else(|| case.icmp_of(&[Meaning::PortUnreachable]).map(|error| by_icmp(case, error)))
}

fn by_reset(case: &OutcomeCase) -> Option<Finding> {
    let reset = case.ending.reset.filter(|reset| reset.side == 1)?;
    let syn_ns = latest_before(case, reset.place.time_ns)?;
    let port = case.summary.ports[1];
    let waited = match reset.place.time_ns.saturating_sub(syn_ns) {
        0 => String::new(),
        waited_ns => format!(" {}", lasting(waited_ns)),
    };
    let resets = case.ending.resets.iter().filter(|reset| reset.side == 1);
    let places: Vec<Place> = case.opening_places(0).into_iter().chain(resets.map(|reset| reset.place)).collect();
    let again = match case.ending.openings[0] {
        0 | 1 => String::new(),
        count => format!(", as after each of {} SYNs", count),
    };
    Some(Finding {
        kind: OutcomeKind::SynRefused,
        sentence: format!(
            "The server refused the connection: a reset came{waited} after the SYN{again}. Nothing listens on port {port}, or a \
             firewall rejects it"
        ),
        confidence: if reset.acknowledges { 0.95 } else { 0.8 },
        shown: vec![("the SYN and the reset".to_owned(), places)],
        remedy: REMEDY.to_owned(),
    })
}

fn by_icmp(case: &OutcomeCase, error: &IcmpError) -> Finding {
    let what = if is_of_protocol(error) { "TCP".to_owned() } else { format!("port {}", case.summary.ports[1]) };
    Finding {
        kind: OutcomeKind::SynRefused,
        sentence: format!(
            "The connection was refused: {} reports that {what} is unreachable, after {}. Firewalls that reject do so",
            reporter(case.summary, error),
            plural(u64::from(case.ending.openings[0]), "SYN"),
        ),
        confidence: 0.9,
        shown: vec![("SYNs without a reply from the server".to_owned(), case.opening_places(0))],
        remedy: "look for a firewall rule that rejects this port; otherwise start the service".to_owned(),
    }
}

/// When the last SYN before `time_ns` passed.
fn latest_before(case: &OutcomeCase, time_ns: i64) -> Option<i64> {
    let times = case.opening_places(0).into_iter().map(|place| place.time_ns);
    times.chain([case.ending.last_openings_ns[0]]).filter(|syn_ns| *syn_ns <= time_ns).max()
}
