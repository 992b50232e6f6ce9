//! Copies that a host with receive offload joined to what came directly behind them: the head of such a frame has passed before,
//! the rest is new (docs/methods.md, section 2 rule 3).

use crate::playbook::*;

const RTT: f64 = 40.0;
/// Number of the client's segment 0 in a [`stream`]: the opening takes two.
const FIRST_ID: u16 = 102;

/// Twenty segments at their receiver, one each 0.1 ms from 50 ms on, acknowledged at once.
fn stream(talk: Talk) -> Talk {
    talk.open(0.1, RTT).each(0..20, |talk, n| {
        let at_ms = 50.0 + 0.1 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000).without_push()).server(at_ms + 0.01, ack((n + 1) * 1000))
    })
}

/// Then, 0.3 ms behind its last one, that once more with two new ones, in a frame.
fn joined(talk: Talk, change: impl Fn(Segment) -> Segment) -> Talk {
    let copy = data(19_000, 3000).id(FIRST_ID + 19).tsval(1_000_051);
    stream(talk).client(52.2, change(copy)).server(52.21, ack(22_000)).client(52.3, data(22_000, 1000))
}

/// Segments retransmitted, copies, segments in all, numbers that are missing.
fn counts(talk: &Talk) -> (u32, u32, u64, Option<u64>) {
    let sent = talk.summary().directions[CLIENT].clone();
    let copies = sent.loss.network_duplicates + sent.loss.capture_duplicates;
    assert_eq!(sent.unique_payload_bytes, 23_000);
    (sent.loss.retransmitted, copies, sent.data_segments, sent.lost_by_identification.get())
}

#[test]
fn a_copy_that_new_data_was_joined_to_is_no_retransmission() {
    assert_eq!(counts(&joined(Talk::new(), |frame| frame)), (0, 1, 23, Some(0)));
    assert_eq!(counts(&joined(Talk::new().with_timestamps(), |frame| frame)), (0, 1, 23, Some(0)));
}

#[test]
fn over_ipv6_it_is_known_by_its_stamps_though_the_checksum_is_of_the_whole_frame() {
    let unnumbered = || Talk::new().over_ipv6().with_timestamps();
    assert_eq!(counts(&joined(unnumbered(), |frame| frame)), (0, 1, 23, None));
    assert_eq!(counts(&joined(unnumbered(), |frame| frame.tsval(1_000_052))), (1, 0, 24, None), "stamped later");
}

#[test]
fn what_has_a_number_of_its_own_was_sent_again_and_joined() {
    let again = |talk| joined(talk, |frame| frame.id(FIRST_ID + 20));
    assert_eq!(counts(&again(Talk::new())), (1, 0, 24, Some(0)));
    assert_eq!(counts(&again(Talk::new().with_timestamps())), (1, 0, 24, Some(0)));
}

#[test]
fn a_copy_of_two_segments_of_which_each_came_alone_may_be_joined() {
    let two = stream(Talk::new())
        .client(52.2, data(18_000, 4000).id(FIRST_ID + 18))
        .server(52.21, ack(22_000))
        .client(52.3, data(22_000, 1000));
    let sent = two.summary().directions[CLIENT].clone();
    assert_eq!((sent.loss.retransmitted, sent.data_segments, sent.data_packets), (0, 23, 22));
}

#[test]
fn a_copy_of_a_repair_may_be_joined_to_the_next_repair() {
    let repaired = |id: u16| {
        stream(Talk::new().with_timestamps())
            .lost_before_capture(CLIENT, 3)
            .client(60.0, data(23_000, 1000).without_push())
            .server(60.1, ack(20_000).sack(23_000, 24_000))
            .client(101.0, data(20_000, 1000).without_push())
            .server(101.01, ack(21_000).sack(23_000, 24_000))
            .client(101.3, data(20_000, 3000).id(id).tsval(1_000_101))
            .server(101.31, ack(24_000))
    };
    let of = |talk: &Talk| {
        let loss = *talk.summary().directions[CLIENT].loss;
        (loss.retransmitted, loss.network_duplicates + loss.capture_duplicates)
    };
    let (first, second) = (FIRST_ID + 24, FIRST_ID + 25);
    assert_eq!(of(&repaired(first)), (3, 1));
    assert_eq!(of(&repaired(second)), (4, 0), "with a number of its own");
}

#[test]
fn its_report_tells_that_the_network_made_it() {
    let reported = stream(Talk::new())
        .client(52.2, data(19_000, 3000).id(FIRST_ID + 19))
        .server(52.21, ack(22_000).sack(19_000, 20_000));
    let loss = *reported.summary().directions[CLIENT].loss;
    assert_eq!((loss.network_duplicates, loss.capture_duplicates, loss.spurious), (1, 0, 0));
}

#[test]
fn a_copy_soon_after_is_one_though_it_was_acknowledged_between() {
    let unnumbered = Talk::new().over_ipv6().with_timestamps();
    // One frame of three segments, of which the middle one comes once more, before the sender's clock is known.
    let again = unnumbered
        .open(0.1, RTT)
        .client(50.0, data(0, 3000).without_push())
        .server(50.01, ack(3000))
        .client(50.3, data(1000, 1000).without_push().tsval(1_000_050))
        .server(50.31, ack(3000).sack(1000, 2000));
    let loss = *again.summary().directions[CLIENT].loss;
    assert_eq!((loss.retransmitted, loss.network_duplicates), (0, 1));
}
