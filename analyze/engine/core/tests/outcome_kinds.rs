//! What became of connections, kind by kind, each beside the connection that is nearly the same and has no outcome.
//!
//! Subjects: `tcp/outcome/case.rs`, `tcp/outcome/kinds/one_direction_only.rs`,
//! `tcp/outcome/kinds/syn_refused.rs`, `tcp/outcome/kinds/syn_unanswered.rs`, `tcp/outcome/kinds/opened_late.rs`,
//! `tcp/outcome/kinds/handshake_incomplete.rs`, `tcp/outcome/kinds/large_segments_lost.rs`,
//! `tcp/outcome/kinds/receiver_stopped_reading.rs`, `tcp/outcome/kinds/silent.rs`, `tcp/outcome/kinds/no_response.rs`,
//! `tcp/outcome/kinds/idle_then_reset.rs`, `tcp/outcome/kinds/reset.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::outcome_kind::OutcomeKind;
use vmtrace_core::tcp::outcome::case::Outcome;

fn outcome(talk: &Talk) -> Option<Outcome> {
    talk.summary().outcome()
}

fn kind(talk: &Talk) -> Option<OutcomeKind> {
    outcome(talk).map(|outcome| outcome.kind)
}

fn syns(times_ms: &[f64]) -> Talk {
    times_ms.iter().fold(Talk::new(), |talk, &time_ms| talk.client(time_ms, syn()))
}

/// Opened, a request of 200 bytes and a response of 2000, all acknowledged at 200 ms.
fn exchange() -> Talk {
    Talk::seen_at_client(40.0)
        .client(50.0, data(0, 200))
        .server(90.0, ack(200))
        .server(100.0, data(0, 1000))
        .server(100.1, data(1000, 1000))
        .client(200.0, ack(2000))
}

/// The client's data at these times, always from the same position.
fn sent_in_vain(talk: Talk, start: i64, times_ms: &[f64]) -> Talk {
    times_ms.iter().fold(talk, |talk, &time_ms| talk.client(time_ms, data(start, 1000)))
}

const BACKOFF: [f64; 6] = [10_000.0, 10_250.0, 10_750.0, 11_750.0, 13_750.0, 17_750.0];

#[test]
fn a_connection_that_opened_moved_data_and_ended_has_none() {
    let talk = exchange().client(300.0, fin(200)).server(340.0, fin(2000).acking(201)).client(340.1, ack(2001));
    assert_eq!(outcome(&talk), None);
    assert_eq!(outcome(&exchange()), None, "merely cut");
}

#[test]
fn syns_without_an_answer_are_counted_and_timed() {
    let found = outcome(&syns(&[0.0, 1000.0, 3000.0, 7000.0])).unwrap();
    assert_eq!(found.kind, OutcomeKind::SynUnanswered);
    assert_eq!(found.sentence, "No reply to 4 SYNs in 7 s: filtered, or no such host.");
    assert_eq!(found.evidence[0].display_filter(), "frame.number in {1, 2, 3, 4}");
    assert_eq!(outcome(&syns(&[0.0])), None, "the capture ends with it");
}

#[test]
fn a_reset_to_the_syn_is_a_refusal() {
    let found = outcome(&Talk::new().client(0.0, syn()).server(40.0, rst())).unwrap();
    assert_eq!((found.kind, found.confidence), (OutcomeKind::SynRefused, 0.95));
    assert!(found.sentence.contains("40 ms after the SYN"), "{}", found.sentence);
}

#[test]
fn a_seventh_syn_that_is_answered_opens_late() {
    let times_ms = [0.0, 1000.0, 3000.0, 7000.0, 15_000.0, 31_000.0, 63_000.0];
    let talk = syns(&times_ms).server(63_000.4, syn_ack()).client(63_000.5, ack(0)).client(63_001.0, data(0, 80));
    let found = outcome(&talk).unwrap();
    assert_eq!(found.kind, OutcomeKind::SynUnanswered);
    assert!(found.sentence.starts_with("The connection opened 63 s late: 6 SYNs got no reply, the seventh"));
    let one_lost = syns(&[0.0, 1000.0]).server(1040.0, syn_ack()).client(1040.1, ack(0)).client(1050.0, data(0, 80));
    assert_eq!(outcome(&one_lost), None, "a loss by chance");
}

#[test]
fn a_syn_ack_that_is_never_acknowledged_leaves_the_handshake_incomplete() {
    let talk =
        Talk::new().client(0.0, syn()).server(0.1, syn_ack()).server(1000.1, syn_ack()).server(3000.1, syn_ack());
    assert_eq!(kind(&talk), Some(OutcomeKind::HandshakeIncomplete));
    assert_eq!(kind(&Talk::new().client(0.0, syn()).server(0.1, syn_ack())), None);
    let scan = Talk::new().client(0.0, syn()).server(40.0, syn_ack()).client(40.1, rst());
    assert_eq!(kind(&scan), Some(OutcomeKind::HandshakeIncomplete));
}

#[test]
fn syn_acks_after_the_acknowledgement_show_that_it_does_not_arrive() {
    let talk = Talk::seen_at_client(40.0).server(1040.0, syn_ack()).client(1040.1, ack(0)).server(3040.0, syn_ack());
    let found = outcome(&talk.client(3040.1, ack(0))).unwrap();
    assert_eq!(found.kind, OutcomeKind::HandshakeIncomplete);
    assert!(found.sentence.contains("SYN-ACK twice more"), "{}", found.sentence);
}

#[test]
fn full_segments_in_vain_after_small_ones_that_arrived_are_a_black_hole() {
    let found = outcome(&sent_in_vain(exchange(), 200, &[300.0, 550.0, 1050.0, 2050.0, 4050.0])).unwrap();
    assert_eq!(found.kind, OutcomeKind::LargeSegmentsLost);
    assert!(found.sentence.contains("packets of 1,040 bytes and more"), "{}", found.sentence);
    assert!(found.sentence.contains("packets of up to 240 bytes pass"), "{}", found.sentence);
}

#[test]
fn a_peer_that_took_full_segments_before_is_silent() {
    let full = exchange().client(210.0, data(200, 1000)).server(250.0, ack(1200));
    let found = outcome(&sent_in_vain(full.clone(), 1200, &[300.0, 550.0, 1050.0, 2050.0])).unwrap();
    assert_eq!((found.kind, found.confidence), (OutcomeKind::PeerSilent, 0.9));
    assert!(found.sentence.starts_with("The server fell silent"), "{}", found.sentence);
    assert_eq!(kind(&sent_in_vain(full, 1200, &[300.0, 550.0])), None, "too short to say");
}

#[test]
fn after_a_long_silence_it_is_one_that_was_forgotten() {
    let found = outcome(&sent_in_vain(exchange(), 200, &BACKOFF)).unwrap();
    assert_eq!(found.kind, OutcomeKind::IdleThenSilent);
    assert!(found.sentence.starts_with("Idle for 9.8 s"), "{}", found.sentence);
    assert!(found.remedy.contains("more often than every 9.8 s"), "{}", found.remedy);
}

#[test]
fn a_window_that_stays_closed_is_a_receiver_that_does_not_read() {
    let closed = exchange().client(210.0, data(200, 1000)).server(250.0, ack(1200).window(0));
    let probes = [460.0, 910.0, 1810.0, 3610.0];
    let talk = probes
        .iter()
        .fold(closed, |talk, &time_ms| talk.client(time_ms, empty(1199)).server(time_ms + 40.0, ack(1200).window(0)));
    let found = outcome(&talk).unwrap();
    assert_eq!(found.kind, OutcomeKind::ReceiverStoppedReading);
    assert!(found.sentence.starts_with("The server stopped reading 3.4 s before the end"), "{}", found.sentence);
    assert_eq!(kind(&talk.server(3700.0, ack(1200))), None, "it opened again");
}

#[test]
fn a_reset_in_mid_stream_names_its_side() {
    let talk = exchange().client(210.0, data(200, 1000)).server(250.0, rst());
    let found = outcome(&talk).unwrap();
    assert_eq!(found.kind, OutcomeKind::ResetByServer);
    assert!(found.sentence.contains("1 kB from the client unacknowledged"), "{}", found.sentence);
    assert_eq!(kind(&exchange().client(250.0, rst())), Some(OutcomeKind::ResetByClient));
}

#[test]
fn a_reset_that_only_cuts_a_close_short_is_none() {
    let talk = exchange().server(300.0, fin(2000)).client(340.0, ack(2001)).client(350.0, rst());
    assert_eq!(outcome(&talk), None);
}

#[test]
fn a_reset_of_another_ttl_is_a_devices() {
    let talk = exchange().client(210.0, data(200, 1000)).with_ttl(57, 63).server(230.0, rst());
    let found = outcome(&talk).unwrap();
    assert_eq!((found.kind, found.confidence), (OutcomeKind::ResetByMiddlebox, 0.9));
    assert!(found.sentence.contains("Its TTL is 63, that of the server's packets 57"), "{}", found.sentence);
    let same_way = exchange().client(210.0, data(200, 1000)).with_ttl(57, 121).server(230.0, rst());
    assert_eq!(kind(&same_way), Some(OutcomeKind::ResetByServer), "the same number of hops");
}

#[test]
fn a_reset_after_a_long_silence_says_how_long_that_was() {
    let by_itself = outcome(&exchange().server(60_200.0, rst())).unwrap();
    assert_eq!(by_itself.kind, OutcomeKind::IdleThenReset);
    assert!(by_itself.sentence.contains("idle for 60 s"), "{}", by_itself.sentence);
    let answer = exchange().client(60_200.0, data(200, 100)).server(60_240.0, rst());
    assert_eq!(kind(&answer), Some(OutcomeKind::IdleThenReset));
    let later = exchange().client(60_200.0, data(200, 100)).server(60_240.0, ack(300)).server(60_300.0, rst());
    assert_eq!(kind(&later), Some(OutcomeKind::ResetByServer), "it had gone on");
}

/// A request that the server's kernel acknowledged, and a client that gave up or not.
fn unanswered(content: &[u8], ends: impl Fn(Talk, i64) -> Talk) -> Option<Outcome> {
    let end = content.len() as i64;
    let asked = Talk::seen_at_client(40.0).client(50.0, data(0, 0).content(content)).server(90.0, ack(end));
    outcome(&ends(asked, end))
}

#[test]
fn a_request_without_a_response_is_the_applications_silence() {
    let gives_up = |at_ms: f64| move |talk: Talk, end| talk.client(at_ms, fin(end)).server(at_ms + 40.0, ack(end + 1));
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let found = unanswered(request, gives_up(8050.0)).unwrap();
    assert_eq!(found.kind, OutcomeKind::PeerSilent);
    assert!(
        found.sentence.contains("request of 27 bytes, but no response came in 8 s; then the client gave up"),
        "{}",
        found.sentence
    );
    assert!(unanswered(b"\x16\x03\x01\x00\x50\x01\x00\x00\x4c\x03\x03", gives_up(8050.0)).is_some(), "a ClientHello");
    assert!(unanswered(request, gives_up(2000.0)).is_none(), "too soon");
    assert!(unanswered(b"<13>Nov 26 a: a line of a log\n", gives_up(8050.0)).is_none(), "nobody responds to that");
    assert!(unanswered(request, |talk, _| talk).is_none(), "merely cut");
    let responds = |talk: Talk, end| talk.server(7000.0, data(0, 500).acking(end)).client(8050.0, fin(end));
    assert!(unanswered(request, responds).is_none());
}

#[test]
fn one_side_alone_is_a_capture_of_one_direction() {
    let talk = exchange().only(CLIENT);
    let found = outcome(&talk).unwrap();
    assert_eq!((found.kind, found.confidence), (OutcomeKind::OneDirectionOnly, 0.95));
    assert_eq!(kind(&exchange().only(SERVER)), Some(OutcomeKind::OneDirectionOnly));
}
