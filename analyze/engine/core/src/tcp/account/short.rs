//! The account of a connection that is too short to be judged: its opening, what its applications waited, and the path's part of what
//! was said.

use crate::tcp::account::entry::Ledger;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::owner::Owner;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::summary::summary::ConnectionSummary;

/// Puts what is known of `all_ns` into the ledger.
pub(super) fn fill(ledger: &mut Ledger, summary: &ConnectionSummary, all_ns: u64) {
    let mut left_ns = all_ns;
    let mut take = |owner: Owner, kind: Factor, time_ns: u64, is_saved: bool| {
        let time_ns = time_ns.min(left_ns);
        left_ns -= time_ns;
        ledger.add(owner, kind, time_ns, Some(if is_saved { time_ns } else { 0 }));
    };
    // A SYN without a reply waits for somebody, on the path or behind it.
    let opener = if summary.handshake_complete { Owner::Path } else { Owner::Unknown };
    take(opener, Factor::Setup, opening_ns(summary), true);
    let Ok(requests) = summary.requests() else { return };
    let [server_ns, client_ns] = [requests.server_wait_ns(), requests.client_wait_ns()].map(|wait| wait.unwrap_or(0));
    take(Owner::ServerApplication, Factor::ExpectContinue, requests.longest.expected().time_ns, true);
    take(Owner::ServerApplication, Factor::ServerWait, server_ns, true);
    take(Owner::ClientApplication, Factor::ClientWait, client_ns, true);
    let after_ns =
        requests.longest.sums().end_ns.and_then(|end_ns| u64::try_from(summary.end_ns.saturating_sub(end_ns)).ok());
    take(Owner::ClientApplication, Factor::Idle, after_ns.unwrap_or(0), false);
    let path_ns = moving_ns(requests, server_ns).min(left_ns);
    ledger.add(Owner::Path, Factor::Unknown, path_ns, None);
}

/// The TCP handshake and that of TLS; of one that nobody answered, up to its last packet.
fn opening_ns(summary: &ConnectionSummary) -> u64 {
    let opened_ns = || summary.requests().ok().and_then(|requests| requests.handshake_ns.get());
    let round_trip_ns = || summary.handshake_rtt_ns().and_then(|rtt_ns| u64::try_from(rtt_ns).ok());
    let asked_ns = || {
        let newest_ns = summary.ending.as_deref()?.last_openings_ns.into_iter().max()?;
        u64::try_from(newest_ns.saturating_sub(summary.start_ns)).ok()
    };
    let tls_s = summary.tls.as_deref().and_then(|facts| facts.handshake_s).filter(|seconds| *seconds > 0.0);
    let tcp_ns = opened_ns().or_else(round_trip_ns).or_else(asked_ns).unwrap_or(0);
    tcp_ns.saturating_add(tls_s.map_or(0, |seconds| (seconds * 1e9) as u64))
}

/// Requests and responses on their way, and the round trips in between.
fn moving_ns(requests: &RequestSummary, server_ns: u64) -> u64 {
    let totals = requests.longest.totals();
    let between_ns = requests.longest.between_ns().saturating_sub(requests.client_wait_ns().unwrap_or(0));
    let told_ns = totals.request_ns.saturating_add(totals.response_ns).saturating_add(totals.first_byte_ns);
    told_ns.saturating_sub(server_ns).saturating_add(between_ns)
}
