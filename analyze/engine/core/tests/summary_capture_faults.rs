//! What the capture did wrong: packets it missed, order it changed, clocks that step; and lengths that lie (docs/methods.md,
//! section 2).
//!
//! Subjects: `tcp/connection/environment.rs`,
//! `tcp/connection/clock_steps.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

fn client(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

#[test]
fn acknowledged_but_never_captured_is_a_loss_of_the_capture() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.2, data(2000, 1000).id(200))
        .server(90.0, ack(3000))
        .client(100.0, data(4000, 500).id(202))
        .server(140.0, ack(4500));
    let direction = client(&talk);
    assert_eq!((direction.unseen_acknowledged_bytes, direction.unique_payload_bytes), (2000, 2500));
    assert_eq!((direction.loss.retransmitted, direction.loss_caveat()), (0, Some("capture_loss")));
    assert_eq!(talk.analysis().inputs[0].unseen_acked_bytes, Some(2000));
}

#[test]
fn little_that_the_capture_missed_is_much_beside_little_that_was_lost() {
    let missed = |lost: u32| {
        let sent = (0..4000_u32).filter(|n| *n != 2000).fold(Talk::seen_at_client(40.0), |talk, n| {
            talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000))
        });
        let again = (0..lost).fold(sent, |talk, n| talk.client(4300.0 + f64::from(n), data(i64::from(n) * 1000, 1000)));
        client(&again.server(4400.0, ack(4_000_000))).loss_caveat()
    };
    assert_eq!((missed(0), missed(9), missed(11)), (None, Some("capture_loss"), None));
}

#[test]
fn what_the_capture_missed_leaves_out_numbers_of_its_own_beside_those_of_what_was_lost() {
    // One segment of forty is missed and acknowledged before the next; one of the others is lost and comes again.
    let missed = |n: i64| n % 40 == 5;
    let lost = 42;
    let sent = (0..240).fold(Talk::seen_at_server(40.0), |talk, n| {
        let at_ms = 50.0 + n as f64;
        match n {
            n if missed(n) => talk.lost_before_capture(CLIENT, 1).server(at_ms + 0.1, ack((n + 1) * 1000)),
            n if n == lost => talk.lost_before_capture(CLIENT, 1),
            n if n > lost => talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 0.1, ack(lost * 1000)),
            n => talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 0.1, ack((n + 1) * 1000)),
        }
    });
    let talk = sent.client(350.0, data(lost * 1000, 1000)).server(350.1, ack(240_000));
    let direction = client(&talk);
    assert_eq!((direction.unseen_acknowledged_bytes, direction.loss.retransmitted), (6000, 1));
    assert_eq!(direction.lost_by_identification.get(), Some(1));
}

#[test]
fn what_was_told_in_a_block_that_the_snap_length_cut_off_did_not_come_late() {
    // Segments 1 and 4 are lost, and so is the acknowledgement after 3: that after 5 reports 3 in its second block.
    let talk =
        (1..=6).fold(Talk::seen_at_client(40.0), |talk, n| talk.client(50.0 + n as f64, data((n - 1) * 1000, 1000)));
    let talk = talk
        .server(92.0, ack(0).sack(1000, 2000))
        .server(95.0, ack(0).sack(4000, 5000).sack(1000, 3000))
        .server(96.0, ack(0).sack(4000, 6000).sack(1000, 3000))
        .client(97.0, data(3000, 1000))
        .client(97.1, data(0, 1000))
        .server(137.0, ack(0).sack(1000, 6000))
        .server(137.1, ack(6000));
    let reordered = |talk: &Talk| client(talk).loss.reordered;
    // Ethernet, IP, TCP, and a block of ten bytes behind two that fill up.
    assert_eq!([reordered(&talk), reordered(&talk.clone().snapped(14 + 20 + 20 + 12))], [0, 0]);
}

#[test]
fn a_hole_that_was_not_acknowledged_is_no_loss_of_the_capture() {
    let talk = Talk::seen_at_server(40.0).client(50.0, data(0, 1000)).client(51.0, data(2000, 1000));
    let direction = client(&talk.server(51.1, ack(1000).sack(2000, 3000)));
    assert_eq!((direction.unseen_acknowledged_bytes, direction.loss_caveat()), (0, None));
}

#[test]
fn data_recorded_just_after_its_acknowledgement_was_put_out_of_order() {
    let talk =
        Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(2000)).client(90.9, data(1000, 1000));
    let direction = client(&talk);
    assert_eq!((direction.loss.capture_reordered, direction.loss.reordered, direction.loss.retransmitted), (1, 0, 0));
    assert_eq!(direction.unseen_acknowledged_bytes, 0);
    assert_eq!(talk.analysis().inputs[0].reordered, 1);
}

#[test]
fn data_long_after_its_acknowledgement_is_a_retransmission() {
    let acknowledged = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(2000));
    let told = |talk: Talk| {
        let loss = client(&talk).loss;
        (loss.capture_reordered, loss.retransmitted, loss.spurious)
    };
    // Its original has the number that is missing.
    assert_eq!(told(acknowledged.clone().lost_before_capture(CLIENT, 1).client(95.0, data(1000, 1000))), (0, 1, 1));
    assert_eq!(told(acknowledged.client(95.0, data(1000, 1000))), (1, 0, 0), "the next number is the original's own");
}

/// Both sides send every 20 ms, with timestamps; the clock is set by `ahead_ms` after three of six seconds.
fn conversation(step: impl Fn(Talk) -> Talk) -> Talk {
    let line = |talk: Talk, n: i64| {
        let (time_ms, position) = (100.0 + n as f64 * 20.0, n * 100);
        let talk = if n == 150 { step(talk) } else { talk };
        talk.client(time_ms, data(position, 100).acking(position))
            .server(time_ms + 10.0, data(position, 100).acking(position + 100))
    };
    Talk::new().with_timestamps().open(10.0, 0.1).each(0..300, line)
}

fn clock_steps(talk: &Talk) -> u64 {
    talk.analysis().inputs[0].clock_steps
}

#[test]
fn a_step_in_both_directions_is_one_of_the_capture_clock() {
    assert_eq!(clock_steps(&conversation(|talk| talk)), 0);
    assert_eq!(clock_steps(&conversation(|talk| talk.set_capture_clock(700.0))), 1);
    assert_eq!(clock_steps(&conversation(|talk| talk.set_capture_clock(-700.0))), 1);
    assert_eq!(clock_steps(&conversation(|talk| talk.set_capture_clock(40.0))), 0, "a queue could do that");
}

#[test]
fn a_step_shows_once_however_many_connections_see_it() {
    let stepped = |client: u8| {
        let talk = conversation(|talk| talk.set_capture_clock(700.0));
        let mut other = conversation(|talk| talk.between(client, 5_000, 9, 80).set_capture_clock(700.0));
        other = other.starting_at(303);
        [talk, other]
    };
    let analysis = analysis_of(&merged(&stepped(3)), &Default::default());
    assert_eq!(analysis.inputs[0].clock_steps, 1);
}

#[test]
fn a_jump_of_one_sides_timestamps_is_no_step() {
    // In the middle the client's timestamps jump by 700 ms twice, 300 ms apart; the server's keep true time.
    let line = |talk: Talk, n: i64| {
        let (time_ms, position) = (100.0 + n as f64 * 100.0, n * 100);
        let tsval = time_ms as u32 + if n >= 150 { 700 } else { 0 } + if n >= 153 { 700 } else { 0 };
        talk.client(time_ms, data(position, 100).acking(position).tsval(tsval))
            .server(time_ms + 10.0, data(position, 100).acking(position + 100))
    };
    let talk = Talk::new()
        .with_timestamps()
        .client(0.0, syn().tsval(0))
        .server(10.0, syn_ack())
        .client(10.1, ack(0).tsval(10))
        .each(0..200, line);
    assert_eq!(clock_steps(&talk), 0);
}

#[test]
fn a_pause_of_both_sides_is_no_step() {
    let line = |talk: Talk, n: i64| {
        let (time_ms, position) = (100.0 + n as f64 * 20.0 + if n >= 150 { 3_000.0 } else { 0.0 }, n * 100);
        talk.client(time_ms, data(position, 100)).server(time_ms + 10.0, ack(position + 100))
    };
    assert_eq!(clock_steps(&Talk::new().with_timestamps().open(10.0, 0.1).each(0..300, line)), 0);
}

#[test]
fn an_acknowledgement_far_beyond_the_data_is_nonsense() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(80.0, ack(1_500_000_000))
        .server(90.0, ack(1000))
        .client(100.0, data(1000, 1000))
        .server(140.0, ack(2000));
    let direction = client(&talk);
    assert_eq!((direction.unseen_acknowledged_bytes, direction.unique_payload_bytes), (0, 2000));
    assert_eq!(direction.round_trips.map(|trips| trips.moments.count()), Some(2));
}

#[test]
fn data_far_beyond_the_stream_is_counted_and_touches_nothing_else() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(51.0, data(1_500_000_000, 1000))
        .client(52.0, data(1000, 1000))
        .server(92.0, ack(2000));
    let direction = client(&talk);
    assert_eq!((direction.unseen_acknowledged_bytes, direction.unique_payload_bytes), (0, 2000));
    assert_eq!((direction.loss.unacceptable, direction.loss.retransmitted, direction.payload_bytes), (1, 0, 2000));
}

#[test]
fn data_farther_behind_than_any_window_is_no_repeat() {
    // A capture that passes over more than 2 GB comes to sequence numbers that seem to lie behind (RFC 7323 section 2.3: no window is
    // larger than 1 GB).
    let sent = Talk::seen_at_client(40.0).each(0..3_i64, |talk, n| talk.client(50.0 + n as f64, data(1000 * n, 1000)));
    let far = sent
        .server(92.0, ack(3000))
        .each(0..10_i64, |talk, n| talk.client(60_000.0 + n as f64, data(2_500_000_000 + 1000 * n, 1000)));
    let direction = client(&far);
    assert_eq!((direction.loss.retransmitted, direction.loss.spurious, direction.loss.reordered), (0, 0, 0));
    // Three that go on with each other are believed; the tenth is alone.
    assert_eq!((direction.loss.unacceptable, direction.loss.capture_duplicates), (1, 0));
    assert_eq!((direction.payload_bytes, direction.unique_payload_bytes), (12_000, 3000));
}

#[test]
fn an_old_acknowledgement_says_nothing() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.0, ack(2000))
        .server(90.1, ack(1000))
        .client(100.0, data(2000, 1000))
        .server(140.0, ack(3000));
    let direction = client(&talk);
    assert_eq!(direction.round_trips.map(|trips| trips.moments.count()), Some(2));
    assert_eq!(direction.rejected, [0, 1, 0, 0, 0]);
}

#[test]
fn selective_acknowledgements_of_what_was_never_sent_are_ignored() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.0, ack(0).sack(5000, 9000))
        .server(90.1, ack(0).sack(2000, 1000))
        .server(90.2, ack(0).sack(-9000, -5000))
        .server(90.3, ack(2000));
    let direction = client(&talk);
    assert_eq!((direction.rejected, direction.loss.network_duplicates), ([0, 1, 0, 0, 0], 0));
    assert_eq!(direction.round_trips.map(|trips| trips.moments.count()), Some(1));
}

#[test]
fn a_superpacket_counts_as_the_segments_it_becomes() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 64_500)).server(90.0, ack(64_500));
    let direction = client(&talk);
    assert_eq!((direction.data_packets, direction.data_segments, direction.extras.superpackets), (1, 65, 1));
    assert_eq!((direction.largest_payload, direction.segment_size), (64_500, 1000));
}

#[test]
fn packets_longer_than_the_ip_length_can_say_have_the_frames_length() {
    for base in [Talk::seen_at_client(40.0), Talk::new().over_ipv6().open(40.0, 0.1)] {
        let talk = base.client(50.0, data(0, 150_000).length_zero()).server(90.0, ack(150_000));
        let direction = client(&talk);
        assert_eq!(
            (direction.payload_bytes, direction.data_segments, direction.extras.superpackets),
            (150_000, 150, 1)
        );
        assert_eq!(direction.unseen_acknowledged_bytes, 0);
    }
}

#[test]
fn without_a_handshake_a_full_packet_is_one_of_ethernet() {
    let later = |length: u32| {
        let talk = Talk::seen_at_client(40.0).client(50.0, data(0, length)).server(90.0, ack(i64::from(length)));
        client(&talk.starting_at(3)).data_segments
    };
    assert_eq!((later(1460), later(1461), later(2920), later(8961)), (1, 2, 2, 1), "1500 or 9001 bytes of IP");
}

#[test]
fn without_mss_the_other_sides_offer_counts() {
    let talk = Talk::new()
        .client(0.0, syn().no_mss())
        .server(40.0, syn_ack())
        .client(40.1, ack(0))
        .client(50.0, data(0, 2000));
    assert_eq!(client(&talk).data_segments, 2);
}

#[test]
fn every_byte_on_the_wire_is_in_one_part_of_the_ledger() {
    // 14 link, 20 IP, 20 TCP; options: 16 in a SYN, 12 in the acknowledgement with one block.
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, data(1000, 1000))
        .server(90.0, ack(0).sack(1000, 2000))
        .client(300.0, data(0, 1000))
        .server(340.0, ack(2000));
    let [client, server] = talk.summary().directions;
    let ledger = client.ledger;
    assert_eq!((ledger.link, ledger.ip, ledger.tcp_header, ledger.tcp_options), (3 * 14, 3 * 20, 3 * 20, 12));
    assert_eq!((ledger.payload, ledger.retransmitted, ledger.pure_acknowledgements), (2000, 1054, 54));
    assert_eq!(server.ledger.pure_acknowledgements, 54 + 12 + 54);
    assert_eq!(server.ledger.total(), server.wire_bytes);
}

#[test]
fn what_was_under_way_when_the_capture_began_is_no_loss_of_it() {
    let whole = Talk::seen_at_client(40.0)
        .each(0..10, |talk, n| talk.client(50.0 + f64::from(n) * 0.1, data(i64::from(n) * 1000, 1000)))
        .each(0..10, |talk, n| {
            let at_ms = 90.0 + f64::from(n) * 2.0;
            talk.server(at_ms, ack((i64::from(n) + 1) * 1000))
                .client(at_ms + 0.1, data(10_000 + i64::from(n) * 1000, 1000))
        })
        .server(150.0, ack(20_000));
    let opened = client(&whole);
    assert_eq!((opened.unseen_acknowledged_bytes, opened.loss_caveat()), (0, None));
    let from_an_acknowledgement = client(&whole.clone().starting_at(13));
    assert_eq!((from_an_acknowledgement.unseen_acknowledged_bytes, from_an_acknowledgement.loss_caveat()), (0, None));
    // Several acknowledgements may come before the first data.
    let acknowledged = Talk::new().server(0.0, ack(5000)).server(0.1, ack(8000)).client(0.2, data(8000, 1000));
    let direction = client(&acknowledged.server(40.0, ack(9000)));
    assert_eq!((direction.unseen_acknowledged_bytes, direction.loss_caveat()), (0, None));
    // What is missing in the middle of it still is a loss of the capture.
    let missed = client(&whole.starting_at(13).client(160.0, data(22_000, 1000)).server(200.0, ack(23_000)));
    assert_eq!(missed.unseen_acknowledged_bytes, 2000);
}

#[test]
fn of_a_direction_that_was_not_captured_no_counter_is_zero() {
    let both = (0..40).fold(Talk::seen_at_client(40.0), |talk, n| {
        let at_ms = 50.0 + 50.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 40.0, data(n * 10, 10).acking(n * 1000 + 1000))
    });
    for side in [CLIENT, SERVER] {
        let alone = both.clone().only(side);
        let summary = alone.summary();
        assert!(summary.directions[1 - side].is_unseen() && !summary.directions[side].is_unseen());
        let reasons: Vec<_> = summary.directions[1 - side].not_measured().collect();
        assert!(reasons.contains(&("*", "not_captured")), "{reasons:?}");
        let json = json_of(&alone.analysis());
        for key in
            ["data_packets", "payload_bytes", "unique_payload_bytes", "retransmitted_segments", "unacceptable_packets"]
        {
            assert_eq!(json.matches(&format!("\"{key}\":null")).count(), 1, "{key}");
        }
    }
    assert!(both.summary().directions.iter().all(|direction| !direction.is_unseen()));
}
