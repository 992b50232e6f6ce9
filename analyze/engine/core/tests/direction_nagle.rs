//! Small writes that Nagle's algorithm keeps back until delayed acknowledgements come (docs/verdict.md).
//!
//! Subjects: `tcp/sender/nagle.rs`, `tcp/verdict/factors/nagle_delayed_ack.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;

const RTT: f64 = 20.0;
const DELAY: f64 = 40.0;

/// When an exchange begins, ms.
fn at(exchange: i64) -> f64 {
    100.0 + 200.0 * exchange as f64
}

/// Beside the client, which asks in two writes of 200 bytes, ten times, after an answer that was not delayed. `second` adds what
/// follows on the acknowledgement of the first write, which came so late.
fn exchanges(late_ms: f64, second: impl Fn(Talk, i64, f64) -> Talk) -> Talk {
    let first = Talk::seen_at_client(RTT).client(50.0, data(0, 200)).server(50.0 + RTT, data(0, 100).acking(200));
    first.each(0..10, |talk, n| {
        let (asked, answered) = (200 + 400 * n, 100 + 100 * n);
        let came_ms = at(n) + RTT + late_ms;
        let talk = talk.client(at(n), data(asked, 200).acking(answered)).server(came_ms, ack(asked + 200));
        let talk = second(talk, asked + 200, came_ms);
        talk.server(at(n) + 150.0, data(answered, 100).acking(asked + 400))
    })
}

fn written(behind_ms: f64) -> impl Fn(Talk, i64, f64) -> Talk {
    move |talk, start, came_ms| talk.client(came_ms + behind_ms, data(start, 200))
}

/// How many waits, and how late the acknowledgements were in all, ms.
fn waits(talk: &Talk) -> Option<(u32, f64)> {
    let summary = talk.summary();
    summary.directions[CLIENT].nagle_waits().map(|waits| (waits.count, (waits.time_ns as f64 / 1e6).round()))
}

#[test]
fn a_second_write_right_behind_a_late_acknowledgement_was_kept_back() {
    assert_eq!(waits(&exchanges(DELAY, written(0.05))), Some((10, 10.0 * DELAY)));
}

#[test]
fn an_application_that_writes_at_another_time_was_not_kept_back() {
    assert_eq!(waits(&exchanges(DELAY, written(2.0))), None);
}

#[test]
fn acknowledgements_that_come_at_once_make_nobody_wait_for_long() {
    assert_eq!(waits(&exchanges(0.0, written(0.05))), None);
}

#[test]
fn a_full_segment_is_not_kept_back_by_nagle() {
    let full = |talk: Talk, start: i64, came_ms: f64| talk.client(came_ms + 0.05, data(start, 1000));
    let talk = Talk::seen_at_client(RTT).client(50.0, data(0, 200)).server(50.0 + RTT, data(0, 100).acking(200));
    let talk = talk.each(0..10, |talk, n| {
        let (asked, answered) = (200 + 1200 * n, 100 + 100 * n);
        let came_ms = at(n) + RTT + DELAY;
        let talk = talk.client(at(n), data(asked, 200).acking(answered)).server(came_ms, ack(asked + 200));
        full(talk, asked + 200, came_ms).server(at(n) + 150.0, data(answered, 100).acking(asked + 1200))
    });
    assert_eq!(waits(&talk), None);
}

#[test]
fn what_follows_data_of_the_other_side_answers_that() {
    // Its acknowledgement comes late because it comes with an answer, upon which the client asks again.
    let talk = Talk::seen_at_client(RTT).client(50.0, data(0, 200)).server(50.0 + RTT, data(0, 100).acking(200));
    let talk = talk.each(0..10, |talk, n| {
        let at_ms = at(0) + (RTT + DELAY) * n as f64;
        talk.client(at_ms, data(200 + 200 * n, 200).acking(100 + 100 * n))
            .server(at_ms + RTT + DELAY - 0.05, data(100 + 100 * n, 100).acking(400 + 200 * n))
    });
    assert_eq!(waits(&talk), None);
}

#[test]
fn two_prove_nothing_and_neither_does_a_few_among_many() {
    let some = |kept_back: i64| {
        exchanges(DELAY, move |talk, start, came_ms| {
            let exchange = (start - 400) / 400;
            written(if exchange < kept_back { 0.05 } else { 5.0 })(talk, start, came_ms)
        })
    };
    assert_eq!([2, 4, 5].map(|kept_back| waits(&some(kept_back)).map(|(count, _)| count)), [None, None, Some(5)]);
}

#[test]
fn the_verdict_names_it_with_the_packets() {
    let summary = exchanges(DELAY, written(0.05)).summary();
    let verdict = summary.verdict().unwrap();
    let kept_back = summary.limits(CLIENT).unwrap().shares[Factor::NagleDelayedAck];
    assert_eq!(kept_back.time_ns as i64, ms(10.0 * DELAY), "not the application's time");
    assert!(verdict.sentence.contains("Nagle's algorithm held back 10 small writes"), "{}", verdict.sentence);
    // Behind the opening and the first answer: the first write, its acknowledgement, the second write, and so on.
    let frames: Vec<u32> = verdict.evidence.last().unwrap().frames.iter().map(|place| place.frame).collect();
    assert_eq!(frames[..3], [6, 7, 8]);
    assert_eq!(frames.len(), 9);
}
