//! Requests and responses as packets show them, in the clear (docs/json.md; inside TLS: `tls/spoken.rs`; inside TLS by keys:
//! `tests/analyze/test_requests_by_keys.py`).
//!
//! Subjects: `tcp/connection/speaking.rs`, `tcp/connection/turns.rs`, `tcp/connection/opened_texts.rs`, `output/describe/requests.rs`,
//! `tcp/requests/exchanges.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::tcp::requests::exchanges::Reason;
use vmtrace_core::tcp::requests::longest::Exchange;
use vmtrace_core::tcp::requests::summary::RequestPart;

/// Times of one exchange: waited, bytes asked, segments of the response.
type Round = (f64, u32, i64);

/// Requests one after another, at the client: the server takes its time before each response.
fn talk(rtt_ms: f64, rounds: &[Round]) -> Talk {
    let (mut talk, mut at_ms) = (Talk::seen_at_client(rtt_ms), rtt_ms + 1.0);
    let (mut asked, mut answered) = (0, 0);
    for &(wait_ms, request, segments) in rounds {
        talk = talk.client(at_ms, data(asked, request));
        asked += i64::from(request);
        talk = talk.server(at_ms + rtt_ms, ack(asked));
        for segment in 0..segments {
            let passed_ms = at_ms + rtt_ms + wait_ms + segment as f64 * 0.1;
            talk = talk.server(passed_ms, data(answered, 1000).acking(asked));
            answered += 1000;
            talk = talk.client(passed_ms + 0.02, ack(answered));
        }
        at_ms += rtt_ms + wait_ms + segments as f64 * 0.1 + 5.0;
    }
    talk
}

fn listed(talk: &Talk) -> Result<Vec<Exchange>, Reason> {
    talk.summary().requests().map(|requests| requests.longest.list.clone())
}

#[test]
fn the_time_to_first_byte_is_told_for_each_request() {
    let list = listed(&talk(20.0, &[(900.0, 400, 2), (0.0, 300, 5), (50.0, 900, 1)])).expect("three");
    let told: Vec<(u64, u64, u64)> =
        list.iter().map(|one| (one.first_byte_ns / 1_000_000, one.request_bytes, one.response_bytes)).collect();
    assert_eq!(told, [(920, 400, 2000), (20, 300, 5000), (70, 900, 1000)]);
    assert_eq!(list[0].response_ns, 100_000);
}

#[test]
fn the_part_that_dominates_is_named() {
    let summary = talk(20.0, &[(900.0, 400, 2); 4]).summary();
    let requests = summary.requests().expect("four");
    assert_eq!(requests.largest().map(|(part, _)| part), Some(RequestPart::FirstByte));
    assert_eq!((requests.server_loop_ns.get(), requests.path_ns()), (Some(20_000_000), Some(80_000_000)));
    let far = talk(200.0, &[(1.0, 400, 2)]).summary();
    assert_eq!(far.requests().expect("one").handshake_ns.get(), Some(200_100_000));
}

#[test]
fn an_upload_is_a_request_as_long_as_it_takes() {
    let upload = (0..100).fold(Talk::seen_at_client(20.0), |talk, segment| {
        talk.client(21.0 + segment as f64, data(segment * 1000, 1000).without_push())
    });
    let talk = upload.server(141.0, ack(100_000)).server(200.0, data(0, 120).acking(100_000));
    let one = listed(&talk).expect("one")[0];
    assert_eq!((one.request_ns, one.first_byte_ns), (99_000_000, 80_000_000));
    assert_eq!((one.request_bytes, one.response_bytes), (100_000, 120));
}

#[test]
fn an_interim_response_is_waited_for_and_is_none() {
    let talk = Talk::seen_at_client(20.0)
        .client(21.0, data(0, 0).content(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n"))
        .server(41.0, data(0, 0).content(b"HTTP/1.1 100 Continue\r\n\r\n").acking(41))
        .client(42.0, data(41, 1000).acking(25))
        .server(162.0, data(25, 100).acking(1041));
    let one = listed(&talk).expect("one")[0];
    assert_eq!((one.request_bytes, one.response_bytes, one.first_byte_ns), (1041, 100, 120_000_000));
}

#[test]
fn pipelined_requests_are_not_told_apart() {
    let request = b"GET / HTTP/1.1\r\n\r\n";
    let both = [&request[..], &request[..]].concat();
    let in_one =
        Talk::seen_at_client(20.0).client(21.0, data(0, 0).content(&both)).server(60.0, data(0, 900).acking(36));
    assert_eq!(listed(&in_one).expect_err("two"), Reason::Overlapping);
    let in_two = Talk::seen_at_client(20.0)
        .client(21.0, data(0, 0).content(request))
        .client(21.1, data(18, 0).content(request))
        .server(60.0, data(0, 900).acking(36));
    assert_eq!(listed(&in_two).expect_err("two"), Reason::Overlapping);
}

#[test]
fn what_follows_an_upgrade_is_no_request() {
    let opened = Talk::seen_at_client(20.0)
        .client(21.0, data(0, 0).content(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"))
        .server(61.0, data(0, 0).content(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").acking(40));
    let chatter = (0..20).fold(opened, |talk, index| {
        let at_ms = 100.0 + index as f64 * 30.0;
        talk.client(at_ms, data(40 + index * 90, 90).acking(36 + index * 90))
            .server(at_ms + 20.0, data(36 + index * 90, 90).acking(130 + index * 90))
    });
    assert_eq!(listed(&chatter).expect("the upgrade").len(), 1);
}

#[test]
fn ssh_has_no_requests() {
    let talk = Talk::seen_at_client(20.0)
        .server(41.0, data(0, 0).content(b"SSH-2.0-OpenSSH_9.2\r\n"))
        .client(41.1, data(0, 0).content(b"SSH-2.0-OpenSSH_9.2\r\n").acking(21));
    let keys = (0..20).fold(talk, |talk, index| {
        let at_ms = 100.0 + index as f64 * 100.0;
        talk.client(at_ms, data(21 + index * 36, 36))
            .server(at_ms + 20.0, data(21 + index * 36, 36).acking(57 + index * 36))
    });
    assert_eq!(listed(&keys).expect_err("keys"), Reason::Ssh);
}

#[test]
fn a_server_that_pushes_after_pauses_answers_nobody() {
    let asked = Talk::seen_at_client(20.0)
        .client(21.0, data(0, 200))
        .server(41.0, data(0, 100).acking(200))
        .client(41.1, ack(100));
    let pushed = (0..10).fold(asked, |talk, index| {
        let at_ms = 2000.0 * (index + 1) as f64;
        talk.server(at_ms, data(100 + index * 80, 80).acking(200)).client(at_ms + 0.1, ack(180 + index * 80))
    });
    assert_eq!(listed(&pushed).expect_err("pushes"), Reason::Unprompted);
}

#[test]
fn both_sides_at_once_are_no_exchanges() {
    let talk = (0..30).fold(Talk::seen_at_client(40.0), |talk, index| {
        let at_ms = 50.0 + index as f64 * 10.0;
        let heard = (index - 4).max(0) * 500;
        talk.client(at_ms, data(index * 500, 500).acking(heard))
            .server(at_ms + 5.0, data(index * 500, 500).acking(heard))
    });
    assert_eq!(listed(&talk).expect_err("both"), Reason::Overlapping);
}

#[test]
fn one_direction_alone_is_no_exchange() {
    let download = (0..20)
        .fold(Talk::seen_at_client(20.0), |talk, index| talk.server(30.0 + index as f64, data(index * 1000, 1000)));
    assert_eq!(listed(&download).expect_err("nobody asked"), Reason::NoExchange);
}

#[test]
fn a_capture_that_begins_within_a_request_leaves_that_out() {
    let whole = talk(20.0, &[(50.0, 400, 2), (70.0, 300, 5)]);
    let list =
        whole.clone().starting_at(3).summary().requests().map(|requests| requests.longest.list.clone()).expect("one");
    assert_eq!((list.len(), list[0].first_byte_ns), (1, 90_000_000), "the first may have begun before");
}

#[test]
fn a_request_that_was_lost_took_until_its_retransmission_to_be_sent() {
    let talk = Talk::seen_at_client(20.0)
        .client(21.0, data(0, 400))
        .client(241.0, data(0, 400))
        .server(311.0, data(0, 100).acking(400));
    let one = listed(&talk).expect("one")[0];
    assert_eq!((one.request_ns, one.first_byte_ns), (220_000_000, 70_000_000));
}

#[test]
fn the_document_has_list_totals_and_servers() {
    let mut out = Vec::new();
    let analysis = talk(20.0, &[(900.0, 400, 2); 20]).analysis();
    analysis.write_json(&mut out, &JsonHeader::default()).expect("written");
    let document: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let connection = &document["connections"][0];
    assert_eq!(connection["requests"].as_array().map(Vec::len), Some(16));
    assert_eq!(
        (&connection["request_totals"]["count"], &connection["request_totals"]["not_listed"]),
        (&20.into(), &4.into())
    );
    assert_eq!(connection["request_totals"]["first_byte_p99_s"], 0.92);
    assert_eq!(document["request_servers"][0]["count"], 20);
    assert_eq!(document["request_servers"][0]["server"], connection["server"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Round trips, waits, sizes and number are drawn; what is reported is what was drawn.
    #[test]
    fn exchanges_are_told_as_they_were(
        rtt_ms in 0.2..150.0f64,
        rounds in proptest::collection::vec((0.0..400.0f64, 1u32..1000, 1i64..40), 1..40),
    ) {
        let summary = talk(rtt_ms, &rounds).summary();
        let requests = summary.requests().expect("requests");
        prop_assert_eq!(requests.longest.totals().count, rounds.len() as u64);
        let waited_ms: f64 = rounds.iter().map(|(wait_ms, ..)| rtt_ms + wait_ms).sum();
        let told_ms = requests.longest.totals().first_byte_ns as f64 / 1e6;
        prop_assert!((told_ms - waited_ms).abs() < 0.001 * rounds.len() as f64, "{} of {}", told_ms, waited_ms);
        let bytes = (rounds.iter().map(|(_, asked, _)| u64::from(*asked)).sum::<u64>(), rounds.iter().map(|(.., segments)| *segments as u64 * 1000).sum());
        prop_assert_eq!((requests.longest.totals().request_bytes, requests.longest.totals().response_bytes), bytes);
    }
}
