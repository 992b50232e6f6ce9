//! Advertised windows, data in flight, time limited by the window, spacing (docs/methods.md, sections 6 and 7).
//!
//! Subjects: `tcp/direction/on_ack.rs`,
//! `tcp/connection/without_data.rs`.

use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::summary::summary::{DirectionSummary, SpacingSummary};

fn client(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

/// Mean and largest flight, bytes.
fn flight(direction: &DirectionSummary) -> Option<(f64, u64)> {
    direction.flight.map(|(mean, largest)| (mean, largest.get()))
}

/// Reasons given for a field.
fn reason(direction: &DirectionSummary, field: &str) -> Option<&'static str> {
    direction.not_measured().find(|(name, _)| *name == field).map(|(_, reason)| reason)
}

#[test]
fn windows_are_scaled_but_not_those_of_a_syn() {
    let talk = Talk::new()
        .client(0.0, syn().window(65_535))
        .server(40.0, syn_ack().window(65_000))
        .client(40.1, ack(0))
        .client(50.0, data(0, 1000))
        .server(90.0, ack(1000).window(10))
        .server(91.0, ack(1000).window(30));
    let window = client(&talk).window;
    assert_eq!((window.scale, window.extremes), (Some(7), Some((1280, 2560.0, 3840))), "of the server, 128-fold");
}

#[test]
fn without_the_option_on_one_side_nothing_is_scaled() {
    for (client_syn, server_syn) in [(syn().no_scale(), syn_ack()), (syn(), syn_ack().no_scale())] {
        let talk = Talk::new()
            .client(0.0, client_syn)
            .server(40.0, server_syn)
            .client(40.1, ack(0))
            .client(50.0, data(0, 1000))
            .server(90.0, ack(1000).window(10));
        let window = client(&talk).window;
        assert_eq!((window.scale, window.extremes), (Some(0), Some((10, 10.0, 10))));
    }
}

#[test]
fn a_capture_that_begins_later_knows_no_windows() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000)).starting_at(2);
    let direction = client(&talk);
    assert_eq!((direction.window.scale, direction.window.extremes), (None, None));
    assert_eq!(direction.window.limited_ns.get(), None);
    assert_eq!(reason(&direction, "window"), Some("scale_unknown"));
}

#[test]
fn a_syn_ack_alone_tells_the_servers_scale() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000).window(10)).starting_at(1);
    assert_eq!(client(&talk).window.extremes, Some((1280, 1280.0, 1280)));
}

#[test]
fn a_closed_window_is_timed_until_it_opens() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(100.0, ack(1000).window(0))
        .server(200.0, ack(1000).window(0))
        .server(350.0, ack(1000).window(500))
        .client(350.1, data(1000, 1000))
        .server(400.0, ack(2000).window(0))
        .client(430.0, ack(0));
    let extras = client(&talk).extras;
    assert_eq!((extras.zero_windows, extras.zero_time_ns as i64), (3, ms(250.0 + 30.0)), "the second to the end");
}

#[test]
fn flight_is_what_is_sent_and_not_acknowledged() {
    let talk = Talk::seen_at_client(40.0)
        .client(100.0, data(0, 1000))
        .client(110.0, data(1000, 1000))
        .server(140.0, ack(1000))
        .server(150.0, ack(2000));
    // 10 ms with 1000 bytes, 30 ms with 2000, 10 ms with 1000.
    assert_eq!(flight(&client(&talk)), Some((1600.0, 2000)));
}

#[test]
fn what_is_reported_above_a_hole_is_not_in_flight_and_neither_is_what_is_lost() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..10, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)))
        .server(140.0, ack(0).sack(1000, 10_000))
        .client(140.0, data(0, 1000))
        .server(180.0, ack(10_000));
    // 40 ms with all ten, then 40 ms with the one that is retransmitted.
    assert_eq!(flight(&client(&talk)), Some((5500.0, 10_000)));
}

#[test]
fn after_a_timeout_only_what_was_sent_again_is_in_flight() {
    let sent = Talk::seen_at_client(40.0).each(0..10, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)));
    let timed_out = sent.client(400.0, data(0, 1000)).server(440.0, ack(1000));
    let repaired = timed_out.client(540.0, data(1000, 9000)).server(580.0, ack(10_000));
    // 300 ms with all ten, 40 ms with the first again, 100 ms with nothing, 40 ms with the other nine.
    let in_flight = 300.0 * 10_000.0 + 40.0 * 1000.0 + 40.0 * 9000.0;
    assert_eq!(flight(&client(&repaired)).map(|(mean, _)| mean.round()), Some((in_flight / 380.0_f64).round()));
}

/// A window of 3000 bytes, filled at 100 ms and again at 140 ms as the client sees it; captured `late_ms` after that,
/// the acknowledgements so much before.
fn limited_by_window(open: Talk, late_ms: f64) -> Talk {
    let three = |talk: Talk, time_ms: f64, first: i64| {
        talk.each(0..3, |talk, n| talk.client(time_ms + late_ms, data(first + i64::from(n) * 1000, 1000)))
    };
    let talk = three(open.server(99.0 - late_ms, ack(0).window(3000)), 100.0, 0);
    let talk = three(talk.server(140.0 - late_ms, ack(3000).window(3000)), 140.0, 3000);
    let talk = talk.server(180.0 - late_ms, ack(6000).window(30_000));
    talk.client(185.0 + late_ms, data(6000, 500)).server(225.0 - late_ms, ack(6500).window(30_000))
}

fn unscaled(server_loop_ms: f64, client_loop_ms: f64) -> Talk {
    Talk::new()
        .client(0.0, syn().no_scale())
        .server(server_loop_ms, syn_ack())
        .client(server_loop_ms + client_loop_ms, ack(0))
}

#[test]
fn beside_the_sender_a_full_window_limits_until_room_is_seen() {
    let direction = client(&limited_by_window(unscaled(40.0, 0.1), 0.0));
    assert_eq!(direction.window.limited_ns.get(), Some(ms(80.0) as u64));
    assert_eq!(flight(&direction).map(|(_, max)| max), Some(3000));
    let share = direction.limited_fraction().map(|share| (share * 1000.0).round());
    assert_eq!(share, Some(640.0), "80 of 125 ms");
}

#[test]
fn beside_the_receiver_acknowledgements_take_effect_one_sender_loop_later() {
    let direction = client(&limited_by_window(unscaled(0.1, 40.0), 20.0));
    assert_eq!(direction.window.limited_ns.get(), Some(ms(80.0) as u64), "as beside the sender");
    assert_eq!(flight(&direction).map(|(_, max)| max), Some(3000));
}

#[test]
fn a_window_with_room_limits_nothing() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000));
    assert_eq!(client(&talk).window.limited_ns.get(), Some(0));
}

fn spacing(talk: &Talk, limit_ns: Option<u64>) -> SpacingSummary {
    let options = Options { oversize_abs_ns: limit_ns, ..Options::default() };
    talk.analysis_with(&options).connections[0].directions[CLIENT].spacing.clone()
}

/// A segment each millisecond, but 155 ms before the hundredth.
fn one_pause() -> Talk {
    Talk::seen_at_client(4.0).each(0..200, |talk, n: i32| {
        let pause = if n >= 100 { 154.0 } else { 0.0 };
        talk.client(50.0 + f64::from(n) + pause, data(i64::from(n) * 1000, 1000))
    })
}

#[test]
fn one_long_gap_in_an_even_stream_is_oversize() {
    let spacing = spacing(&one_pause(), None);
    assert_eq!((spacing.oversize().count, spacing.oversize().time_ns), (1, ms(155.0) as u64));
    assert_eq!(spacing.gaps()[0].start_ns, START_NS + ms(149.0));
    assert_eq!(spacing.gaps()[0].frames, [103, 104], "three frames open the connection");
    let durations = spacing.durations.map(|durations| (durations.moments.count(), durations.quantiles_ns[0] / 1e6));
    assert!(durations.is_some_and(|(count, median_ms)| count == 199 && (median_ms - 1.0).abs() < 0.01));
}

#[test]
fn it_is_told_whether_the_limit_was_the_users() {
    let is_fixed = |oversize_abs_ns| {
        let options = Options { oversize_abs_ns, ..Options::default() };
        one_pause().analysis_with(&options).connections[0].directions[CLIENT].oversize_limit_is_fixed
    };
    assert_eq!([is_fixed(None), is_fixed(Some(999_999))], [false, true]);
}

#[test]
fn a_fixed_limit_replaces_the_adaptive_one() {
    let all = spacing(&one_pause(), Some(999_999));
    assert_eq!((all.oversize().count, all.oversize_threshold_ns), (199, 999_999));
    let none = spacing(&one_pause(), Some(ms(155.0) as u64));
    assert_eq!((none.oversize().count, none.oversize().time_ns), (0, 0), "as long as the limit is not longer");
}

#[test]
fn the_gaps_between_bursts_of_a_full_window_are_a_habit() {
    let talk = Talk::seen_at_client(40.0).each(0..200, |talk, n: i32| {
        talk.client(50.0 + f64::from(n / 10) * 40.0 + f64::from(n % 10) * 0.01, data(i64::from(n) * 1000, 1000))
    });
    assert_eq!(spacing(&talk, None).oversize().count, 0);
}

#[test]
fn one_data_packet_has_no_spacing() {
    let direction = client(&Talk::seen_at_client(40.0).client(50.0, data(0, 1000)));
    assert!(direction.spacing.durations.is_none());
    assert_eq!(reason(&direction, "spacing"), Some("one_data_packet"));
}

#[test]
fn a_window_too_small_for_a_segment_still_keeps_a_sender_that_it_has_stopped() {
    // Room for 4.4 segments, of which the last 0.4 stay unused when all has been acknowledged, until the window opens at 600 ms.
    let with_room_left = |units: u16| {
        let talk = Talk::seen_at_client(40.0).server(50.0, ack(0).window(35));
        let sent = talk.each(0..4, |talk, n| talk.client(100.0, data(i64::from(n) * 1000, 1000)));
        let read = sent.server(140.0, ack(4000).window(units)).server(600.0, ack(4000).window(100));
        let limited_ns = client(&read.client(600.1, data(4000, 1000))).window.limited_ns;
        limited_ns.get().map(|ns| ns as i64 / 1_000_000)
    };
    assert_eq!(with_room_left(3), Some(500));
    assert_eq!(with_room_left(35), Some(40), "room for four segments: it had nothing to send");
}

#[test]
fn a_syn_whose_options_were_cut_tells_no_scale() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000).window(10));
    assert_eq!(client(&talk).window.scale, Some(7));
    let cut = client(&talk.clone().snapped(54));
    assert_eq!((cut.window.scale, cut.window.extremes, cut.window.limited_ns.get()), (None, None, None));
    assert_eq!(reason(&cut, "window"), Some("scale_unknown"));
    // MSS, scale: what comes behind is cut.
    assert_eq!(client(&talk.snapped(54 + 8)).window.scale, Some(7));
}
