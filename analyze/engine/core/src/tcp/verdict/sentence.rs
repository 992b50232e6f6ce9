//! The verdict in one sentence that a reader without the field's words understands.

use crate::tcp::events::factor::Factor;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::case::{Case, LEAST_CONFIDENCE};
use crate::tcp::verdict::factors::rule::Tally;
use crate::tcp::verdict::factors::{candidates, rule};
use crate::tcp::verdict::shared;
use crate::tcp::verdict::words::{percent, seconds};

/// The sentence.
pub fn sentence(case: &Case, decision: &Decision) -> String {
    if decision.confidence < LEAST_CONFIDENCE {
        return undetermined(case, decision);
    }
    let weight = if case.limits.reference_bytes_s.is_none() {
        format!("{} of the time", percent(decision.share))
    } else if decision.by_lost_bytes {
        format!("{} of the shortfall", percent(decision.share))
    } else {
        format!("{} of the data", percent(decision.share))
    };
    let waits = if is_of_writers(decision.factor) { waits_for_acknowledgements(case) } else { String::new() };
    let nearer = answered_nearer(case);
    let alone = || (rule(decision.factor).because)(case, &Tally::of(case, decision.factor));
    let because = shared::because(case, decision.factor).unwrap_or_else(alone);
    format!("{because} ({weight}){waits}{nearer}.")
}

/// The handshake's round trip is not the path's.
fn answered_nearer(case: &Case) -> String {
    case.connection.nearer().map_or_else(String::new, |nearer| {
        let [handshake, data] = [nearer.handshake_ns, nearer.data_ns].map(seconds);
        format!("; a device nearer ({handshake}) than the host that acknowledges data ({data}) replied to the SYN")
    })
}

fn undetermined(case: &Case, decision: &Decision) -> String {
    let between = || {
        let names: Vec<&str> = candidates(decision).into_iter().map(|factor| rule(factor).in_words).collect();
        if let [only] = names.as_slice() { format!("probably {only}") } else { names.join(" or ") }
    };
    let what = (rule(decision.factor).undecided)(&Tally::of(case, decision.factor)).unwrap_or_else(between);
    format!("Undecided: {what}; {} would decide.", decision.needed.unwrap_or("a longer transfer"))
}

/// Small writes that the kernel kept back are part of it.
pub(super) fn is_of_writers(factor: Factor) -> bool {
    rule(factor).of_writers
}

/// Why an application's small writes were held back.
fn waits_for_acknowledgements(case: &Case) -> String {
    case.direction.nagle_waits().map_or_else(String::new, |waits| {
        let (count, time) = (waits.count, seconds(waits.time_ns));
        let writes = if count == 1 { "write" } else { "writes" };
        format!(
            "; Nagle's algorithm held back {count} small {writes} until ACKs came, in all {time} later than the fastest ACK \
             would have: combine small writes, or set TCP_NODELAY"
        )
    })
}
