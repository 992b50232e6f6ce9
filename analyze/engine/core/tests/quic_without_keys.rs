//! QUIC without keys: what Initials, sizes and the spin bit show.
//!
//! Subjects: `quic/frame.rs`, `quic/header.rs`, `quic/hellos.rs`, `quic/ids.rs`, `quic/opening.rs`, `quic/samples.rs`,
//! `quic/spin.rs`, `quic/state.rs`, `quic/summary.rs`, `quic/version.rs`, `output/describe/quic.rs`,
//! `output/fields/quic.rs`.

use crate::playbook::ms;
use crate::sealed::{CLIENT_ID, ODCID, SERVER_ID, client_hello, crypto, handshake, initial, server_hello, short};
use proptest::prelude::*;
use vmtrace_core::quic::{CloseKind, QuicState, QuicSummary, UdpPayload};

struct Talk(QuicState);

impl Talk {
    fn new() -> Self {
        Self(QuicState::default())
    }

    fn says(&mut self, side: usize, time_ms: f64, payload: &[u8]) {
        let length = payload.len() as u32;
        self.0.datagram(UdpPayload { bytes: payload, length, time_ns: ms(time_ms), frame: 1, side });
    }

    fn summary(&self) -> QuicSummary {
        self.0.summary().unwrap()
    }
}

fn padded(mut contents: Vec<u8>) -> Vec<u8> {
    contents.resize(1150, 0);
    contents
}

fn first_initial(destination: &[u8], token: &[u8]) -> Vec<u8> {
    initial(0, destination, [destination, &CLIENT_ID], token, 0, &padded(crypto(0, &client_hello(&[]))))
}

fn reply(keyed_by: &[u8]) -> Vec<u8> {
    initial(1, keyed_by, [&CLIENT_ID, &SERVER_ID], &[], 0, &crypto(0, &server_hello()))
}

fn sealed_handshake(bytes: usize) -> Vec<u8> {
    handshake(&[9; 32], [&CLIENT_ID, &SERVER_ID], 0, &vec![0; bytes])
}

fn one_rtt(side: usize, spin: bool) -> Vec<u8> {
    let id: &[u8] = if side == 0 { &SERVER_ID } else { &CLIENT_ID };
    short([&[9; 32]; 2], u8::from(spin) << 5, id, 1, &[1; 20])
}

#[test]
fn an_initial_shows_name_and_protocol_and_the_handshake_its_time() {
    let mut talk = Talk::new();
    talk.says(0, 0.0, &first_initial(&ODCID, &[]));
    talk.says(1, 41.0, &[reply(&ODCID), sealed_handshake(800)].concat());
    talk.says(0, 43.0, &[sealed_handshake(40), one_rtt(0, false)].concat());
    let quic = talk.summary();
    assert_eq!((quic.version, quic.sni.as_deref(), quic.alpn.as_deref()), (Some(1), Some("web.lab.test"), Some("h3")));
    assert_eq!((quic.initials, quic.retry, quic.unread), ([1, 1], false, None));
    assert_eq!((quic.handshake_ns, quic.handshake_round_trips), (Some(ms(43.0)), Some(1)));
    assert_eq!(quic.handshake_rtt_ns, [Some(ms(41.0)), Some(ms(2.0))]);
    assert_eq!((quic.amplification_wait_ns, quic.close, quic.client_side), (Some(0), None, 0));
}

#[test]
fn a_hello_in_two_datagrams_is_put_together() {
    let hello = client_hello(&[0; 300]);
    let (first, second) = hello.split_at(200);
    let part =
        |number, offset, bytes| initial(0, &ODCID, [&ODCID, &CLIENT_ID], &[], number, &padded(crypto(offset, bytes)));
    let mut talk = Talk::new();
    talk.says(0, 0.0, &part(1, 200, second));
    talk.says(0, 0.1, &part(0, 0, first));
    assert_eq!(talk.summary().sni.as_deref(), Some("web.lab.test"));
}

#[test]
fn a_retry_costs_a_round_trip_and_changes_the_keys() {
    let mut talk = Talk::new();
    let retry_id = [0x77; 10];
    talk.says(0, 0.0, &first_initial(&ODCID, &[]));
    let mut retry = vec![0xf0, 0, 0, 0, 1, 8];
    retry.extend(CLIENT_ID);
    retry.push(10);
    retry.extend(retry_id);
    retry.extend([1; 40]);
    talk.says(1, 40.0, &retry);
    talk.says(0, 41.0, &first_initial(&retry_id, b"token"));
    talk.says(1, 81.0, &[reply(&retry_id), sealed_handshake(800)].concat());
    talk.says(0, 82.0, &one_rtt(0, false));
    let quic = talk.summary();
    assert!(quic.retry);
    assert_eq!((quic.handshake_ns, quic.handshake_round_trips, quic.unread), (Some(ms(82.0)), Some(2), None));
    assert_eq!(quic.handshake_rtt_ns[0], Some(ms(40.0)));
}

#[test]
fn a_flight_beyond_three_times_what_the_client_sent_waits() {
    let flight = |last_ms: f64| {
        let mut talk = Talk::new();
        talk.says(0, 0.0, &first_initial(&ODCID, &[]));
        talk.says(1, 40.0, &[reply(&ODCID), sealed_handshake(1000)].concat());
        talk.says(1, 40.1, &sealed_handshake(1150));
        talk.says(1, 40.2, &sealed_handshake(1050));
        talk.says(0, 41.0, &initial(0, &ODCID, [&SERVER_ID, &CLIENT_ID], &[], 1, &padded(vec![2, 0, 0, 0, 0])));
        talk.says(1, last_ms, &sealed_handshake(900));
        talk.says(0, last_ms + 1.0, &one_rtt(0, false));
        talk.summary()
    };
    let quic = flight(81.0);
    assert_eq!((quic.amplification_wait_ns, quic.handshake_round_trips), (Some(ms(40.8)), Some(2)));
}

#[test]
fn initials_without_a_reply_are_counted() {
    let mut talk = Talk::new();
    for time_ms in [0.0, 200.0, 600.0, 1400.0, 3000.0] {
        talk.says(0, time_ms, &first_initial(&ODCID, &[]));
    }
    let quic = talk.summary();
    assert_eq!((quic.initials, quic.initials_span_ns), ([5, 0], Some(ms(3000.0))));
    assert_eq!((quic.handshake_ns, quic.handshake_round_trips, quic.amplification_wait_ns), (None, None, None));
}

#[test]
fn a_refusal_in_an_initial_is_read() {
    let mut talk = Talk::new();
    talk.says(0, 0.0, &first_initial(&ODCID, &[]));
    let close = [&[0x1c, 0x41, 0x78, 6, 4][..], b"none"].concat();
    talk.says(1, 40.0, &initial(1, &ODCID, [&CLIENT_ID, &SERVER_ID], &[], 0, &close));
    let close = talk.summary().close.unwrap();
    assert_eq!((close.side, close.kind, close.code), (1, CloseKind::Transport, Some(0x178)));
    assert_eq!((close.error().as_deref(), &*close.reason), (Some("CRYPTO_ERROR: no_application_protocol"), "none"));
}

#[test]
fn versions_that_nobody_knows_are_named_once() {
    let mut talk = Talk::new();
    let mut packet = first_initial(&ODCID, &[]);
    packet[1..5].copy_from_slice(&0xff00_001d_u32.to_be_bytes());
    assert!(QuicState::begins(&packet));
    talk.says(0, 0.0, &packet);
    talk.says(0, 1.0, &packet);
    let negotiation = [&[0x80, 0, 0, 0, 0, 8][..], &CLIENT_ID, &[8], &ODCID, &[0, 0, 0, 1]].concat();
    assert!(QuicState::begins(&negotiation));
    talk.says(1, 2.0, &negotiation);
    let quic = talk.summary();
    assert_eq!(quic.version_negotiation, [1]);
    assert_eq!(quic.unread.as_deref(), Some("2 packets of a version that is not known (0xff00001d)"));
}

/// Packets that follow each other in a loop of 40 ms, seen at the client; the client waits before some of them.
fn spinning(rounds: u32, waits_ms: impl Fn(u32) -> f64, client_spins: bool) -> QuicSummary {
    let mut talk = Talk::new();
    talk.says(0, 0.0, &first_initial(&ODCID, &[]));
    talk.says(1, 40.0, &reply(&ODCID));
    let mut time_ms = 41.0;
    for round in 0..rounds {
        let spin = client_spins && round % 2 == 1;
        time_ms += waits_ms(round);
        for (side, later_ms) in [(0, 0.0), (1, 40.0)] {
            for step in 0..3 {
                talk.says(side, time_ms + later_ms + f64::from(step) * 0.1, &one_rtt(side, spin));
            }
        }
        time_ms += 40.0;
    }
    talk.summary()
}

#[test]
fn edges_of_the_spin_bit_are_round_trips() {
    let spin = spinning(20, |_| 0.5, true).spin_rtt.unwrap();
    assert_eq!(spin.durations.samples, 18);
    assert_eq!((spin.durations.min_ns, spin.durations.median_ns), (ms(40.5), ms(40.5)));
    assert_eq!(spin.stretched.idle + spin.stretched.client + spin.stretched.server, 0);
}

#[test]
fn silence_stretches_the_spin_bit_and_is_named() {
    let spin = spinning(20, |round| if round % 5 == 4 { 500.0 } else { 0.5 }, true).spin_rtt.unwrap();
    assert_eq!((spin.stretched.idle, spin.durations.median_ns), (4, ms(40.5)));
}

#[test]
fn a_client_that_does_not_spin_is_named() {
    assert_eq!(spinning(20, |_| 0.5, false).spin_rtt, Err("neither side changes the bit"));
}

#[test]
fn packets_to_unknown_ids_at_the_end_are_a_stateless_reset() {
    let mut talk = Talk::new();
    talk.says(0, 0.0, &first_initial(&ODCID, &[]));
    talk.says(1, 40.0, &reply(&ODCID));
    talk.says(0, 41.0, &one_rtt(0, false));
    talk.says(1, 81.0, &one_rtt(1, false));
    assert_eq!(talk.summary().close, None);
    talk.says(0, 9000.0, &one_rtt(0, false));
    talk.says(1, 9040.0, &[0x5a; 40]);
    let close = talk.summary().close.unwrap();
    assert_eq!((close.side, close.kind, close.time_ns), (1, CloseKind::StatelessReset, ms(9040.0)));
}

proptest! {
    #[test]
    fn any_bytes_are_bounded_and_give_a_summary(datagrams in prop::collection::vec((0usize..2, prop::collection::vec(any::<u8>(), 0..60), any::<bool>()), 1..40)) {
        let mut talk = Talk::new();
        for (number, (side, bytes, is_long)) in datagrams.iter().enumerate() {
            let head: &[u8] = if *is_long { &[0xc0, 0, 0, 0, 1, 8] } else { &[] };
            talk.says(*side, number as f64, &[head, bytes].concat());
        }
        prop_assert!(talk.summary().initials.iter().sum::<u64>() <= 40 * 60);
    }
}
