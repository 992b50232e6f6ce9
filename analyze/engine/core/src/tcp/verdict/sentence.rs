//! The verdict in one sentence that a reader without the field's words understands.

use crate::tcp::events::factor::Factor;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::case::{Case, LEAST_CONFIDENCE};
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::Tally;
use crate::tcp::verdict::shared;
use crate::tcp::verdict::words::{percent, seconds};

/// The sentence.
pub fn sentence(case: &Case, decision: &Decision) -> String {
    if decision.confidence < LEAST_CONFIDENCE {
        return undetermined(case, decision);
    }
    let weight = if decision.by_lost_bytes {
        format!("{} of the shortfall", percent(decision.share))
    } else {
        format!("{} of the data", percent(decision.share))
    };
    let waits = if decision.factor == Factor::Application { waits_for_acknowledgements(case) } else { String::new() };
    let nearer = answered_nearer(case);
    let alone = || (rule(decision.factor).because)(case, &Tally::of(case, decision.factor));
    let because = shared::because(case, decision.factor).unwrap_or_else(alone);
    format!("{because} ({weight}){waits}{nearer}.")
}

/// The handshake's round trip is not the path's.
fn answered_nearer(case: &Case) -> String {
    case.connection.nearer().map_or_else(String::new, |nearer| {
        let [handshake, data] = [nearer.handshake_ns, nearer.data_ns].map(seconds);
        format!("; the SYN was answered by something nearer ({handshake}) than what acknowledges data ({data})")
    })
}

fn undetermined(case: &Case, decision: &Decision) -> String {
    if decision.factor == Factor::Unknown {
        let time = seconds(case.limits.shares[Factor::Unknown as usize].time_ns);
        return format!(
            "Undetermined: packets stopped for {time} in all, at a host or on the path; {} would decide.",
            decision.needed.unwrap_or("a second capture")
        );
    }
    let names: Vec<&str> = decision.candidates().into_iter().map(|factor| rule(factor).in_words).collect();
    let needed = decision.needed.unwrap_or("a longer transfer");
    match names.as_slice() {
        [only] => format!("Undetermined: probably {only}; {needed} would decide."),
        _ => format!("Undetermined: {}; {needed} would decide.", names.join(" or ")),
    }
}

/// What kept an application's small writes back.
fn waits_for_acknowledgements(case: &Case) -> String {
    case.direction.nagle_waits().map_or_else(String::new, |waits| {
        let (count, time) = (waits.count, seconds(waits.time_ns));
        format!(
            "; {count} of its small writes were kept back (Nagle's algorithm) until acknowledgements came, which took {time} \
             longer in all than the fastest: one write for what belongs together, or TCP_NODELAY, avoids that"
        )
    })
}
