//! Who answered the SYN, and what window scaling both sides agreed on (docs/methods.md, section 9; docs/verdict.md).
//!
//! Subjects: `tcp/connection/nearer.rs`, `tcp/events/offer.rs`, `tcp/verdict/factors/receiver_window.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::events::offer::Scaling;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// The SYN is answered after one time, `flight` segments go a round trip of another, over and over; seen at the client.
fn upload(opening_ms: f64, rtt_ms: f64, flight: i64, rounds: i64) -> Talk {
    uploading(Talk::new().with_timestamps().open(opening_ms, 0.02), opening_ms + 1.0, rtt_ms, flight, rounds, 30_000)
}

fn uploading(talk: Talk, start_ms: f64, rtt_ms: f64, flight: i64, rounds: i64, window: u16) -> Talk {
    // What is sent at one time is 0.1 ms apart; each acknowledgement lets the next segment go.
    let number = flight * rounds;
    let sent_ms = |index: i64| start_ms + (index % flight) as f64 * 0.1 + (index / flight) as f64 * (rtt_ms + 0.02);
    let mut events: Vec<(f64, Segment, usize)> = Vec::new();
    for index in 0..number {
        events.push((sent_ms(index), data(index * 1000, 1000), CLIENT));
        events.push((sent_ms(index) + rtt_ms, ack((index + 1) * 1000).window(window), SERVER));
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    events.into_iter().fold(talk, |talk, (at_ms, segment, side)| match side {
        CLIENT => talk.client(at_ms, segment),
        _ => talk.server(at_ms, segment),
    })
}

fn factor(summary: &ConnectionSummary) -> Option<Factor> {
    summary.verdict().map(|verdict| verdict.factor)
}

#[test]
fn a_syn_answered_nearby_leaves_the_verdict_as_it_is_without() {
    let [near, control] = [1.5, 80.0].map(|opening_ms| upload(opening_ms, 80.0, 85, 30).summary());
    assert_eq!((near.answered_nearer, control.answered_nearer), (Some(true), Some(false)));
    assert_eq!((factor(&near), factor(&control)), (Some(Factor::SendBuffer), Some(Factor::SendBuffer)));
    let verdict = near.verdict().expect("a verdict");
    let said = verdict
        .evidence
        .iter()
        .any(|evidence| evidence.text.contains("a device nearer than the host that acknowledges data"));
    assert!(said, "{:?}", verdict.evidence);
}

#[test]
fn one_round_trip_that_comes_near_the_handshake_is_enough_to_refute_it() {
    let start_ms = 2.5;
    let talk =
        Talk::new().with_timestamps().open(1.5, 0.02).client(start_ms, data(0, 1000)).server(start_ms + 2.0, ack(1000));
    let later = (1..200).fold(talk, |talk, index| {
        let at_ms = 10.0 + index as f64 * 81.0;
        talk.client(at_ms, data(index * 1000, 1000)).server(at_ms + 80.0, ack((index + 1) * 1000))
    });
    assert_eq!(later.summary().answered_nearer, Some(false), "the rest is a queue");
}

#[test]
fn a_few_delayed_acknowledgements_tell_nothing() {
    let talk = Talk::new().with_timestamps().open(1.5, 0.02);
    let lone = (0..50).fold(talk, |talk, index| {
        let at_ms = 10.0 + index as f64 * 100.0;
        talk.client(at_ms, data(index * 300, 300)).server(at_ms + 41.5, ack((index + 1) * 300))
    });
    assert_eq!(lone.summary().answered_nearer, None, "one segment at a time");
    assert_eq!(upload(1.5, 80.0, 10, 1).summary().answered_nearer, None, "one round trip");
}

/// An upload whose window is as large as fits without scaling, at its sender.
fn window_limited(client: Segment, server: Segment) -> ConnectionSummary {
    let talk =
        Talk::new().with_timestamps().client(0.0, client).server(40.0, server.window(65_000)).client(40.1, ack(0));
    uploading(talk, 41.0, 40.0, 65, 40, 65_000).summary()
}

#[test]
fn scaling_that_was_not_agreed_is_named_where_the_window_limits() {
    let stripped = window_limited(syn(), syn_ack().no_scale());
    assert_eq!((stripped.scaling, factor(&stripped)), (Scaling::OfferedNotAgreed, Some(Factor::ReceiverWindow)));
    let verdict = stripped.verdict().expect("a verdict");
    assert!(verdict.sentence.contains("window scaling was offered and not agreed"), "{}", verdict.sentence);
    assert!(
        verdict.what_if.iter().all(|what_if| what_if.change.starts_with("window scaling")),
        "{:?}",
        verdict.what_if
    );
    let without = window_limited(syn().no_scale(), syn_ack().no_scale());
    assert_eq!(without.scaling, Scaling::NotOffered);
    assert!(without.verdict().is_some_and(|verdict| verdict.sentence.contains("offered no window scaling")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A host behind something that answers for it, by any distance that shows; and hosts that answer themselves.
    #[test]
    fn nearer_answers_are_found_and_hosts_of_their_own_are_not(
        opening_ms in 0.3..30.0f64, times in 3.0..40.0f64, flight in 8i64..100,
    ) {
        let rtt_ms = (opening_ms * times).max(opening_ms + 6.0);
        prop_assert_eq!(upload(opening_ms, rtt_ms, flight, 12).summary().answered_nearer, Some(true));
        prop_assert_eq!(upload(rtt_ms, rtt_ms, flight, 12).summary().answered_nearer, Some(false));
    }
}
