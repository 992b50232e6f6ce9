//! What a sender knew, by what passed.
//!
//! Subjects: `tcp/sender/view.rs`, `tcp/sender/view_says.rs`.

use std::num::NonZeroU64;

use super::*;

const MILLISECOND: i64 = 1_000_000;

#[test]
fn a_full_window_limits_until_it_is_acknowledged() {
    let mut view = SenderView::default();
    view.acknowledged(0, None, 0, Some(10_000), 0);
    view.sent(0, [0, 10_000], 1000, 1000);
    view.acknowledged(40 * MILLISECOND, None, 10_000, Some(20_000), 0);
    view.sent(50 * MILLISECOND, [10_000, 10_500], 1000, 1000);
    assert_eq!(view.limited_ns(), 40_000_000);
    assert_eq!(view.flight_statistics(), Some((10_000.0, NonZeroU64::new(10_000).expect("not zero"))));
}

#[test]
fn it_is_the_senders_turn_once_it_has_heard_the_other_side() {
    for (loop_ms, answer_ms) in [(0, 1500), (40, 1460)] {
        let mut view = SenderView::default();
        if loop_ms > 0 {
            view.set_loop(loop_ms * MILLISECOND);
        }
        view.acknowledged(0, None, 0, Some(100_000), 0);
        view.takes_its_turn(1510 * MILLISECOND, 10 * MILLISECOND, true);
        assert_eq!(view.turns().first_asked_ns(), Some((10 + loop_ms) * MILLISECOND));
        view.sent(1510 * MILLISECOND, [0, 1000], 1000, 1000);
        view.acknowledged(1600 * MILLISECOND, None, 1000, Some(100_000), 0);
        // The next question comes after a while, and its answer again after 1.5 s.
        view.acknowledged(2000 * MILLISECOND, None, 1000, Some(100_000), 0);
        view.takes_its_turn(3500 * MILLISECOND, 2000 * MILLISECOND, true);
        assert_eq!(view.turns().thought_ns(), answer_ms as u64 * 1_000_000);
    }
}

#[test]
fn away_from_the_sender_acknowledgements_count_one_loop_later() {
    let mut view = SenderView::default();
    view.set_loop(40 * MILLISECOND);
    view.acknowledged(0, None, 0, Some(10_000), 0);
    view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000);
    view.acknowledged(40 * MILLISECOND, None, 10_000, Some(20_000), 0);
    view.sent(80 * MILLISECOND, [10_000, 20_000], 1000, 1000);
    assert_eq!(view.limited_ns(), 40_000_000);
    assert_eq!(view.flight_bytes(), 10_000);
}

#[test]
fn room_for_one_segment_is_too_little_in_a_large_window() {
    let mut view = SenderView::default();
    view.acknowledged(0, None, 0, Some(10_000), 0);
    view.sent(0, [0, 9000], 1000, 1000);
    view.sent(10 * MILLISECOND, [9000, 10_000], 1000, 1000);
    assert_eq!(view.limited_ns(), 10_000_000);
    let mut view = SenderView::default();
    view.acknowledged(0, None, 0, Some(10_000), 0);
    view.sent(0, [0, 8000], 1000, 1000);
    view.sent(10 * MILLISECOND, [8000, 10_000], 1000, 1000);
    assert_eq!(view.limited_ns(), 0);
}

#[test]
fn a_paced_sender_waits_for_room_for_a_millisecond() {
    let mut view = SenderView::default();
    view.acknowledged(0, None, 0, Some(100_000), 0);
    view.sent(0, [0, 96_000], 1000, 1000);
    view.set_pace(20e6);
    view.sent(10 * MILLISECOND, [96_000, 97_000], 1000, 1000);
    view.sent(20 * MILLISECOND, [97_000, 97_000], 1000, 1000);
    assert_eq!(view.limited_ns(), 10_000_000, "5760 bytes are wanted, 4000 then 3000 are free");
}

#[test]
fn the_echo_tells_what_the_sender_had_heard_behind_a_queue() {
    let mut view = SenderView::default();
    view.set_loop(40 * MILLISECOND);
    view.acknowledged(0, Some(1), 0, Some(10_000), 0);
    view.heard(100 * MILLISECOND, 1);
    view.sent(100 * MILLISECOND, [0, 10_000], 1000, 1000);
    view.acknowledged(100 * MILLISECOND, Some(101), 10_000, Some(20_000), 0);
    // The queue grows: the answer takes 120 ms, and until then the window was full.
    view.heard(220 * MILLISECOND, 101);
    view.sent(220 * MILLISECOND, [10_000, 12_000], 1000, 1000);
    assert_eq!(view.limited_ns(), 120_000_000);
    assert_eq!(view.flight_bytes(), 2000);
}

#[test]
fn what_a_sender_has_not_heard_of_is_outstanding_to_it() {
    let mut view = SenderView::default();
    view.set_loop(40 * MILLISECOND);
    view.acknowledged(0, Some(1), 0, Some(10_000), 0);
    view.heard(40 * MILLISECOND, 1);
    view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000);
    view.acknowledged(40 * MILLISECOND, Some(41), 4000, Some(20_000), 0);
    view.acknowledged(42 * MILLISECOND, Some(43), 9000, Some(20_000), 0);
    assert_eq!([1, 41, 42, 43].map(|tsecr| view.outstanding_having_heard(tsecr)), [10_000, 6000, 6000, 1000]);
}

#[test]
fn a_handshake_that_was_held_up_does_not_lengthen_the_loop_for_good() {
    let mut view = SenderView::default();
    view.set_loop(300 * MILLISECOND);
    view.acknowledged(0, Some(1), 0, Some(10_000), 0);
    view.heard(40 * MILLISECOND, 1);
    view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000);
    assert_eq!(view.recent_loop_ns(), 40 * MILLISECOND);
    // A second acknowledgement of the same tick may pass right before the echo of the first: it tells nothing.
    view.acknowledged(50 * MILLISECOND, Some(51), 5000, Some(20_000), 0);
    view.acknowledged(89 * MILLISECOND, Some(51), 6000, Some(20_000), 0);
    view.heard(90 * MILLISECOND, 51);
    assert_eq!(view.recent_loop_ns(), 40 * MILLISECOND);
}

/// Data and acknowledgements every 10 ms over a loop of 20 ms, for 100 ms.
fn with_a_loop_of_20_ms() -> SenderView {
    let mut view = SenderView::default();
    view.set_loop(20 * MILLISECOND);
    (0..10).for_each(|at| exchange(&mut view, at, at - 2, true));
    view
}

/// At 10 ms times `at`: data that echoes the acknowledgement of the time `heard`, and perhaps an acknowledgement.
fn exchange(view: &mut SenderView, at: i64, heard: i64, acknowledges: bool) {
    let (time_ns, position) = (10 * at * MILLISECOND, 1000 * at as u64);
    view.heard(time_ns, (100 + heard) as u32);
    view.sent(time_ns, [position, position + 1000], 1000, 1000);
    if acknowledges {
        view.acknowledged(time_ns, Some((100 + at) as u32), position + 1000, None, 0);
    }
}

#[test]
fn a_queue_that_grows_faster_than_acknowledgements_are_waited_for_is_found_again() {
    let mut view = with_a_loop_of_20_ms();
    (10..45).for_each(|at| exchange(&mut view, at, 7.max(at - 30), true));
    assert_eq!(view.recent_loop_ns(), 300 * MILLISECOND);
}

#[test]
fn a_sender_that_paused_before_its_echo_shows_no_queue() {
    let mut view = with_a_loop_of_20_ms();
    (40..45).for_each(|at| exchange(&mut view, at, 9.max(at - 2), true));
    assert_eq!(view.recent_loop_ns(), 20 * MILLISECOND);
}

/// Over a loop of 20 microseconds: data every millisecond, acknowledged at once, whose sender had heard of what passed
/// `behind` milliseconds before.
fn exchange_on_a_short_path(view: &mut SenderView, times_ms: std::ops::Range<i64>, behind: i64) {
    for at in times_ms {
        view.heard(at * MILLISECOND, (1000 + at - behind) as u32);
        view.sent(at * MILLISECOND, [1000 * at as u64, 1000 * (at + 1) as u64], 1000, 1000);
        let passed_ns = at * MILLISECOND + 10_000;
        view.acknowledged(passed_ns, Some((1000 + at) as u32), 1000 * (at + 1) as u64, None, 0);
    }
}

#[test]
fn a_queue_on_a_short_path_shows_by_data_whose_sender_had_not_heard_yet() {
    let mut view = SenderView::default();
    view.set_loop(20_000);
    exchange_on_a_short_path(&mut view, 1..10, 1);
    assert!(view.recent_loop_ns() < MILLISECOND, "{}", view.recent_loop_ns());
    (10..40).for_each(|at| exchange_on_a_short_path(&mut view, at..at + 1, (at - 9).min(20)));
    exchange_on_a_short_path(&mut view, 40..100, 20);
    assert!((19 * MILLISECOND..=20 * MILLISECOND).contains(&view.recent_loop_ns()), "{}", view.recent_loop_ns());
    assert!((19_000..=20_000).contains(&view.flight_bytes()), "{}", view.flight_bytes());
    exchange_on_a_short_path(&mut view, 100..140, 1);
    assert!(view.recent_loop_ns() < MILLISECOND, "{}", view.recent_loop_ns());
}

#[test]
fn a_pause_on_a_short_path_is_no_queue() {
    let mut view = SenderView::default();
    view.set_loop(20_000);
    for burst in 0..10 {
        exchange_on_a_short_path(&mut view, 100 * burst..100 * burst + 10, 1);
    }
    assert_eq!(view.flight_bytes(), 0);
    assert!(view.busy_ns() < 20_000_000, "{}", view.busy_ns());
}

#[test]
fn an_unknown_window_limits_nothing() {
    let mut view = SenderView::default();
    view.sent(0, [0, 10_000], 1000, 1000);
    view.acknowledged(40 * MILLISECOND, None, 10_000, None, 0);
    assert_eq!(view.limited_ns(), 0);
}

#[test]
fn what_was_sent_before_the_first_acknowledgement_is_in_flight() {
    let mut view = SenderView::default();
    view.sent(0, [5000, 6000], 1000, 1000);
    assert_eq!(view.flight_bytes(), 1000);
}
