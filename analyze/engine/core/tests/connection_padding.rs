//! Zeros that pad short frames, counted into the IP length: no data. Short segments of zeros that are data stay data.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// An acknowledgement with so many zeros behind it that its IP length counts, as of a padded frame.
fn padded(position: i64, start: i64, zeros: u32) -> Segment {
    let acknowledging = Segment { start: Some(start), ..ack(position) };
    if zeros == 0 { acknowledging } else { acknowledging.content(&vec![0; zeros as usize]) }
}

/// So many requests of 200 bytes and responses of a segment, all pure acknowledgements padded.
fn exchanges(talk: Talk, number: i64, [client_zeros, server_zeros]: [u32; 2], rtt_ms: f64) -> Talk {
    let talk = talk.client(0.0, syn()).server(rtt_ms, syn_ack()).client(rtt_ms + 0.1, padded(0, 0, client_zeros));
    let talk = talk.each(0..number, |talk, number| {
        let (at_ms, asked, got) = (rtt_ms + 1.0 + number as f64 * (rtt_ms + 300.0), number * 200, number * 1000);
        talk.client(at_ms, data(asked, 200).acking(got))
            .server(at_ms + rtt_ms, padded(asked + 200, got, server_zeros))
            .server(at_ms + rtt_ms + 3.0, data(got, FULL).acking(asked + 200))
            .client(at_ms + rtt_ms + 3.3, padded(got + 1000, asked + 200, client_zeros))
    });
    let (end_ms, asked, got) = (rtt_ms + 1.0 + number as f64 * (rtt_ms + 300.0), number * 200, number * 1000);
    talk.client(end_ms, fin(asked).acking(got))
        .server(end_ms + rtt_ms, fin(got).acking(asked + 1))
        .client(end_ms + rtt_ms + 0.1, padded(got + 1, asked + 1, client_zeros))
}

fn told(summary: &ConnectionSummary) -> String {
    let direction = |side: usize| {
        let direction = &summary.directions[side];
        let trips = direction.round_trips.as_ref().map(|trips| trips.moments);
        format!(
            "{} {} {} {:?} {trips:?} {:?}",
            direction.packets,
            direction.data_packets,
            direction.unique_payload_bytes,
            direction.loss,
            direction.goodput_bps()
        )
    };
    format!("{:?} {} {}", summary.close, direction(CLIENT), direction(SERVER))
}

#[test]
fn zeros_behind_every_acknowledgement_are_no_data() {
    let summary = exchanges(Talk::new(), 30, [2, 6], 24.0).summary();
    let [client, server] = &summary.directions;
    assert_eq!([client.unique_payload_bytes, server.unique_payload_bytes], [6_000, 30_000]);
    assert_eq!([client.loss.retransmitted, server.loss.retransmitted], [0, 0]);
    assert_eq!(told(&summary), told(&exchanges(Talk::new(), 30, [0, 0], 24.0).summary()));
}

#[test]
fn zeros_that_the_peer_acknowledges_are_data() {
    let opened = Talk::seen_at_client(40.0).client(50.0, data(0, 3).without_push().content(&[0; 3]));
    let answered = opened.clone().server(90.0, ack(3)).client(100.0, data(3, 500)).server(140.0, ack(503)).summary();
    let goes_on = opened.client(50.5, data(3, 500)).server(90.0, ack(503)).summary();
    for summary in [answered, goes_on] {
        let client = &summary.directions[CLIENT];
        assert_eq!((client.unique_payload_bytes, client.data_packets, client.loss.retransmitted), (503, 2, 0));
        assert_eq!((client.packets, client.unseen_acknowledged_bytes), (4, 0));
    }
}

#[test]
fn pushed_zeros_and_other_bytes_are_data_at_once() {
    for segment in [
        data(0, 6).content(&[0; 6]),
        data(0, 6).without_push().content(b"zeros."),
        data(0, 7).without_push().content(&[0; 7]),
    ] {
        let client = &Talk::seen_at_client(40.0).client(50.0, segment).summary().directions[CLIENT];
        assert!(client.unique_payload_bytes >= 6);
    }
}

proptest! {
    #![proptest_config(captures::cases(40))]

    #[test]
    fn padding_of_any_length_changes_nothing(number in 1i64..20, client in 0u32..7, server in 0u32..7, rtt_ms in 0.5..250.0) {
        let shown = exchanges(Talk::new(), number, [client, server], rtt_ms).summary();
        prop_assert_eq!(told(&shown), told(&exchanges(Talk::new(), number, [0, 0], rtt_ms).summary()));
    }
}
