//! Retransmissions that were not needed, and copies that are none (docs/methods.md, section 5; RFC 2883, 3522, 3708).
//!
//! Subjects: `tcp/direction/spurious_timeout.rs`, `tcp/events/segment.rs`,
//! `tcp/direction/on_sack.rs`, `tcp/direction/ack_signs.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::loss::retransmissions::LossCounters;

fn client(talk: Talk) -> LossCounters {
    *talk.summary().directions[CLIENT].loss
}

/// Retransmitted, spurious, network duplicates.
fn counts(talk: Talk) -> (u32, u32, u32) {
    let loss = client(talk);
    (loss.retransmitted, loss.spurious, loss.network_duplicates)
}

/// Beside the client: two segments, the first again after a timeout.
fn timed_out(talk: Talk) -> Talk {
    talk.client(50.0, data(0, 1000)).client(50.1, data(1000, 1000)).client(300.0, data(0, 1000))
}

#[test]
fn a_retransmission_that_nobody_reports_was_needed() {
    let talk = timed_out(Talk::seen_at_client(40.0)).server(340.0, ack(2000));
    assert_eq!(counts(talk), (1, 0, 0));
}

#[test]
fn a_duplicate_reported_below_the_acknowledgement_was_not_needed() {
    let talk = timed_out(Talk::seen_at_client(40.0)).server(340.0, ack(2000).sack(0, 1000));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn a_duplicate_reported_within_the_second_block_was_not_needed() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..5, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(0).sack(2000, 5000))
        .client(90.1, data(0, 1000))
        .client(90.2, data(2000, 1000))
        .server(130.0, ack(1000).sack(2000, 3000).sack(2000, 5000));
    let loss = client(talk);
    assert_eq!((loss.retransmitted, loss.spurious, loss.network_duplicates), (2, 1, 0));
}

#[test]
fn a_plain_first_block_above_the_acknowledgement_is_no_duplicate() {
    let talk = timed_out(Talk::seen_at_client(40.0)).server(340.0, ack(0).sack(1000, 2000));
    assert_eq!(counts(talk), (1, 0, 0));
}

#[test]
fn a_second_report_of_one_retransmission_is_a_copy_by_the_network() {
    let talk = timed_out(Talk::seen_at_client(40.0))
        .server(340.0, ack(2000).sack(0, 1000))
        .server(340.5, ack(2000).sack(0, 1000));
    assert_eq!(counts(talk), (1, 1, 1));
}

#[test]
fn a_report_of_what_was_sent_once_is_a_copy_by_the_network() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.0, ack(2000).sack(0, 1000));
    assert_eq!(counts(talk), (0, 0, 1));
}

/// Beside the client: four segments and its FIN, of which the first was lost. What is behind it is reported.
fn held_behind_the_first() -> Talk {
    Talk::seen_at_client(40.0)
        .each(0..3, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .client(50.1, data(3000, 1000).and_fin())
        .server(90.0, ack(0).sack(1000, 2000))
        .server(90.1, ack(0).sack(1000, 3000))
        .client(90.2, data(0, 1000))
}

#[test]
fn what_was_held_behind_the_last_hole_and_is_reported_with_the_answer_to_the_fin_came_once() {
    let talk = held_behind_the_first().server(130.2, ack(4001).sack(1000, 4001));
    assert_eq!(counts(talk), (1, 0, 0));
}

#[test]
fn the_end_that_is_reported_after_the_answer_to_the_fin_came_twice() {
    let talk = held_behind_the_first()
        .server(130.2, ack(4001))
        .client(140.0, data(3000, 1000).and_fin())
        .server(180.0, ack(4001).sack(3000, 4001));
    assert_eq!(counts(talk), (2, 1, 0));
}

#[test]
fn the_end_that_is_reported_with_the_first_answer_to_the_fin_came_twice_if_nothing_was_held() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000).and_fin())
        .client(300.0, data(1000, 1000).and_fin())
        .server(340.0, ack(2001).sack(1000, 2001));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn an_unneeded_retransmission_on_loss_signs_means_reordering_beyond_the_sender() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..5, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(0).sack(1000, 5000))
        .client(90.1, data(0, 1000))
        .server(130.0, ack(5000).sack(0, 1000));
    let loss = client(talk);
    assert_eq!((loss.spurious, loss.reordered), (1, 1));
    let probe = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(140.0, data(0, 1000))
        .server(180.0, ack(1000).sack(0, 1000));
    let loss = client(probe);
    assert_eq!((loss.by_trigger[2], loss.spurious, loss.reordered), (1, 1, 0), "a timer knows nothing of order");
}

#[test]
fn of_two_repeats_one_was_needed_though_the_acknowledgement_of_it_was_lost() {
    let sent_twice_more = Talk::seen_at_client(40.0)
        .each(0..5, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(0).sack(1000, 5000))
        .client(90.1, data(0, 1000))
        .client(400.0, data(0, 1000));
    let reordering = |talk: Talk| {
        let loss = client(talk);
        (loss.retransmitted, loss.spurious, loss.reordered)
    };
    let once = sent_twice_more.server(440.0, ack(5000).sack(0, 1000));
    assert_eq!(reordering(once.clone()), (2, 1, 0), "nothing says that the original came");
    assert_eq!(reordering(once.server(440.1, ack(5000).sack(0, 1000))), (2, 2, 1));
}

#[test]
fn eifel_an_acknowledgement_that_echoes_the_original() {
    let base = || timed_out(Talk::new().with_timestamps().open(40.0, 0.1));
    let original = base().server(345.0, ack(1000).tsecr(1_000_050));
    assert_eq!(counts(original), (1, 1, 0));
    let retransmission = base().server(345.0, ack(1000).tsecr(1_000_300));
    assert_eq!(counts(retransmission), (1, 0, 0));
}

#[test]
fn without_timestamps_an_answer_faster_than_any_round_trip_is_for_the_original() {
    let base = || {
        let sampled = Talk::seen_at_client(40.0).client(42.0, data(0, 1000)).server(82.0, ack(1000));
        sampled.client(100.0, data(1000, 1000)).client(100.1, data(2000, 1000)).client(400.0, data(1000, 1000))
    };
    assert_eq!(counts(base().server(431.0, ack(2000))), (1, 1, 0), "31 ms of 40");
    assert_eq!(counts(base().server(433.0, ack(2000))), (1, 0, 0), "33 ms of 40");
}

#[test]
fn with_the_same_timestamp_as_the_original_it_is_as_without() {
    let answered = |at: f64| {
        let sampled = Talk::new().with_timestamps().open(40.0, 0.1).client(42.0, data(0, 1000)).server(82.0, ack(1000));
        // The clock ticks once in half a second.
        let again = || data(1000, 1000).tsval(1_000_100);
        let sent =
            sampled.client(100.0, again()).client(100.1, data(2000, 1000).tsval(1_000_100)).client(400.0, again());
        counts(sent.server(at, ack(2000).tsecr(1_000_100)))
    };
    assert_eq!(answered(431.0), (1, 1, 0), "31 ms of 40");
    assert_eq!(answered(441.0), (1, 0, 0));
}

#[test]
fn a_report_is_of_the_repeat_that_its_timestamp_showed_to_be_needless() {
    // Lost, retransmitted after 200 ms, and once more, needlessly; the first repeat is answered.
    let sent = Talk::new().with_timestamps().open(40.0, 0.1).client(50.0, data(0, 1000)).client(50.1, data(1000, 1000));
    let repeated = sent.client(300.0, data(0, 1000)).client(800.0, data(0, 1000));
    let answered = repeated.server(801.0, ack(2000).tsecr(1_000_300));
    let reported = answered.server(840.0, ack(2000).sack(0, 1000).tsecr(1_000_300));
    assert_eq!(counts(reported), (2, 1, 0));
}

#[test]
fn what_was_acknowledged_before_it_is_sent_again_was_not_needed() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.0, ack(2000))
        .client(90.1, data(0, 1000));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn what_was_selectively_acknowledged_before_it_is_sent_again_was_not_needed() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..3, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(0).sack(1000, 2000))
        .client(345.0, data(1000, 1000));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn one_retransmission_is_unneeded_once_whatever_says_so() {
    let talk = timed_out(Talk::new().with_timestamps().open(40.0, 0.1))
        .server(345.0, ack(2000).sack(0, 1000).tsecr(1_000_050));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn beside_the_receiver_what_arrived_twice_was_not_needed() {
    let talk = Talk::seen_at_server(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .client(300.0, data(0, 1000));
    assert_eq!(counts(talk), (1, 1, 0));
}

#[test]
fn originals_delivered_after_later_ones_are_reordering() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..3, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(0).sack(2000, 3000))
        .server(90.1, ack(0).sack(1000, 3000))
        .server(90.2, ack(3000));
    let loss = client(talk);
    assert_eq!((loss.retransmitted, loss.reordered), (0, 2));
}

/// Beside the client, without SACK and timestamps: five segments, and the first again after a timeout. The first acknowledgement after
/// that comes as late as one of the repeat would.
fn five_and_a_timeout() -> Talk {
    let opened = Talk::new().client(0.0, syn().no_sack()).server(40.0, syn_ack().no_sack()).client(40.1, ack(0));
    let sampled = opened.client(42.0, data(0, 1000)).server(82.0, ack(1000));
    let sent = sampled.each(1..6_i64, |talk, n| talk.client(100.0 + n as f64, data(1000 * n, 1000)));
    sent.client(400.0, data(1000, 1000))
}

#[test]
fn frto_acknowledgements_that_go_on_without_other_repeats_are_of_the_originals() {
    let held_up = five_and_a_timeout().each(1..6_i64, |talk, n| talk.server(440.0 + n as f64, ack(1000 * (n + 1))));
    assert_eq!(counts(held_up), (1, 1, 0));
    let new_data_between = five_and_a_timeout()
        .server(441.0, ack(3000))
        .client(441.1, data(6000, 1000))
        .client(441.2, data(7000, 1000))
        .server(442.0, ack(5000))
        .server(482.0, ack(8000));
    assert_eq!(counts(new_data_between), (1, 1, 0));
    let twice = five_and_a_timeout().client(1000.0, data(1000, 1000));
    let twice = twice.each(1..6_i64, |talk, n| talk.server(1040.0 + n as f64, ack(1000 * (n + 1))));
    assert_eq!(counts(twice), (2, 2, 0), "both repeats of what had arrived");
}

#[test]
fn frto_an_acknowledgement_of_everything_answers_the_repeat_of_what_was_lost() {
    let answered =
        five_and_a_timeout().server(441.0, ack(6000)).client(441.1, data(6000, 1000)).server(481.1, ack(7000));
    assert_eq!(counts(answered), (1, 0, 0));
}

#[test]
fn frto_duplicate_acknowledgements_say_that_more_was_lost() {
    let more_lost = five_and_a_timeout()
        .server(441.0, ack(2000))
        .client(441.1, data(6000, 1000))
        .client(441.2, data(7000, 1000))
        .server(481.1, ack(2000))
        .server(481.2, ack(2000))
        .server(481.3, ack(3000));
    assert_eq!(counts(more_lost), (1, 0, 0));
}

#[test]
fn frto_what_goes_on_after_other_repeats_may_answer_those() {
    let repeated = five_and_a_timeout()
        .server(441.0, ack(2000))
        .client(441.1, data(2000, 1000))
        .client(441.2, data(3000, 1000))
        .server(481.1, ack(3000))
        .server(481.2, ack(6000));
    assert_eq!(counts(repeated), (3, 0, 0));
}

#[test]
fn beside_the_receiver_a_copy_of_a_repeat_is_not_the_repeat() {
    // The network copies the repeat of what was lost: the receiver reports the copy.
    let talk = Talk::new()
        .with_timestamps()
        .open(0.1, 40.0)
        .each(0..5, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .lost_before_capture(CLIENT, 1)
        .each(6..9, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(58.1, ack(5000).sack(6000, 9000))
        .client(98.0, data(5000, 1000))
        .server(98.1, ack(9000))
        .client(99.0, data(9000, 1000))
        .copy_of(12, 118.0)
        .server(118.1, ack(10_000).sack(5000, 6000));
    assert_eq!(counts(talk), (1, 0, 1));
}

#[test]
fn what_was_reported_in_acknowledgements_that_got_lost_did_not_come_late() {
    // All but 0 and 5000 arrives in order; of the acknowledgements only some do.
    let sent = || Talk::seen_at_client(40.0).each(0..9, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)));
    let reordered = |talk: Talk| client(talk).reordered;
    let first = || sent().server(90.0, ack(0).sack(6000, 8000));
    assert_eq!(reordered(first().server(91.0, ack(0).sack(6000, 9000).sack(1000, 5000))), 4, "both have just come");
    assert_eq!(reordered(first().server(91.0, ack(0).sack(6000, 8000).sack(1000, 5000))), 0, "these came before");
    assert_eq!(reordered(first().server(91.0, ack(0).sack(1000, 5000).sack(6000, 8000))), 4, "these have just come");
}

#[test]
fn the_left_edge_of_a_report_of_a_duplicate_is_enough() {
    let talk = timed_out(Talk::new().over_ipv6().with_timestamps().open(40.0, 0.1))
        .client(320.0, data(2000, 1000))
        .server(340.0, ack(2000).sack(0, 1000))
        .server(360.0, ack(3000));
    assert_eq!(counts(talk.clone()), (1, 1, 0));
    // Ethernet, IPv6, TCP, timestamps, and all of the block but its last two bytes.
    assert_eq!(counts(talk.clone().snapped(96)), (1, 1, 0));
    assert_eq!(counts(talk.snapped(14 + 40 + 20 + 12)), (1, 0, 0), "nothing of it");
}

#[test]
fn an_answer_on_a_path_as_short_as_what_hosts_take_comes_as_soon_as_it_likes() {
    let talk = Talk::new()
        .with_timestamps()
        .open(0.08, 0.02)
        .each(0..10, |talk, n| {
            let at_ms = 50.0 + f64::from(n);
            talk.client(at_ms, data(i64::from(n) * 1000, 1000)).server(at_ms + 0.08, ack(i64::from(n + 1) * 1000))
        })
        .each(10..14, |talk, n| talk.client(70.0, data(i64::from(n) * 1000, 1000)))
        .server(70.1, ack(10_000).sack(11_000, 14_000))
        .client(70.11, data(10_000, 1000))
        .server(70.15, ack(14_000));
    assert_eq!(counts(talk), (1, 0, 0));
}

#[test]
fn a_receiver_that_answers_sooner_than_the_sender_does_is_not_where_the_capture_is() {
    // Each takes some microseconds, and the sender has answered but once.
    let talk = Talk::new()
        .with_timestamps()
        .open(0.08, 0.03)
        .each(0..10, |talk, n| {
            let at_ms = 50.0 + f64::from(n);
            talk.client(at_ms, data(i64::from(n) * 1000, 1000)).server(at_ms + 0.01, ack(i64::from(n + 1) * 1000))
        })
        .client(70.0, data(10_000, 1000))
        .client(280.0, data(10_000, 1000))
        .server(280.1, ack(11_000));
    assert_eq!(counts(talk), (1, 0, 0));
}
