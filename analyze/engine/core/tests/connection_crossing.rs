//! Openings of both sides, and openings whose last step was lost (docs/methods.md, section 9).
//!
//! Subjects: `tcp/connection/crossing.rs`, `tcp/connection/handshake.rs`, `tcp/flow/resumed.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// A SYN-ACK of the client, in answer to the server's SYN.
fn client_syn_ack() -> Segment {
    syn().acking(0)
}

/// Thirty segments of the server, each acknowledged at once, from `start_ms` on; seen at the client.
fn download(talk: Talk, start_ms: f64) -> Talk {
    (0..30).fold(talk, |talk, number| {
        let at_ms = start_ms + f64::from(number);
        talk.server(at_ms, data(i64::from(number) * 1000, 1000)).client(at_ms + 0.05, ack(i64::from(number + 1) * 1000))
    })
}

/// The only connection; `loss` of both sides has nothing to report beside `repeats` of SYN and SYN-ACK.
fn only(talk: Talk, repeats: [u32; 2]) -> ConnectionSummary {
    let summaries = talk.analysis().connections;
    assert_eq!(summaries.len(), 1, "one connection");
    let summary = *summaries.into_iter().next().expect("one");
    for (direction, syn) in summary.directions.iter().zip(repeats) {
        let loss = &direction.loss;
        assert_eq!((loss.syn, loss.capture_duplicates, loss.network_duplicates), (syn, 0, 0));
        assert_eq!((loss.retransmitted, direction.unseen_acknowledged_bytes), (0, 0));
    }
    assert!(summary.handshake_complete);
    assert_eq!(summary.ports, [40_000, 443], "who sent the first SYN");
    summary
}

/// Both SYNs cross: RFC 9293, figure 7, at the client.
fn crossed(talk: Talk, rtt_ms: f64) -> Talk {
    talk.client(0.0, syn())
        .server(rtt_ms / 2.0, syn())
        .client(rtt_ms / 2.0 + 0.1, client_syn_ack())
        .server(rtt_ms + 0.1, syn_ack())
}

#[test]
fn syns_that_cross_repeat_nothing_with_and_without_identifications() {
    for talk in [Talk::new(), Talk::new().without_identifications(), Talk::new().with_timestamps()] {
        let talk = crossed(talk, 40.0).client(41.0, data(0, 300)).server(81.0, ack(300));
        let summary = only(download(talk, 90.0), [0, 0]);
        assert_eq!(summary.handshake_loops_ns(), [Some(ms(0.1)), Some(ms(40.1))]);
        assert_eq!(summary.directions[SERVER].unique_payload_bytes, 30_000);
    }
}

#[test]
fn a_crossed_syn_ack_that_comes_again_is_a_repeat() {
    let talk = Talk::new()
        .client(0.0, syn())
        .server(20.0, syn())
        .client(20.1, client_syn_ack())
        .client(1020.1, client_syn_ack())
        .server(1040.1, syn_ack());
    only(download(talk.client(1041.0, data(0, 300)), 1090.0), [1, 0]);
}

#[test]
fn a_crossed_syn_ack_captured_twice_is_a_copy() {
    let talk = crossed(Talk::new(), 40.0).copy_of(3, 40.11).client(41.0, data(0, 300));
    let summary = download(talk, 90.0).summary();
    assert_eq!((summary.directions[SERVER].loss.syn, summary.directions[SERVER].loss.capture_duplicates), (0, 1));
}

#[test]
fn a_server_that_acknowledges_before_its_own_syn_opens_one_connection() {
    let talk = Talk::new()
        .client(0.0, syn())
        .server(40.0, empty(-1000).acking(0))
        .server(40.5, syn())
        .client(40.6, client_syn_ack())
        .server(80.6, ack(0));
    let summary = only(download(talk.client(81.0, data(0, 300)), 125.0), [0, 0]);
    assert_eq!(summary.handshake_loops_ns(), [Some(ms(0.1)), Some(ms(40.0))]);
}

#[test]
fn a_syn_of_the_server_without_acknowledgement_opens_one_connection() {
    let talk = Talk::new().client(0.0, syn()).server(40.5, syn()).client(40.6, client_syn_ack()).server(80.6, ack(0));
    only(download(talk.client(81.0, data(0, 300)), 125.0), [0, 0]);
}

#[test]
fn a_syn_recorded_behind_what_followed_it_begins_no_other_connection() {
    for (before, late_ms) in [(2, 41.05), (3, 41.1), (20, 110.0), (usize::MAX, 900.0)] {
        for talk in [Talk::new(), Talk::new().with_timestamps(), Talk::new().over_ipv6()] {
            let on_time = download(
                talk.client(0.0, syn()).server(40.0, syn_ack()).client(40.1, ack(0)).client(41.0, data(0, 300)),
                85.0,
            );
            let mut frames = on_time.frames().to_vec();
            let late = frames.remove(0);
            frames.insert(before.min(frames.len()), late.clone());
            let expected = on_time.summary();
            // Stored late, and stamped late.
            for stamped_ns in [late.time_ns, late.time_ns + ms(late_ms)] {
                let mut frames = frames.clone();
                frames
                    .iter_mut()
                    .filter(|frame| frame.bytes == late.bytes)
                    .for_each(|frame| frame.time_ns = stamped_ns);
                let mut analysis = analysis_of(&frames, &Default::default());
                assert_eq!(analysis.connections.len(), 1, "{before}");
                let found = analysis.connections.remove(0);
                assert_eq!(
                    (found.addresses, found.ports, found.handshake_complete),
                    (expected.addresses, expected.ports, true)
                );
                for (direction, expected) in found.directions.iter().zip(&expected.directions) {
                    assert_eq!(direction.unique_payload_bytes, expected.unique_payload_bytes);
                    assert_eq!((direction.packets, direction.loss.syn), (expected.packets, 0), "{before}");
                    assert_eq!((direction.loss.retransmitted, direction.loss.unacceptable), (0, 0));
                }
                if stamped_ns > late.time_ns {
                    assert_eq!(found.handshake_rtt_ns(), None, "when the SYN passed nobody knows");
                }
            }
        }
    }
}

#[test]
fn a_syn_with_another_number_opens_another_connection_in_mid_stream() {
    let talk = Talk::new().server(40.0, syn_ack()).client(40.1, ack(0)).client(41.0, data(0, 300));
    let [client, server] = talk.isn;
    let again = talk.server(81.0, ack(300)).with_isn(client + 70_000, server).client(5000.0, syn());
    assert_eq!(again.analysis().connections.len(), 2);
}

#[test]
fn a_syn_of_the_server_after_data_opens_another_connection() {
    let talk = Talk::seen_at_client(40.0).client(41.0, data(0, 300)).server(81.0, ack(300).and_fin());
    let talk = talk.client(81.1, fin(300)).server(121.0, ack(301)).server(5000.0, syn());
    assert_eq!(talk.analysis().connections.len(), 2);
}

/// The SYN-ACK comes twice and looks alike; the client's second acknowledgement may report it.
fn answered_twice(reports: bool) -> Talk {
    let talk = Talk::new().without_identifications().client(0.0, syn()).server(52.0, syn_ack()).client(52.1, ack(0));
    let again = if reports { ack(0).sack(-1, 0) } else { ack(0) };
    download(talk.server(88.0, syn_ack()).client(88.1, again).client(90.0, data(0, 300)), 140.0)
}

#[test]
fn a_syn_ack_that_its_receiver_reports_twice_is_no_copy_of_the_capture() {
    let summary = only(answered_twice(true), [0, 1]);
    assert_eq!((summary.handshake_rtt_ns(), summary.directions[SERVER].packets), (Some(ms(52.1)), 32));
}

#[test]
fn a_syn_ack_that_nobody_reports_is_a_copy() {
    let loss = answered_twice(false).summary().directions[SERVER].loss.clone();
    assert_eq!((loss.syn, loss.capture_duplicates), (0, 1));
}

/// Seen at the server: of the first flight only what a timer sends again arrives, then two segments a round trip.
fn acknowledgement_lost(talk: Talk, rto_ms: f64, rtt_ms: f64, lost: u16) -> Talk {
    let talk = talk.client(0.0, syn().id(100)).server(0.01, syn_ack());
    (0..20).fold(talk, |talk, number| {
        let round = f64::from((number + 1) / 2);
        // Two of a round stand in the order of their times, as all records of a capture.
        let within_ms = if number == 0 { 0.0 } else { 0.02 - f64::from(number % 2) * 0.01 };
        let at_ms = rto_ms + round * rtt_ms + within_ms;
        let segment = data(i64::from(number) * 1000, 1000).id(101 + lost + number as u16);
        talk.client(at_ms, segment).server(at_ms + 0.005, ack(i64::from(number + 1) * 1000))
    })
}

#[test]
fn data_after_a_timeout_is_no_acknowledgement_of_the_handshake() {
    let summary = acknowledgement_lost(Talk::new(), 235.0, 3.0, 11).summary();
    assert_eq!(summary.handshake_loops_ns(), [Some(ms(3.005)), Some(ms(0.01))], "clocked by the first acknowledgement");
    let limits = summary.limits(CLIENT).expect("judged");
    let [setup, timeout] = [Factor::Setup, Factor::TimeoutWait].map(|factor| limits.shares[factor].time_ns as i64);
    assert!(setup < ms(1.0) && (ms(230.0)..ms(240.0)).contains(&timeout), "{setup} {timeout}");
}

#[test]
fn late_data_whose_acknowledgement_alone_was_lost_waited_for_nobody() {
    let summary = acknowledgement_lost(Talk::new(), 235.0, 3.0, 1).summary();
    assert_eq!((summary.handshake_complete, summary.handshake_rtt_ns()), (true, None));
    let limits = summary.limits(CLIENT).expect("judged");
    assert_eq!(limits.shares[Factor::TimeoutWait].time_ns, 0);
}

#[test]
fn an_acknowledgement_with_data_in_time_is_the_first() {
    let talk = Talk::new().client(0.0, syn()).server(0.01, syn_ack()).client(40.0, data(0, 500));
    assert_eq!(talk.summary().handshake_rtt_ns(), Some(ms(40.0)));
}

#[test]
fn an_empty_acknowledgement_counts_however_late() {
    let talk = Talk::new().client(0.0, syn()).server(0.01, syn_ack()).client(700.01, ack(0));
    assert_eq!(talk.summary().handshake_rtt_ns(), Some(ms(700.01)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Numbers, times, options and the place are drawn; the truth is one connection without retransmissions.
    #[test]
    fn crossing_openings_make_one_connection(
        isn in any::<[u32; 2]>(), rtt_ms in 1.0..300.0f64, identified: bool, timestamps: bool, split: bool,
    ) {
        let mut talk = Talk::new();
        talk.isn = isn;
        if timestamps { talk = talk.with_timestamps(); }
        if !identified { talk = talk.without_identifications(); }
        let talk = if split {
            talk.client(0.0, syn()).server(rtt_ms, syn()).client(rtt_ms + 0.1, client_syn_ack()).server(2.0 * rtt_ms, ack(0))
        } else {
            crossed(talk, rtt_ms)
        };
        let start_ms = 2.0 * rtt_ms + 1.0;
        let summary = only(download(talk.client(start_ms, data(0, 300)), start_ms + rtt_ms), [0, 0]);
        prop_assert_eq!(summary.directions[SERVER].unique_payload_bytes, 30_000);
    }

    /// The round trip that the lost acknowledgement would have shown, and the timeout behind it.
    #[test]
    fn a_lost_acknowledgement_is_never_a_round_trip(
        rto_ms in 201.0..1200.0f64, rtt_ms in 0.5..80.0f64, lost in 2u16..40, timestamps: bool,
    ) {
        let talk = if timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let summary = acknowledgement_lost(talk, rto_ms, rtt_ms, lost).summary();
        let client_ns = summary.handshake_loops_ns()[CLIENT].unwrap_or(0);
        prop_assert!((client_ns - ms(rtt_ms)).abs() <= ms(0.02), "{} of {} ms", client_ns, rtt_ms);
    }
}
