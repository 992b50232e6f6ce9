//! Openings as programs and captures make them that no stack makes: equal SYNs, acknowledgements behind the server's data, numbers
//! that begin at the SYN's.
//!
//! Subjects: `tcp/events/openings.rs`, `tcp/connection/open.rs`, `tcp/connection/without_data.rs`.

use crate::playbook::*;

/// SYNs that equal each other in every bit, so many milliseconds apart: how many count, and how many are copies.
fn equal_syns(count: usize, apart_ms: f64) -> (u64, u32) {
    let talk = (0..count).fold(Talk::new(), |talk, n| talk.client(apart_ms * n as f64, syn().id(1)));
    let analysis = talk.analysis();
    let of_clients = || analysis.connections.iter().map(|connection| &connection.directions[CLIENT]);
    let copies = of_clients().map(|client| client.loss.capture_duplicates + client.loss.network_duplicates).sum();
    (of_clients().map(|client| client.packets).sum(), copies)
}

#[test]
fn a_third_equal_syn_was_sent_by_a_program_that_makes_all_alike() {
    assert_eq!(equal_syns(2, 0.2), (1, 1), "one capture point, twice");
    assert_eq!(equal_syns(4, 100.0), (3, 1));
    assert_eq!(equal_syns(2, 1000.0), (2, 0), "as a stack repeats it");
}

#[test]
fn a_flood_of_equal_syns_is_no_flood_of_copies() {
    let (packets, copies) = equal_syns(200, 0.01);
    assert_eq!((packets + u64::from(copies), copies), (200, 7));
}

#[test]
fn equal_syns_that_are_answered_each_arrived() {
    let talk = (0..4).fold(Talk::new(), |talk, n| {
        let at_ms = 100.0 * f64::from(n);
        talk.client(at_ms, syn().id(1)).server(at_ms + 20.0, syn_ack().id(2))
    });
    let summary = talk.summary();
    let server = &summary.directions[SERVER];
    let copies = server.loss.capture_duplicates + server.loss.network_duplicates;
    assert_eq!((server.packets, copies), (3, 1), "from the third SYN on each answers one of its own");
}

#[test]
fn a_handshake_is_complete_where_the_servers_data_passes_before_the_acknowledgement() {
    let early = Talk::new()
        .client(0.0, syn())
        .server(20.0, syn_ack())
        .server(20.2, data(0, 1000))
        .server(20.4, data(1000, 500))
        .client(40.0, ack(1500))
        .client(41.0, data(0, 100));
    let summary = early.summary();
    assert!(summary.handshake_complete);
    assert_eq!(summary.directions.each_ref().map(|direction| direction.unique_payload_bytes), [100, 1500]);
    let part = Talk::new().client(0.0, syn()).server(20.0, syn_ack()).server(20.2, data(0, 1000)).client(40.0, ack(0));
    assert!(part.summary().handshake_complete, "of the SYN-ACK alone");
}

#[test]
fn a_syn_ack_stored_behind_what_acknowledges_it_completes_the_handshake() {
    let talk = Talk::new().client(0.0, syn()).client(20.1, ack(0).acking(0)).server(20.2, syn_ack());
    let summary = talk.client(21.0, data(0, 100)).summary();
    assert!(summary.handshake_complete);
    assert_eq!(summary.directions[CLIENT].unique_payload_bytes, 100);
}

#[test]
fn data_that_begins_at_the_number_of_the_syn_is_all_data() {
    // A generator gave data the SYN's own number: every position lies one below.
    let talk = Talk::new()
        .client(0.0, syn())
        .server(20.0, syn_ack())
        .client(40.0, Segment { start: Some(-1), ..ack(-1) })
        .client(41.0, data(-1, 100))
        .server(61.0, ack(99))
        .server(62.0, data(-1, 50))
        .client(82.0, ack(49));
    let summary = talk.summary();
    let bytes = summary.directions.each_ref().map(|direction| direction.unique_payload_bytes);
    let loss =
        summary.directions.each_ref().map(|direction| (direction.loss.retransmitted, direction.loss.unacceptable));
    assert_eq!((bytes, loss), ([100, 50], [(0, 0), (0, 0)]));
    assert!(summary.handshake_complete);
}

#[test]
fn data_in_a_syn_and_a_fin_sent_twice_count_once() {
    let talk = Talk::new()
        .client(0.0, syn().carrying(60))
        .server(20.0, Segment { acknowledges: Some(60), ..syn_ack() })
        .client(40.0, Segment { start: Some(60), ..ack(0) })
        .client(41.0, fin(60))
        .client(341.0, fin(60))
        .server(361.0, Segment { ..ack(61) });
    let summary = talk.summary();
    let client = &summary.directions[CLIENT];
    assert_eq!((client.unique_payload_bytes, client.loss.retransmitted, client.loss.fin), (60, 0, 1));
    assert!(summary.handshake_complete);
}
