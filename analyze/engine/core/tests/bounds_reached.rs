//! Whatever numbers a peer sends, lists stay short, and it is reported that they were full.
//!
//! Subjects: `tcp/summary/bounds.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::bounds::ListBound;

fn reached(talk: &Talk) -> Vec<ListBound> {
    talk.summary().bounds().list().collect()
}

fn opened() -> Talk {
    Talk::seen_at_client(20.0)
}

/// Data of which every second segment is missing from the capture.
fn with_gaps(talk: Talk, segments: i64) -> Talk {
    talk.each(0..segments, |talk, number| talk.client(30.0 + 0.01 * number as f64, data(number * 20, 10)))
}

#[test]
fn of_many_holes_the_oldest_are_forgotten() {
    assert_eq!(reached(&with_gaps(opened(), 4_000)), []);
    assert_eq!(reached(&with_gaps(opened(), 4_200)), [ListBound::Holes]);
}

#[test]
fn of_many_reported_stretches_the_oldest_are_forgotten() {
    let sent = opened().each(0..9_000, |talk, number| talk.client(30.0 + 0.01 * number as f64, data(number * 10, 10)));
    let reported = |stretches: i64| {
        sent.clone().each(0..stretches, |talk, number| {
            talk.server(200.0 + 0.01 * number as f64, ack(0).sack(number * 20 + 10, number * 20 + 20))
        })
    };
    assert_eq!(reached(&reported(4_000)), []);
    assert_eq!(reached(&reported(4_200)), [ListBound::SackBlocks]);
}

#[test]
fn of_many_retransmissions_the_oldest_are_forgotten() {
    let again = |number: i64| {
        let sent =
            opened().each(0..number, |talk, number| talk.client(30.0 + 0.01 * number as f64, data(number * 10, 10)));
        sent.each(0..number, |talk, number| talk.client(2_000.0 + 0.01 * number as f64, data(number * 10, 10)))
    };
    assert_eq!(reached(&again(2_000)), []);
    assert_eq!(reached(&again(2_100)), [ListBound::Retransmissions]);
}

#[test]
fn of_many_copies_the_oldest_are_forgotten() {
    let copied = |number: i64| {
        opened().each(0..number, |talk, number| {
            let at_ms = 30.0 + 0.1 * number as f64;
            talk.client(at_ms, data(number * 10, 10)).again(at_ms + 0.01)
        })
    };
    assert_eq!(reached(&copied(200)), []);
    assert_eq!(reached(&copied(300)), [ListBound::Copies]);
}

#[test]
fn of_data_that_nobody_acknowledges_the_oldest_is_forgotten() {
    let sent = |number: i64| {
        opened().each(0..number, |talk, number| talk.client(30.0 + 0.001 * number as f64, data(number, 1)))
    };
    assert_eq!(reached(&sent(1_000)), []);
    assert_eq!(reached(&sent(270_000)), [ListBound::Segments]);
}

#[test]
fn of_many_syn_acks_few_are_remembered() {
    let answered = |number: u32| {
        Talk::new().client(0.0, syn()).each(0..number, |talk, number| {
            talk.server(20.0 + f64::from(number), Segment { start: Some(i64::from(number) * 1_000_000), ..syn_ack() })
        })
    };
    assert_eq!(reached(&answered(5)), []);
    assert_eq!(reached(&answered(6)), [ListBound::SynAcks]);
}

#[test]
fn of_many_resets_the_first_and_the_last_are_kept() {
    let reset = |number: u32| {
        let talk = opened().client(30.0, data(0, 100));
        talk.each(0..number, |talk, number| talk.server(60.0 + f64::from(number), Segment { start: Some(0), ..rst() }))
    };
    assert_eq!(reached(&reset(6)), []);
    assert_eq!(reached(&reset(7)), [ListBound::Resets]);
}
