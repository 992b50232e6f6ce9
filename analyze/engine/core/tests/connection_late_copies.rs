//! Copies that the network delivers long after the packet, behind many others: they are no retransmissions (docs/methods.md,
//! section 2 rule 3).

use crate::playbook::*;

const RTT: f64 = 40.0;
/// Frames of the handshake.
const OPENING: usize = 3;

/// Segments without PSH one after another, `every_ms`, each acknowledged at once: the receiver's side.
fn stream(talk: Talk, segments: i64, every_ms: f64) -> Talk {
    stream_from(talk, 50.0, segments, every_ms)
}

fn stream_from(talk: Talk, start_ms: f64, segments: i64, every_ms: f64) -> Talk {
    (0..segments).fold(talk, |talk, n| {
        let at_ms = start_ms + every_ms * n as f64;
        talk.client(at_ms, data(n * 1000, 1000).without_push()).server(at_ms + 0.01, ack((n + 1) * 1000))
    })
}

/// The number of the frame with segment `n` of a [`stream`].
fn frame_of(n: usize) -> usize {
    OPENING + 2 * n
}

fn beside_receiver(over_ipv6: bool) -> Talk {
    let talk = if over_ipv6 { Talk::new().over_ipv6() } else { Talk::new() };
    talk.with_timestamps().open(0.1, RTT)
}

/// Segments retransmitted, and copies that the network made.
fn counts(talk: &Talk) -> (u32, u32) {
    let loss = *talk.summary().directions[CLIENT].loss;
    (loss.retransmitted, loss.network_duplicates)
}

#[test]
fn what_is_stamped_like_the_first_transmission_though_others_are_stamped_later_is_a_copy() {
    for over_ipv6 in [false, true] {
        let late =
            stream(beside_receiver(over_ipv6), 400, 0.1).copy_of(frame_of(100), 90.0).copy_of(frame_of(300), 90.1);
        assert_eq!(counts(&late), (0, 2), "over IPv6: {over_ipv6}");
    }
}

/// Between the hosts: twenty segments, of which the receiver reports all but the eleventh, and then the sixth once more.
fn behind_a_loss(talk: Talk, again: impl Fn(Talk) -> Talk) -> Talk {
    let sent = (0..20).fold(talk.open(RTT / 2.0, RTT / 2.0), |talk, n| {
        talk.client(50.0 + 0.1 * n as f64, data(n * 1000, 1000).without_push())
    });
    again(sent.server(75.0, ack(10_000).sack(11_000, 20_000)))
        .server(98.0, ack(10_000).sack(5000, 6000).sack(11_000, 20_000))
}

#[test]
fn a_copy_with_a_known_number_is_one_though_something_was_lost() {
    for talk in [Talk::new(), Talk::new().with_timestamps()] {
        let copy = behind_a_loss(talk.clone(), |talk| talk.copy_of(OPENING + 5, 78.0));
        assert_eq!(counts(&copy), (0, 1));
        let repeat = behind_a_loss(talk, |talk| talk.client(78.0, data(5000, 1000).without_push()));
        assert_eq!(counts(&repeat), (1, 0), "with a number of its own");
    }
}

#[test]
fn what_is_stamped_later_was_sent_again() {
    let late = stream(beside_receiver(false), 400, 0.1).client(90.0, data(100_000, 1000));
    assert_eq!(counts(&late), (1, 0));
}

#[test]
fn a_copy_behind_more_packets_than_are_remembered_is_known_by_its_step_of_the_clock() {
    let late = stream(beside_receiver(true), 5000, 0.01).copy_of(frame_of(2000), 100.0);
    assert_eq!(counts(&late), (0, 1));
}

#[test]
fn after_the_shortest_timeout_it_may_have_been_sent_again_as_it_was() {
    let late = |after_ms: f64| {
        let opened = Talk::new().with_timestamps().open(0.1, 400.0);
        stream_from(opened, 450.0, 50, 1.0).copy_of(frame_of(40), 490.0 + after_ms)
    };
    assert_eq!([199.0, 201.0].map(|after_ms| counts(&late(after_ms))), [(0, 1), (1, 0)]);
}

#[test]
fn without_timestamps_its_identification_tells() {
    let talk = || stream(Talk::seen_at_server(RTT), 200, 0.1);
    assert_eq!(counts(&talk().copy_of(frame_of(100), 75.0)), (0, 1));
    assert_eq!(counts(&talk().client(75.0, data(100_000, 1000))), (1, 0), "a number of its own");
}

#[test]
fn without_timestamps_and_identifications_it_is_one_if_nothing_can_have_been_answered() {
    let talk = || stream(Talk::seen_at_server(RTT).without_identifications(), 200, 0.1);
    assert_eq!(counts(&talk().copy_of(frame_of(150), 75.0)), (0, 1));
    assert_eq!(counts(&talk().copy_of(frame_of(150), 65.0 + 0.9 * RTT)), (1, 0), "an answer can have come");
    assert_eq!(counts(&talk().copy_of(frame_of(199), 75.0)), (1, 0), "a tail may be sent again without an answer");
}

#[test]
fn without_a_number_loss_explains_a_repeat_however_it_is_stamped_but_beside_the_receiver() {
    let middle = |lost: bool| {
        let unnumbered = Talk::new().with_timestamps().without_identifications();
        let sent = (0..40).fold(unnumbered.open(RTT / 2.0, RTT / 2.0), |talk, n| {
            talk.client(60.0 + n as f64, data(n * 1000, 1000).without_push())
        });
        let answered = sent.server(100.5, if lost { ack(20_000).sack(21_000, 22_000) } else { ack(20_000) });
        answered.copy_of(OPENING + 20, 101.0)
    };
    assert_eq!((counts(&middle(false)), counts(&middle(true))), ((0, 1), (1, 0)));
}

#[test]
fn without_both_what_filled_a_hole_may_have_been_sent_again_before_it_came() {
    let held_back = stream(Talk::seen_at_server(RTT).without_identifications(), 50, 0.1)
        .client(55.1, data(51_000, 1000).without_push())
        .server(55.2, ack(50_000).sack(51_000, 52_000))
        .client(60.0, data(50_000, 1000).without_push())
        .server(60.1, ack(52_000))
        .client(60.2, data(52_000, 1000).without_push());
    let again = held_back.client(63.0, data(50_000, 1000).without_push());
    assert_eq!(counts(&again), (1, 0));
}

#[test]
fn a_capture_that_has_everything_twice_made_the_copies_itself_however_late() {
    let twice = (0..60).fold(beside_receiver(true), |talk, n| {
        let talk = talk.client(50.0 + n as f64, data(n * 1000, 1000).without_push());
        if n < 10 {
            talk
        } else {
            talk.copy_of(OPENING + (2 * n as usize).saturating_sub(29).max(n as usize - 10), 50.5 + n as f64)
        }
    });
    assert_eq!(twice.summary().directions[CLIENT].loss.network_duplicates, 0);
}
