//! Why no data passed for a while, seen between the hosts: a receiver that stalls leaves unanswered what passed there,
//! and then answers all of it at once (docs/methods.md, section 7).
//!
//! Subjects: `tcp/gaps/undecided.rs`, `tcp/gaps/undecided_gap.rs`, `tcp/gaps/path_rate.rs`, `tcp/gaps/suspicion.rs`,
//! `tcp/gaps/causes/stalled_receiver.rs`.

use crate::playbook::gaps::{gaps, segment};
use crate::playbook::*;
use vmtrace_core::tcp::gaps::cause::Cause;

/// Round trips between the capture and the receiver, and between it and the sender, without any queue, ms.
const TO_RECEIVER: i32 = 10;
const TO_SENDER: i32 = 12;
/// What a queue adds to one of them from 110 ms on, ms.
const QUEUE: i32 = 12;

#[derive(Clone, Copy, PartialEq)]
enum QueueStands {
    BeforeHere,
    AfterHere,
    Nowhere,
}

/// The first gap of the client's data that is longer than 30 ms, and what follows.
fn causes(talk: &Talk) -> Vec<Cause> {
    gaps(talk).into_iter().map(|(cause, _)| cause).collect()
}

/// Segment `n` (from 50 on) at `at`, when the sender had heard what passed here at `heard`.
fn passes(talk: Talk, n: i32, at: f64, heard: f64) -> Talk {
    let sent = segment(i64::from(n - 50));
    talk.client(at, sent.tsval(1_000_000 + (at - 5.0) as u32).tsecr(2_000_000 + heard as u32))
}

/// The acknowledgement of segment `n` passes at `at`, made at `made`.
fn answered(talk: Talk, n: i32, at: f64, made: f64) -> Talk {
    talk.server(at, ack(i64::from(n - 49) * 1000).tsval(2_000_000 + made as u32).tsecr(1_000_000 + n as u32 - 5))
}

/// Full segments each millisecond from 50 to 449 ms. The receiver is last heard at 429 ms; what the sender hears until then
/// passes here until 449 ms.
fn running(queue: QueueStands) -> Talk {
    let by = |here: QueueStands, n: i32| if queue == here && n >= 110 { QUEUE } else { 0 };
    let talk = Talk::new().with_timestamps().open(f64::from(TO_RECEIVER), f64::from(TO_SENDER));
    (50..450).fold(talk, |talk, n| {
        let of = n - TO_RECEIVER - by(QueueStands::AfterHere, n);
        let (at, made) = (f64::from(n) - 0.2, f64::from(n) - 5.0);
        // While the queue grows nothing is acknowledged.
        let is_heard = of >= 50 && n < 430 && !(110..110 + by(QueueStands::AfterHere, 110)).contains(&n);
        let talk = if is_heard { answered(talk, of, at, made) } else { talk };
        let heard = f64::from(n - TO_SENDER - by(QueueStands::BeforeHere, n)) - 5.0;
        passes(talk, n, f64::from(n), heard.clamp(15.0, 424.0))
    })
}

/// Nothing more is acknowledged; the probe of the last segment passes when it is due.
fn probed(queue: QueueStands) -> Talk {
    passes(running(queue), 449, 540.0, 424.0)
}

/// The sender goes on a loop after the first new acknowledgement at `at`. Twice more the receiver is silent for 200 ms, and
/// then acknowledges all at once.
fn goes_on(talk: Talk, at: f64) -> Talk {
    let talk =
        (450..470).fold(talk, |talk, n| passes(talk, n, at + f64::from(TO_SENDER) + f64::from(n - 450) * 0.05, at));
    (0..2).fold(talk, |talk, number| {
        let (first, shift) = (470 + 100 * number, at - 436.0 + 230.0 * f64::from(number));
        let running = (first..first + 100).fold(talk, |talk, n| {
            let time = f64::from(n) + shift;
            passes(answered(talk, n - 20, time - 0.2, time - 5.0), n, time, time - 24.0)
        });
        let end = f64::from(first + 100) + shift;
        let probed = passes(running, first + 99, end + 90.0, end - 25.0);
        answered(probed, first + 99, end + 210.0, end + 205.0)
    })
}

#[test]
fn what_passed_here_is_answered_all_at_once_and_late_then_the_receiver_stood_still() {
    for queue in [QueueStands::BeforeHere, QueueStands::AfterHere] {
        let talk = goes_on(answered(probed(queue), 449, 700.0, 695.0), 700.0);
        assert_eq!(causes(&talk)[..2], [Cause::RemoteHostStall; 2]);
    }
}

#[test]
fn acknowledgements_that_were_made_on_time_were_held_on_the_way_back() {
    let late = (420..450).fold(probed(QueueStands::BeforeHere), |talk, n| {
        answered(talk, n, 700.0 + f64::from(n - 420) * 0.05, f64::from(n) + 5.0)
    });
    assert!(!causes(&goes_on(late, 700.0)).contains(&Cause::RemoteHostStall));
}

#[test]
fn data_that_is_acknowledged_as_fast_as_the_path_carries_it_may_have_been_held_by_it() {
    let paced = (420..450).fold(probed(QueueStands::BeforeHere), |talk, n| {
        let at = 700.0 + f64::from(n - 420);
        answered(talk, n, at, at - 5.0)
    });
    assert!(!causes(&goes_on(paced, 729.0)).contains(&Cause::RemoteHostStall));
}

#[test]
fn on_a_path_before_which_no_queue_stands_it_may_have_been_held_as_well() {
    let talk = goes_on(answered(probed(QueueStands::Nowhere), 449, 700.0, 695.0), 700.0);
    assert!(!causes(&talk).contains(&Cause::RemoteHostStall));
}

#[test]
fn what_answers_the_probe_repaired_a_loss() {
    // It echoes the probe (540 ms, sent 5 ms before).
    let answer = ack(400_000).tsval(2_000_695).tsecr(1_000_535);
    let talk = goes_on(probed(QueueStands::BeforeHere).server(700.0, answer), 700.0);
    assert!(!causes(&talk).contains(&Cause::RemoteHostStall));
}

#[test]
fn without_timestamps_what_was_made_late_cannot_be_told_from_what_came_late() {
    let talk = Talk::new().open(f64::from(TO_RECEIVER), f64::from(TO_SENDER));
    let talk = (50..450).fold(talk, |talk, n| {
        let of = n - TO_RECEIVER - if n >= 110 { QUEUE } else { 0 };
        let talk =
            if of >= 50 && n < 430 { talk.server(f64::from(n) - 0.2, ack(i64::from(of - 49) * 1000)) } else { talk };
        talk.client(f64::from(n), data(i64::from(n - 50) * 1000, 1000))
    });
    let talk = talk.client(540.0, data(399_000, 1000)).server(700.0, ack(400_000));
    assert!(!causes(&goes_on(talk, 700.0)).contains(&Cause::RemoteHostStall));
}
