//! Which packets make one connection: ports used again, repeats, closing, stragglers, one direction only.
//!
//! Subjects: `tcp/flow/table.rs`, `tcp/events/ends.rs`.

use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::events::close::Close;
use vmtrace_core::tcp::rows::rows::Field;

/// A whole connection: opened, 1000 bytes, closed by both sides at 200 ms.
fn whole() -> Talk {
    Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(90.0, ack(1000))
        .client(160.0, fin(1000))
        .server(200.0, fin(0).acking(1001))
        .client(200.1, ack(1))
}

fn connections(talk: &Talk) -> usize {
    let analysis = talk.analysis();
    check_consistency(&analysis);
    analysis.connections.len()
}

#[test]
fn both_fins_close_and_the_last_acknowledgement_ends_the_teardown() {
    let summary = whole().summary();
    assert_eq!((summary.close, summary.reset_by, summary.teardown_ns()), (Close::Fin, None, Some(ms(40.1))));
}

#[test]
fn both_sides_may_close_at_once() {
    let talk = Talk::seen_at_client(40.0)
        .client(100.0, fin(0))
        .server(110.0, fin(0).acking(0))
        .client(110.1, ack(1))
        .server(140.0, ack(1));
    let summary = talk.summary();
    assert_eq!((summary.close, summary.teardown_ns()), (Close::Fin, Some(ms(40.0))));
    assert_eq!(summary.directions.each_ref().map(|direction| direction.loss.fin), [0, 0]);
}

#[test]
fn one_fin_alone_leaves_it_open() {
    let summary = Talk::seen_at_client(40.0).client(100.0, fin(0)).server(140.0, ack(1)).summary();
    assert_eq!((summary.close, summary.teardown_ns()), (Close::Open, None));
}

#[test]
fn the_first_reset_tells_who_aborted() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, rst()).client(90.5, rst());
    let summary = talk.summary();
    assert_eq!((summary.close, summary.reset_by), (Close::Reset, Some(SERVER as u8)));
    let refused = Talk::new().client(0.0, syn()).server(40.0, rst()).summary();
    assert_eq!((refused.close, refused.reset_by, refused.handshake_complete), (Close::Reset, Some(1), false));
}

#[test]
fn a_reset_after_a_fin_ends_the_teardown() {
    let summary = Talk::seen_at_client(40.0).client(100.0, fin(0)).server(140.0, rst()).summary();
    assert_eq!((summary.close, summary.teardown_ns()), (Close::Reset, Some(ms(40.0))));
}

#[test]
fn a_fin_after_the_reset_begins_no_teardown() {
    let summary = Talk::seen_at_client(40.0).server(100.0, rst()).client(110.0, fin(0)).summary();
    assert_eq!((summary.close, summary.teardown_ns()), (Close::Reset, None));
}

#[test]
fn a_fin_behind_lost_data_makes_a_hole() {
    let talk = Talk::seen_at_server(40.0)
        .client(50.0, data(0, 1000))
        .client(50.1, fin(2000))
        .client(90.0, data(1000, 1000).id(900))
        .server(90.1, ack(2001));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.loss.retransmitted, direction.unique_payload_bytes), (1, 2000));
    assert_eq!(direction.unseen_acknowledged_bytes, 0);
}

#[test]
fn a_fin_captured_after_its_acknowledgement_leaves_no_hole() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1001)).client(90.5, fin(1000));
    assert_eq!(talk.summary().directions[CLIENT].unseen_acknowledged_bytes, 0);
}

#[test]
fn ports_used_again_with_a_new_sequence_number_are_another_connection() {
    let talk = whole().with_isn(555_000, 777_000).client(300.0, syn()).server(340.0, syn_ack()).client(340.1, ack(0));
    assert_eq!(connections(&talk), 2);
    let analysis = talk.analysis();
    assert_eq!(analysis.connections[1].start_ns, START_NS + ms(300.0));
    assert_eq!(analysis.connections[0].directions[CLIENT].loss.syn, 0);
    assert!(analysis.connections.iter().all(|connection| connection.handshake_complete));
}

#[test]
fn ports_used_again_after_closing_may_even_have_the_same_sequence_number() {
    let talk = whole().client(300.0, syn()).server(340.0, syn_ack()).client(340.1, ack(0));
    assert_eq!(connections(&talk), 2);
}

#[test]
fn ports_used_again_without_any_closing_seen() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .with_isn(555_000, 777_000)
        .client(300.0, syn())
        .server(340.0, syn_ack());
    assert_eq!(connections(&talk), 2);
}

#[test]
fn a_syn_after_packets_without_one_begins_another_connection() {
    let talk = whole().starting_at(3).with_isn(1, 2).client(300.0, syn()).server(340.0, syn_ack());
    assert_eq!(connections(&talk), 2);
}

#[test]
fn the_same_syn_again_is_a_repeat() {
    let waits = [0.0, 1_000.0, 3_000.0, 7_000.0, 15_000.0, 31_000.0, 63_000.0, 127_000.0];
    let talk = Talk::new().each(waits, |talk, time_ms| talk.client(time_ms, syn()));
    assert_eq!(talk.summary().directions[CLIENT].loss.syn, 7);
}

#[test]
fn the_same_syn_after_the_longest_wait_is_another_attempt() {
    let talk = Talk::new().client(0.0, syn()).client(131_000.0, syn());
    assert_eq!(connections(&talk), 2);
}

/// Refused twice, and then not (so Windows tries).
fn tried_three_times() -> Talk {
    Talk::new()
        .client(0.0, syn())
        .server(40.0, rst())
        .client(540.0, syn())
        .server(580.0, rst())
        .client(1080.0, syn())
        .server(1120.0, syn_ack())
        .client(1120.1, ack(0))
        .client(1121.0, data(0, 100))
        .server(1161.0, ack(100))
}

#[test]
fn the_same_syn_after_a_refusal_is_the_same_attempt() {
    let talk = tried_three_times();
    assert_eq!(connections(&talk), 1);
    let summary = talk.summary();
    let [client, server] = &summary.directions;
    assert_eq!((summary.start_ns, summary.first_frame, summary.close), (START_NS, 1, Close::Open));
    assert_eq!((client.loss.syn, client.packets, server.packets), (2, 5, 4));
    assert_eq!(client.wire_bytes + server.wire_bytes, summary.wire_bytes());
    assert!(summary.handshake_complete);
    assert_eq!(summary.handshake_rtt_ns(), Some(ms(40.1)), "nothing but the last SYN can have been answered");
}

/// What opens before and after a reset that somebody on the way sent, and data.
fn opened_in_spite_of_a_reset() -> Talk {
    Talk::new()
        .client(0.0, syn())
        .server(10.0, rst().acking(0).id(9))
        .server(40.0, syn_ack())
        .client(40.1, ack(0))
        .client(41.0, data(0, 100))
        .server(81.0, ack(100))
}

#[test]
fn an_answer_to_the_syn_goes_on_with_the_connection_that_a_reset_seemed_to_refuse() {
    let talk = opened_in_spite_of_a_reset();
    assert_eq!(connections(&talk), 1);
    let summary = talk.summary();
    let [client, server] = &summary.directions;
    assert_eq!((summary.start_ns, summary.first_frame, summary.close), (START_NS, 1, Close::Open));
    assert_eq!((client.packets, server.packets, client.loss.syn, server.loss.syn), (3, 3, 0, 0));
    assert_eq!((summary.handshake_complete, summary.handshake_rtt_ns()), (true, Some(ms(40.1))));
    assert_eq!(client.window.scale, Some(7), "the client's offer stands");
    assert_eq!(talk.clone().server(90.0, rst()).summary().reset_by, Some(1), "a reset that is one");
}

#[test]
fn an_answer_that_nobody_takes_leaves_the_connection_reset() {
    // The client gave up before it came.
    let gave_up = Talk::new().client(0.0, syn()).client(10.0, rst()).server(40.0, syn_ack());
    assert_eq!(connections(&gave_up), 1);
    assert_eq!((gave_up.summary().close, gave_up.summary().reset_by), (Close::Reset, Some(0)));
    let refused_again = gave_up.client(40.1, rst());
    assert_eq!((connections(&refused_again), refused_again.summary().reset_by), (1, Some(0)));
}

#[test]
fn data_between_a_refusal_and_the_answer_counts_once_as_data_and_as_what_it_was_taken_for() {
    let talk = Talk::new().client(0.0, syn()).server(10.0, rst()).server(20.0, data(0, 500)).server(40.0, syn_ack());
    let analysis = talk.analysis();
    check_consistency(&analysis);
    assert_eq!(analysis.connections.len(), 1);
    let server = &analysis.connections[0].directions[SERVER];
    assert_eq!((server.data_packets, server.data_segments, server.payload_bytes), (1, 1, 500));
    assert_eq!(server.loss.retransmitted, 1);
}

#[test]
fn an_answer_to_another_syn_begins_another_connection_after_a_reset() {
    let other = Talk::new().client(0.0, syn()).server(10.0, rst()).with_isn(1, 2).server(40.0, syn_ack());
    assert_eq!(connections(&other), 2);
}

#[test]
fn refused_three_times_is_one_connection_that_was_reset() {
    let talk = tried_three_times().until(5).server(1120.0, rst()).again(1120.2);
    assert_eq!(connections(&talk), 1);
    let summary = talk.summary();
    assert_eq!((summary.close, summary.reset_by, summary.handshake_complete), (Close::Reset, Some(1), false));
    assert_eq!((summary.directions[CLIENT].loss.syn, summary.directions[SERVER].packets), (2, 3));
    assert_eq!(summary.end_ns, START_NS + ms(1120.0));
}

#[test]
fn a_connection_of_former_times_is_reset_before_the_same_syn_opens_another() {
    // The server still has it, and acknowledges what this client knows nothing of (RFC 9293 section 3.5.1).
    let talk = Talk::new()
        .client(0.0, syn())
        .server(40.0, ack(860_000_000))
        .client(40.1, rst())
        .client(3000.0, syn())
        .server(3040.0, syn_ack().acking(0))
        .client(3040.1, ack(0))
        .client(3041.0, data(0, 100));
    assert_eq!(connections(&talk), 1);
    let summary = talk.summary();
    let client = &summary.directions[CLIENT];
    assert_eq!((client.loss.syn, client.unseen_acknowledged_bytes, client.unique_payload_bytes), (1, 0, 100));
    assert_eq!((summary.handshake_complete, summary.handshake_rtt_ns()), (true, Some(ms(40.1))));
}

#[test]
fn another_sequence_number_after_a_refusal_is_another_connection() {
    let talk = tried_three_times().until(2).with_isn(555_000, 777_000).client(540.0, syn()).server(580.0, rst());
    assert_eq!(connections(&talk), 2);
}

#[test]
fn the_same_syn_long_after_or_before_a_refusal_is_another_connection() {
    for hours in [-1.0, 1.0] {
        let talk = tried_three_times().until(2).client(hours * 3_600e3, syn()).server(hours * 3_600e3 + 40.0, rst());
        assert_eq!(connections(&talk), 2, "{hours} hours");
    }
}

#[test]
fn connections_keep_their_numbers_where_one_was_tried_again() {
    let later = Talk::new().between(3, 1234, 4, 80).client(2_000.0, syn()).server(2_001.0, syn_ack());
    let frames = merged(&[tried_three_times(), later]);
    for wanted in [1, 2] {
        let options = Options { detail_connections: vec![wanted], ..Options::default() };
        let analysis = analysis_of(&frames, &options);
        check_consistency(&analysis);
        assert_eq!(analysis.connections.iter().map(|connection| connection.id).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            analysis.rows.values(Field::Connection),
            vec![Some(i64::from(wanted)); if wanted == 1 { 9 } else { 2 }]
        );
    }
}

#[test]
fn four_syn_acks_with_different_sequence_numbers_answer_one_syn() {
    let answer = |talk: Talk, n: u32| {
        let (client_isn, time_ms) = (talk.isn[CLIENT], 40.0 + f64::from(n) * 100.0);
        talk.with_isn(client_isn, 90_000 + n * 5_000).server(time_ms, syn_ack())
    };
    let talk = Talk::new().client(0.0, syn()).each(0..4, answer).client(341.0, ack(0)).server(350.0, data(0, 500));
    let summary = talk.summary();
    assert_eq!((summary.directions[SERVER].loss.syn, summary.handshake_complete), (3, true), "the last one counts");
    assert_eq!(summary.directions[SERVER].unique_payload_bytes, 500);
}

#[test]
fn a_syn_ack_with_other_numbers_behind_the_handshake_changes_nothing() {
    let open = Talk::new().open(40.0, 0.1);
    let isn = open.isn;
    let answered_again =
        open.with_isn(isn[CLIENT], 555_000).server(700.0, syn_ack()).with_isn(isn[CLIENT], isn[SERVER]);
    let talk = answered_again.client(700.1, ack(0)).server(750.0, data(0, 1000)).client(750.1, ack(1000));
    assert_eq!(connections(&talk), 1);
    let server = talk.summary().directions[SERVER].clone();
    assert_eq!((server.unique_payload_bytes, server.loss.retransmitted, server.loss.syn), (1000, 0, 1));
    assert_eq!(server.unseen_acknowledged_bytes, 0);
}

#[test]
fn another_answer_to_the_syn_after_the_end_is_no_other_connection() {
    let over = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, rst());
    let isn = over.isn;
    let again = |client_isn: u32| over.clone().with_isn(client_isn, 555_000).server(700.0, syn_ack());
    assert_eq!([connections(&again(isn[CLIENT])), connections(&again(isn[CLIENT] + 77))], [1, 2]);
}

#[test]
fn first_data_far_from_the_answer_to_the_syn_goes_on_with_another_one() {
    let open = Talk::new().open(40.0, 0.1);
    let isn = open.isn;
    let talk = open
        .with_isn(isn[CLIENT], isn[SERVER] + 1_180_489_187)
        .server(700.0, syn_ack())
        .client(700.1, ack(0))
        .server(750.0, data(0, 1000))
        .client(750.1, ack(1000))
        .server(751.0, data(1000, 1000))
        .client(751.1, ack(2000));
    assert_eq!(connections(&talk), 1);
    let server = talk.summary().directions[SERVER].clone();
    assert_eq!((server.unique_payload_bytes, server.loss.retransmitted), (2000, 0));
    assert_eq!((server.unseen_acknowledged_bytes, server.round_trips.map(|trips| trips.moments.count())), (0, Some(2)));
}

#[test]
fn a_syn_with_other_numbers_than_its_answer_leaves_no_trace_of_those() {
    let talk = Talk::new()
        .with_isn(1_000, 90_000)
        .server(40.0, syn_ack())
        .server(41.0, ack(5_000))
        .with_isn(1_500, 90_000)
        .client(42.0, syn())
        .server(43.0, ack(5_000))
        .client(44.0, data(0, 5_000));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.payload_bytes, direction.unique_payload_bytes), (5_000, 5_000));
}

#[test]
fn repeats_of_syn_and_syn_ack_do_not_begin_anything() {
    let talk = whole().starting_at(0);
    let repeated = Talk::new()
        .client(0.0, syn())
        .server(40.0, syn_ack())
        .server(1040.0, syn_ack())
        .client(1040.1, ack(0))
        .client(1100.0, data(0, 1000));
    assert_eq!((connections(&talk), connections(&repeated)), (1, 1));
}

#[test]
fn sequence_numbers_wrap() {
    let talk = Talk::new()
        .with_isn(u32::MAX - 2_500, u32::MAX - 10)
        .open(40.0, 0.1)
        .each(0..6, |talk, n| talk.client(50.0, data(i64::from(n) * 1000, 1000)))
        .server(90.0, data(0, 100).acking(3000))
        .server(90.1, ack(3000).sack(4000, 6000))
        .client(90.2, data(3000, 1000))
        .client(90.3, ack(100))
        .server(130.0, ack(6000));
    let [client, server] = talk.summary().directions;
    assert_eq!((client.unique_payload_bytes, server.unique_payload_bytes), (6000, 100));
    assert_eq!((client.loss.retransmitted, client.loss.by_trigger[0], client.unseen_acknowledged_bytes), (1, 1, 0));
}

#[test]
fn a_capture_of_one_direction_measures_what_it_can() {
    let all = Talk::seen_at_client(40.0)
        .each(0..10, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)))
        .server(90.0, ack(10_000))
        .client(100.0, fin(10_000));
    let client_only = all.clone().only(CLIENT).summary();
    let [client, server] = &client_only.directions;
    assert_eq!((client.unique_payload_bytes, client.loss.retransmitted), (10_000, 0));
    assert!(client.round_trips.is_none() && client.window.extremes.is_none() && server.packets == 0);
    assert_eq!((client_only.handshake_rtt_ns(), client_only.close), (None, Close::Open));
    assert!(!client_only.handshake_complete);
    let server_only = all.only(SERVER).summary();
    let [client, server] = &server_only.directions;
    assert_eq!((client.packets, client.data_packets, server.packets), (0, 0, 2));
    assert_eq!(client.unseen_acknowledged_bytes, 10_000, "all of it");
}

#[test]
fn stragglers_after_the_end_still_count() {
    // Another connection's packets let time pass, so that the first is put away.
    let closed = whole();
    let later = Talk::new().between(3, 1234, 4, 80).client(6_000.0, syn()).server(6_001.0, syn_ack());
    let straggling = closed.clone().server(7_000.0, fin(0)).client(7_000.1, data(0, 1000)).client(7_001.0, ack(1));
    let mut frames = merged(&[closed.clone(), later]);
    frames.extend_from_slice(&straggling.frames()[closed.frames().len()..]);
    let analysis = analysis_of(&frames, &Default::default());
    check_consistency(&analysis);
    assert_eq!(analysis.connections.len(), 2);
    let [client, server] = &analysis.connections[0].directions;
    assert_eq!((server.loss.fin, server.packets), (1, 4));
    assert_eq!((client.packets, client.loss.retransmitted, client.loss.spurious), (7, 1, 1));
    assert_eq!(client.unique_payload_bytes, 1000);
    assert_eq!(analysis.connections[0].end_ns, START_NS + ms(7_001.0));
}

#[test]
fn a_new_syn_after_a_connection_was_put_away_begins_another() {
    let later = Talk::new().between(3, 1234, 4, 80).client(6_000.0, syn());
    let again = Talk::new().with_isn(4_000, 5_000).client(7_000.0, syn()).server(7_040.0, syn_ack());
    let analysis = analysis_of(&merged(&[whole(), later, again]), &Default::default());
    assert_eq!(analysis.connections.len(), 3);
    assert_eq!(analysis.connections.iter().map(|connection| connection.id).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn stragglers_at_once_belong_to_the_connection() {
    let talk = whole().server(400.0, fin(0)).client(400.1, ack(1));
    assert_eq!((connections(&talk), talk.summary().directions[SERVER].loss.fin), (1, 1));
}

#[test]
fn a_fin_that_comes_again_is_a_repeat_in_the_ledger_too() {
    // 14 link, 20 IP, 20 TCP: before the other side closes, and after the connection was put away.
    let open = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000));
    let [client, _] = open.client(91.0, fin(1000)).client(400.0, fin(1000)).summary().directions;
    assert_eq!((client.loss.fin, client.ledger.retransmitted, client.ledger.tcp_header), (1, 54, 3 * 20));

    let closed = whole();
    let later = Talk::new().between(3, 1234, 4, 80).client(6_000.0, syn()).server(6_001.0, syn_ack());
    let straggling = closed.clone().server(7_000.0, fin(0)).client(7_001.0, data(0, 1000).and_fin());
    let mut frames = merged(&[closed.clone(), later]);
    frames.extend_from_slice(&straggling.frames()[closed.frames().len()..]);
    let [client, server] = &analysis_of(&frames, &Default::default()).connections[0].directions;
    assert_eq!((server.loss.fin, server.ledger.retransmitted), (1, 54));
    let loss = &client.loss;
    assert_eq!((loss.fin, loss.retransmitted, client.data_packets, client.ledger.retransmitted), (0, 1, 2, 1054));
}

#[test]
fn ports_and_addresses_tell_connections_apart_over_both_protocols() {
    let talks = [
        Talk::seen_at_client(40.0),
        Talk::new().between(1, 40_001, 2, 443).open(40.0, 0.1),
        Talk::new().between(3, 40_000, 2, 443).open(40.0, 0.1),
        Talk::new().over_ipv6().open(40.0, 0.1),
        Talk::new().over_ipv6().between(3, 40_000, 2, 443).open(40.0, 0.1),
    ];
    let analysis = analysis_of(&merged(&talks), &Default::default());
    assert_eq!(analysis.connections.len(), 5);
    assert!(analysis.connections.iter().all(|connection| connection.handshake_complete));
}

#[test]
fn times_years_apart_are_one_connection_and_overflow_nothing() {
    let year_ms = 365.25 * 86_400e3;
    for away_ms in [-40.0 * year_ms, 200.0 * year_ms] {
        let talk = Talk::seen_at_client(40.0)
            .client(50.0, data(0, 1000))
            .server(away_ms, ack(1000))
            .client(away_ms + 1.0, data(1000, 1000))
            .server(100.0, ack(2000))
            .client(away_ms + 41.0, data(2000, 1000));
        let analysis = talk.analysis();
        check_consistency(&analysis);
        assert_eq!(analysis.connections.len(), 1, "{away_ms}");
    }
}

#[test]
fn a_syn_ack_repeated_after_the_clients_reset_is_the_same_connection() {
    let talk = Talk::new()
        .client(0.0, syn())
        .server(40.0, syn_ack())
        .client(40.1, rst())
        .server(1040.0, syn_ack())
        .client(1040.1, rst())
        .server(3040.0, syn_ack())
        .client(3040.1, rst());
    let summary = talk.summary();
    assert_eq!((summary.close, summary.reset_by), (Close::Reset, Some(CLIENT as u8)));
    let [client, server] = &summary.directions;
    assert_eq!([client.packets, server.packets], [4, 3]);
    assert_eq!([client.loss.syn, server.loss.syn], [0, 2]);
}

#[test]
fn another_syn_after_such_a_reset_opens_another_connection() {
    let talk = Talk::new().client(0.0, syn()).server(40.0, syn_ack()).client(40.1, rst()).server(1040.0, syn_ack());
    let again = Talk::new().with_isn(900_000, 5_000_000).client(2000.0, syn()).server(2040.0, syn_ack());
    let again = again.client(2040.1, ack(0));
    let analysis = analysis_of(&merged(&[talk, again]), &Options::default());
    let complete: Vec<bool> = analysis.connections.iter().map(|connection| connection.handshake_complete).collect();
    assert_eq!(complete, [false, true]);
}
