//! Captures on all interfaces of a host: between two of them frames of many segments are cut, or segments joined.

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

const RTT: f64 = 20.0;
/// Payload of a full segment, as Ethernet takes it.
const SIZE: i64 = 1460;

fn sent(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

/// Packets captured twice, segments, and segments retransmitted.
fn copies(talk: &Talk) -> (u64, u64, u32) {
    let sent = sent(talk);
    (talk.analysis().inputs[0].duplicates, sent.data_segments, sent.loss.retransmitted)
}

/// `count` full segments from segment `first` in one frame; without `numbers` the identification is 0, as in IPv6.
fn frame(first: i64, count: u32, numbers: bool) -> Segment {
    data(first * SIZE, count * SIZE as u32).id(if numbers { 300 + first as u16 } else { 0 })
}

fn beside_sender(rtt_ms: f64) -> Talk {
    Talk::new().open_with_sizes(rtt_ms, 0.1, [SIZE as u16; 2])
}

/// Rounds of five segments, captured whole and 10 microseconds later one by one; each is acknowledged after [`RTT`].
fn cut_between_interfaces(open: Talk, numbers: bool) -> Talk {
    (0..20).fold(open, |talk, round| {
        let at_ms = 50.0 + RTT * round as f64;
        let first = round * 5;
        let talk = talk.client(at_ms, frame(first, 5, numbers).without_push());
        let talk = talk.each(0..5, |talk, n| {
            talk.client(at_ms + 0.01 + 0.001 * n as f64, frame(first + n, 1, numbers).without_push())
        });
        talk.server(at_ms + RTT, ack((first + 5) * SIZE))
    })
}

#[test]
fn segments_of_a_frame_captured_whole_before_are_copies() {
    for numbers in [true, false] {
        let talk = cut_between_interfaces(beside_sender(RTT), numbers);
        assert_eq!(copies(&talk), (100, 100, 0), "with identifications: {numbers}");
        assert_eq!(sent(&talk).round_trips.map(|trips| trips.moments.count()), Some(20));
    }
}

#[test]
fn they_are_so_where_the_handshake_was_not_captured() {
    for numbers in [true, false] {
        assert_eq!(copies(&cut_between_interfaces(Talk::new(), numbers)), (100, 100, 0), "identifications: {numbers}");
    }
}

#[test]
fn signs_of_loss_of_earlier_data_do_not_make_them_repeats() {
    let lost = cut_between_interfaces(beside_sender(RTT), false)
        .client(500.0, frame(100, 5, false).without_push())
        .server(500.005, ack(98 * SIZE).sack(99 * SIZE, 100 * SIZE));
    let talk = lost.each(0..5, |talk, n| talk.client(500.01 + 0.001 * n as f64, frame(100 + n, 1, false)));
    assert_eq!(sent(&talk).loss.retransmitted, 0);
}

#[test]
fn a_frame_joined_of_segments_captured_before_is_a_copy() {
    let talk = Talk::new()
        .open_with_sizes(0.1, RTT, [SIZE as u16; 2])
        .each(0..5, |talk, n| talk.client(50.0 + 0.001 * n as f64, frame(n, 1, true).without_push()))
        .client(50.02, frame(0, 5, true))
        .server(50.1, ack(5 * SIZE));
    assert_eq!(copies(&talk), (1, 5, 0));
}

#[test]
fn the_size_of_segments_need_not_be_known_where_identifications_count_them() {
    // Both sides offer jumbo frames.
    let open = Talk::new().open_with_sizes(RTT, 0.1, [8960, 8960]);
    let talk = open
        .client(50.0, data(0, 10 * SIZE as u32).id(300))
        .each(0..10, |talk, n| talk.client(50.01 + 0.001 * n as f64, data(n * SIZE, SIZE as u32).id(300 + n as u16)));
    assert_eq!(copies(&talk).0, 10);
    assert_eq!(sent(&talk).loss.retransmitted, 0);
}

#[test]
fn parts_with_identifications_of_their_own_are_sent_again() {
    let again = |first_id: u16| {
        beside_sender(1.0).client(50.0, frame(0, 5, true).without_push()).each(0..5, |talk, n| {
            talk.client(52.0 + 0.01 * n as f64, data(n * SIZE, SIZE as u32).id(first_id + n as u16))
        })
    };
    assert_eq!(copies(&again(300)), (5, 5, 0));
    assert_eq!(copies(&again(305)), (0, 10, 5));
    // Numbers that grow faster than the segments are somebody else's as well.
    let odd =
        beside_sender(1.0).client(50.0, frame(0, 5, true).without_push()).client(52.0, data(SIZE, SIZE as u32).id(302));
    assert_eq!(copies(&odd), (0, 6, 1));
}

#[test]
fn parts_without_identifications_may_be_sent_again_once_an_answer_can_have_come() {
    let again = |after_ms: f64| {
        beside_sender(0.2)
            .client(50.0, frame(0, 5, false).without_push())
            .server(50.2, ack(0).sack(2 * SIZE, 5 * SIZE))
            .client(50.0 + after_ms, frame(0, 1, false))
            .client(50.001 + after_ms, frame(1, 1, false))
    };
    assert_eq!(copies(&again(0.3)).2, 2);
}

#[test]
fn so_they_may_where_the_opening_took_longer_than_a_round_trip() {
    // A SYN-ACK was lost, which nobody sees beside the client.
    let talk = beside_sender(1000.2)
        .client(1050.0, frame(0, 5, false).without_push())
        .server(1050.2, ack(5 * SIZE))
        .client(1060.0, frame(5, 5, false).without_push())
        .server(1060.2, ack(5 * SIZE).sack(7 * SIZE, 10 * SIZE))
        .client(1060.3, frame(5, 1, false))
        .client(1060.301, frame(6, 1, false));
    assert_eq!(copies(&talk).2, 2);
}

#[test]
fn a_repeat_passes_two_interfaces_as_well() {
    // The first has left the checksum to a card behind it.
    let talk = Talk::new().over_ipv6().with_timestamps().open_with_sizes(RTT, 0.1, [SIZE as u16; 2]);
    let talk = talk
        .each(0..5, |talk, n| talk.client(50.0, data(n * SIZE, SIZE as u32).tsval(1_000_050)))
        .each(0..3, |talk, n| talk.server(70.0 + 0.1 * n as f64, ack(0).sack(SIZE, (3 + n) * SIZE)));
    let again = |content: u8| data(0, SIZE as u32).content(&[content; SIZE as usize]).tsval(1_000_070).tsecr(2_000_069);
    let twice = talk.clone().client(70.3, again(0)).client(70.31, again(1));
    assert_eq!((copies(&twice).0, sent(&twice).loss.retransmitted), (1, 1));
    // What the sender has heard in between makes it another one.
    let later = talk.client(70.3, again(0)).client(70.31, again(1).tsecr(2_000_070));
    assert_eq!(sent(&later).loss.retransmitted, 2);
}

#[test]
fn in_mid_stream_acknowledgements_alike_within_a_moment_are_one() {
    let talk = (0..20i64).fold(Talk::new().without_identifications(), |talk, n| {
        let at_ms = 50.0 + n as f64;
        talk.client(at_ms, data(n * SIZE, SIZE as u32)).server(at_ms + 0.5, ack((n + 1) * SIZE)).again(at_ms + 0.505)
    });
    let summary = talk.summary();
    assert_eq!(talk.analysis().inputs[0].duplicates, 20);
    assert_eq!(summary.directions[CLIENT].round_trips.as_ref().map(|trips| trips.moments.count()), Some(20));
}

#[test]
fn the_first_part_of_a_frame_tells_the_size_that_both_sides_offer_more_of() {
    let part = |first: i64| data(first * 1358, 1358).id(0);
    let talk = (0..10).fold(Talk::new().open_with_sizes(0.1, RTT, [1390; 2]), |talk, round| {
        let (at_ms, first) = (50.0 + RTT * round as f64, round * 2);
        talk.client(at_ms, data(first * 1358, 2 * 1358).id(0))
            .client(at_ms + 0.01, part(first).without_push())
            .client(at_ms + 0.011, part(first + 1))
            .server(at_ms + RTT, ack((first + 2) * 1358))
    });
    assert_eq!(copies(&talk), (20, 20, 0));
}
