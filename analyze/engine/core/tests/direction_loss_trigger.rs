//! What made the sender retransmit: fast recovery, timeout, tail loss probe, RACK's timer (docs/methods.md, section 5).
//!
//! Subjects: `tcp/loss/recovery.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::retransmission::Trigger;

/// Retransmissions of the client by trigger: fast, rto, tlp, rack, unknown.
fn client(talk: Talk) -> [u32; 5] {
    talk.summary().directions[CLIENT].loss.by_trigger
}

const FAST: [u32; 5] = [1, 0, 0, 0, 0];
const RTO: [u32; 5] = [0, 1, 0, 0, 0];
const TLP: [u32; 5] = [0, 0, 1, 0, 0];
const RACK: [u32; 5] = [0, 0, 0, 1, 0];
const UNKNOWN: [u32; 5] = [0, 0, 0, 0, 1];

/// Beside the client, a round trip of 40 ms: a first segment is acknowledged, then ten more leave at 100 ms.
fn ten_segments() -> Talk {
    Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(90.0, ack(1000))
        .each(1..11, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)))
}

fn without_sack() -> Talk {
    Talk::new().client(0.0, syn().no_sack()).server(40.0, syn_ack().no_sack()).client(40.1, ack(0))
}

#[test]
fn the_order_of_the_triggers_in_the_counters() {
    let order = [Trigger::Fast, Trigger::Rto, Trigger::Tlp, Trigger::Rack, Trigger::Unknown];
    assert_eq!(order.map(|trigger| trigger as usize), [0, 1, 2, 3, 4]);
}

#[test]
fn three_segments_reported_above_the_hole_are_answered_fast() {
    let talk = ten_segments()
        .server(140.0, ack(1000).sack(2000, 3000))
        .server(140.1, ack(1000).sack(2000, 4000))
        .server(140.2, ack(1000).sack(2000, 5000))
        .client(140.3, data(1000, 1000));
    assert_eq!(client(talk), FAST);
}

#[test]
fn three_duplicate_acknowledgements_are_answered_fast() {
    let talk = without_sack()
        .each(0..5, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)))
        .each(0..3, |talk, n| talk.server(140.0 + f64::from(n) * 0.1, ack(0)))
        .client(140.4, data(0, 1000));
    assert_eq!(client(talk), FAST);
}

#[test]
fn an_update_of_the_window_is_no_duplicate_acknowledgement() {
    let again_after = |window: u16| {
        let running = without_sack().client(50.0, data(0, 1000)).server(90.0, ack(1000).window(500));
        let sent = running.each(1..6, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)));
        client(sent.server(120.0, ack(1000).window(window)).client(250.0, data(1000, 1000)))
    };
    assert_eq!(again_after(501), RTO, "nothing tells of a loss");
    assert_eq!(again_after(500), UNKNOWN, "one duplicate is no reason");
}

#[test]
fn what_follows_within_the_recovery_is_fast_too() {
    let talk = ten_segments()
        .server(140.0, ack(1000).sack(2000, 5000))
        .client(140.1, data(1000, 1000))
        .server(181.0, ack(5000))
        .client(187.0, data(5000, 1000));
    assert_eq!(client(talk), [2, 0, 0, 0, 0], "below the highest byte sent when it began");
}

#[test]
fn silence_and_then_the_oldest_byte_is_a_timeout() {
    let talk = ten_segments().client(345.0, data(1000, 1000));
    assert_eq!(client(talk), RTO);
}

#[test]
fn what_is_sent_again_after_a_timeout_belongs_to_it() {
    let talk = ten_segments()
        .client(345.0, data(1000, 1000))
        .server(385.0, ack(2000))
        .client(385.1, data(2000, 1000))
        .client(385.2, data(3000, 1000));
    assert_eq!(client(talk), [0, 3, 0, 0, 0]);
}

#[test]
fn a_timeout_that_gets_no_answer_comes_again() {
    let talk = ten_segments().client(345.0, data(1000, 1000)).client(830.0, data(1000, 1000));
    assert_eq!(client(talk), [0, 2, 0, 0, 0]);
}

#[test]
fn the_last_segment_after_two_round_trips_of_silence_is_a_probe() {
    let talk = ten_segments().client(181.0, data(10_000, 1000));
    assert_eq!(client(talk), TLP);
}

#[test]
fn a_probe_is_one_segment() {
    assert_eq!(client(ten_segments().client(345.0, data(6000, 5000))), [0, 0, 0, 0, 5]);
}

#[test]
fn the_only_segment_again_after_a_second_is_a_timeout_of_rfc_6298() {
    let again =
        |beside: fn(f64) -> Talk, at: f64| client(beside(40.0).client(50.0, data(0, 1000)).client(at, data(0, 1000)));
    for beside in [Talk::seen_at_client, Talk::seen_at_server] {
        assert_eq!(again(beside, 300.0), TLP);
        assert_eq!(again(beside, 1050.0), RTO);
    }
    assert_eq!(client(ten_segments().client(1200.0, data(10_000, 1000))), TLP, "late, but not the oldest");
}

#[test]
fn a_probe_that_gets_no_answer_is_followed_by_a_timeout() {
    let talk = ten_segments().client(181.0, data(10_000, 1000)).client(430.0, data(1000, 1000));
    assert_eq!(client(talk), [0, 1, 1, 0, 0]);
    let single = Talk::seen_at_client(40.0)
        .client(100.0, data(0, 1000))
        .client(190.0, data(0, 1000))
        .client(440.0, data(0, 1000));
    assert_eq!(client(single), [0, 1, 1, 0, 0], "the only segment is probe and oldest at once");
}

#[test]
fn the_last_segment_is_probed_with_the_fin_it_carries() {
    let last = || data(11_000, 1000).and_fin();
    assert_eq!(client(ten_segments().client(100.0, last()).client(190.0, last())), TLP);
}

#[test]
fn without_sack_there_is_no_probe() {
    let talk = without_sack().client(100.0, data(0, 1000)).client(345.0, data(0, 1000));
    assert_eq!(client(talk), RTO);
}

#[test]
fn in_mid_stream_the_first_report_shows_that_both_sides_use_sack() {
    let round = |talk: Talk, n: i64| {
        let at_ms = 50.0 + 50.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 40.0, ack(n * 1000 + 1000))
    };
    let tail = |talk: Talk| client(talk.client(750.0, data(12_000, 1000)).client(840.0, data(12_000, 1000)));
    let running = Talk::new().each(0..10, round);
    let reported = running
        .clone()
        .client(550.0, data(10_000, 1000))
        .client(550.1, data(11_000, 1000))
        .server(590.0, ack(10_000).sack(11_000, 12_000))
        .server(590.1, ack(12_000));
    let silent = running.client(550.0, data(10_000, 2000)).server(590.0, ack(12_000));
    assert_eq!(tail(reported), TLP);
    assert_ne!(tail(silent), TLP);
}

#[test]
fn one_segment_reported_and_a_quarter_round_trip_is_racks_timer() {
    let talk = ten_segments().server(140.0, ack(1000).sack(2000, 3000)).client(151.0, data(1000, 1000));
    assert_eq!(client(talk), RACK);
}

#[test]
fn the_bytes_of_two_segments_are_not_more_than_those_of_two() {
    let reported = ten_segments().server(140.0, ack(1000).sack(2000, 3000)).server(140.1, ack(1000).sack(2000, 4000));
    assert_eq!(client(reported.client(151.1, data(1000, 1000))), RACK);
}

#[test]
fn too_little_reported_too_long_ago_explains_nothing_of_an_episode() {
    let talk = ten_segments().server(140.0, ack(1000).sack(2000, 3000)).client(175.0, data(1000, 1000));
    assert_eq!(client(talk.client(175.1, data(3000, 1000))), [0, 0, 0, 0, 2]);
}

#[test]
fn a_repeat_without_any_sign_or_silence_is_unexplained() {
    let talk = ten_segments().client(103.0, data(3000, 1000));
    assert_eq!(client(talk), UNKNOWN);
}

#[test]
fn a_superpacket_sent_again_counts_its_segments() {
    let talk = ten_segments().client(345.0, data(1000, 3000));
    assert_eq!(client(talk), [0, 3, 0, 0, 0]);
}

/// At the server: five segments, one missing, and the next shows the hole 5000..6000 at 60 ms.
fn hole_at_server() -> Talk {
    Talk::seen_at_server(40.0)
        .each(0..5, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .lost_before_capture(CLIENT, 1)
        .each(6..10, |talk, n| talk.client(54.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(60.1, ack(5000).sack(6000, 7000))
}

#[test]
fn beside_the_receiver_a_hole_filled_after_one_round_trip_is_fast() {
    assert_eq!(client(hole_at_server().client(100.5, data(5000, 1000))), FAST);
}

#[test]
fn beside_the_receiver_a_hole_filled_after_long_silence_is_a_timeout() {
    assert_eq!(client(hole_at_server().client(400.0, data(5000, 1000))), RTO);
}

#[test]
fn beside_the_receiver_the_tail_once_more_after_silence_is_a_probe() {
    let talk = Talk::seen_at_server(40.0).client(50.0, data(0, 1000)).client(140.0, data(0, 1000));
    assert_eq!(client(talk), TLP);
}

#[test]
fn beside_the_receiver_a_lost_tail_that_comes_in_order_is_a_timeouts() {
    // The last two segments and a probe are lost.
    let talk = Talk::seen_at_server(40.0)
        .each(0..30, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(80.0, ack(30_000))
        .lost_before_capture(CLIENT, 3)
        .client(380.0, data(30_000, 1000))
        .server(380.1, ack(31_000))
        .client(420.2, data(31_000, 1000));
    assert_eq!(client(talk), [0, 2, 0, 0, 0]);
}

#[test]
fn beside_the_receiver_a_hole_filled_at_once_is_unexplained() {
    // Too soon for an answer, yet newer by its identification.
    assert_eq!(client(hole_at_server().client(64.5, data(5000, 1000))), UNKNOWN);
}

#[test]
fn three_separate_reports_are_enough_though_the_segments_are_short() {
    // RACK's timer has let pass more than its own time: without the reports nothing would explain the repeat.
    let reported = |blocks: &[(i64, i64)]| {
        let report = blocks.iter().fold(ack(1000), |report, &(start, end)| report.sack(start, end));
        let sent = [0, 1000, 2000, 2300, 3300, 3600, 4600, 4900].windows(2).fold(
            Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000)),
            |talk, pair| {
                if pair[0] < 1000 { talk } else { talk.client(100.0, data(pair[0], (pair[1] - pair[0]) as u32)) }
            },
        );
        client(sent.server(140.0, report).client(143.0, data(1000, 1000)))
    };
    assert_eq!(reported(&[(2000, 2300), (3300, 3600), (4600, 4900)]), FAST);
    assert_eq!(reported(&[(2000, 2300), (3300, 3600)]), UNKNOWN);
}

#[test]
fn a_timeout_of_what_has_arrived_begins_no_recovery() {
    // At the server: the acknowledgement of all was lost on its way, and then the window is closed for long.
    let talk = Talk::seen_at_server(40.0)
        .each(0..20, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(70.0, ack(20_000))
        .client(350.0, data(0, 1000))
        .server(350.1, ack(20_000).window(0))
        .server(2350.0, ack(20_000))
        .each(20..40, |talk, n| talk.client(2390.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(2430.0, ack(40_000));
    let summary = talk.summary();
    assert_eq!(summary.directions[CLIENT].loss.by_trigger, RTO);
    let limits = summary.judgement.and_then(|judgement| judgement.limits[CLIENT].clone()).expect("enough to judge");
    let factors: Vec<_> =
        limits.list().iter().map(|limit| (limit.factor.name(), limit.time_ns as i64 / ms(100.0))).collect();
    assert_eq!(factors.first(), Some(&("receiver_window", 20)), "{factors:?}");
}

#[test]
fn reports_that_the_snap_length_cut_are_duplicate_acknowledgements() {
    let running = Talk::new().with_timestamps().open(40.0, 0.1).client(50.0, data(0, 1000)).server(90.0, ack(1000));
    let talk = running
        .each(1..11, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)))
        .each(3..6, |talk, n| talk.server(140.0 + f64::from(n) * 0.1, ack(1000).sack(2000, i64::from(n) * 1000)))
        .client(145.0, data(1000, 1000));
    assert_eq!(client(talk.clone()), FAST);
    // The timestamps of the data are whole, of the blocks nothing is left.
    assert_eq!(client(talk.snapped(14 + 20 + 20 + 12)), FAST);
}
