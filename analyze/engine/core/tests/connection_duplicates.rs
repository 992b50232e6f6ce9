//! Packets captured twice, copies made by the network, keep-alives and probes: what is no retransmission (docs/methods.md,
//! sections 2 and 5).
//!
//! Subjects: `tcp/events/copy.rs`, `tcp/capture/recent_packets.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::loss::retransmissions::LossCounters;

fn client(talk: &Talk) -> LossCounters {
    *talk.summary().directions[CLIENT].loss
}

/// Retransmitted, captured twice, copied by the network.
fn counts(talk: &Talk) -> (u32, u32, u32) {
    let loss = client(talk);
    (loss.retransmitted, loss.capture_duplicates, loss.network_duplicates)
}

fn one_segment() -> Talk {
    Talk::seen_at_client(40.0).client(50.0, data(0, 1000))
}

#[test]
fn the_same_packet_within_five_milliseconds_was_captured_twice() {
    let twice = one_segment().again(55.0);
    assert_eq!(counts(&twice), (0, 1, 0));
    let (once, twice) = (one_segment().summary(), twice.summary());
    let of = |summary: &vmtrace_core::tcp::summary::summary::ConnectionSummary| {
        let direction = &summary.directions[CLIENT];
        (direction.packets, direction.wire_bytes, direction.payload_bytes, direction.data_segments)
    };
    assert_eq!(of(&twice), of(&once), "it is in no other count");
}

#[test]
fn the_same_packet_later_was_sent_twice() {
    assert_eq!(counts(&one_segment().again(55.1)), (1, 0, 0));
}

#[test]
fn where_the_sender_counts_identifications_a_copy_may_have_waited_in_a_bridge() {
    let sent = |numbered: bool| {
        Talk::seen_at_client(40.0).each(0..5, |talk, n| {
            let id = if numbered { 200 + n as u16 } else { 200 };
            talk.client(50.0 + 0.1 * n as f64, data(n * 1000, 1000).id(id))
        })
    };
    let all_again = |at_ms: f64| sent(true).each(0..5, |talk, n| talk.copy_of(3 + n, at_ms + 0.1 * n as f64));
    assert_eq!(counts(&all_again(100.0)), (0, 5, 0));
    assert_eq!(counts(&all_again(100.5)), (5, 0, 0));
    assert_eq!(counts(&sent(false).again(100.0)), (1, 0, 0));
}

#[test]
fn another_identification_is_another_packet() {
    assert_eq!(counts(&one_segment().client(50.5, data(0, 1000))), (1, 0, 0));
}

#[test]
fn over_ipv6_the_checksum_tells_packets_apart() {
    let base = || Talk::new().over_ipv6().with_timestamps().open(40.0, 0.1).client(50.0, data(0, 1000));
    assert_eq!(counts(&base().again(51.0)), (0, 1, 0));
    assert_eq!(counts(&base().client(51.0, data(0, 1000).tsval(1_000_051))), (1, 0, 0));
    let other_window = base().client(51.0, data(0, 1000).tsval(1_000_050).tsecr(2_000_040).window(999));
    assert_eq!(counts(&other_window), (1, 0, 0));
}

#[test]
fn without_identification_a_repeat_that_loss_explains_is_a_retransmission() {
    let base = || Talk::new().over_ipv6().client(0.0, syn().no_sack()).server(1.0, syn_ack()).client(1.1, ack(0));
    let sent = || base().client(50.0, data(0, 1000)).client(50.1, data(1000, 1000));
    assert_eq!(counts(&sent().client(52.0, data(0, 1000))), (0, 1, 0));
    assert_eq!(counts(&sent().server(51.0, ack(0)).client(52.0, data(0, 1000))), (1, 0, 0));
}

#[test]
fn a_report_of_duplicate_data_shows_the_network_made_the_copy() {
    let talk = one_segment().again(50.5).server(90.0, ack(1000)).server(90.5, ack(1000).sack(0, 1000));
    assert_eq!(counts(&talk), (0, 0, 1));
}

#[test]
fn a_few_copies_among_acknowledgements_are_the_networks_and_many_the_captures() {
    let base = || {
        Talk::seen_at_client(40.0)
            .each(0..20, |talk, n| talk.server(60.0 + f64::from(n) * 10.0, data(i64::from(n) * 1000, 1000)))
    };
    let few = base().client(300.0, ack(20_000)).client(310.0, ack(20_000)).again(310.1).client(320.0, ack(20_000));
    let few = few.each(0..3, |talk, n| talk.client(330.0 + f64::from(n) * 10.0, ack(20_000)));
    assert_eq!(counts(&few), (0, 0, 1));
    let many = base().client(300.0, ack(20_000)).again(300.1);
    assert_eq!(counts(&many), (0, 1, 0));
}

#[test]
fn a_syn_captured_twice_is_not_repeated() {
    let talk = Talk::new()
        .client(0.0, syn())
        .again(0.2)
        .server(40.0, syn_ack())
        .again(40.2)
        .client(40.3, ack(0))
        .client(50.0, data(0, 100));
    let summary = talk.summary();
    assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.syn), [0, 0]);
    assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.capture_duplicates), [1, 1]);
    assert_eq!(summary.handshake_rtt_ns(), Some(ms(40.3)));
}

#[test]
fn copies_are_counted_for_the_input() {
    assert_eq!(one_segment().again(50.5).analysis().inputs[0].duplicates, 1);
}

fn acknowledged() -> Talk {
    one_segment().server(90.0, ack(1000))
}

#[test]
fn an_empty_segment_one_below_what_is_acknowledged_is_a_keep_alive() {
    let talk = acknowledged().client(5_000.0, empty(999)).server(5_040.0, ack(1000));
    let loss = client(&talk);
    assert_eq!((loss.probes, loss.retransmitted), (1, 0));
}

#[test]
fn a_keep_alive_may_repeat_the_last_byte() {
    let talk = acknowledged().client(5_000.0, data(999, 1)).server(5_040.0, ack(1000));
    let loss = client(&talk);
    assert_eq!((loss.probes, loss.retransmitted, loss.spurious), (1, 0, 0));
    assert_eq!(talk.summary().directions[CLIENT].unique_payload_bytes, 1000);
}

#[test]
fn the_last_byte_again_before_it_is_acknowledged_is_a_retransmission() {
    let talk = one_segment().client(300.0, data(999, 1)).server(340.0, ack(1000));
    let loss = client(&talk);
    assert_eq!((loss.probes, loss.retransmitted), (0, 1));
}

#[test]
fn into_a_closed_window_go_probes() {
    let empty_ones = one_segment()
        .server(90.0, ack(1000).window(0))
        .client(300.0, empty(999))
        .server(340.0, ack(1000).window(0))
        .client(700.0, empty(999));
    assert_eq!(client(&empty_ones).probes, 2);
    let with_a_byte = one_segment()
        .server(90.0, ack(1000).window(0))
        .client(300.0, data(1000, 1))
        .server(340.0, ack(1000).window(0))
        .client(700.0, data(1000, 1));
    let loss = client(&with_a_byte);
    assert_eq!((loss.probes, loss.retransmitted), (2, 0), "a byte into a closed window, the first time too");
}

#[test]
fn a_fin_sent_again_is_no_data_sent_again() {
    let talk = acknowledged().client(100.0, fin(1000)).client(400.0, fin(1000)).client(900.0, fin(1000));
    let loss = client(&talk);
    assert_eq!((loss.fin, loss.retransmitted), (2, 0));
}

#[test]
fn a_syn_ack_sent_again_is_counted_for_its_side() {
    let talk = Talk::new()
        .client(0.0, syn())
        .client(1000.0, syn())
        .client(3000.0, syn())
        .server(3040.0, syn_ack())
        .server(4040.0, syn_ack())
        .client(4040.1, ack(0));
    let summary = talk.summary();
    assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.syn), [2, 1]);
    assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.retransmitted), [0, 0]);
}

#[test]
fn of_data_that_the_capture_missed_a_report_does_not_tell_who_made_the_copy() {
    let reported = |talk: Talk| {
        let talk = talk.client(50.1, data(1000, 1000)).server(90.1, ack(2000)).server(90.2, ack(2000).sack(0, 1000));
        talk.summary().directions[CLIENT].loss.network_duplicates
    };
    assert_eq!(reported(Talk::seen_at_client(40.0).client(50.0, data(0, 1000))), 1);
    assert_eq!(reported(Talk::seen_at_client(40.0)), 0);
}

#[test]
fn a_syn_like_the_one_before_that_gets_a_syn_ack_of_its_own_has_arrived() {
    let twice = || Talk::new().client(0.0, syn()).again(0.5).server(10.0, syn_ack());
    let counts = |talk: &Talk| client(&talk.clone().client(1020.0, ack(0)).client(1030.0, data(0, 100)));
    let both = twice().server(10.5, syn_ack());
    assert_eq!((counts(&both).syn, counts(&both).capture_duplicates), (1, 0));
    let copied = twice().again(10.5);
    assert_eq!((counts(&copied).syn, counts(&copied).capture_duplicates), (0, 1), "both were captured twice");
    let by_timer = twice().server(1010.0, syn_ack());
    assert_eq!((counts(&by_timer).syn, counts(&by_timer).capture_duplicates), (0, 1), "the SYN-ACK was lost");
}
