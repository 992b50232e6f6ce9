//! What the repairs of requests took of the time until responses began.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::requests::longest::Exchange;
use crate::tcp::requests::summary::RequestSummary;

/// Of the time from requests to first bytes, what the client's repairs took, as far as exchanges are known one by one. `summary` is that
/// of the client's data.
pub(crate) fn retransmitting_ns(summary: &LimitsSummary, requests: &RequestSummary) -> u64 {
    let spans = first_byte_spans(requests);
    let repairs = summary.runs.iter().filter(|run| is_repair(run.factor));
    let within = |run: &FactorRun| {
        let of = |[from_ns, to_ns]: &[i64; 2]| run.end_ns.min(*to_ns).saturating_sub(run.start_ns.max(*from_ns));
        spans.iter().map(|span| u64::try_from(of(span)).unwrap_or(0)).sum::<u64>()
    };
    repairs.map(within).sum()
}

fn is_repair(factor: Factor) -> bool {
    let holder = factor.holder();
    holder.ends_with_a_timer() || matches!(holder, Holder::Losses | Holder::Repairs)
}

/// From the ends of requests to the first bytes of their responses, of the exchanges that are known one by one.
pub(crate) fn first_byte_spans(requests: &RequestSummary) -> Vec<[i64; 2]> {
    let of = |one: &Exchange| [one.request_ns, one.request_ns + one.first_byte_ns].map(|ns| one.at_ns(ns));
    requests.longest.list.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::requests::longest::Longest;

    const TENTH_NS: i64 = 100_000_000;

    /// Requests at 0 and 2.6 s, whose responses begin a second later.
    fn requests() -> RequestSummary {
        let mut longest = Longest::default();
        for start_ns in [0, 26 * TENTH_NS] {
            longest.add(Exchange {
                start: (start_ns, 1),
                request_ns: 0,
                request_bytes: 100,
                first_byte_ns: 10 * TENTH_NS as u64,
                response_ns: 5 * TENTH_NS as u64,
                response_bytes: 900,
                frames: [1, 2],
            });
        }
        RequestSummary {
            longest,
            handshake_ns: None.into(),
            tls_ns: None.into(),
            server_loop_ns: None.into(),
            client_loop_ns: None.into(),
            retransmitting_ns: 0,
        }
    }

    #[test]
    fn a_request_that_timers_repaired_waited_for_no_server() {
        let mut summary = LimitsSummary::default();
        for (start, end, factor) in [(0, 7, Factor::TimeoutWait), (7, 20, Factor::Idle), (20, 30, Factor::LossRecovery)]
        {
            let [start_ns, end_ns] = [start, end].map(|tenths: i64| tenths * TENTH_NS);
            summary.runs.push(FactorRun { start_ns, end_ns, factor, bytes: 0, frames: [1, 2] });
        }
        assert_eq!(retransmitting_ns(&summary, &requests()), 11 * TENTH_NS as u64);
    }
}
