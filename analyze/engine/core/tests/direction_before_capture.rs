//! Captures that begin in mid-stream: what had been sent before (docs/methods.md, section 2 rule 7).
//!
//! Subjects: `tcp/direction/sent_before.rs`,
//! `tcp/direction/acknowledged_unseen.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

const RTT: f64 = 40.0;
/// Frames of the handshake.
const OPENING: usize = 3;

fn client(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

/// Segments retransmitted, those of them that were needless, those that came out of order, and the bytes of the stream that were seen.
fn counts(talk: &Talk) -> (u32, u32, u32, u64) {
    let direction = client(talk);
    assert_eq!(direction.unseen_acknowledged_bytes, 0, "the capture missed nothing");
    (direction.loss.retransmitted, direction.loss.spurious, direction.loss.reordered, direction.unique_payload_bytes)
}

/// Beside the client, segment after segment in 1 ms; each is acknowledged a round trip later, but for the sixth, which got lost and is
/// retransmitted then.
fn one_lost(talk: Talk) -> Talk {
    let talk = talk.open(RTT, 0.1).each(0..10_i64, |talk, n| talk.client(100.0 + n as f64, data(1000 * n, 1000)));
    let talk = talk.each(0..5_i64, |talk, n| talk.server(140.0 + n as f64, ack(1000 * (n + 1))));
    let talk = talk.each(6..10_i64, |talk, n| talk.server(140.0 + n as f64, ack(5000).sack(6000, 1000 * (n + 1))));
    talk.client(149.1, data(5000, 1000))
        .client(149.2, data(10_000, 1000))
        .server(189.1, ack(10_000))
        .server(189.2, ack(11_000))
}

#[test]
fn what_was_under_way_when_the_capture_began_is_not_missed_by_it() {
    // It begins with an acknowledgement, of less than had been sent.
    let later = one_lost(Talk::new()).starting_at(OPENING + 10 + 7);
    let direction = client(&later);
    assert_eq!((direction.unseen_acknowledged_bytes, direction.loss_caveat()), (0, None));
}

#[test]
fn what_was_under_way_is_not_missed_where_the_first_packet_was_sent_again() {
    // The first that is seen is the repeat; the report before it shows one segment behind that.
    let sent =
        Talk::new().open(RTT, 0.1).each(0..10_i64, |talk, n| talk.client(100.0 + n as f64, data(1000 * n, 1000)));
    let reported = sent.server(140.0, ack(0).sack(1000, 2000)).client(140.1, data(0, 1000));
    let later = reported.server(140.2, ack(0).sack(1000, 3000)).client(140.3, data(10_000, 1000));
    let sampled = later.server(180.2, ack(11_000)).client(200.0, data(11_000, 1000)).server(240.0, ack(12_000));
    assert_eq!(counts(&sampled.starting_at(OPENING + 10)), (1, 0, 0, 3000));
}

#[test]
fn what_is_missing_after_the_first_packet_was_missed_by_the_capture() {
    let sent = Talk::new().open(RTT, 0.1).client(90.0, data(0, 1000)).client(100.0, data(1000, 1000));
    let later = sent.client(101.0, data(4000, 1000)).server(141.0, ack(5000)).starting_at(OPENING + 1);
    assert_eq!(client(&later).unseen_acknowledged_bytes, 2000);
    let acknowledged =
        Talk::new().open(RTT, 0.1).server(141.0, ack(5000)).server(142.0, ack(6000)).server(143.0, ack(8000));
    assert_eq!(
        client(&acknowledged.starting_at(OPENING)).unseen_acknowledged_bytes,
        3000,
        "of a side that is never seen"
    );
}

#[test]
fn a_repeat_of_what_was_lost_before_the_capture_began_was_needed() {
    // It begins with the last of the ten, or with an acknowledgement: what is retransmitted has not been seen.
    assert_eq!(counts(&one_lost(Talk::new()).starting_at(OPENING + 9)), (1, 0, 0, 3000));
    assert_eq!(counts(&one_lost(Talk::new().with_timestamps()).starting_at(OPENING + 9)), (1, 0, 0, 3000));
    assert_eq!(counts(&one_lost(Talk::new().with_timestamps()).starting_at(OPENING + 10 + 2)), (1, 0, 0, 2000));
}

#[test]
fn what_was_acknowledged_before_the_capture_began_is_sent_again_needlessly() {
    let sent = Talk::new().open(RTT, 0.1).each(0..3_i64, |talk, n| talk.client(100.0 + n as f64, data(1000 * n, 1000)));
    let again = sent.server(140.0, ack(3000)).client(141.0, data(3000, 1000)).client(145.0, data(1000, 1000));
    assert_eq!(counts(&again.starting_at(OPENING + 3)), (1, 1, 0, 2000));
}

#[test]
fn an_original_from_before_the_first_packet_was_overtaken_by_it() {
    let overtaken = |talk: Talk| {
        let sent = talk.open(0.1, RTT).client(100.0, data(0, 1000)).server(100.1, ack(1000));
        let first = sent.client(103.0, data(2000, 1000).tsval(1_000_103).id(202));
        let late =
            first.client(104.0, data(1000, 1000).tsval(1_000_101).id(201)).client(105.0, data(3000, 1000).id(203));
        late.client(106.0, data(4000, 1000).id(204)).server(106.1, ack(5000)).starting_at(OPENING + 2)
    };
    assert_eq!(counts(&overtaken(Talk::new().with_timestamps())), (0, 0, 1, 4000));
    let again = overtaken(Talk::new().with_timestamps()).client(150.0, data(1000, 1000));
    assert_eq!(counts(&again), (1, 1, 1, 4000), "each byte is new once");
}

#[test]
fn bytes_from_before_do_not_go_into_the_stream() {
    let sent = Talk::new().with_timestamps().open(0.1, RTT).client(100.0, data(0, 1000)).server(100.1, ack(1000));
    let late = sent.client(103.0, data(2000, 1000)).client(150.0, data(1500, 1000)).server(150.1, ack(3000));
    assert_eq!(counts(&late.starting_at(OPENING + 2)), (1, 0, 0, 1500), "the second direction had come");
}
