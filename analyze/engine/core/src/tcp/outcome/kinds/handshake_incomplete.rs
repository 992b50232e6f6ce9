//! `handshake_incomplete`: the SYN was answered, but the connection was never open on both sides.
//!
//! Rule: docs/verdict.md, "Handshake incomplete".

use crate::decode::icmp::{IcmpError, Meaning};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, meaning_in_words, plural, reporter, times};

/// A SYN-ACK has waited in vain when most of the first timeout is over. A single one has not: its sender would have repeated it, so
/// that packets are missing from the capture.
const REPEATED_NS: i64 = 900_000_000;

/// So many SYN-ACKs after the client's acknowledgement are no chance loss of that.
const FEWEST_AFTER_ACK: usize = 2;

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    if case.ending.openings[1] == 0 || case.side(1).data_packets > 0 {
        return None;
    }
    if case.summary.handshake_complete {
        return repeated_after_ack(case);
    }
    let reset = case.ending.reset.filter(|reset| reset.side == 0);
    match reset {
        Some(reset) if case.side(0).data_packets == 0 => Some(finding(
            case,
            "The client replied to the SYN-ACK with a reset: it had given up, was scanning ports, or had not sent the SYN"
                .to_owned(),
            0.85,
            [case.opening_places(1), vec![reset.place]].concat(),
            "nothing for a port scan; otherwise check the client's timeouts, and look for SYNs that take another route",
        )),
        Some(_) => None,
        None => undelivered(case).or_else(|| unacknowledged(case)),
    }
}

/// An ICMP error says that the SYN-ACK did not arrive.
fn undelivered(case: &OutcomeCase) -> Option<Finding> {
    let is_unopened = case.side(0).data_packets == 0 && case.side(0).packets <= u64::from(case.ending.openings[0]);
    let server = (case.summary.address(1), case.summary.ports[1]);
    let of_server = |error: &&IcmpError| (error.addresses[0], error.ports[0]) == server;
    let error = case.icmp.iter().filter(|error| error.meaning() != Meaning::TooBig).find(of_server)?;
    is_unopened.then(|| {
        let (reporter, meaning) = (reporter(case.summary, error), meaning_in_words(error));
        finding(
            case,
            format!("The SYN-ACK did not reach the client: {reporter} reports {meaning}. The client's address may be forged"),
            0.9,
            case.opening_places(1),
            "check the way back from the server to the client; many such connections are a SYN flood: turn on SYN cookies, filter the \
             sources",
        )
    })
}

/// The client sent no acknowledgement.
fn unacknowledged(case: &OutcomeCase) -> Option<Finding> {
    let (count, first_ns) = (u64::from(case.ending.openings[1]), case.ending.steps[1]?.time_ns);
    let client = case.side(0);
    if client.data_packets > 0 || client.packets > u64::from(case.ending.openings[0]) {
        return None;
    }
    let repeated_ns = case.ending.last_openings_ns[1].saturating_sub(first_ns);
    let waited = lasting(repeated_ns);
    let seen = client.packets > 0;
    let why = if seen {
        "The SYN-ACKs are lost after the capture point, or the client's address is spoofed"
    } else {
        "The client's packets take another route, or its address is spoofed"
    };
    (count > 1 && repeated_ns >= REPEATED_NS).then(|| {
        finding(
            case,
            format!("{} got no ACK from the client in {waited}. {why}", plural(count, "SYN-ACK")),
            if seen { 0.9 } else { 0.7 },
            case.opening_places(1),
            "check the return path from server to client: routes, firewalls that see one direction, spoofed SYNs",
        )
    })
}

/// The client acknowledged the SYN-ACK, but the server goes on to send it.
fn repeated_after_ack(case: &OutcomeCase) -> Option<Finding> {
    let opened = case.ending.steps[2]?;
    let after: Vec<Place> =
        case.side(1).openings.iter().filter(|place| place.time_ns > opened.time_ns).copied().collect();
    let is_heard = case.side(0).acknowledged_bytes > 0
        || case.last_ns(1).is_some_and(|last_ns| last_ns > case.ending.last_openings_ns[1]);
    if after.len() < FEWEST_AFTER_ACK || is_heard {
        return None;
    }
    let sentence = format!(
        "The server sent its SYN-ACK {} more after the client had acknowledged it. The ACK does not reach the server, or its \
         accept queue is full",
        times(after.len() as u64),
    );
    Some(finding(
        case,
        sentence,
        0.9,
        [vec![opened], after].concat(),
        "at the server look for a full accept queue (ListenOverflows) and for filters that drop ACKs",
    ))
}

fn finding(case: &OutcomeCase, sentence: String, confidence: f64, places: Vec<Place>, remedy: &str) -> Finding {
    let syn = case.ending.steps[0];
    Finding {
        kind: OutcomeKind::HandshakeIncomplete,
        sentence,
        confidence,
        shown: vec![("the handshake as far as it went".to_owned(), syn.into_iter().chain(places).collect())],
        remedy: remedy.to_owned(),
    }
}
