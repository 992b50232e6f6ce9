//! Why no data passed for a while where both sides take turns: what a request and its answer tell (docs/methods.md, section
//! 7).
//!
//! Subjects: `tcp/gaps/receiver_return.rs`.

use crate::playbook::gaps::*;
use crate::playbook::*;
use vmtrace_core::tcp::gaps::cause::Cause;

/// At the client (10 ms from the server) or at the server; both have timestamps.
fn talks() -> [(&'static str, Talk, f64, f64); 2] {
    // How long a packet of the client is on its way to the capture, and one of the server.
    [("client", Talk::seen_at_client(10.0), 0.0, 5.0), ("server", Talk::seen_at_server(10.0), 5.0, 0.0)]
        .map(|(place, talk, client, server)| (place, talk.with_timestamps(), client, server))
}

/// The client's answer of `count` full segments without an end that shows, sent at `at`, of which the last one is lost and is
/// retransmitted; all is acknowledged in the end.
fn answer_with_a_repeat(talk: Talk, at: f64, first: i64, count: i64, on_the_way: [f64; 2]) -> Talk {
    let [client, server] = on_the_way;
    let all = talk.each(first..first + count, |talk, n| talk.client(at + client, segment(n)));
    all.server(at + 5.0 + server, ack((first + count - 1) * 1000))
        .client(at + 20.0 + client, segment(first + count - 1))
        .server(at + 25.0 + server, ack((first + count) * 1000))
}

#[test]
fn what_follows_a_request_at_once_has_waited_for_it_whatever_was_sent_last() {
    for (place, talk, client, server) in talks() {
        let before = answer_with_a_repeat(talk, 50.0, 0, 20, [client, server]);
        let asked = before.server(995.0 + server, data(0, 300).acking(20_000));
        let next = answer_with_a_repeat(asked.clone(), 1000.5, 20, 20, [client, server]);
        assert_eq!(gaps(&next), [(Cause::SenderApplication, 930)], "beside the {place}");
        // Long after it, something else kept the sender.
        let late = answer_with_a_repeat(asked, 1300.0, 20, 20, [client, server]);
        assert_ne!(gaps(&late)[0].0, Cause::SenderApplication, "beside the {place}");
    }
}

/// Requests of 500 bytes, so many of them together, their answer, and a quarter of a second of thinking.
fn thinking(talk: Talk, together: i64, client: f64, server: f64) -> Talk {
    (0..8).fold(talk, |talk, n| {
        let at = 50.0 + 260.0 * n as f64;
        let first = n * together;
        talk.each(first..first + together, |talk, request| {
            let sent = at + client + 0.1 * (request - first) as f64;
            talk.client(sent, data(request * 500, 500).acking(n * 900))
        })
        .server(at + 5.6 + server, data(n * 900, 900).acking((first + together) * 500))
    })
}

#[test]
fn requests_of_one_length_are_no_full_segments_however_many_come_together() {
    for together in [1, 2, 4] {
        for (place, talk, client, server) in talks() {
            let causes: Vec<Cause> =
                gaps(&thinking(talk, together, client, server)).into_iter().map(|gap| gap.0).collect();
            assert_eq!(causes, [Cause::SenderApplication; 7], "{together} beside the {place}");
        }
    }
}
