//! Which acknowledgements give a round trip, and why the others give none (docs/methods.md, section 4).
//!
//! Subjects: `tcp/rtt/samples.rs`,
//! `tcp/events/acked.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

/// Number of samples, shortest and longest, milliseconds.
fn samples(direction: &DirectionSummary) -> Option<(u64, f64, f64)> {
    let moments = direction.round_trips.as_ref()?.moments;
    Some((moments.count(), moments.min_ns as f64 / 1e6, moments.max_ns as f64 / 1e6))
}

/// Segments without a sample: retransmitted, later covered, held back, not all seen, acknowledged before data.
fn client(talk: Talk) -> (Option<(u64, f64, f64)>, [u32; 5]) {
    let direction = &talk.summary().directions[CLIENT];
    (samples(direction), direction.rejected)
}

#[test]
fn an_acknowledged_segment_gives_a_sample() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(90.5, ack(1000))
        .client(100.0, data(1000, 1000))
        .server(141.0, ack(2000));
    assert_eq!(client(talk), (Some((2, 40.5, 41.0)), [0; 5]));
}

#[test]
fn data_of_the_other_side_acknowledges_too() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 300)).server(90.25, data(0, 500).acking(300));
    assert_eq!(client(talk), (Some((1, 40.25, 40.25)), [0; 5]));
}

#[test]
fn a_delayed_acknowledgement_samples_the_segment_sent_last() {
    let talk =
        Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(53.0, data(1000, 1000)).server(93.0, ack(2000));
    assert_eq!(client(talk), (Some((1, 40.0, 40.0)), [0, 1, 0, 0, 0]));
}

#[test]
fn an_acknowledgement_inside_a_superpacket_samples_it_and_leaves_the_rest() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 5000)).server(90.0, ack(2000)).server(95.0, ack(5000));
    assert_eq!(client(talk), (Some((2, 40.0, 45.0)), [0, 3, 0, 0, 0]), "1 of 2, then 2 of 3 segments without sample");
}

#[test]
fn karn_forbids_samples_of_what_was_sent_twice() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(350.0, data(0, 1000))
        .server(390.0, ack(1000))
        .client(400.0, data(1000, 1000))
        .server(440.0, ack(2000));
    assert_eq!(client(talk), (Some((1, 40.0, 40.0)), [1, 0, 0, 0, 0]));
}

#[test]
fn what_is_acknowledged_with_a_retransmission_gives_no_sample() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .client(350.0, data(0, 1000))
        .server(390.0, ack(2000));
    assert_eq!(client(talk), (None, [2, 0, 0, 0, 0]));
}

#[test]
fn retransmitting_part_of_a_superpacket_spoils_only_that_part() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 3000))
        .server(90.0, ack(1000))
        .client(300.0, data(1000, 1000))
        .server(340.0, ack(2000))
        .server(341.0, ack(3000));
    assert_eq!(client(talk), (Some((2, 40.0, 291.0)), [1, 0, 0, 0, 0]), "the third was sent once, at 50 ms");
}

#[test]
fn a_segment_held_back_behind_a_hole_gives_no_sample() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.1, ack(0).sack(1000, 2000))
        .server(95.0, ack(2000));
    assert_eq!(client(talk), (None, [0, 0, 2, 0, 0]));
}

#[test]
fn without_sack_a_duplicate_acknowledgement_shows_the_hole() {
    let talk = Talk::new()
        .client(0.0, syn().no_sack())
        .server(40.0, syn_ack())
        .client(40.1, ack(0))
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.1, ack(0))
        .server(95.0, ack(2000));
    assert_eq!(client(talk), (None, [0, 0, 2, 0, 0]));
}

#[test]
fn without_sack_an_update_of_the_window_shows_no_hole() {
    let rejected_after = |window: u16| {
        let opened = Talk::new().client(0.0, syn().no_sack()).server(40.0, syn_ack()).client(40.1, ack(0));
        let running = opened.client(50.0, data(0, 1000)).server(90.0, ack(1000).window(500));
        let sent = running.client(100.0, data(1000, 1000)).server(110.0, ack(1000).window(window));
        client(sent.server(140.0, ack(2000))).1
    };
    assert_eq!(rejected_after(501), [0; 5]);
    assert_eq!(rejected_after(500), [0, 0, 1, 0, 0]);
}

#[test]
fn data_the_capture_missed_gives_no_sample() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(2000));
    assert_eq!(client(talk), (None, [0, 0, 0, 1, 0]));
}

#[test]
fn an_acknowledgement_of_half_a_segment_gives_no_sample() {
    let talk =
        Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(50.1, data(1000, 1000)).server(90.0, ack(1500));
    assert_eq!(client(talk), (None, [0, 0, 0, 1, 0]));
}

#[test]
fn an_acknowledgement_recorded_at_an_earlier_time_gives_no_sample() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).set_capture_clock(-100.0).server(90.0, ack(1000));
    assert_eq!(client(talk), (None, [0, 0, 0, 0, 1]));
}

#[test]
fn data_recorded_at_an_earlier_time_than_what_was_sent_before_it_gives_no_sample() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .set_capture_clock(-5.0)
        .client(51.0, data(1000, 1000))
        .server(91.0, ack(2000));
    assert_eq!(client(talk), (None, [0, 2, 0, 0, 0]));
}

#[test]
fn nor_does_it_behind_a_fin() {
    let closed = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(50.1, fin(1000));
    assert_eq!(client(closed.set_capture_clock(-100.0).server(90.0, ack(1000))), (None, [0, 0, 0, 0, 1]));
}

#[test]
fn a_segment_that_was_overtaken_hides_which_one_is_answered() {
    // Between the hosts; the client's first segment comes after its second.
    let talk = Talk::new()
        .open(20.0, 20.0)
        .client(50.0, data(1000, 1000).id(301))
        .client(55.0, data(0, 1000).id(300))
        .server(75.0, ack(2000));
    assert_eq!(client(talk), (None, [0, 2, 0, 0, 0]));
}

#[test]
fn the_acknowledgement_of_a_fin_sent_later_is_no_sample_of_the_data_before_it() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(70.0, fin(1000)).server(110.0, ack(1001));
    assert_eq!(client(talk), (None, [0, 1, 0, 0, 0]));
}

#[test]
fn opening_and_closing_alone_give_no_sample() {
    let talk = Talk::seen_at_client(40.0).client(50.0, fin(0)).server(90.0, fin(0).acking(1)).client(90.1, ack(1));
    assert_eq!(client(talk), (None, [0; 5]));
}

#[test]
fn each_direction_has_its_own_round_trip() {
    let talk = Talk::seen_at_server(40.0)
        .client(50.0, data(0, 300))
        .server(50.2, data(0, 1000).acking(300))
        .client(90.2, ack(1000));
    let directions = talk.summary().directions;
    assert_eq!(samples(&directions[CLIENT]), Some((1, 0.2, 0.2)), "from the capture to the server and back");
    assert_eq!(samples(&directions[SERVER]), Some((1, 40.0, 40.0)), "from the capture to the client and back");
}
