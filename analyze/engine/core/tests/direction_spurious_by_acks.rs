//! Needless retransmissions where the receiver reports no duplicates: shown by what its acknowledgements answer (RFC 9293 section
//! 3.10.7.4, RFC 5681 section 4.2).
//!
//! Subjects: `tcp/loss/awaited.rs`.

use crate::playbook::*;

const RTT: f64 = 40.0;

/// Beside the client, without SACK: one round trip measured, and `segments` more, of which the first is retransmitted by a timeout.
fn timed_out(talk: Talk, segments: i64) -> Talk {
    let opened = talk
        .client(0.0, syn().no_sack())
        .server(RTT, syn_ack().no_sack())
        .client(RTT + 0.1, ack(0))
        .client(50.0, data(0, 1000))
        .server(50.0 + RTT, ack(1000));
    (1..=segments)
        .fold(opened, |talk, n| talk.client(100.0 + 0.1 * n as f64, data(n * 1000, 1000)))
        .client(400.0, data(1000, 1000))
}

fn without_sack(segments: i64) -> Talk {
    timed_out(Talk::new(), segments)
}

/// Retransmitted and needless segments of the client, and lost ones.
fn counts(talk: &Talk) -> (u32, u32, u64) {
    let summary = talk.summary();
    let direction = &summary.directions[CLIENT];
    (direction.loss.retransmitted, direction.loss.spurious, direction.lost_inferred())
}

#[test]
fn a_repeat_that_the_receiver_had_is_answered_by_an_acknowledgement_of_nothing_more() {
    let both = without_sack(4)
        .server(440.0, ack(3000))
        .client(440.1, data(3000, 1000))
        .client(440.2, data(4000, 1000))
        .server(480.1, ack(5000));
    assert_eq!(counts(&both), (3, 0, 3));
    assert_eq!(counts(&both.server(480.2, ack(5000))), (3, 1, 2), "the second came twice");
}

#[test]
fn what_acknowledgements_alone_tell_of_needless_repeats_may_be_too_little() {
    let caveat = |talk: &Talk| talk.summary().directions[CLIENT].caveat();
    let needed = without_sack(4).server(440.0, ack(5000));
    assert_eq!((counts(&needed), caveat(&needed)), ((1, 0, 1), None));
    let both = without_sack(4)
        .server(440.0, ack(3000))
        .client(440.1, data(3000, 1000))
        .client(440.2, data(4000, 1000))
        .server(480.1, ack(5000))
        .server(480.2, ack(5000));
    assert_eq!((counts(&both), caveat(&both)), ((3, 1, 2), Some("no_duplicate_reports")));
}

#[test]
fn answers_that_come_when_the_connection_is_closed_still_count() {
    let talk = without_sack(4)
        .server(440.0, ack(3000))
        .client(440.1, data(3000, 1000))
        .client(440.2, data(4000, 1000).and_fin())
        .server(480.1, fin(0).acking(5001))
        .client(480.2, ack(1))
        .server(480.3, ack(5001));
    assert_eq!(counts(&talk), (3, 1, 2));
}

#[test]
fn an_acknowledgement_of_nothing_more_shows_a_hole_if_the_repeats_before_were_answered() {
    let talk = without_sack(4)
        .server(440.0, ack(5000))
        .each(0..4, |talk, n| talk.client(440.1 + 0.1 * f64::from(n), data(5000 + 1000 * i64::from(n), 1000)))
        .each(0..3, |talk, n| talk.server(480.3 + 0.1 * f64::from(n), ack(5000)));
    assert_eq!(counts(&talk), (1, 0, 1), "the next segment is missing");
}

#[test]
fn an_answer_to_what_was_sent_once_closes_the_repeats_before_it() {
    let talk = without_sack(4)
        .server(440.0, ack(3000))
        .client(440.1, data(3000, 1000))
        .client(440.2, data(4000, 1000))
        .server(480.1, ack(5000))
        .client(480.2, data(5000, 1000))
        .client(480.3, data(6000, 1000))
        .client(480.4, data(7000, 1000))
        .server(520.2, ack(6000))
        .server(520.4, ack(6000));
    assert_eq!(counts(&talk), (3, 0, 3), "it answers the segment behind a new hole");
}

#[test]
fn what_is_acknowledged_sooner_than_any_answer_comes_was_there_before() {
    let talk = without_sack(6)
        .server(440.0, ack(3000))
        .client(440.1, data(3000, 1000))
        .client(440.2, data(4000, 1000))
        .server(440.6, ack(5000))
        .client(440.7, data(5000, 1000))
        .server(441.0, ack(7000));
    assert_eq!(counts(&talk), (4, 4, 0), "nor was the first needed: what came next was sent before it");
}

#[test]
fn a_repeat_is_not_answered_before_those_that_were_sent_before_it() {
    // The path gives back what it had held by and by: in the end more than a round trip later than it was retransmitted.
    let held = (0..28).fold(without_sack(60).server(440.0, ack(3000)), |talk, n| {
        let (at_ms, again) = (440.1 + 5.0 * n as f64, |offset: i64| data(3000 + 2000 * n + offset, 1000));
        talk.client(at_ms, again(0)).client(at_ms + 0.1, again(1000)).server(at_ms + 4.0, ack(4000 + 1000 * n))
    });
    // Up to 31,000 it is acknowledged by now.
    assert_eq!(counts(&held), (57, 29, 28));
}

#[test]
fn of_several_repeats_of_one_segment_all_are_needless_that_are_stamped_after_what_is_echoed() {
    let thrice = |echoed: u32| {
        let talk = timed_out(Talk::new().with_timestamps(), 2)
            .client(800.0, data(1000, 1000))
            .client(1600.0, data(1000, 1000))
            .server(1640.0, ack(3000).tsecr(echoed));
        counts(&talk)
    };
    assert_eq!(thrice(1_000_100), (3, 3, 0), "the original");
    assert_eq!(thrice(1_000_400), (3, 2, 1), "the first repeat");
    assert_eq!(thrice(1_001_600), (3, 0, 3), "the last");
}

#[test]
fn a_report_of_duplicates_is_about_the_repeat_that_its_own_echo_shows_to_be_needless() {
    let talk = Talk::new()
        .with_timestamps()
        .open(RTT, 0.1)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .client(300.0, data(0, 1000))
        .client(700.0, data(0, 1000))
        .server(740.0, ack(2000).tsecr(1_000_300).sack(0, 1000));
    assert_eq!(counts(&talk), (2, 1, 1), "the other one was answered");
}

#[test]
fn with_sack_but_without_reports_of_duplicates_the_same_holds() {
    let talk = Talk::seen_at_client(RTT)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .client(400.0, data(0, 1000))
        .server(440.0, ack(2000))
        .server(440.1, ack(2000));
    assert_eq!(counts(&talk), (1, 0, 1), "what it repeated may have been lost, and a copy have come");
    let twice = Talk::seen_at_client(RTT)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .client(400.0, data(0, 1000))
        .client(400.1, data(1000, 1000))
        .server(440.0, ack(2000))
        .server(440.1, ack(2000));
    assert_eq!(counts(&twice), (2, 1, 1));
}

#[test]
fn where_reports_come_a_repeat_without_one_was_needed() {
    let reported = Talk::seen_at_client(RTT)
        .client(50.0, data(0, 1000))
        .server(90.0, ack(1000))
        .client(95.0, data(0, 1000))
        .server(135.0, ack(1000).sack(0, 1000));
    assert_eq!(counts(&reported), (1, 1, 0));
    let twice = reported
        .client(150.0, data(1000, 1000))
        .client(150.1, data(2000, 1000))
        .client(500.0, data(1000, 1000))
        .client(500.1, data(2000, 1000))
        .server(540.0, ack(3000))
        .server(540.1, ack(3000));
    assert_eq!(counts(&twice), (3, 1, 2), "what the second acknowledgement repeats tells nothing");
}
