//! `syn_unanswered` of a connection that opened in the end: its first SYNs got no answer, a later one did at once.
//!
//! Rule: docs/verdict.md, "Opened late".

use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::kernel::MANY_SYNS;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, ordinal, plural};

/// Three SYNs without an answer take no less.
const LEAST_DELAY_NS: i64 = 3_000_000_000;

const REMEDY: &str = "compare captures of both ends: a wrong checksum (offload in a tunnel), a SNAT port in use, or one path of \
                      several that drops";

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let [syn, syn_ack, _] = case.ending.steps;
    let (first_ns, answer) = (syn?.time_ns, syn_ack?);
    let places = case.opening_places(0);
    let before: Vec<Place> = places.iter().copied().filter(|place| place.time_ns <= answer.time_ns).collect();
    let last = before.last()?;
    let unanswered = u64::from(case.ending.openings[0]).saturating_sub((places.len() - before.len()) as u64 + 1);
    let delay_ns = last.time_ns.saturating_sub(first_ns);
    if unanswered + 1 < u64::from(MANY_SYNS) || delay_ns < LEAST_DELAY_NS || !case.summary.handshake_complete {
        return None;
    }
    Some(Finding {
        kind: OutcomeKind::SynUnanswered,
        sentence: format!(
            "The connection opened {} late: {} got no reply, the {} got one after {}. The host is up; something dropped the \
             earlier SYNs",
            lasting(delay_ns),
            plural(unanswered, "SYN"),
            ordinal(unanswered + 1),
            lasting(answer.time_ns.saturating_sub(last.time_ns)),
        ),
        confidence: 0.9,
        shown: vec![("SYNs, and the SYN-ACK to the last of them".to_owned(), [before, vec![answer]].concat())],
        remedy: REMEDY.to_owned(),
    })
}
