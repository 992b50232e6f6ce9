//! Originals that the receiver refuses by their timestamps, since repeats have overtaken them (PAWS): at the sender an
//! acknowledgement that says nothing new shows each (docs/methods.md, section 5).
//!
//! Subjects: `tcp/loss/refusals.rs`.

use crate::playbook::*;

const RTT: f64 = 40.0;
/// TSval of the first repeat, which the receiver echoes from then on.
const FIRST_REPEAT: u32 = 1_000_095;

/// Ten segments, one each millisecond, of which the receiver reports all but the first three. The first one is retransmitted, and
/// acknowledged alone.
fn first_repeated(talk: Talk) -> Talk {
    let sent =
        talk.open(RTT, 0.1).each(0..10, |talk, n| talk.client(50.0 + n as f64, data(n * 1000, 1000).without_push()));
    sent.each(4..=10, |talk, n| talk.server(50.0 + RTT + n as f64 - 1.0, ack(0).tsecr(1_000_049).sack(3000, n * 1000)))
        .client(95.0, data(0, 1000).tsval(FIRST_REPEAT))
        .server(135.0, like_the_last())
}

fn like_the_last() -> Segment {
    ack(1000).tsecr(FIRST_REPEAT).sack(3000, 10_000)
}

/// The others are retransmitted, too, and everything is acknowledged.
fn all_repeated(talk: Talk) -> Talk {
    talk.client(140.0, data(1000, 1000)).client(140.1, data(2000, 1000)).server(180.2, ack(10_000).tsecr(1_000_140))
}

/// Segments retransmitted, those without need, and originals that came late.
fn counts(talk: Talk) -> (u32, u32, u32) {
    let loss = *all_repeated(talk).summary().directions[CLIENT].loss;
    (loss.retransmitted, loss.spurious, loss.reordered)
}

fn stamped() -> Talk {
    first_repeated(Talk::new().with_timestamps())
}

#[test]
fn an_acknowledgement_that_says_nothing_new_tells_of_one_that_was_refused() {
    assert_eq!(counts(stamped()), (3, 0, 0));
    assert_eq!(counts(stamped().server(137.0, like_the_last())), (3, 1, 1));
    assert_eq!(counts(stamped().server(137.0, like_the_last()).server(137.5, like_the_last())), (3, 2, 2));
}

#[test]
fn no_more_are_refused_than_are_missing() {
    let four = stamped().each(0..4, |talk, n| talk.server(137.0 + 0.1 * n as f64, like_the_last()));
    assert_eq!(counts(four), (3, 2, 2));
}

#[test]
fn another_window_or_other_blocks_say_something_else() {
    assert_eq!(counts(stamped().server(137.0, like_the_last().window(2000))), (3, 0, 0));
    let older = || ack(1000).tsecr(FIRST_REPEAT).sack(3000, 9000);
    assert_eq!(counts(stamped().server(137.0, older())), (3, 0, 0), "it was overtaken by the one before");
}

#[test]
fn what_was_sent_after_what_is_echoed_is_not_refused() {
    let echoes_older = |talk: Talk| talk.server(137.0, ack(1000).tsecr(1_000_049).sack(3000, 10_000));
    assert_eq!(counts(echoes_older(stamped())), (3, 0, 0));
}

#[test]
fn without_timestamps_nothing_is_refused() {
    assert_eq!(counts(first_repeated(Talk::new()).server(137.0, like_the_last())), (3, 0, 0));
}

#[test]
fn where_the_network_copies_packets_its_copies_are_refused_too() {
    let copied = stamped().server(136.0, ack(1000).tsecr(FIRST_REPEAT).sack(0, 1000).sack(3000, 10_000));
    let copied = copied.server(136.5, ack(1000).tsecr(FIRST_REPEAT).sack(0, 1000).sack(3000, 10_000));
    let refused = copied.server(137.0, like_the_last()).server(137.5, like_the_last());
    let loss = *all_repeated(refused).summary().directions[CLIENT].loss;
    assert_eq!((loss.network_duplicates, loss.spurious), (1, 1), "only what a report tells");
}
