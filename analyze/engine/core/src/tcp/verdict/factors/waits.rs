//! Pauses of applications that take turns, by what their requests show: the server's before a response, the client's before a request.
//!
//! Rule: docs/verdict.md, "Waits between messages".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::{move_time, rename};
use crate::tcp::limits::retransmitting::first_byte_spans;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::requests::longest::Exchange;
use crate::tcp::requests::summary::RequestSummary;

/// Where waits are such a part of the pauses, all pauses are taken for them: only the longest exchanges are known one by one.
pub(super) const NEARLY_ALL: f64 = 0.8;

/// The sender of the data is the client (0) or the server (1).
pub(crate) fn take_waits(summary: &mut LimitsSummary, requests: &RequestSummary, side: usize) {
    // The client's part of it lies within its request, and no response has come.
    let expect = (Factor::ExpectContinue, requests.longest.expected().time_ns);
    let [server_ns, client_ns] = [requests.server_wait_ns(), requests.client_wait_ns()].map(|wait| wait.unwrap_or(0));
    // To its sender an own wait is its application's, the other one the turn of its peer; a round in which both are has one name.
    let [own, turn] = [Factor::Application, Factor::Idle];
    let (own_wait, others_wait) = match side {
        0 => ((Factor::ClientWait, client_ns), (Factor::ServerWait, server_ns)),
        _ => ((Factor::ServerWait, server_ns), (Factor::ClientWait, client_ns)),
    };
    // Pieces that are asked for one by one look like credit, however long they are waited for; and who has not responded may have
    // been held up by a host or the path for all that a single capture shows.
    let [credit, unclear] = [Factor::ApplicationWindow, Factor::Unknown];
    let [of_sender, of_peer] = [[own, turn, credit, unclear], [turn, own, credit, unclear]];
    let of_client = if side == 0 { of_sender } else { of_peer };
    for ((to, wait_ns), from) in [(expect, of_client), (others_wait, of_peer), (own_wait, of_sender)] {
        let mut left_ns = wait_ns;
        for from in from {
            left_ns -= take(summary, requests, (from, to), left_ns);
        }
    }
}

fn turn_ns(summary: &LimitsSummary) -> u64 {
    summary.shares[Factor::Idle].time_ns.saturating_sub(summary.after_data_ns)
}

/// Takes up to so much; says how much it was.
fn take(summary: &mut LimitsSummary, requests: &RequestSummary, (from, to): (Factor, Factor), wait_ns: u64) -> u64 {
    let there_ns = if from == Factor::Idle { turn_ns(summary) } else { summary.shares[from].time_ns };
    let time_ns = wait_ns.min(there_ns);
    if time_ns > 0 {
        move_time(summary, (from, to), time_ns);
        let is_all = time_ns as f64 >= NEARLY_ALL * there_ns as f64;
        let spans_ns = if is_all { pauses(summary, from) } else { spans(requests, to) };
        rename(summary, to, from, &spans_ns);
    }
    time_ns
}

/// All pauses but the one behind the last data.
pub(super) fn pauses(summary: &LimitsSummary, from: Factor) -> Vec<[i64; 2]> {
    let last = summary.runs.len().saturating_sub(usize::from(summary.after_data_ns > 0));
    let runs = summary.runs.iter().take(last).filter(|run| run.factor == from);
    runs.map(|run| [run.start_ns, run.end_ns]).collect()
}

/// Those of the exchanges that are known one by one.
fn spans(requests: &RequestSummary, to: Factor) -> Vec<[i64; 2]> {
    let list = &requests.longest.list;
    if to == Factor::ServerWait {
        return first_byte_spans(requests);
    }
    let all_listed = requests.longest.lists_all();
    let between = |pair: &[Exchange]| [pair[0].at_ns(pair[0].duration_ns()), pair[1].start.0];
    if all_listed { list.windows(2).map(between).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;
    use crate::tcp::requests::longest::Longest;

    const SECOND: i64 = 1_000_000_000;

    /// A server's data: a second of its own wait, one of the client's, each with a round trip of 0.1 s; a second after the data.
    fn limits() -> LimitsSummary {
        let mut summary = LimitsSummary { after_data_ns: SECOND as u64, ..LimitsSummary::default() };
        let parts = [
            (Factor::Application, 10, 0),
            (Factor::SlowStart, 5, 900),
            (Factor::Idle, 11, 0),
            (Factor::Application, 10, 0),
            (Factor::SlowStart, 5, 900),
            (Factor::Idle, 10, 0),
        ];
        let mut start_ns = 0;
        for (factor, tenths, bytes) in parts {
            let end_ns = start_ns + tenths * SECOND / 10;
            summary.runs.push(FactorRun { start_ns, end_ns, factor, bytes, frames: [1, 2] });
            summary.shares[factor].add(Share { time_ns: (end_ns - start_ns) as u64, bytes });
            start_ns = end_ns;
        }
        summary
    }

    fn requests(first_byte_ns: u64) -> RequestSummary {
        let mut longest = Longest::default();
        for start_ns in [0, 26 * SECOND / 10] {
            let (request_ns, response_ns) = (0, SECOND as u64 / 2);
            let (request_bytes, response_bytes) = (100, 900);
            let start = (start_ns, 1);
            let frames = [1, 2];
            longest.add(Exchange {
                start,
                request_ns,
                request_bytes,
                first_byte_ns,
                response_ns,
                response_bytes,
                frames,
            });
        }
        let loops = [Some(100_000_000).into(), Some(0).into()];
        let [client_loop_ns, server_loop_ns] = loops;
        let (handshake_ns, tls_ns) = (None.into(), None.into());
        RequestSummary { longest, handshake_ns, tls_ns, server_loop_ns, client_loop_ns, retransmitting_ns: 0 }
    }

    #[test]
    fn waits_are_those_of_the_application_that_the_other_side_waits_for() {
        let mut summary = limits();
        take_waits(&mut summary, &requests(SECOND as u64), 1);
        let seconds = |factor: Factor| summary.shares[factor].time_ns as f64 / 1e9;
        assert_eq!(
            [Factor::ServerWait, Factor::ClientWait].map(seconds),
            [2.0, 1.0],
            "less a round trip to the client"
        );
        assert_eq!([Factor::Idle, Factor::Application].map(seconds), [1.1, 0.0], "that, and the time after the data");
        let runs: Vec<Factor> = summary.runs.iter().map(|run| run.factor).collect();
        let [server, client, other] = [Factor::ServerWait, Factor::ClientWait, Factor::SlowStart];
        assert_eq!(runs, [server, other, client, server, other, Factor::Idle]);
    }

    #[test]
    fn a_wait_that_a_round_hides_is_found_in_what_else_the_round_was() {
        let mut summary = limits();
        let idle = summary.shares[Factor::Idle];
        summary.shares[Factor::Application].add(Share { time_ns: idle.time_ns - summary.after_data_ns, bytes: 0 });
        summary.shares[Factor::Idle].time_ns = summary.after_data_ns;
        take_waits(&mut summary, &requests(SECOND as u64), 1);
        let seconds = |factor: Factor| summary.shares[factor].time_ns as f64 / 1e9;
        assert_eq!([Factor::ClientWait, Factor::ServerWait].map(seconds), [1.0, 2.0]);
        assert_eq!([Factor::Idle, Factor::Application].map(seconds), [1.0, 0.1], "a message's way is nobody's wait");
    }

    #[test]
    fn what_no_request_explains_stays_the_applications() {
        let mut summary = limits();
        take_waits(&mut summary, &requests(SECOND as u64 / 4), 1);
        let seconds = |factor: Factor| summary.shares[factor].time_ns as f64 / 1e9;
        assert_eq!([Factor::ServerWait, Factor::Application].map(seconds), [0.5, 0.85]);
    }
}
