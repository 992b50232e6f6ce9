//! Opening: its round trip, repeated SYNs, Fast Open, simultaneous open; and where the capture stands (docs/methods.md,
//! section 3).
//!
//! Subjects: `tcp/connection/open.rs`, `tcp/connection/vantage.rs`, `tcp/events/offer.rs`, `tcp/events/openings.rs`,
//! `tcp/connection/rtt_by_echo.rs`, `tcp/rtt/echo_loop.rs`,
//! `tcp/connection/opened.rs`, `tcp/connection/syn_late.rs`, `tcp/verdict/by_time.rs`.

use crate::playbook::*;
use vmtrace_core::packet::tcp_flags::ACK;
use vmtrace_core::tcp::connection::vantage::Side;
use vmtrace_core::tcp::events::factor::Factor;

#[test]
fn the_round_trip_is_the_sum_of_both_loops_wherever_the_capture_stands() {
    for (server_loop, client_loop) in [(40.0, 0.1), (0.1, 40.0), (15.0, 25.0)] {
        let summary = Talk::new().open(server_loop, client_loop).summary();
        assert!(summary.handshake_complete);
        assert_eq!(summary.handshake_rtt_ns(), Some(ms(server_loop) + ms(client_loop)));
        assert_eq!(summary.handshake_loops_ns(), [Some(ms(client_loop)), Some(ms(server_loop))]);
    }
}

#[test]
fn without_timestamps_a_repeated_syn_hides_which_one_was_answered() {
    let talk = Talk::new().client(0.0, syn()).client(1000.0, syn()).server(1040.0, syn_ack()).client(1040.1, ack(0));
    let summary = talk.summary();
    assert!(summary.handshake_complete);
    assert_eq!((summary.handshake_rtt_ns(), summary.handshake_loops_ns()[1]), (None, None));
    assert_eq!(summary.handshake_loops_ns()[0], Some(ms(0.1)), "the answer to the only SYN-ACK");
}

#[test]
fn with_timestamps_the_echo_tells_which_syn_was_answered() {
    let opened = |echo: u32| {
        Talk::new()
            .with_timestamps()
            .client(0.0, syn())
            .client(1000.0, syn())
            .server(1040.0, syn_ack().tsecr(echo))
            .client(1040.1, ack(0))
            .summary()
            .handshake_loops_ns()[1]
    };
    assert_eq!(opened(1_001_000), Some(ms(40.0)), "the second");
    assert_eq!(opened(1_000_000), None, "the first, perhaps by a retransmitted SYN-ACK");
    assert_eq!(opened(5), None, "neither");
}

#[test]
fn a_handshake_that_took_all_the_time_needs_no_rate() {
    let opened = Talk::new().client(0.0, syn()).client(1000.0, syn()).server(1000.1, syn_ack()).client(1000.2, ack(0));
    let sent =
        (0..12).fold(opened, |talk, n| talk.client(1000.3 + 0.01 * f64::from(n), data(i64::from(n) * 1000, 1000)));
    let verdict = sent.server(1000.6, ack(12_000)).summary().verdict().expect("the SYN waited for a second");
    assert_eq!((verdict.factor, verdict.confidence), (Factor::Setup, 0.75));
    assert!(verdict.sentence.ends_with("of the time)."), "{}", verdict.sentence);
}

#[test]
fn a_repeated_syn_ack_hides_the_clients_loop() {
    let talk = Talk::new().client(0.0, syn()).server(0.1, syn_ack()).server(1000.0, syn_ack()).client(1040.0, ack(0));
    let summary = talk.summary();
    assert_eq!((summary.handshake_rtt_ns(), summary.handshake_loops_ns()), (None, [None, Some(ms(0.1))]));
}

#[test]
fn a_syn_ack_like_the_last_that_answers_another_syn_is_a_repeat() {
    // The first SYN-ACK was lost, and the timers of both sides run out together.
    let talk = Talk::new()
        .with_timestamps()
        .without_identifications()
        .client(0.0, syn())
        .server(0.1, syn_ack())
        .server(1000.0, syn_ack())
        .client(1000.1, syn())
        .copy_of(2, 1000.11);
    let answered = |talk: Talk| {
        let summary = talk.client(1000.2, ack(0)).summary();
        let loss = &summary.directions[SERVER].loss;
        (loss.syn, loss.capture_duplicates, summary.handshake_rtt_ns())
    };
    assert_eq!(answered(talk.clone()), (2, 0, Some(ms(0.1) + ms(0.2))));
    assert_eq!(answered(talk.again(1000.12)), (2, 1, Some(ms(0.1) + ms(0.2))), "captured twice");
}

#[test]
fn an_acknowledgement_of_something_else_does_not_complete_the_handshake() {
    let talk = Talk::new().client(0.0, syn()).server(40.0, syn_ack()).client(40.1, ack(77));
    assert!(!talk.summary().handshake_complete);
}

#[test]
fn the_sender_of_the_syn_is_the_client_whatever_the_ports() {
    let talk = Talk::new().between(1, 80, 2, 50_000).open(40.0, 0.1).server(50.0, data(0, 100));
    let summary = talk.summary();
    assert_eq!((summary.ports, summary.directions[SERVER].payload_bytes), ([80, 50_000], 100));
    assert_eq!(summary.addresses[..8], [10, 0, 0, 1, 10, 0, 0, 2]);
}

#[test]
fn the_receiver_of_a_syn_ack_is_the_client() {
    let talk = Talk::new().between(1, 80, 2, 50_000).open(40.0, 0.1).starting_at(1);
    assert_eq!(talk.summary().ports, [80, 50_000]);
}

#[test]
fn in_the_middle_of_a_connection_the_higher_port_is_the_clients() {
    let talk = Talk::new().open(40.0, 0.1).server(50.0, data(0, 100)).client(50.1, ack(100)).starting_at(3);
    let summary = talk.summary();
    assert_eq!((summary.ports, summary.directions[SERVER].payload_bytes), ([40_000, 443], 100));
    assert!(!summary.handshake_complete);
}

#[test]
fn repeats_of_an_opening_are_told_where_it_was_captured() {
    let opened = Talk::new().open(40.0, 0.1).server(50.0, data(0, 100)).client(50.1, ack(100));
    assert_eq!(opened.summary().opening_repeats(), [Some(0), Some(0)]);
    assert_eq!(opened.starting_at(1).summary().opening_repeats(), [None, Some(0)], "without the SYN");
    let opened = Talk::new().open(40.0, 0.1).server(50.0, data(0, 100)).client(50.1, ack(100));
    assert_eq!(opened.starting_at(2).summary().opening_repeats(), [None, None], "the last step only");
    let unanswered = Talk::new().client(0.0, syn()).client(1000.0, syn());
    assert_eq!(unanswered.summary().opening_repeats(), [Some(1), Some(0)]);
}

#[test]
fn data_in_a_syn_is_data_once() {
    let talk = Talk::new()
        .client(0.0, syn().carrying(300))
        .server(40.0, syn_ack().acking(300))
        .client(40.1, ack(0))
        .client(41.0, data(300, 500))
        .server(81.0, ack(800));
    let summary = talk.summary();
    let direction = &summary.directions[CLIENT];
    assert_eq!((direction.payload_bytes, direction.unique_payload_bytes), (800, 800));
    assert_eq!((direction.data_packets, direction.packets, direction.loss.retransmitted), (2, 3, 0));
    assert!(summary.handshake_complete);
    assert_eq!(direction.unseen_acknowledged_bytes, 0);
}

#[test]
fn data_in_a_repeated_syn_is_no_data_again() {
    let talk = Talk::new()
        .client(0.0, syn().carrying(300))
        .client(1000.0, syn().carrying(300))
        .server(1040.0, syn_ack().acking(300));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.payload_bytes, direction.loss.syn, direction.loss.retransmitted), (300, 1, 0));
}

#[test]
fn data_in_a_syn_that_was_refused_is_sent_again() {
    let talk = Talk::new()
        .client(0.0, syn().carrying(300))
        .server(40.0, syn_ack().acking(0))
        .client(40.1, ack(0))
        .client(40.2, data(0, 300))
        .server(80.2, ack(300));
    let direction = &talk.summary().directions[CLIENT];
    assert_eq!((direction.unique_payload_bytes, direction.loss.retransmitted), (300, 1));
}

#[test]
fn both_sides_may_open_at_once() {
    let mut late_syn = syn();
    late_syn.window = 2000;
    let talk = Talk::new()
        .client(0.0, syn())
        .server(10.0, late_syn)
        .client(10.1, syn_ack())
        .server(40.0, syn_ack())
        .client(50.0, data(0, 1000))
        .server(90.0, ack(1000));
    let summary = talk.summary();
    assert_eq!(summary.ports, [40_000, 443], "the first SYN's sender is the client");
    let direction = &summary.directions[CLIENT];
    assert_eq!((direction.unique_payload_bytes, direction.loss.retransmitted), (1000, 0));
    assert_eq!(direction.window.scale, Some(7));
}

#[test]
fn the_capture_stands_where_the_loop_is_short() {
    let side = |talk: Talk| talk.summary().vantage.side;
    assert_eq!(side(Talk::seen_at_client(40.0)), Side::Client);
    assert_eq!(side(Talk::seen_at_server(40.0)), Side::Server);
    assert_eq!(side(Talk::new().open(20.0, 20.0)), Side::Middle);
    assert_eq!(side(Talk::new().open(0.04, 0.03)), Side::Unknown, "loopback");
}

#[test]
fn without_a_handshake_the_answers_tell_where_the_capture_stands() {
    let talk = Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .server(90.0, data(0, 1000).acking(1000))
        .client(90.1, ack(1000))
        .starting_at(3);
    let vantage = talk.summary().vantage;
    assert_eq!(vantage.side, Side::Client);
    let with_handshake = Talk::seen_at_client(40.0).summary().vantage;
    assert!(vantage.confidence < with_handshake.confidence, "applications may delay answers");
}

/// Where a capture stands that begins with the tenth packet of a transfer of one way: full segments each millisecond, or after the
/// pauses of an application. They are seen `to_server` milliseconds before they arrive; `to_client` ago the client sent them.
fn vantage_of_one_way(to_client: f64, to_server: f64, application_ms: f64) -> Side {
    let loop_ms = 2.0 * (to_client + to_server);
    let mut packets: Vec<(f64, bool, i64, f64)> = Vec::new();
    for n in 0..400_i64 {
        let sent = 100.0 + n as f64 + (n / 10) as f64 * application_ms;
        packets.push((sent + to_client, true, n, sent));
        packets.push((sent + loop_ms - to_client, false, n, sent + to_client + to_server));
    }
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let heard = |sent: f64| {
        let made = packets.iter().filter(|packet| !packet.1 && packet.0 + to_client <= sent).map(|packet| packet.3);
        made.fold(0.0, f64::max)
    };
    let talk = packets.iter().fold(Talk::new().with_timestamps(), |talk, &(time, data_packet, n, made)| {
        if data_packet {
            talk.client(time, data(n * 1000, 1000).tsval(1_000_000 + made as u32).tsecr(2_000_000 + heard(made) as u32))
        } else {
            talk.server(time, ack((n + 1) * 1000).tsval(2_000_000 + made as u32).tsecr(1_000_000 + made as u32))
        }
    });
    talk.starting_at(10).summary().vantage.side
}

#[test]
fn without_a_handshake_echoes_tell_where_the_capture_of_data_of_one_way_stands() {
    assert_eq!(vantage_of_one_way(0.02, 20.0, 0.0), Side::Client);
    assert_eq!(vantage_of_one_way(20.0, 0.02, 0.0), Side::Server);
    assert_eq!(vantage_of_one_way(10.0, 10.0, 0.0), Side::Middle);
}

#[test]
fn an_application_that_pauses_is_no_long_way_to_its_host() {
    for pause_ms in [30.0, 60.0, 200.0] {
        let side = vantage_of_one_way(0.02, 20.0, pause_ms);
        assert!(matches!(side, Side::Client | Side::Unknown), "{pause_ms} ms: {side:?}");
    }
}

#[test]
fn without_any_answer_only_an_initial_ttl_tells() {
    let talk = |client: u8, server: u8| {
        let talk = Talk::new().with_ttl(client, server).client(0.0, syn()).server(0.01, syn_ack());
        talk.summary().vantage.side
    };
    assert_eq!(talk(64, 50), Side::Client);
    assert_eq!(talk(50, 128), Side::Server);
    assert_eq!(talk(64, 64), Side::Unknown);
}

#[test]
fn openings_are_counted_by_second() {
    let talk = Talk::new()
        .client(0.0, syn())
        .client(1000.0, syn())
        .server(1040.0, syn_ack())
        .client(1040.1, ack(0))
        .client(2500.0, rst());
    let seconds: Vec<_> = talk.analysis().openings.iter().collect();
    let first = START_NS / 1_000_000_000;
    let of = |index: usize| (seconds[index].0 - first, seconds[index].1);
    let (at, counts) = of(0);
    assert_eq!((at, counts.syn, counts.syn_ack, counts.syn_retransmissions, counts.established), (0, 1, 0, 0, 0));
    let (at, counts) = of(1);
    assert_eq!((at, counts.syn, counts.syn_ack, counts.syn_retransmissions, counts.established), (1, 1, 1, 1, 1));
    assert_eq!((of(2).0, of(2).1.reset, seconds.len()), (2, 1, 3));
}

#[test]
fn a_syn_without_answer_is_a_connection_that_stays_open() {
    let summary = Talk::new().client(0.0, syn()).summary();
    assert!(!summary.handshake_complete && summary.directions[SERVER].packets == 0);
    assert_eq!((summary.handshake_rtt_ns(), summary.directions[CLIENT].packets), (None, 1));
    assert_eq!(syn().flags & ACK, 0);
}

/// Two hosts, or a proxy and a host, answer one SYN; the client goes on with the numbers of one of them.
#[test]
fn of_two_syn_acks_the_one_counts_that_the_client_acknowledges() {
    const OTHER: i64 = 16_000_000;
    for (taken, same_id) in [(0, false), (0, true), (OTHER, false), (OTHER, true)] {
        let id = |id: u16| if same_id { 0 } else { id };
        let opened = Talk::new()
            .client(0.0, syn())
            .server(30.0, syn_ack().id(id(1)))
            .server(41.0, Segment { start: Some(OTHER), ..syn_ack() }.id(id(4711)))
            .client(41.3, ack(taken));
        let talk = opened
            .client(42.0, data(0, 300).acking(taken))
            .server(72.0, Segment { start: Some(taken), ..ack(300) })
            .each(0..20_i64, |talk, number| {
                let start = taken + number * 1000;
                let time_ms = 80.0 + 10.0 * number as f64;
                talk.server(time_ms, data(start, 1000)).client(time_ms + 0.1, ack(start + 1000))
            });
        let summary = talk.summary();
        let direction = &summary.directions[SERVER];
        assert!(summary.handshake_complete, "{taken} {same_id}");
        assert_eq!(
            (direction.unique_payload_bytes, direction.loss.retransmitted, direction.loss.capture_duplicates),
            (20_000, 0, 0),
            "{taken} {same_id}"
        );
    }
}

/// A client with timestamps sends ten segments, each acknowledged after `data_ms`; its SYN is recorded `late_ms` too late.
fn with_late_syn(late_ms: f64, data_ms: f64) -> Talk {
    let opened = Talk::new()
        .with_timestamps()
        .client(late_ms, syn().tsval(1_000_000))
        .server(40.0, syn_ack())
        .client(40.1, ack(0));
    opened.each(0..10, |talk, number| {
        let at_ms = 50.0 + 60.0 * number as f64;
        talk.client(at_ms, data(number * 1000, 1000)).server(at_ms + data_ms, ack(number * 1000 + 1000))
    })
}

#[test]
fn a_syn_that_was_recorded_late_measures_no_round_trip() {
    let late = with_late_syn(25.0, 40.2).summary();
    assert_eq!((late.handshake_rtt_ns(), late.handshake_loops_ns()[1], late.answered_nearer), (None, None, None));
    assert_eq!(late.vantage.side, Side::Client);
    let punctual = with_late_syn(0.0, 40.2).summary();
    assert_eq!(punctual.handshake_rtt_ns(), Some(ms(40.1)));
}

#[test]
fn a_syn_that_the_network_delayed_was_not_recorded_late() {
    // At the server the SYN passes late, too, but what it measures is the server's part alone.
    let delayed = with_late_syn(39.9, 0.1).summary();
    assert_eq!(delayed.handshake_loops_ns()[1], Some(ms(0.1)));
}

#[test]
fn an_acknowledgement_stored_before_the_syn_ack_completes_the_handshake() {
    let stored = |acknowledged: i64| {
        let talk = Talk::new().client(0.0, syn()).client(20.0, ack(acknowledged)).server(30.0, syn_ack());
        talk.server(31.0, data(0, 100)).summary()
    };
    let summary = stored(0);
    assert!(summary.handshake_complete);
    assert_eq!((summary.handshake_rtt_ns(), summary.handshake_loops_ns()), (None, [None; 2]));
    assert!(!stored(500).handshake_complete, "it acknowledges something else");
    let nothing_said = Talk::new().client(0.0, syn()).server(30.0, syn_ack()).server(31.0, data(0, 100));
    assert!(!nothing_said.summary().handshake_complete, "the client said nothing");
}
