//! `reset_by_client`, `reset_by_server`, `reset_by_middlebox`: one side aborted an open connection, or somebody in its name.
//!
//! Rule: docs/verdict.md, "Reset by a host".

use crate::tcp::events::ending::Reset;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, name};
use crate::tcp::verdict::words::bytes;

/// What hosts send first as time to live.
const FIRST_TTLS: [u8; 4] = [32, 64, 128, 255];

/// A host that sends data so long after "its" reset does not know of that.
const GOES_ON_NS: i64 = 50_000_000;

/// Behind FIN a reset lost something only where more than a last record of TLS was under way.
const LEAST_LOST_BYTES: u64 = 1_000;

/// Why a reset is not of the host in whose name it came.
pub(crate) struct Strange {
    /// As a sentence without its end.
    pub words: String,
    confidence: f64,
}

/// Signs that somebody else sent the reset.
///
/// Rule: docs/verdict.md, "Reset by a device on the path".
pub(crate) fn stranger(case: &OutcomeCase, reset: &Reset) -> Option<Strange> {
    let host = name(usize::from(reset.side));
    let goes_on = case.side(usize::from(reset.side)).last_ns.is_some_and(|last_ns| {
        let rtt_ns = case.ending.rtt_ns.unwrap_or(0);
        last_ns > reset.place.time_ns.saturating_add(GOES_ON_NS.max(rtt_ns))
    });
    let (own, usual) = (reset.ttl, reset.ttl_of_host);
    let apart = hops(own).abs_diff(hops(usual));
    // Another first TTL over the same way is another part of the same host.
    if usual > 0 && own != usual && apart > 0 {
        let numbers = match (reset.ip_id, reset.ip_id_ahead) {
            (Some(ip_id), Some(ahead)) if ip_id != 0 && ahead.unsigned_abs() > 1000 => " and its IP ID does not fit",
            _ => "",
        };
        return Some(Strange {
            words: format!(
                "Its TTL is {own}, that of the {host}'s packets {usual}{numbers}: a device on the path sent it"
            ),
            confidence: if apart > 1 || goes_on { 0.9 } else { 0.7 },
        });
    }
    goes_on.then(|| Strange {
        words: format!("The {host} went on sending afterwards, so the {host} did not send it"),
        confidence: 0.8,
    })
}

/// Routers passed, as far as the time to live shows.
fn hops(ttl: u8) -> u8 {
    FIRST_TTLS.into_iter().find(|first| *first >= ttl).map_or(0, |first| first - ttl)
}

/// See the module.
pub fn by_middlebox(case: &OutcomeCase) -> Option<Finding> {
    let reset = of_interest(case)?;
    let strange = stranger(case, &reset)?;
    let host = name(usize::from(reset.side));
    Some(Finding {
        kind: OutcomeKind::ResetByMiddlebox,
        sentence: format!("A reset in the name of the {host} ended the connection. {}", strange.words),
        confidence: strange.confidence,
        shown: vec![(format!("the last data of the {host}, and the reset"), places(case, &reset))],
        remedy: format!(
            "look for a firewall, proxy or load balancer about {} hops from the capture point: check its rules, limits and timeouts",
            hops(reset.ttl)
        ),
    })
}

/// See the module.
pub fn by_host(case: &OutcomeCase) -> Option<Finding> {
    let reset = of_interest(case)?;
    let side = usize::from(reset.side);
    let (host, other) = (name(side), name(1 - side));
    let [own_lost, lost] = [reset.outstanding_bytes[side & 1], reset.outstanding_bytes[1 - side]];
    let open_ns = reset.place.time_ns.saturating_sub(case.summary.start_ns);
    let state = match (own_lost, lost) {
        (0, 0) if case.ending.sides.iter().all(|side| side.data_packets == 0) => "before any data".to_owned(),
        (0, 0) => "when all data had been acknowledged".to_owned(),
        (_, 0) => format!("with {} of its own data unacknowledged", bytes(own_lost as f64)),
        _ => format!("with {} from the {other} unacknowledged", bytes(lost as f64)),
    };
    let begun = if case.summary.handshake_complete { "it began" } else { "its capture began" };
    Some(Finding {
        kind: if side == 0 { OutcomeKind::ResetByClient } else { OutcomeKind::ResetByServer },
        sentence: format!("The {host} reset the connection {} after {begun}, {state}", lasting(open_ns)),
        confidence: if reset.ttl == reset.ttl_of_host && own_lost + lost > 0 { 0.9 } else { 0.75 },
        shown: vec![("the last data, and the reset".to_owned(), places(case, &reset))],
        remedy: remedy(host, own_lost + lost),
    })
}

fn remedy(host: &str, lost_bytes: u64) -> String {
    match lost_bytes {
        0 => format!(
            "harmless if the {host} closes that way on purpose (SO_LINGER of 0, a health check); otherwise look in its log for \
             an abort"
        ),
        _ => format!(
            "look in the {host}'s logs at the time of the reset: a crash, a timeout, a limit, or an application that closed with \
             data unread"
        ),
    }
}

/// The reset of an open connection, unless it only cut a close short.
fn of_interest(case: &OutcomeCase) -> Option<Reset> {
    let reset = case.reset_when_open()?;
    let lost_bytes = reset.outstanding_bytes[1 - usize::from(reset.side & 1)];
    (!case.any_fin() || lost_bytes >= LEAST_LOST_BYTES).then_some(reset)
}

fn places(case: &OutcomeCase, reset: &Reset) -> Vec<Place> {
    let last = |side: usize| case.side(side).last_data.filter(|place| place.time_ns <= reset.place.time_ns);
    [last(0), last(1), Some(reset.place)].into_iter().flatten().collect()
}
