//! QUIC with keys: packet numbers, acknowledgements, windows, streams, key updates.
//!
//! Subjects: `quic/inside.rs`, `quic/counting.rs`, `quic/levels.rs`, `quic/parameters.rs`, `quic/round_trip.rs`, `quic/streams.rs`, `secrets/aead.rs`,
//! `secrets/derive.rs`, `secrets/mod.rs`, `analysis/fallbacks.rs`.

use crate::messages::{extension, message};
use crate::playbook::ms;
use crate::sealed::{
    CLIENT_ID, ODCID, RANDOM, SERVER_ID, client_hello, crypto, handshake, initial, server_hello, short, updated,
};
use vmtrace_core::quic::{CloseKind, QuicState, QuicSummary, UdpPayload};
use vmtrace_core::secrets::SharedKeys;

/// Secrets of the handshake and of application data, each of the client and the server.
pub const SECRETS: [[[u8; 32]; 2]; 2] = [[[1; 32], [2; 32]], [[3; 32], [4; 32]]];

/// initial_max_data 4,000 and initial_max_stream_data_bidi_local 3,000; an ACK delay exponent of 0.
pub const CLIENT_PARAMETERS: [u8; 11] = [4, 2, 0x4f, 0xa0, 5, 2, 0x4b, 0xb8, 0x0a, 1, 0];

/// Of both limits 1 MiB; an ACK delay exponent of 0.
pub const SERVER_PARAMETERS: [u8; 15] = [4, 4, 0x80, 0x10, 0, 0, 6, 4, 0x80, 0x10, 0, 0, 0x0a, 1, 0];

pub fn keys(random: [u8; 32]) -> SharedKeys {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let labels = [
        ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"],
        ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"],
    ];
    let log = SharedKeys::default();
    for (labels, secrets) in labels.iter().zip(&SECRETS) {
        for (label, secret) in labels.iter().zip(secrets) {
            log.read(format!("{label} {} {}\n", hex(&random), hex(secret)).as_bytes());
        }
    }
    log
}

struct Talk {
    state: QuicState,
    numbers: [u16; 2],
}

impl Talk {
    /// Opened at 0 and 41 ms, seen at the client.
    fn opened(random: [u8; 32]) -> Self {
        Self::opened_with(random, 0)
    }

    /// The server's Handshake packet has this number.
    fn opened_with(random: [u8; 32], number: u16) -> Self {
        let mut talk = Self { state: QuicState::with_keys(&keys(random)), numbers: [0; 2] };
        let mut hello = crypto(0, &client_hello(&CLIENT_PARAMETERS));
        hello.resize(1150, 0);
        talk.says(0, 0.0, &initial(0, &ODCID, [&ODCID, &CLIENT_ID], &[], 0, &hello));
        let list = [extension(16, &[0, 3, 2, b'h', b'3']), extension(57, &SERVER_PARAMETERS)].concat();
        let extensions = message(8, &[&(list.len() as u16).to_be_bytes()[..], &list].concat());
        let reply = initial(1, &ODCID, [&CLIENT_ID, &SERVER_ID], &[], 0, &crypto(0, &server_hello()));
        let flight = handshake(&SECRETS[0][1], [&CLIENT_ID, &SERVER_ID], number, &crypto(0, &extensions));
        talk.says(1, 41.0, &[reply, flight].concat());
        talk
    }

    fn says(&mut self, side: usize, time_ms: f64, payload: &[u8]) {
        let length = payload.len() as u32;
        self.state.datagram(UdpPayload { bytes: payload, length, time_ns: ms(time_ms), frame: 1, side });
    }

    /// The next packet of application data.
    fn sends(&mut self, side: usize, time_ms: f64, frames: &[u8]) {
        self.sends_under(side, time_ms, frames, &SECRETS[1][side], 0);
    }

    fn sends_under(&mut self, side: usize, time_ms: f64, frames: &[u8], secret: &[u8], phase: u8) {
        let id = [&SERVER_ID, &CLIENT_ID][side];
        let packet = short([secret, &SECRETS[1][side]], phase, id, self.numbers[side], frames);
        self.numbers[side] += 1;
        self.says(side, time_ms, &packet);
    }

    fn loses(&mut self, side: usize) {
        self.numbers[side] += 1;
    }

    fn summary(&self) -> QuicSummary {
        self.state.summary().unwrap()
    }
}

/// STREAM with offset and length, of stream 0.
pub fn stream(offset: u16, bytes: u16) -> Vec<u8> {
    let head = [&[0x0e, 0][..], &(0x4000 | offset).to_be_bytes(), &(0x4000 | bytes).to_be_bytes()].concat();
    [head, vec![0; bytes.into()]].concat()
}

/// ACK of all up to `largest`, declared `delay_us` late.
fn ack(largest: u8, delay_us: u16) -> Vec<u8> {
    [&[2, largest][..], &(0x4000 | delay_us).to_be_bytes(), &[0, largest]].concat()
}

#[test]
fn numbers_tell_what_was_lost_before_and_behind_the_capture() {
    let mut talk = Talk::opened(RANDOM);
    for (round, lost) in [false, true, false, false, true, false].into_iter().enumerate() {
        if lost { talk.loses(1) } else { talk.sends(1, 50.0 + round as f64, &stream(round as u16 * 100, 100)) }
    }
    for round in 0..6 {
        talk.sends(0, 60.0 + f64::from(round), &stream(0, 10));
    }
    // Numbers 5 to 2 and 0: 1 lies behind the capture point.
    talk.sends(1, 110.0, &[2, 5, 0, 1, 3, 0, 0]);
    let quic = talk.summary();
    let [client, server] = quic.inside.unwrap().packets;
    assert_eq!((server.sent, server.seen, server.lost_before, server.lost_before_one_rtt), (9, 7, 2, 2));
    assert_eq!((client.sent, client.lost_before, client.lost_behind), (7, 0, 1));
    assert_eq!((quic.alpn.as_deref(), quic.unread), (Some("h3"), None));
}

#[test]
fn who_counts_over_all_spaces_loses_a_number_once() {
    // Initial 0, Handshake 2, then 3, 4, 6, 7: 1 and 5 are missing.
    let mut talk = Talk::opened_with(RANDOM, 2);
    talk.numbers[1] = 3;
    for (round, lost) in [false, false, true, false, false].into_iter().enumerate() {
        if lost { talk.loses(1) } else { talk.sends(1, 50.0 + round as f64, &stream(round as u16 * 100, 100)) }
    }
    let [_, server] = talk.summary().inside.unwrap().packets;
    assert_eq!((server.sent, server.seen, server.lost_before, server.lost_before_one_rtt), (8, 6, 2, 1));
    // The handshake is retransmitted behind application data.
    let again = handshake(&SECRETS[0][1], [&CLIENT_ID, &SERVER_ID], 9, &[1]);
    talk.says(1, 60.0, &again);
    talk.numbers[1] = 10;
    talk.sends(1, 61.0, &stream(400, 100));
    let [_, server] = talk.summary().inside.unwrap().packets;
    assert_eq!((server.sent, server.seen, server.lost_before), (11, 8, 3), "8 as well");
}

#[test]
fn a_number_that_another_space_has_is_missing_all_the_same() {
    // Initial 0, Handshake 0; of application data 0 and 1 are missing.
    let mut talk = Talk::opened(RANDOM);
    talk.numbers[1] = 2;
    talk.sends(1, 50.0, &stream(0, 100));
    let [_, server] = talk.summary().inside.unwrap().packets;
    assert_eq!((server.sent, server.seen, server.lost_before, server.lost_before_one_rtt), (5, 3, 2, 2));
}

#[test]
fn packets_are_kept_one_by_one_for_who_asks() {
    let mut talk = Talk::opened(RANDOM);
    talk.sends(1, 50.0, &stream(0, 100));
    assert_eq!(talk.state.kept_packets(), None);
    talk.state.keep_packets();
    talk.sends(1, 51.0, &stream(100, 100));
    let [kept] = talk.state.kept_packets().unwrap() else { panic!("one packet") };
    assert_eq!((kept.time_ns, kept.number, kept.space, kept.from_server), (ms(51.0), 1, 2, true));
    assert_eq!(talk.summary().first_destination.as_deref(), Some("8394c8f03e515708"));
}

#[test]
fn round_trips_leave_the_declared_delay_out() {
    let mut talk = Talk::opened(RANDOM);
    for round in 0..20_u8 {
        let at_ms = 50.0 + f64::from(round) * 100.0;
        talk.sends(0, at_ms, &stream(0, 10));
        let delay_ms = if round == 0 { 0.0 } else { 5.0 };
        talk.sends(1, at_ms + 41.0 + delay_ms, &ack(round, (delay_ms * 1000.0) as u16));
    }
    let rtt = talk.summary().inside.unwrap().acknowledged_rtt[0].unwrap();
    assert_eq!((rtt.latest.samples, rtt.latest.min_ns, rtt.latest.median_ns), (20, ms(41.0), ms(46.0)));
    assert_eq!((rtt.smoothed_ns, rtt.ack_delay.unwrap().max_ns), (ms(41.0), ms(5.0)));
}

#[test]
fn data_that_waits_for_credit_stands_at_the_window() {
    let mut talk = Talk::opened(RANDOM);
    talk.sends(0, 50.0, &stream(0, 10));
    talk.sends(1, 91.0, &[ack(0, 0), stream(0, 1500)].concat());
    talk.sends(1, 91.1, &stream(1500, 1500));
    // MAX_STREAM_DATA 6,000 and MAX_DATA 8,000.
    talk.sends(0, 92.0, &[0x11, 0, 0x57, 0x70, 0x10, 0x5f, 0x40]);
    talk.sends(1, 133.0, &stream(3000, 1000));
    let inside = talk.summary().inside.unwrap();
    let [client, server] = inside.flow_control;
    assert_eq!((server.limited_ns, server.times, server.window_bytes), (ms(41.9), 1, Some(3000)));
    assert!(server.of_stream);
    assert_eq!(client.times, 0);
    assert_eq!((inside.streams_count, inside.streams[0].id, inside.streams[0].bytes), (1, 0, [10, 4000]));
}

#[test]
fn an_application_that_has_nothing_to_send_stands_at_no_window() {
    let mut talk = Talk::opened(RANDOM);
    talk.sends(0, 50.0, &stream(0, 10));
    talk.sends(1, 91.0, &[ack(0, 0), stream(0, 3000)].concat());
    talk.sends(0, 92.0, &[0x11, 0, 0x57, 0x70]);
    talk.sends(1, 900.0, &stream(3000, 500));
    assert_eq!(talk.summary().inside.unwrap().flow_control[1].times, 0);
}

#[test]
fn packets_are_opened_after_a_key_update_and_those_from_before_it() {
    let mut talk = Talk::opened(RANDOM);
    talk.sends(1, 50.0, &stream(0, 100));
    talk.loses(1);
    let next = updated(&SECRETS[1][1]);
    talk.sends_under(1, 51.0, &stream(200, 100), &next, 4);
    talk.numbers[1] = 1;
    talk.sends(1, 52.0, &stream(100, 100));
    talk.numbers[1] = 3;
    talk.sends_under(1, 53.0, &stream(300, 100), &next, 4);
    let quic = talk.summary();
    let inside = quic.inside.unwrap();
    assert_eq!((inside.key_updates, inside.packets[1].lost_before, inside.packets[1].seen), (1, 0, 6));
    assert_eq!((inside.streams[0].bytes, quic.unread), ([0, 400], None));
}

#[test]
fn the_reason_of_a_close_is_read() {
    let mut talk = Talk::opened(RANDOM);
    talk.sends(0, 50.0, &[&[0x1d, 0x41, 0x0c, 3][..], b"bye"].concat());
    let close = talk.summary().close.unwrap();
    assert_eq!((close.side, close.kind, close.code, &*close.reason), (0, CloseKind::Application, Some(0x10c), "bye"));
}

#[test]
fn a_stateless_reset_is_known_by_its_token() {
    let mut talk = Talk::opened(RANDOM);
    let token = [0xee; 16];
    talk.sends(1, 50.0, &[&[0x18, 1, 0, 8][..], &[0x33; 8], &token].concat());
    talk.sends(0, 60.0, &stream(0, 10));
    talk.says(1, 101.0, &[&[0x41; 25][..], &token].concat());
    assert_eq!(talk.summary().close.map(|close| close.kind), Some(CloseKind::StatelessReset));
}

#[test]
fn keys_that_fit_nothing_are_said_in_one_line() {
    let mut talk = Talk::opened([8; 32]);
    for time_ms in 0..300 {
        talk.sends(1, f64::from(50 + time_ms), &stream(0, 100));
    }
    let quic = talk.summary();
    assert_eq!(quic.inside, None);
    assert_eq!(quic.unread.as_deref(), Some("301 packets that no key in the key log fits"));
}
