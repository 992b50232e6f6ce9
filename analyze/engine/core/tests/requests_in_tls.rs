//! Requests inside TLS, by the lengths and directions of records, whatever the snap length leaves of them (docs/json.md).
//!
//! Subjects: `tls/spoken.rs`, `tls/outbox.rs`, `tls/message_filter.rs`, `tls/cut.rs`, `tls/chosen.rs`, `tls/tracker.rs`, `tls/lane.rs`,
//! `tcp/connection/speaking.rs`, `tcp/requests/exchanges.rs`.

use crate::messages::*;
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::requests::exchanges::Reason;
use vmtrace_core::tcp::requests::longest::Exchange;

const RTT_MS: f64 = 20.0;
const SEGMENT_BYTES: usize = 1400;

fn hello(kind: u8, middle: &[u8], extensions: &[Vec<u8>]) -> Vec<u8> {
    record(22, &message(kind, &hello_body(&[9; 32], middle, extensions)))
}

fn client_hello(protocols: &[u8]) -> Vec<u8> {
    let alpn = extension(16, &[&(protocols.len() as u16).to_be_bytes()[..], protocols].concat());
    hello(1, &[0, 2, 0x13, 0x01, 1, 0], &[alpn, extension(51, &[0x17; 300])])
}

/// Application data of so many bytes; AES-GCM adds 17 in TLS 1.3 and 24 before.
fn sealed(plain_bytes: usize, tls13: bool) -> Vec<u8> {
    record(23, &vec![0xa5; plain_bytes + if tls13 { 17 } else { 24 }])
}

/// A talk with where each side's stream and the clock are.
struct Spoken {
    talk: Talk,
    at_ms: f64,
    sent: [usize; 2],
    /// What the server acknowledges while the client's bytes are on their way.
    acknowledged: Option<usize>,
}

impl Spoken {
    fn new(port: u16) -> Self {
        let talk = Talk::new().with_timestamps().between(9, 50_000, 7, port).open(RTT_MS, 0.02);
        Self { talk, at_ms: RTT_MS + 1.0, sent: [0; 2], acknowledged: None }
    }

    /// Packets of one side, each acknowledging all of the other.
    fn says(mut self, side: usize, bytes: &[u8]) -> Self {
        for part in bytes.chunks(SEGMENT_BYTES) {
            let acknowledged = self.acknowledged.filter(|_| side == SERVER).unwrap_or(self.sent[1 - side]);
            let segment = data(self.sent[side] as i64, 0).content(part).acking(acknowledged as i64);
            self.talk = self.talk.line(side, self.at_ms, segment);
            self.sent[side] += part.len();
            self.at_ms += 0.05;
        }
        self
    }

    /// It says so much, and the capture has none of it.
    fn says_unseen(mut self, side: usize, bytes: usize) -> Self {
        self.sent[side] += bytes;
        self
    }

    fn waits(mut self, wait_ms: f64) -> Self {
        self.at_ms += wait_ms;
        self
    }

    fn opened(self, tls13: bool, protocols: &[u8]) -> Self {
        let (change, said) = (record(20, &[1]), self.says(CLIENT, &client_hello(protocols)).waits(RTT_MS));
        if tls13 {
            let server_hello = hello(2, &[0x13, 0x01, 0], &[extension(43, &[3, 4]), extension(51, &[0; 36])]);
            // EncryptedExtensions: headers and ALPN.
            let extensions = 6 + if protocols == HTTP_2 { 9 } else { 15 };
            let flight = [
                server_hello,
                change.clone(),
                sealed(extensions, true),
                sealed(2500, true),
                sealed(264, true),
                sealed(36, true),
            ];
            return said.says(SERVER, &flight.concat()).waits(0.5).says(CLIENT, &[change, sealed(36, true)].concat());
        }
        let server_hello =
            hello(2, &[0xc0, 0x2f, 0], &[extension(16, &[0, 9, 8, b'h', b't', b't', b'p', b'/', b'1', b'.', b'1'])]);
        let flight = [server_hello, record(22, &message(11, &[3; 2500])), record(22, &message(14, &[]))].concat();
        let finished = [change, record(22, &[0; 40])].concat();
        said.says(SERVER, &flight)
            .waits(0.5)
            .says(CLIENT, &[record(22, &message(16, &[4; 33])), finished.clone()].concat())
            .waits(RTT_MS)
            .says(SERVER, &finished)
    }

    /// Requests one after another; the server sends its tickets before the first response.
    fn asks(self, tls13: bool, rounds: &[Round]) -> Self {
        rounds.iter().enumerate().fold(self, |said, (index, &(wait_ms, request, response))| {
            let asked = said.waits(1.0).says(CLIENT, &sealed(request, tls13)).waits(RTT_MS);
            let ticketed = if index == 0 && tls13 {
                asked.says(SERVER, &[sealed(200, true), sealed(200, true)].concat())
            } else {
                asked
            };
            ticketed.waits(wait_ms).says(SERVER, &records(response, tls13))
        })
    }

    fn listed(&self) -> Result<Vec<Exchange>, Reason> {
        self.talk.summary().requests().map(|requests| requests.longest.list.clone())
    }
}

/// What the server waits, and bytes of request and response.
type Round = (f64, usize, usize);

/// A response in full records and the rest.
fn records(bytes: usize, tls13: bool) -> Vec<u8> {
    (0..bytes).step_by(16_384).flat_map(|start| sealed((bytes - start).min(16_384), tls13)).collect()
}

const HTTP_1: &[u8] = b"\x08http/1.1";
const HTTP_2: &[u8] = b"\x02h2\x08http/1.1";

/// All of the rounds, with their times and sizes.
fn assert_all(listed: &[Exchange], rounds: &[Round], context: &str) {
    assert_eq!(listed.len(), rounds.len(), "{context}: {listed:?}");
    for (exchange, (wait_ms, request, response)) in listed.iter().zip(rounds) {
        let first_byte_ms = exchange.first_byte_ns as f64 / 1e6;
        assert!((first_byte_ms - wait_ms - RTT_MS).abs() < 1.0, "{context}: {exchange:?}");
        assert_eq!(exchange.request_bytes as usize, *request, "{context}");
        assert!(
            (exchange.response_bytes as usize).abs_diff(*response) <= 30 + response / 100,
            "{context}: {exchange:?}"
        );
    }
}

#[test]
fn handshake_turns_are_no_requests_whatever_the_snap_length() {
    let rounds = [(300.0, 120, 9000), (5.0, 90, 500), (0.0, 300, 40_000), (50.0, 77, 1)];
    for tls13 in [false, true] {
        for snap in [60, 64, 66, 68, 96, 128, 200, 65_535] {
            let mut said = Spoken::new(8443).opened(tls13, HTTP_1).asks(tls13, &rounds);
            said.talk = said.talk.snapped(snap);
            match said.listed() {
                Ok(listed) => assert_all(&listed, &rounds, &format!("TLS 1.3: {tls13}, {snap}")),
                Err(reason) => assert_eq!((reason, snap < 96), (Reason::SnapLength, true), "TLS 1.3: {tls13}, {snap}"),
            }
        }
    }
}

#[test]
fn what_the_capture_missed_leaves_no_requests() {
    let rounds = [(30.0, 120, 9000), (5.0, 90, 500)];
    for side in [CLIENT, SERVER] {
        let said = Spoken::new(443).opened(false, HTTP_1).asks(false, &rounds);
        let said = said.waits(40.0).says_unseen(side, 900).waits(40.0).asks(false, &rounds);
        assert_eq!(said.listed().expect_err("a hole"), Reason::MissingPackets);
    }
}

#[test]
fn without_payload_a_port_in_the_clear_has_its_requests() {
    let asked = |port| {
        let said = Spoken::new(port).says(CLIENT, &[b'G'; 300]).waits(RTT_MS).says(SERVER, &[b'H'; 3000]);
        let mut said = said.waits(5.0).says(CLIENT, &[b'G'; 300]).waits(RTT_MS).says(SERVER, &[b'H'; 3000]);
        said.talk = said.talk.snapped(66);
        said.listed().map(|list| list.len())
    };
    assert_eq!([asked(80), asked(8443)], [Ok(2), Err(Reason::SnapLength)]);
}

#[test]
fn a_continue_inside_tls_is_no_response() {
    for tls13 in [false, true] {
        let said = Spoken::new(443).opened(tls13, HTTP_1).waits(1.0).says(CLIENT, &sealed(186, tls13)).waits(RTT_MS);
        let said = said.says(SERVER, &sealed(25, tls13)).waits(0.2).says(CLIENT, &records(50_000, tls13));
        let said = said.waits(RTT_MS + 100.0).says(SERVER, &sealed(170, tls13));
        let list = said.waits(1.0).asks(false, &[]).listed().expect("one");
        assert_eq!(list.len(), 1, "TLS 1.3: {tls13}");
        assert_eq!((list[0].request_bytes, list[0].response_bytes), (50_186, 170));
    }
}

#[test]
fn a_head_whose_body_waits_for_a_continue_in_vain_belongs_to_it() {
    let said = Spoken::new(443).opened(true, HTTP_1).waits(1.0).says(CLIENT, &sealed(186, true)).waits(1000.0);
    let said = said.says(CLIENT, &records(50_000, true)).waits(RTT_MS).says(SERVER, &sealed(170, true));
    let list = said.listed().expect("one");
    assert_eq!((list.len(), list[0].request_bytes), (1, 50_186));
    assert!(list[0].request_ns > 1_000_000_000, "{list:?}");
}

#[test]
fn window_updates_within_a_download_are_no_requests() {
    let mut said = Spoken::new(443).opened(true, HTTP_2).waits(1.0).says(CLIENT, &sealed(111, true)).waits(RTT_MS);
    said.acknowledged = Some(said.sent[CLIENT]);
    let said = (0..20).fold(said, |said, _| said.says(SERVER, &records(40_000, true)).says(CLIENT, &sealed(26, true)));
    let list = said.says(SERVER, &records(20_000, true)).listed().expect("one");
    assert_eq!((list.len(), list[0].response_bytes), (1, 820_000));
}

/// A client of HTTP/2 that asks one after another; the server has settings to send and to acknowledge.
fn asks_http2(said: Spoken, tls13: bool, rounds: &[Round]) -> Spoken {
    let said = said.waits(1.0).says(CLIENT, &sealed(64, tls13));
    rounds.iter().enumerate().fold(said, |said, (index, &(wait_ms, request, response))| {
        let asked = said.waits(0.1).says(CLIENT, &sealed(request, tls13)).waits(RTT_MS);
        let settled = match index {
            0 => asked.says(SERVER, &sealed(62, tls13)).says(CLIENT, &sealed(9, tls13)),
            _ => asked,
        };
        settled.waits(wait_ms).says(SERVER, &sealed(110, tls13)).says(SERVER, &records(response, tls13)).waits(1.0)
    })
}

#[test]
fn requests_of_http_2_one_after_another_are_all_there_whatever_the_snap_length() {
    let rounds = [(100.0, 80, 30_000), (5.0, 40, 500), (20.0, 41, 90_000), (50.0, 35, 700)];
    for snap in [96, 128, 65_535] {
        let mut said = asks_http2(Spoken::new(443).opened(true, HTTP_2), true, &rounds);
        said.talk = said.talk.snapped(snap);
        let mut expected = rounds.map(|(wait_ms, request, response)| (wait_ms, request, response + 110));
        expected[0].1 += 64; // the preface
        assert_all(&said.listed().expect("four"), &expected, &format!("{snap}"));
    }
}

#[test]
fn streams_side_by_side_are_not_told_apart() {
    for heads in [&[80, 21][..], &[80, 22, 22, 26], &[80, 80, 30]] {
        let asked: Vec<u8> = heads.iter().flat_map(|&bytes| sealed(bytes, true)).collect();
        let said = Spoken::new(443).opened(true, HTTP_2).waits(1.0).says(CLIENT, &sealed(64, true));
        let said = said.says(CLIENT, &asked).waits(RTT_MS).says(SERVER, &records(90_000, true));
        assert_eq!(said.listed().expect_err("several"), Reason::Overlapping, "{heads:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn as_many_requests_as_there_were(
        tls13 in any::<bool>(),
        snap in prop_oneof![54usize..=66, 96usize..400, Just(65_535)],
        port in prop_oneof![Just(443u16), Just(8443), Just(4433), 20_000u16..60_000],
        rounds in proptest::collection::vec((0.0..300.0f64, 40usize..900, prop_oneof![60usize..180, 230usize..60_000]), 1..12),
    ) {
        let mut said = Spoken::new(port).opened(tls13, HTTP_1).asks(tls13, &rounds);
        said.talk = said.talk.snapped(snap);
        match said.listed() {
            Ok(list) => prop_assert_eq!(list.len(), rounds.len()),
            Err(reason) => prop_assert!(snap < 96 && reason == Reason::SnapLength, "{:?}", reason),
        }
    }
}
