//! TLS in streams built byte by byte: where it begins, what holes and snap lengths take away, and that neither
//! segmentation nor order matters.
//!
//! Subjects: `tls/side.rs`, `tls/reader.rs`, `tls/handshake.rs`, `tls/hello.rs`, `tls/tally.rs`,
//! `tcp/connection/payload_feed.rs`.

use crate::messages::*;
use crate::support;
use crate::support::{DIRECTIONS, Segment};
use proptest::prelude::*;
use vmtrace_core::tls::StreamDirection::{self, ClientToServer, ServerToClient};
use vmtrace_core::tls::{StreamBytes, TlsFacts, TlsTracker};

/// ClientHello for "a.example" with ALPN h2 and `padding` bytes of a key share.
fn client_hello(padding: usize) -> Vec<u8> {
    let name = extension(0, &[&[0, 12, 0, 0, 9][..], b"a.example"].concat());
    let alpn = extension(16, &[0, 3, 2, b'h', b'2']);
    let body = hello_body(&[9; 32], &[0, 2, 0x13, 0x01, 1, 0], &[name, alpn, extension(51, &vec![0x17; padding])]);
    record(22, &message(1, &body))
}

fn server_hello13() -> Vec<u8> {
    let body = hello_body(&[9; 32], &[0x13, 0x01, 0], &[extension(43, &[3, 4]), extension(51, &[0; 36])]);
    record(22, &message(2, &body))
}

fn server_hello12() -> Vec<u8> {
    record(22, &message(2, &hello_body(&[], &[0xc0, 0x2f, 0], &[extension(16, &[0, 3, 2, b'h', b'2'])])))
}

fn sealed(plain_bytes: usize) -> Vec<u8> {
    record(23, &vec![0xa5; plain_bytes + 17])
}

/// A stretch of one stream that crossed at one time.
type Flight = (StreamDirection, Vec<u8>);

/// TLS 1.3 as stacks speak it: one record a message, two tickets, a request of 100 bytes and an answer of 40000.
fn tls13() -> Vec<Flight> {
    let change = record(20, &[1]);
    let server = [server_hello13(), change.clone(), sealed(10), sealed(900), sealed(264), sealed(36)].concat();
    let tickets = [sealed(200), sealed(200)].concat();
    let answer = [sealed(16384), sealed(16384), sealed(7232)].concat();
    vec![
        (ClientToServer, client_hello(1200)),
        (ServerToClient, server),
        (ClientToServer, [change, sealed(36)].concat()),
        (ClientToServer, sealed(100)),
        (ServerToClient, tickets),
        (ServerToClient, answer),
        (ClientToServer, sealed(2)),
    ]
}

fn tls12() -> Vec<Flight> {
    let certificate = message(11, &[3; 3000]);
    let flight = [message(12, &[1; 300]), message(14, &[])].concat();
    let finished = [record(20, &[1]), record(22, &[0; 40])].concat();
    vec![
        (ClientToServer, client_hello(10)),
        (
            ServerToClient,
            [server_hello12(), record(22, &certificate[..1000]), record(22, &certificate[1000..]), record(22, &flight)]
                .concat(),
        ),
        (ClientToServer, [record(22, &message(16, &[4; 66])), finished.clone()].concat()),
        (ServerToClient, finished),
        (ClientToServer, record(23, &[0; 124])),
        (ServerToClient, [record(23, &[0; 1024]), record(21, &[0; 26])].concat()),
    ]
}

/// Every flight as one segment, a millisecond apart.
fn segments(flights: &[Flight]) -> Vec<Segment> {
    let mut offsets = [0; 2];
    let mut out = Vec::new();
    for (index, (direction, bytes)) in flights.iter().enumerate() {
        let offset = &mut offsets[usize::from(*direction == ServerToClient)];
        out.push(Segment {
            direction: *direction,
            offset: *offset,
            captured: bytes.clone(),
            length: bytes.len() as u32,
            time_ns: 1_000_000 * index as i64,
            retransmitted: false,
        });
        *offset += bytes.len() as u64;
    }
    out
}

/// Cuts segments into pieces of at most `size` bytes.
fn cut(segments: &[Segment], size: usize) -> Vec<Segment> {
    let mut out = Vec::new();
    for segment in segments {
        for (index, captured) in segment.captured.chunks(size).enumerate() {
            let offset = segment.offset + (index * size) as u64;
            out.push(Segment { offset, captured: captured.to_vec(), length: captured.len() as u32, ..segment.clone() });
        }
    }
    out
}

fn read(flights: &[Flight]) -> (TlsFacts, [StreamBytes; 2]) {
    let (facts, bytes) = support::read(&segments(flights));
    (facts.unwrap(), bytes)
}

#[test]
fn tls13_bytes_are_sorted_by_position() {
    let (facts, bytes) = read(&tls13());
    let hello = client_hello(1200).len() as u64;
    assert_eq!(facts.version.as_deref(), Some("1.3"));
    assert_eq!(facts.client_handshake_bytes, Some(hello + 6 + 58));
    let server_flight = (server_hello13().len() + 6 + 32 + 922 + 286 + 58) as u64;
    assert_eq!(facts.server_handshake_bytes, Some(server_flight + 2 * 222));
    assert_eq!(facts.application_bytes, Some(100 + 40000));
    // Four records of data, and an alert.
    assert_eq!(facts.record_overhead_bytes, Some(4 * 22 + 24));
    assert_eq!(facts.records, Some(16));
    assert_eq!(facts.handshake_s, Some(0.002));
    assert_eq!(facts.alerts, ["client: encrypted alert"]);
    assert_eq!(bytes[0], StreamBytes { tls_handshake: hello + 64, tls_record: 22 + 24, application: 100 });
    assert_eq!(bytes[1].application, 40000);
}

/// TLS 1.3 up to the two tickets, then answers no longer than tickets can be.
fn tls13_with_short_answers(count: usize) -> Vec<Flight> {
    let mut flights = tls13();
    flights.truncate(5);
    for _ in 0..count {
        flights.push((ServerToClient, sealed(1365)));
        flights.push((ClientToServer, sealed(100)));
    }
    flights
}

#[test]
fn short_answers_are_no_tickets_though_the_request_follows_the_finished_in_a_packet_of_its_own() {
    let (only_tickets, _) = read(&tls13_with_short_answers(0));
    let (facts, _) = read(&tls13_with_short_answers(4));
    assert_eq!(facts.server_handshake_bytes, only_tickets.server_handshake_bytes);
    assert_eq!(facts.application_bytes, Some(100 + 4 * (1365 + 100)));
}

#[test]
fn tls12_bytes_are_sorted_by_type() {
    let (facts, bytes) = read(&tls12());
    assert_eq!((facts.version.as_deref(), facts.resumed), (Some("1.2"), Some(false)));
    assert_eq!(facts.certificate_bytes, Some(3004));
    assert_eq!((facts.handshake_s, facts.handshake_round_trips), (Some(0.003), Some(2)));
    assert_eq!(facts.application_bytes, Some(100 + 1000));
    assert_eq!(facts.record_overhead_bytes, Some(2 * 29 + 31));
    assert_eq!(facts.alerts, ["server: encrypted alert"]);
    assert_eq!(bytes[1].tls_record, 29 + 31);
}

#[test]
fn tls_may_begin_after_a_dialogue() {
    let dialogues: [&[(StreamDirection, &[u8])]; 5] = [
        &[(ClientToServer, b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"), (ServerToClient, b"HTTP/1.1 200 OK\r\n\r\n")],
        &[
            (ClientToServer, &[5, 1, 0]),
            (ServerToClient, &[5, 0]),
            (ClientToServer, &[5, 1, 0, 1, 10, 0, 0, 1, 1, 0xbb]),
            (ServerToClient, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        ],
        &[(ServerToClient, b"220 mail ready\r\n"), (ClientToServer, b"STARTTLS\r\n"), (ServerToClient, b"220 go\r\n")],
        &[(ClientToServer, &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]), (ServerToClient, b"S")],
        &[(ClientToServer, b"PROXY TCP4 10.0.0.1 10.0.0.2 5000 443\r\n")],
    ];
    for dialogue in dialogues {
        let mut flights: Vec<Flight> = dialogue.iter().map(|(direction, bytes)| (*direction, bytes.to_vec())).collect();
        let before: usize = flights.iter().map(|(_, bytes)| bytes.len()).sum();
        flights.extend(tls13());
        let (facts, bytes) = read(&flights);
        assert_eq!(facts.bytes_before_tls, before as u64);
        assert_eq!((facts.records, facts.application_bytes), (Some(16), Some(40100)));
        assert_eq!(bytes[0].application + bytes[1].application, 40100 + before as u64);
        // A PROXY header and the hello may well share a segment, as may anything after segmentation offload.
        let joined = joined(&flights);
        assert_eq!(support::read(&joined).0.unwrap().records, Some(16));
    }
}

/// Each direction's bytes as a single segment.
fn joined(flights: &[Flight]) -> Vec<Segment> {
    let all = segments(flights);
    let join = |direction| {
        let bytes = all.iter().filter(|s| s.direction == direction).flat_map(|s| s.captured.clone()).collect();
        (direction, bytes)
    };
    segments(&DIRECTIONS.map(join))
}

#[test]
fn plaintext_is_not_taken_for_tls_and_is_given_up() {
    let mut tracker = TlsTracker::new();
    let text = b"GET / HTTP/1.1\r\nUser-Agent: \x16\x03\x01\x02\x00 curl\r\n".repeat(40);
    let mut offset = 0;
    while offset < 200_000 {
        tracker.segment(ServerToClient, offset, &text, text.len() as u32, 0, false);
        offset += text.len() as u64;
    }
    assert!(!tracker.is_watching());
    assert_eq!(tracker.facts(), None);
    assert_eq!(tracker.stream_bytes(ServerToClient), StreamBytes { application: offset, ..StreamBytes::default() });
}

#[test]
fn a_capture_that_begins_inside_a_record_finds_the_next() {
    let answer = [sealed(16384), sealed(16384), sealed(16384), sealed(16384)].concat();
    let flights = vec![(ServerToClient, answer[5000..].to_vec()), (ClientToServer, [sealed(50), sealed(50)].concat())];
    let (facts, bytes) = read(&flights);
    assert_eq!((facts.version, facts.cipher, facts.records), (None, None, None));
    for field in ["version", "cipher", "sni", "records", "application_bytes", "handshake_s"] {
        assert!(facts.not_measured.iter().any(|(name, _)| *name == field), "{field}");
    }
    assert_eq!(bytes[1].tls_record, 3 * 5);
}

#[test]
fn what_the_snap_length_leaves_is_used() {
    let mut cut = cut(&segments(&tls12()), 1448);
    cut.iter_mut().for_each(|segment| segment.captured.truncate(200));
    let facts = support::read(&cut).0.unwrap();
    assert_eq!((facts.sni.as_deref(), facts.version.as_deref()), (Some("a.example"), Some("1.2")));
    assert_eq!(facts.certificate_bytes, Some(3004));
    assert_eq!(facts.records, None);
    assert!(facts.not_measured.contains(&("records", "a record header lies beyond the snap length")));
}

#[test]
fn a_hole_inside_a_record_costs_nothing() {
    let mut all = cut(&segments(&tls13()), 1000);
    let whole = support::read(&all).0.unwrap();
    let missing = all.iter().position(|s| s.direction == ServerToClient && s.offset > 8000).unwrap();
    all.remove(missing);
    let facts = support::read(&all).0.unwrap();
    assert_eq!((facts.records, facts.application_bytes), (whole.records, whole.application_bytes));
}

#[test]
fn retransmitted_bytes_are_left_out_of_the_stream_bytes_alone() {
    let mut all = cut(&segments(&tls13()), 1000);
    let whole = support::read(&all).0.unwrap();
    all.iter_mut().step_by(3).for_each(|segment| segment.retransmitted = true);
    let (facts, bytes) = support::read(&all);
    assert_eq!(facts.unwrap(), whole);
    support::assert_bytes_sum(&all, bytes);
}

#[test]
fn an_sslv2_hello_opens_tls() {
    let hello = [&[0x80, 0x1f, 1, 3, 1, 0, 6, 0, 0, 0, 16, 0, 0, 4, 0, 0, 5][..], &[1; 16]].concat();
    let mut flights = tls12();
    flights[0].1 = hello.clone();
    let (facts, _) = read(&flights);
    assert_eq!(facts.version.as_deref(), Some("1.2"));
    assert_eq!(facts.client_handshake_bytes, Some((hello.len() + 75 + 6 + 45) as u64));
    assert!(facts.handshake_complete);
}

#[test]
fn a_tracker_is_small() {
    assert!(size_of::<TlsTracker>() <= 512, "{}", size_of::<TlsTracker>());
}

fn any_segment() -> impl Strategy<Value = (bool, u64, Vec<u8>, u32, bool)> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        proptest::collection::vec(
            prop_oneof![Just(0x16_u8), Just(0x17), Just(3), Just(0), Just(1), Just(2), any::<u8>()],
            0..300
        ),
        Just(client_hello(100)),
        Just(server_hello13()),
        Just(sealed(36)),
    ];
    (any::<bool>(), prop_oneof![0..2000_u64, any::<u64>()], bytes, 0..400_u32, any::<bool>())
}

proptest! {
    #![proptest_config(crate::captures::cases(256))]

    #[test]
    fn any_calls_are_survived_and_every_byte_is_counted(calls in proptest::collection::vec(any_segment(), 0..40), holes in any::<u64>()) {
        let mut tracker = TlsTracker::new();
        let mut passed = [0_u64; 2];
        for (index, (server, offset, bytes, more, again)) in calls.iter().enumerate() {
            let direction = DIRECTIONS[usize::from(*server)];
            let length = bytes.len() as u32 + more % 3 * more;
            tracker.segment(direction, *offset, bytes, length, index as i64, *again);
            passed[usize::from(*server)] += if *again { 0 } else { u64::from(length) };
            if index % 7 == 6 {
                tracker.skip_hole(direction, holes % 4000);
            }
            let _ = tracker.facts();
        }
        for (direction, passed) in DIRECTIONS.into_iter().zip(passed) {
            tracker.skip_hole(direction, holes);
            let parts = tracker.stream_bytes(direction);
            prop_assert_eq!(parts.tls_handshake + parts.tls_record + parts.application, passed);
        }
        let _ = tracker.facts();
    }

    #[test]
    fn segmentation_and_order_do_not_matter(
        size in 1..3000_usize,
        kind in 0..3_u8,
        dialogue in any::<bool>(),
        keys in proptest::collection::vec(any::<u32>(), 64),
    ) {
        let mut flights = match kind {
            0 => tls12(),
            1 => tls13(),
            _ => tls13_with_short_answers(4),
        };
        if dialogue {
            flights.insert(0, (ClientToServer, b"CONNECT h:443 HTTP/1.1\r\n\r\n".to_vec()));
            flights.insert(1, (ServerToClient, b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec()));
        }
        let whole = segments(&flights);
        let expected = support::read(&whole);
        let mut shuffled = cut(&whole, size);
        // Very small pieces keep their order over long stretches, or more would be held back than is allowed.
        let stride = shuffled.len() / keys.len() + 1;
        let mut order: Vec<(u32, usize)> = (0..shuffled.len()).map(|i| (keys[i / stride], i)).collect();
        order.sort_unstable();
        shuffled = order.into_iter().map(|(_, i)| shuffled[i].clone()).collect();
        prop_assume!(shuffled.len() < 4000);
        prop_assert_eq!(support::read(&shuffled), expected);
    }

    #[test]
    fn every_truncation_gives_facts_of_a_prefix(length in 0..1300_usize) {
        let hello = client_hello(1200);
        let cut = &hello[..length.min(hello.len())];
        let mut tracker = TlsTracker::new();
        tracker.segment(ClientToServer, 0, cut, hello.len() as u32, 0, false);
        tracker.segment(ServerToClient, 0, &server_hello13(), server_hello13().len() as u32, 1, false);
        let facts = tracker.facts().unwrap();
        prop_assert_eq!(facts.version.as_deref(), Some("1.3"));
        let told = facts.sni.as_deref() == Some("a.example");
        prop_assert!(told || facts.not_measured.iter().any(|(field, _)| *field == "sni"));
    }
}
