//! Late data away from the sender: retransmission, or the original come late? (docs/methods.md, section 5)
//!
//! Subjects: `tcp/direction/holes.rs`, `tcp/direction/passed_over.rs`, `tcp/direction/on_data.rs`, `tcp/direction/retransmitted_unseen.rs`.

use crate::captures::cases;
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

/// Retransmitted, spurious and reordered segments of the client.
fn client(talk: &Talk) -> (u32, u32, u32) {
    let loss = *talk.summary().directions[CLIENT].loss;
    (loss.retransmitted, loss.spurious, loss.reordered)
}

/// Seen at the server: five segments in order, the sixth missing, the seventh at 60 ms shows the hole 5000..6000.
fn hole(talk: Talk) -> Talk {
    talk.each(0..5, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .lost_before_capture(CLIENT, 1)
        .client(60.0, data(6000, 1000))
        .server(60.1, ack(5000).sack(6000, 7000))
}

fn at_server() -> Talk {
    Talk::seen_at_server(40.0)
}

fn at_server_with_timestamps() -> Talk {
    Talk::new().with_timestamps().open(0.1, 40.0)
}

#[test]
fn a_newer_timestamp_than_that_behind_the_hole_is_a_retransmission() {
    let soon = hole(at_server_with_timestamps()).client(63.0, data(5000, 1000).tsval(1_000_061));
    assert_eq!(client(&soon), (1, 0, 0), "however soon it comes");
    let direction = &soon.summary().directions[CLIENT];
    assert_eq!((direction.lost_inferred(), direction.unique_payload_bytes), (1, 7000));
}

#[test]
fn an_older_timestamp_is_the_original() {
    let late = hole(at_server_with_timestamps()).client(200.0, data(5000, 1000).tsval(1_000_059));
    assert_eq!(client(&late), (0, 0, 1), "however late it comes");
}

#[test]
fn timestamps_are_compared_across_their_wrap() {
    let talk = at_server_with_timestamps()
        .client(50.0, data(0, 1000).tsval(u32::MAX - 1))
        .client(51.0, data(2000, 1000).tsval(u32::MAX))
        .client(91.0, data(1000, 1000).tsval(3));
    assert_eq!(client(&talk), (1, 0, 0));
}

#[test]
fn within_one_tick_the_identification_decides() {
    let talk = hole(at_server_with_timestamps());
    let after = talk.clone().client(61.0, data(5000, 1000).tsval(1_000_060).id(900));
    assert_eq!(client(&after), (1, 0, 0));
    let before = talk.client(61.0, data(5000, 1000).tsval(1_000_060).id(106));
    assert_eq!(client(&before), (0, 0, 1));
}

#[test]
fn without_timestamps_the_identification_decides() {
    // SYN and ACK are 100 and 101, data 102 to 106, lost 107, behind the hole 108.
    let after = hole(at_server()).client(60.5, data(5000, 1000).id(109));
    assert_eq!(client(&after), (1, 0, 0), "however soon it comes");
    let before = hole(at_server()).client(300.0, data(5000, 1000).id(107));
    assert_eq!(client(&before), (0, 0, 1), "however late it comes");
}

#[test]
fn without_both_a_retransmission_takes_eight_tenths_of_the_round_trip() {
    for base in [at_server().without_identifications(), Talk::new().over_ipv6().open(0.1, 40.0)] {
        // The handshake took 40.1 ms; the hole shows at 60 ms.
        let early = hole(base.clone()).client(60.0 + 32.0, data(5000, 1000));
        assert_eq!(client(&early), (0, 0, 1));
        let late = hole(base).client(60.0 + 32.1, data(5000, 1000));
        assert_eq!(client(&late), (1, 0, 0));
    }
}

#[test]
fn identifications_that_do_not_count_up_decide_nothing() {
    let talk = at_server()
        .each(0..5u16, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000).id(n.wrapping_mul(12_345) + 7)))
        .client(60.0, data(6000, 1000).id(2000));
    assert_eq!(client(&talk.clone().client(95.0, data(5000, 1000).id(1000))), (1, 0, 0), "by time: 35 ms");
    assert_eq!(client(&talk.client(65.0, data(5000, 1000).id(3000))), (0, 0, 1), "by time: 5 ms");
}

#[test]
fn bytes_seen_before_are_a_retransmission_at_every_vantage_point() {
    for base in [at_server(), Talk::seen_at_client(40.0), Talk::new().open(20.0, 20.0)] {
        let talk = base.client(50.0, data(0, 1000)).client(50.2, data(1000, 1000)).client(120.0, data(0, 1000));
        let direction = talk.summary().directions[CLIENT].clone();
        assert_eq!((direction.loss.retransmitted, direction.loss.reordered), (1, 0));
        assert_eq!((direction.loss.retransmitted_bytes, direction.unique_payload_bytes), (1000, 2000));
    }
}

#[test]
fn beside_the_sender_nothing_is_out_of_order() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..5, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .client(51.0, data(6000, 1000).id(108))
        .client(51.5, data(5000, 1000).id(107));
    let loss = *talk.summary().directions[CLIENT].loss;
    assert_eq!(
        (loss.retransmitted, loss.reordered, loss.capture_reordered),
        (0, 0, 1),
        "the capture changed the order"
    );
}

#[test]
fn an_original_overtaken_by_its_retransmission_makes_that_unnecessary() {
    let talk = hole(at_server())
        .client(100.0, data(5000, 1000).id(109))
        .server(100.1, ack(7000))
        .client(104.0, data(5000, 1000).id(107));
    assert_eq!(client(&talk), (1, 1, 1));
    assert_eq!(talk.summary().directions[CLIENT].lost_inferred(), 0);
    let by_timestamp = hole(at_server_with_timestamps())
        .client(100.0, data(5000, 1000).tsval(1_000_100))
        .client(104.0, data(5000, 1000).tsval(1_000_058));
    assert_eq!(client(&by_timestamp), (1, 1, 1));
}

#[test]
fn a_retransmission_that_reaches_beyond_the_highest_byte_brings_new_data() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).client(300.0, data(500, 1000));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.loss.retransmitted, direction.loss.retransmitted_bytes), (1, 500));
    assert_eq!((direction.unique_payload_bytes, direction.ledger.payload), (1500, 1500));
}

#[test]
fn one_packet_may_fill_several_holes() {
    let talk = at_server()
        .client(50.0, data(0, 100))
        .client(51.0, data(200, 100))
        .client(52.0, data(400, 100))
        .client(100.0, data(0, 500));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.unique_payload_bytes, direction.loss.retransmitted), (500, 1));
    assert_eq!(direction.loss.retransmitted_bytes, 500);
}

/// Seen at the server: ten segments of the client are lost, and after a timeout the first comes again. Its timeout was needless for all
/// it knows (RFC 5682), so that new data follows, and then the others again.
fn first_flight_lost(numbered: u16) -> Talk {
    let again = at_server().lost_before_capture(CLIENT, 10).client(340.0, data(0, 1000)).server(340.1, ack(1000));
    let new = again.lost_before_capture(CLIENT, numbered).client(380.0, data(10_000, 1000)).server(380.1, ack(1000));
    let others = (1..10).fold(new, |talk, n| talk.client(420.0 + n as f64, data(n * 1000, 1000)));
    (11..30).fold(others.server(430.0, ack(11_000)), |talk, n| talk.client(460.0 + n as f64, data(n * 1000, 1000)))
}

#[test]
fn a_first_flight_that_is_wholly_lost_is_told_by_the_number_after_that_of_its_first_repeat() {
    let direction = &first_flight_lost(0).summary().directions[CLIENT];
    assert_eq!((direction.loss.retransmitted, direction.lost_inferred()), (10, 10));
    assert_eq!(missing(direction), Some(10));
    assert_eq!(direction.loss.retransmitted_bytes, 10_000);
}

#[test]
fn what_was_sent_after_the_first_data_does_not_make_that_a_repeat() {
    let direction = &first_flight_lost(9).summary().directions[CLIENT];
    assert_eq!(direction.loss.retransmitted, 9);
}

fn missing(direction: &DirectionSummary) -> Option<u64> {
    direction.lost_by_identification.get()
}

#[test]
fn losses_before_the_capture_are_counted_by_missing_identifications() {
    let talk = at_server()
        .each(0..10, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .lost_before_capture(CLIENT, 3)
        .client(60.0, data(13_000, 1000));
    assert_eq!(missing(&talk.summary().directions[CLIENT]), Some(3));
    let seen_at_sender = Talk::seen_at_client(40.0)
        .each(0..20, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)));
    assert_eq!(missing(&seen_at_sender.summary().directions[CLIENT]), None, "what is lost on the way shows here");
}

#[test]
fn identifications_prove_nothing_where_they_do_not_count_up() {
    let zero = at_server()
        .without_identifications()
        .each(0..20, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)));
    assert_eq!(missing(&zero.summary().directions[CLIENT]), None);
    let few = at_server().each(0..4, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)));
    assert_eq!(missing(&few.summary().directions[CLIENT]), None, "too few to believe");
}

#[test]
fn a_lost_acknowledgement_of_what_was_under_way_is_no_lost_tail() {
    // What the server sends at 60 ms reaches the client after it has sent its last segment: the number that is missing
    // behind that one was the acknowledgement's.
    let talk = at_server()
        .each(0..10, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(60.0, data(0, 500).acking(10_000))
        .each(10..20, |talk, n| talk.client(51.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(71.0, ack(20_000))
        .lost_before_capture(CLIENT, 1)
        .client(130.0, data(20_000, 1000));
    assert_eq!(client(&talk), (0, 0, 0));
}

#[test]
fn a_lost_tail_shows_only_by_missing_identifications() {
    // The last two segments and a tail loss probe get lost; what comes after the timeout was never seen here.
    let talk = at_server()
        .each(0..30, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(80.0, ack(30_000))
        .lost_before_capture(CLIENT, 3)
        .client(380.0, data(30_000, 1000))
        .server(380.1, ack(31_000))
        .client(420.2, data(31_000, 1000))
        .server(420.3, ack(32_000))
        .client(460.4, data(32_000, 1000));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!(direction.loss.retransmitted, 2, "30000 and 31000, but not 32000");
    assert_eq!((direction.unique_payload_bytes, missing(direction)), (33_000, Some(3)));
}

/// A short upload of fourteen segments, seen at its receiver 20 ms away: ten in a flight, the first `passed` of the others one round
/// trip later, and of those all but the newest `unheard` have been acknowledged to the sender.
fn short_upload(passed: i64) -> Talk {
    let sent = |talk: Talk, n: i64, at_ms: f64| {
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 0.1, ack((n + 1) * 1000))
    };
    let talk = Talk::new().with_timestamps().open(0.1, 20.0);
    (0..10 + passed).fold(talk, |talk, n| {
        let at_ms = if n < 10 { 31.0 } else { 52.0 };
        sent(talk, n, at_ms + 0.3 * (n % 10) as f64)
    })
}

#[test]
fn a_tail_loss_probe_that_leaves_a_hole_is_a_retransmission_and_so_is_what_fills_it() {
    let talk = short_upload(2)
        .lost_before_capture(CLIENT, 2)
        .client(131.6, data(13_000, 900).and_fin())
        .server(131.7, ack(12_000).sack(13_000, 13_900))
        .client(152.2, data(12_000, 1000))
        .server(152.3, ack(13_901));
    assert_eq!(client(&talk), (2, 0, 0));
}

#[test]
fn a_tail_loss_probe_of_the_last_segment_alone_is_a_retransmission() {
    // The acknowledgement of what passed last got lost on its way: two segments are in flight to the sender, which does not wait
    // for a delayed acknowledgement then.
    let probe = |at_ms: f64, lost: u16| {
        let talk = short_upload(3).lost_before_capture(CLIENT, lost);
        client(&talk.client(at_ms, data(13_000, 900).and_fin()).server(at_ms + 0.1, ack(13_901)))
    };
    assert_eq!(probe(122.0, 1), (1, 0, 0));
    assert_eq!(probe(122.0, 0), (0, 0, 0), "no number is missing: it is new");
    assert_eq!(probe(60.0, 1), (0, 0, 0), "sooner than any timer: the number was something else's");
}

#[test]
fn what_is_sent_at_once_when_a_lost_acknowledgement_is_made_good_belongs_to_the_lost_tail() {
    // The acknowledgement of the repair gets lost, so that the repair comes once more; its duplicate acknowledgement lets the tail go.
    let talk = short_upload(1)
        .lost_before_capture(CLIENT, 1)
        .client(52.5, data(12_000, 1000))
        .server(52.6, ack(11_000).sack(12_000, 13_000))
        .lost_before_capture(CLIENT, 1)
        .client(82.2, data(11_000, 1000))
        .server(82.3, ack(13_000))
        .client(314.3, data(11_000, 1000))
        .server(314.4, ack(13_000).sack(11_000, 12_000))
        .client(334.9, data(13_000, 900).and_fin())
        .server(335.0, ack(13_901));
    assert_eq!(client(&talk), (3, 1, 0));
}

#[test]
fn numbers_that_others_share_still_tell_what_was_sent_later() {
    // A host that sends fifty packets to others between two of these.
    let hole = at_server()
        .with_ttl(121, 57)
        .each(0..5u16, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000).id(60_000 + 50 * n)))
        .client(60.0, data(6000, 1000).id(60_400));
    let filled = |time_ms: f64, id: u16| client(&hole.clone().client(time_ms, data(5000, 1000).id(id)));
    assert_eq!(filled(65.0, 60_700), (1, 0, 0), "sent later, though sooner than an answer can be");
    assert_eq!(filled(65.0, 60_250), (0, 0, 1), "sent before");
    assert_eq!(filled(400.0, 60_250), (1, 0, 0), "so late that the numbers may have gone round");
}

#[test]
fn numbers_that_connections_share_prove_no_loss() {
    let talk = |ttl: u8| {
        Talk::new()
            .with_ttl(ttl, 57)
            .open(0.1, 40.0)
            .each(0..30, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
            .server(80.0, ack(30_000))
            .lost_before_capture(CLIENT, 3)
            .client(380.0, data(30_000, 1000))
    };
    let of_windows = talk(121);
    assert_eq!((client(&of_windows), missing(&of_windows.summary().directions[CLIENT])), ((0, 0, 0), None));
    let of_linux = talk(57);
    assert_eq!((client(&of_linux), missing(&of_linux.summary().directions[CLIENT])), ((1, 0, 0), Some(3)));
}

#[test]
fn a_sender_that_rests_though_everything_has_arrived_has_nothing_left_to_send_again() {
    let after_timeout = at_server()
        .each(0..30, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(80.0, ack(30_000))
        .lost_before_capture(CLIENT, 12)
        .client(380.0, data(30_000, 1000))
        .server(380.1, ack(31_000));
    assert_eq!(
        client(&after_timeout.clone().client(420.2, data(31_000, 1000))),
        (2, 0, 0),
        "at once: the tail goes on"
    );
    assert_eq!(client(&after_timeout.client(900.0, data(31_000, 1000))), (1, 0, 0), "after a rest: something new");
}

#[test]
fn a_pause_without_missing_identifications_is_no_loss() {
    let talk = at_server()
        .each(0..10, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(60.0, ack(10_000))
        .client(360.0, data(10_000, 1000));
    assert_eq!(client(&talk), (0, 0, 0));
}

#[test]
fn a_lost_tail_shows_though_the_first_that_is_sent_again_got_lost_as_well() {
    // Of thirty segments the ninth and tenth and the last two get lost; so does the ninth once more, and comes last.
    let talk = at_server()
        .each(0..8, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .lost_before_capture(CLIENT, 2)
        .each(10..28, |talk, n| {
            let at_ms = 50.0 + f64::from(n);
            let report = ack(8000).sack(10_000, (i64::from(n) + 1) * 1000);
            talk.client(at_ms, data(i64::from(n) * 1000, 1000)).server(at_ms + 0.1, report)
        })
        .lost_before_capture(CLIENT, 2 + 1)
        .client(100.5, data(9000, 1000))
        .server(100.6, ack(8000).sack(9000, 28_000))
        .client(150.0, data(8000, 1000))
        .server(150.1, ack(28_000))
        .client(190.2, data(28_000, 1000))
        .client(190.3, data(29_000, 1000))
        .client(190.4, data(30_000, 1000));
    assert_eq!(client(&talk), (4, 0, 0), "8000, 9000, 28000 and 29000, but not 30000");
}

#[test]
fn a_repeat_that_overtakes_one_below_it_shows_no_lost_tail() {
    // All passed here, 8000 and 9000 got lost behind; the repeat of 9000 comes first.
    let talk = Talk::new()
        .open(20.0, 20.0)
        .each(0..20, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(8000).sack(10_000, 20_000))
        .client(110.0, data(9000, 1000).id(123))
        .client(111.0, data(8000, 1000).id(122))
        .client(112.0, data(20_000, 1000).id(124));
    assert_eq!(client(&talk).0, 2, "20000 is new");
}

#[test]
fn what_passed_before_the_last_hop_and_got_lost_there_was_sent_again_with_need() {
    // A router at the receiver: 2000 passes it and never arrives.
    let passed = |timestamps: bool| {
        let talk = Talk::new();
        let talk = if timestamps { talk.with_timestamps() } else { talk }.open(0.2, 40.0);
        talk.each(0..6, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
            .server(56.0, ack(2000).sack(3000, 6000).tsecr(1_000_051))
    };
    for timestamps in [false, true] {
        let again = passed(timestamps).client(100.0, data(2000, 1000));
        assert_eq!(client(&again.clone().server(100.1, ack(6000))), (1, 0, 0));
        assert_eq!(client(&again.server(100.1, ack(6000).sack(2000, 3000))), (1, 1, 0), "it had been held up");
    }
    // The receiver has what it reports; and it refuses what is older than what it echoes, which came all the same.
    let reported = passed(true).client(100.0, data(4000, 1000));
    assert_eq!(client(&reported), (1, 1, 0));
    let refused = passed(true).server(57.0, ack(2000).sack(3000, 6000).tsecr(1_000_060));
    assert_eq!(client(&refused.client(100.0, data(2000, 1000))), (1, 1, 0));
}

/// A dialogue of one message each way, each of a segment, seen beside neither; `late` of the client's messages are stored behind the
/// server's next response by seconds, as by a program that has rewritten the times.
fn dialogue(late: &[i64], missing: &[i64]) -> Talk {
    let talk = Talk::new();
    (0..40_i64).fold(talk, |talk, n| {
        let at_ms = 20_000.0 * n as f64;
        let says = |talk: Talk, at_ms: f64| {
            talk.client(at_ms, Segment { acknowledges: Some(84 * n), ..data(126 * n, 126) }.id(0x2995 + n as u16))
        };
        let answers = |talk: Talk, at_ms: f64| {
            talk.server(at_ms, Segment { acknowledges: Some(126 * (n + 1)), ..data(84 * n, 84) }.id(0x4947 + n as u16))
        };
        if missing.contains(&n) {
            answers(talk, at_ms + 9_000.0)
        } else if late.contains(&n) {
            says(answers(talk, at_ms), at_ms + 9_000.0)
        } else {
            answers(says(talk, at_ms), at_ms + 9_000.0)
        }
    })
}

#[test]
fn originals_stored_seconds_behind_their_acknowledgement_are_no_retransmissions() {
    for (late, missing) in [(&[1, 7, 30][..], &[][..]), (&[2, 3, 9], &[8]), (&[20], &[19]), (&[20], &[18, 19])] {
        let summary = dialogue(late, missing).summary();
        let [client, server] = summary.directions.each_ref();
        assert_eq!((client.loss.retransmitted, client.loss.spurious), (0, 0), "{late:?} {missing:?}");
        assert_eq!((server.loss.retransmitted, server.loss.spurious), (0, 0), "{late:?} {missing:?}");
        assert_eq!(client.loss.capture_reordered, late.len() as u32, "{late:?} {missing:?}");
        assert_eq!(client.payload_bytes, client.unique_payload_bytes);
        assert_eq!(client.unseen_acknowledged_bytes, 126 * missing.len() as u64);
    }
}

#[test]
fn what_was_sent_again_seconds_behind_its_acknowledgement_has_a_later_number() {
    // The original was not captured; its number is missing, and that of what repeats it follows it.
    let talk = dialogue(&[], &[])
        .until(60)
        .server(900_000.0, Segment { acknowledges: Some(126 * 31), ..data(2520, 84) }.id(0x4965));
    let again = talk.client(909_000.0, data(126 * 30, 126).id(0x2995 + 31));
    assert_eq!(client(&again), (1, 1, 0));
}

proptest! {
    #![proptest_config(cases(60))]

    /// Payload that equals unique bytes and retransmissions contradict each other where every number of both senders is in the file.
    #[test]
    fn what_is_in_the_file_once_with_all_its_numbers_was_sent_once(late in prop::collection::btree_set(1..38_i64, 0..12)) {
        let late: Vec<i64> = late.into_iter().collect();
        for direction in &dialogue(&late, &[]).summary().directions {
            prop_assert_eq!(direction.payload_bytes, direction.unique_payload_bytes);
            let loss = &direction.loss;
            prop_assert_eq!((loss.retransmitted, loss.spurious, direction.unseen_acknowledged_bytes), (0, 0, 0), "{:?}", late);
        }
    }
}
