//! Round trips that a host lengthened and not the path: by delayed acknowledgements, and over stalls (docs/methods.md,
//! section 4).
//!
//! Subjects: `tcp/rtt/covering.rs`.

use crate::playbook::gaps::{gaps, segment};
use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::gaps::cause::Cause;
use vmtrace_core::tcp::rows::rows::Field;
use vmtrace_core::tcp::rtt::covering::{Lengthened, WithoutStalls};

const RTT: f64 = 20.0;

/// How many of the client's samples a delayed acknowledgement lengthened.
fn delayed(talk: &Talk) -> u32 {
    talk.summary().directions[CLIENT].delayed_trips
}

fn without_stalls(talk: &Talk) -> Option<WithoutStalls> {
    talk.summary().directions[CLIENT].details.as_deref()?.without_stalls
}

/// A request of one segment that is acknowledged after a round trip.
fn asked() -> Talk {
    Talk::seen_at_client(RTT).client(50.0, data(0, 100)).server(70.0, ack(100))
}

#[test]
fn a_single_segment_acknowledged_much_later_than_others_waited_for_a_delayed_acknowledgement() {
    assert_eq!(delayed(&asked().client(200.0, data(100, 100)).server(260.0, ack(200))), 1);
    assert_eq!(delayed(&asked().client(200.0, data(100, 100)).server(239.0, ack(200))), 0, "not 20 ms later");
}

#[test]
fn data_that_answers_may_carry_it() {
    assert_eq!(delayed(&asked().client(200.0, data(100, 100)).server(250.0, data(0, 500).acking(200))), 1);
}

#[test]
fn the_first_sample_has_none_to_compare_with() {
    assert_eq!(delayed(&Talk::seen_at_client(RTT).client(50.0, data(0, 100)).server(110.0, ack(100))), 0);
}

#[test]
fn two_segments_are_acknowledged_at_once() {
    let two = asked().client(200.0, data(100, 1000)).client(200.1, data(1100, 100));
    assert_eq!(delayed(&two.clone().server(260.0, ack(1200))), 0);
    // Here a queue may stand.
    assert_eq!(delayed(&two.server(260.0, ack(1100)).server(261.0, ack(1200))), 0);
}

#[test]
fn where_other_data_was_acknowledged_just_before_a_queue_may_have_stood() {
    let queued = asked().client(200.0, data(100, 1000)).client(220.0, data(1100, 100));
    assert_eq!(delayed(&queued.server(265.0, ack(1100)).server(280.0, ack(1200))), 0);
}

/// At the sender: a full segment each millisecond from 50 to 449 ms, each acknowledged after a round trip; those from 430
/// on are outstanding. The receiver's timestamps tell when it made an acknowledgement.
fn running() -> Talk {
    let talk = Talk::seen_at_client(RTT).with_timestamps();
    (50..450).fold(talk, |talk, n| {
        let at = f64::from(n);
        let talk = if n >= 70 { answer(talk, at - 0.1, n - 20) } else { talk };
        talk.client(at, segment(i64::from(n) - 50))
    })
}

/// The acknowledgement of segment `n`, made on time and seen at `time`.
fn answer(talk: Talk, time: f64, n: i32) -> Talk {
    talk.server(time, ack((i64::from(n) - 49) * 1000).tsval(2_000_010 + n as u32).tsecr(1_000_000 + n as u32))
}

/// What was outstanding is acknowledged at once, at `at`, and the sender goes on for 100 ms.
fn resumed(talk: Talk, at: f64) -> Talk {
    let answered = (430..450).fold(talk, |talk, n| answer(talk, at + f64::from(n - 430) * 0.05, n));
    (0..20).fold(answered, |talk, n| talk.client(at + 1.1 + f64::from(n) * 0.05, segment(400 + i64::from(n))))
}

#[test]
fn round_trips_over_a_stall_of_the_host_are_left_out_beside_the_others() {
    let talk = resumed(running(), 650.0);
    assert_eq!(gaps(&talk), [(Cause::LocalHostStall, 202)]);
    let without = without_stalls(&talk).expect("twenty segments were outstanding");
    assert_eq!((without.left_out, without.samples), (20, 380));
    let [median_ns, p95_ns, p99_ns] = without.quantiles_ns.expect("samples");
    for ns in [without.mean_ns.expect("samples"), median_ns, p95_ns, p99_ns] {
        assert!((ns / 19.9e6 - 1.0).abs() < 0.01, "{ns}");
    }
    let all = talk.summary().directions[CLIENT].round_trips.expect("samples");
    assert_eq!(all.moments.count(), 400);
    assert!(all.quantiles_ns[2] > 200e6, "they count nevertheless");
}

#[test]
fn those_that_a_path_held_back_are_the_paths() {
    let talk = resumed(running().client(498.0, segment(399)), 650.0);
    assert!(gaps(&talk).iter().all(|gap| gap.0 == Cause::PathHold));
    assert_eq!(without_stalls(&talk), None);
}

#[test]
fn each_packet_says_what_lengthened_its_round_trip() {
    let rows = |talk: &Talk| {
        let options = Options { detail_connections: vec![1], ..Options::default() };
        talk.analysis_with(&options).rows.values(Field::RttLengthenedBy)
    };
    let stalled = rows(&resumed(running(), 650.0));
    let marked: Vec<usize> = stalled
        .iter()
        .enumerate()
        .filter_map(|(row, by)| (*by == Some(Lengthened::HostStall as i64)).then_some(row))
        .collect();
    // Three packets open the connection, 400 segments and 380 acknowledgements follow.
    assert_eq!(marked, (783..803).collect::<Vec<_>>());
    let waited = rows(&asked().client(200.0, data(100, 100)).server(260.0, ack(200)));
    assert_eq!(waited[5..], [None, Some(Lengthened::DelayedAcknowledgement as i64)]);
}
