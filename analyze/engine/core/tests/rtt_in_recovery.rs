//! Round trips while losses are repaired: what SACK and timestamps answer (docs/methods.md, section 4).

use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::events::acked::Rejected;
use vmtrace_core::tcp::rows::rows::Field;
use vmtrace_core::tcp::rtt::samples::Answered;

/// Samples by SACK and by timestamp, shortest and longest in milliseconds, of what the client sends.
fn client(talk: &Talk) -> Option<([u32; 2], f64, f64)> {
    let summary = talk.summary();
    let trips = summary.directions[CLIENT].details.as_deref()?.recovery_trips.as_ref()?;
    Some((trips.samples, trips.min_ns as f64 / 1e6, trips.max_ns as f64 / 1e6))
}

/// The first of four segments is lost, the others pass; the receiver reports them after 40, 41 and 42 ms.
fn a_hole(talk: Talk) -> Talk {
    talk.client(50.0, data(0, 1000))
        .client(60.0, data(1000, 1000))
        .client(70.0, data(2000, 1000))
        .client(80.0, data(3000, 1000))
        .server(100.0, ack(0).sack(1000, 2000))
        .server(111.0, ack(0).sack(1000, 3000))
        .server(122.0, ack(0).sack(1000, 4000))
}

#[test]
fn what_the_receiver_reports_behind_a_hole_is_sampled() {
    assert_eq!(client(&a_hole(Talk::seen_at_client(40.0))), Some(([3, 0], 40.0, 42.0)));
}

#[test]
fn clean_samples_stay_what_they_are() {
    let summary = a_hole(Talk::seen_at_client(40.0)).server(123.0, ack(4000)).summary();
    assert!(summary.directions[CLIENT].round_trips.is_none());
    assert_eq!(summary.directions[CLIENT].rejected, [0, 0, 4, 0, 0]);
}

#[test]
fn a_report_of_what_was_reported_before_is_no_answer() {
    let talk = a_hole(Talk::seen_at_client(40.0)).server(130.0, ack(0).sack(1000, 4000));
    assert_eq!(client(&talk), Some(([3, 0], 40.0, 42.0)));
}

#[test]
fn of_several_the_one_sent_last_is_answered() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(60.0, data(1000, 1000))
        .client(70.0, data(2000, 1000))
        .server(110.5, ack(0).sack(1000, 3000));
    assert_eq!(client(&talk), Some(([1, 0], 40.5, 40.5)));
}

#[test]
fn a_segment_sent_twice_is_not_known_to_be_the_one_that_is_reported() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(60.0, data(1000, 1000))
        .client(90.0, data(1000, 1000))
        .server(100.0, ack(0).sack(1000, 2000));
    assert_eq!(client(&talk), None);
}

#[test]
fn news_of_a_repeat_that_was_sent_later_may_be_what_made_the_report() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(60.0, data(1000, 1000))
        .client(70.0, data(2000, 1000))
        .client(90.0, data(1000, 1000))
        .server(130.0, ack(0).sack(1000, 3000));
    assert_eq!(client(&talk), None);
}

#[test]
fn a_report_that_acknowledges_more_may_answer_that() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(60.0, data(1000, 1000))
        .client(70.0, data(2000, 1000))
        .server(110.0, ack(1000).sack(2000, 3000));
    assert_eq!(client(&talk), None);
}

#[test]
fn a_repeat_is_sampled_by_the_echo_of_its_timestamp() {
    let talk =
        a_hole(Talk::new().with_timestamps().open(40.0, 0.1)).client(123.0, data(0, 1000)).server(168.0, ack(4000));
    assert_eq!(client(&talk), Some(([3, 1], 40.0, 45.0)));
    let rejected = talk.summary().directions[CLIENT].rejected;
    assert_eq!(rejected, [4, 0, 0, 0, 0], "it still gives no clean sample");
}

#[test]
fn an_echo_of_the_first_transmission_answers_no_repeat() {
    let talk = Talk::new()
        .with_timestamps()
        .open(40.0, 0.1)
        .client(50.0, data(0, 1000).tsval(500))
        .client(350.0, data(0, 1000).tsval(800))
        .server(360.0, ack(1000).tsecr(500));
    assert_eq!(client(&talk), None);
}

#[test]
fn transmissions_with_one_timestamp_cannot_be_told_apart() {
    let twice = Talk::new()
        .with_timestamps()
        .open(40.0, 0.1)
        .client(50.0, data(0, 1000).tsval(500))
        .client(50.4, data(0, 1000).tsval(500));
    assert_eq!(client(&twice.clone().server(90.5, ack(1000).tsecr(500))), None);
    let again = twice.client(300.0, data(0, 1000).tsval(750)).server(340.0, ack(1000).tsecr(750));
    assert_eq!(client(&again), Some(([0, 1], 40.0, 40.0)), "the third is the only one with its timestamp");
}

#[test]
fn without_timestamps_a_repeat_is_not_sampled() {
    let talk =
        Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(350.0, data(0, 1000)).server(390.0, ack(1000));
    assert_eq!(client(&talk), None);
}

#[test]
fn an_acknowledgement_of_something_sent_after_the_repeat_may_answer_that() {
    let talk = Talk::new()
        .with_timestamps()
        .open(40.0, 0.1)
        .client(50.0, data(0, 1000))
        .client(350.0, data(0, 1000).tsval(800))
        .client(351.0, data(1000, 1000).tsval(801))
        .server(391.0, ack(2000).tsecr(800));
    assert_eq!(client(&talk), None);
}

#[test]
fn each_packet_says_how_it_was_sampled_or_why_not() {
    let talk = a_hole(Talk::new().with_timestamps().open(40.0, 0.1))
        .client(123.0, data(0, 1000))
        .server(168.0, ack(4000))
        .client(200.0, data(4000, 1000))
        .server(241.0, ack(5000));
    let options = Options { detail_connections: vec![1], ..Options::default() };
    let rows = talk.analysis_with(&options).rows;
    // Three packets open the connection, four segments follow; then come the three reports.
    let (rtt_ns, frame) = (rows.values(Field::RecoveryRttNs), rows.values(Field::RecoveryRttFrame));
    assert_eq!(rtt_ns[7..10], [40, 41, 42].map(|ms| Some(ms * 1_000_000)));
    assert_eq!(frame[7..10], [5, 6, 7].map(Some));
    let (sack, timestamp) = (Some(Answered::BySack as i64), Some(Answered::ByTimestamp as i64));
    assert_eq!(rows.values(Field::RecoveryRttMethod)[7..12], [sack, sack, sack, None, timestamp]);
    assert_eq!((rtt_ns[11], frame[11]), (Some(45_000_000), Some(11)));
    let retransmitted = Some(Rejected::Retransmitted as i64);
    assert_eq!(rows.values(Field::RttRejected)[7..], [None, None, None, None, retransmitted, None, None]);
    assert_eq!((rows.values(Field::RttNs)[13], rtt_ns[13]), (Some(41_000_000), None));
}
