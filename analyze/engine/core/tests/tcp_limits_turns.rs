//! Whose turn it was while nothing was in flight (methods, section 6.6): the other side's until it had asked, the application's
//! from then on.

mod playbook;

use playbook::*;
use vmtrace_core::tcp::limits::Factor;

/// A round trip.
const RTT_MS: f64 = 40.0;

/// Bytes of an answer, the last segment of which is short.
const ANSWER: i64 = 19_500;

/// An answer that passes at `at_ms`, from byte `start` on, each segment acknowledged by what is `loop_ms` away.
fn answer(talk: Talk, at_ms: f64, loop_ms: f64, start: i64, asked: i64) -> Talk {
    let end = |n: i64| i64::min(1000 * (n + 1), ANSWER);
    let talk = talk.each(0..20, |talk, n| {
        let segment = data(start + 1000 * n, (end(n) - 1000 * n) as u32).acking(asked);
        talk.server(at_ms + 0.1 * n as f64, if n == 19 { segment } else { segment.without_push() })
    });
    talk.each(0..20, |talk, n| talk.client(at_ms + loop_ms + 0.1 * (n + 20) as f64, ack(start + end(n))))
}

/// Asked at 50 ms and at 3 s, acknowledged by the server's kernel at once and answered by its application after 1.5 s both times; the
/// capture is `loop_ms` away from the server and back.
fn slow_server(talk: Talk, loop_ms: f64) -> Talk {
    let client_loop_ms = RTT_MS - loop_ms;
    let talk = talk.client(50.0, data(0, 200)).server(50.1 + loop_ms, ack(200));
    let talk = answer(talk, 1550.0 + loop_ms, client_loop_ms, 0, 200);
    let talk = talk.client(3000.0, data(200, 200).acking(ANSWER)).server(3000.1 + loop_ms, ack(400));
    answer(talk, 4500.0 + loop_ms, client_loop_ms, ANSWER, 400)
}

/// Milliseconds that the server's application took, and that the server waited for the client.
fn turns_ms(talk: &Talk) -> [u64; 2] {
    let summary = talk.summary();
    let limits = summary.limits(SERVER).expect("long enough");
    [Factor::Application, Factor::Idle].map(|factor| limits.shares[factor as usize].time_ns / 1_000_000)
}

#[test]
fn what_a_server_takes_to_answer_is_its_applications_time_wherever_the_capture_is() {
    for (talk, loop_ms) in [(Talk::seen_at_server(RTT_MS), 0.0), (Talk::seen_at_client(RTT_MS), RTT_MS)] {
        let [application_ms, idle_ms] = turns_ms(&slow_server(talk.with_timestamps(), loop_ms));
        // The round trips of the answers may be either's.
        assert!(application_ms.abs_diff(3000) <= 100, "{application_ms} ms");
        assert!(idle_ms.abs_diff(1400) <= 100, "{idle_ms} ms");
    }
}
