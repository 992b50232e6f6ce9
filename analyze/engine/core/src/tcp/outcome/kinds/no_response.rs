//! `peer_silent`: the server's host acknowledged the first request, but nothing responded to it.
//!
//! Rule: docs/verdict.md, "No response".

use crate::tcp::events::ending::Reset;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, name};
use crate::tcp::verdict::words::bytes;

/// The shortest wait after which a client gave up on a server that does not respond.
const LEAST_NS: i64 = 3_000_000_000;

/// The same where the client still waits at the end: some servers take their time.
const LEAST_STILL_WAITING_NS: i64 = 10_000_000_000;

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let (client, server) = (case.side(0), case.side(1));
    let is_acknowledged = client.outstanding_bytes <= u64::from(client.fin);
    let is_seen = server.missing_bytes == 0 && client.missing_bytes == 0 && case.summary.handshake_complete;
    let is_silent = case.ending.asks && server.data_packets == 0 && !server.fin;
    let by_server = |reset: Reset| reset.side == 1;
    if !(is_acknowledged && is_seen && is_silent) || case.ending.reset.is_some_and(by_server) {
        return None;
    }
    let asked = client.last_data?;
    let given_up = client.fin || case.ending.reset.is_some();
    let (until_ns, least_ns) = match given_up {
        true => (case.ending.reset.map_or(case.last_ns(0)?, |reset| reset.place.time_ns), LEAST_NS),
        false => (case.ending.capture_end_ns, LEAST_STILL_WAITING_NS),
    };
    let waited_ns = until_ns.saturating_sub(asked.time_ns);
    let end = if given_up { "; then the client gave up" } else { "" };
    (waited_ns >= least_ns).then(|| Finding {
        kind: OutcomeKind::PeerSilent,
        sentence: format!(
            "The {server}'s host acknowledged the request of {}, but no response came in {}{end}. Its application hangs, or did not \
             accept the connection",
            bytes(client.acknowledged_bytes.saturating_sub(u64::from(client.fin)) as f64),
            lasting(waited_ns),
            server = name(1),
        ),
        confidence: 0.9,
        shown: vec![("the request that was acknowledged".to_owned(), vec![asked])],
        remedy: "look at the server's application: is it stuck, waiting for something behind it, or is its queue of connections full \
                 (ss -ltn)?"
            .to_owned(),
    })
}
