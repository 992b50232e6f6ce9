//! Packets of IPv6 that go between other hosts than their header names: routing headers with segments left, home addresses.
//!
//! Subjects: `decode/routing.rs`, `decode/frame.rs`, `decode/ip.rs`.

use crate::frames::*;
use crate::playbook;
use crate::playbook::captures::{Frame, frame};
use crate::playbook::{CLIENT, SERVER, START_NS, Talk, ack, analysis_in_small_chunks, analysis_of, data, json_of, ms};
use serde_json::Value;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::decode::walk::tunnels;
use vmtrace_core::decode::{Batch, Decoded, decode};
use vmtrace_core::packet::Packet;
use vmtrace_core::read::{Chunk, Record};

/// Of 2001:db8::/32, where neither end of a test is.
const WAYPOINT: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77];

/// Behind an Ethernet header.
const IP: usize = 14;

fn routing(next: u8, kind: u8, left: u8, four: [u8; 4], list: &[u8]) -> Vec<u8> {
    [&[next, (list.len() / 8) as u8, kind, left], &four[..], list].concat()
}

/// A header of each type with segments left that leads to an address.
fn headers(next: u8, last: [u8; 16]) -> Vec<Vec<u8>> {
    let segments = [last, WAYPOINT].concat();
    vec![
        routing(next, 0, 1, [0; 4], &last),
        routing(next, 2, 1, [0; 4], &last),
        routing(next, 3, 1, [0; 4], &last),
        routing(next, 4, 1, [1, 0, 0, 0], &segments),
    ]
}

/// The frame of an IPv6 packet on its way to the waypoint.
fn on_its_way(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv6(next, payload);
    packet[24..40].copy_from_slice(&WAYPOINT);
    ethernet(0x86dd, &packet)
}

fn chunk_of(frames: &[Vec<u8>]) -> Chunk {
    let mut chunk = Chunk::default();
    for bytes in frames {
        let offset = chunk.bytes.len() as u32;
        chunk.bytes.extend_from_slice(bytes);
        chunk.records.push(Record { offset, ..record(1, bytes) });
    }
    chunk
}

/// The flow of a packet, and the addresses that it has in its bytes.
fn flow_of(packet: &Packet, bytes: &[u8]) -> (u64, u32, Vec<u8>) {
    (packet.address_key, packet.flow_hash, bytes[packet.address_offset as usize..][..32].to_vec())
}

#[test]
fn every_type_leads_to_the_flow_of_the_last_destination() {
    let segment = tcp(&[], b"hello");
    let plain = ethernet(0x86dd, &ipv6(6, &segment));
    let expected = flow_of(&packet(1, &plain), &plain);
    for header in headers(6, DESTINATION6) {
        let frame = on_its_way(43, &[&header[..], &segment].concat());
        let mut chunk = chunk_of(&[plain.clone(), frame.clone()]);
        let mut batch = Batch::default();
        batch.decode(&mut chunk);
        let [_, found] = batch.packets() else { panic!("{header:?}") };
        assert_eq!(flow_of(found, &chunk.bytes), expected, "{header:?}");
        assert_eq!(payload_of(found, &chunk.bytes), b"hello");
        assert_eq!(usize::from(found.ip_header_length), 40 + header.len());

        // Of bytes that cannot be written the same packet comes, but for where it has its addresses.
        let chunk = chunk_of(&[plain.clone(), frame.clone()]);
        assert_eq!(decode(&chunk.bytes, &chunk.records[1]), Decoded::Tcp(*found), "{header:?}");
        for captured in 0..frame.len() {
            if let Decoded::Tcp(cut) = decode_cut(1, &frame, captured) {
                assert_eq!((cut.address_key, cut.flow_hash), (expected.0, expected.1), "cut at {captured}");
            }
        }
    }
}

#[test]
fn fragments_on_their_way_are_joined_and_then_readdressed() {
    let segment = tcp(&[], &[7; 80]);
    let plain = ethernet(0x86dd, &ipv6(6, &segment));
    for header in headers(44, DESTINATION6) {
        let piece = |start: usize, end: usize| {
            let fragment = ipv6_fragment(6, start as u16, end < segment.len(), &segment[start..end]);
            on_its_way(43, &[&header[..], &fragment].concat())
        };
        let mut chunk = chunk_of(&[piece(0, 48), piece(48, segment.len())]);
        let (mut batch, mut reassembler) = (Batch::default(), vmtrace_core::decode::fragments::Reassembler::new());
        batch.decode(&mut chunk);
        batch.join_fragments(&mut chunk, &mut reassembler);
        let [found] = batch.packets() else { panic!("{header:?}") };
        assert_eq!(flow_of(found, &chunk.bytes), flow_of(&packet(1, &plain), &plain));
        assert_eq!(payload_of(found, &chunk.bytes), [7; 80]);
        assert_eq!(found.ip_id, 0xbeef);
    }
}

#[test]
fn a_tunnel_ends_where_its_last_segment_is() {
    let inner = ipv4(6, &tcp(&[], b"hello"));
    let header = routing(4, 4, 1, [1, 0, 0, 0], &[DESTINATION6, WAYPOINT].concat());
    let mut chunk = chunk_of(&[on_its_way(43, &[&header[..], &inner].concat())]);
    let mut batch = Batch::default();
    batch.decode(&mut chunk);
    assert_eq!((batch.packets().len(), batch.tunnelled.len()), (1, 1));
    let (path, _) = tunnels(&chunk.bytes, &chunk.records[0]).unwrap();
    let ends = path.iter().map(|tunnel| (tunnel.kind, tunnel.outer[1])).collect::<Vec<_>>();
    assert_eq!(ends, [("ip_in_ip", DESTINATION6.into())]);
}

/// An upload of which each segment is there twice: checksums of what was sent before are looked at.
fn upload() -> Talk {
    Talk::new().over_ipv6().open(0.1, 40.0).each(0..20_i64, |talk, n| {
        let at_ms = 50.0 + 300.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000))
            .client(at_ms + 250.0, data(n * 1000, 1000))
            .server(at_ms + 250.1, ack((n + 1) * 1000))
    })
}

fn side_of(frame: &Frame) -> usize {
    let port = |at: usize| u16::from_be_bytes([frame.bytes[IP + at], frame.bytes[IP + at + 1]]);
    if port(40) > port(42) { CLIENT } else { SERVER }
}

/// The frame with an extension header before TCP, and at `at` of its IPv6 header another address.
fn extended(frame: &Frame, next: u8, header: &[u8], at: usize, address: [u8; 16]) -> Frame {
    let mut bytes = frame.bytes.clone();
    bytes[IP + at..][..16].copy_from_slice(&address);
    bytes[IP + 6] = next;
    let length = u16::from_be_bytes([bytes[IP + 4], bytes[IP + 5]]) + header.len() as u16;
    bytes[IP + 4..IP + 6].copy_from_slice(&length.to_be_bytes());
    bytes.splice(IP + 40..IP + 40, header.iter().copied());
    Frame { original_length: frame.original_length + header.len() as u32, bytes, ..frame.clone() }
}

fn address_of(frame: &Frame, at: usize) -> [u8; 16] {
    frame.bytes[IP + at..][..16].try_into().unwrap()
}

/// The client's packets go by a waypoint: the rest of their ways stand in a header of this type.
fn by_a_waypoint(frames: &[Frame], kind: u8) -> Vec<Frame> {
    let routed = |frame: &Frame| {
        let last = address_of(frame, 24);
        let header = match kind {
            4 => routing(6, 4, 1, [1, 0, 0, 0], &[last, WAYPOINT].concat()),
            _ => routing(6, kind, 1, [0; 4], &last),
        };
        extended(frame, 43, &header, 24, WAYPOINT)
    };
    frames.iter().map(|frame| if side_of(frame) == CLIENT { routed(frame) } else { frame.clone() }).collect()
}

fn of_any_way(frames: &[Frame]) -> Analysis {
    let one = analysis_of(frames, &Options::default());
    let many = analysis_of(frames, &Options { threads: 3, ..Options::default() });
    let slow = analysis_in_small_chunks(&[playbook::captures::plain_pcap(frames)], &Options::default());
    assert_eq!(json_of(&one), json_of(&many));
    assert_eq!(json_of(&one), json_of(&slow));
    one
}

/// What tells whether two analyses are of the same connection.
fn told(analysis: &Analysis) -> (Value, Value, Vec<u32>) {
    let document: Value = serde_json::from_str(&json_of(analysis)).unwrap();
    let [connection] = &document["connections"].as_array().unwrap()[..] else { panic!("not one connection") };
    let sides = ["client_to_server", "server_to_client"];
    let losses = sides.map(|side| connection[side]["loss"].clone());
    let ends = serde_json::json!([connection["client"], connection["server"]]);
    let wrong = analysis.connections[0].directions.iter().map(|side| side.loss.bad_checksums).collect();
    (ends, losses.to_vec().into(), wrong)
}

#[test]
fn a_connection_by_way_of_segments_is_the_one_to_its_last_one_with_right_checksums() {
    let frames = upload().frames().to_vec();
    let expected = told(&of_any_way(&frames));
    assert_eq!(expected.2, [0, 0]);
    for kind in [0, 2, 3, 4] {
        assert_eq!(told(&of_any_way(&by_a_waypoint(&frames, kind))), expected, "type {kind}");
    }
}

#[test]
fn wrong_checksums_show_behind_extension_headers_too() {
    let mut frames = by_a_waypoint(upload().frames(), 4);
    let of_client: Vec<usize> = (0..frames.len()).filter(|&at| frames[at].bytes[IP + 6] == 43).collect();
    for &number in &[5, 9] {
        frames[of_client[number]].bytes[IP + 40 + 40 + 17] ^= 0x40;
    }
    assert_eq!(told(&of_any_way(&frames)).2, [2, 0]);
    // Where it goes in the end nobody knows: the sum covers an address that cannot be read.
    let hidden = by_a_waypoint(upload().frames(), 77);
    let analysis = of_any_way(&hidden);
    assert!(analysis.connections.iter().all(|one| one.directions.iter().all(|side| side.loss.bad_checksums == 0)));
    assert_eq!(analysis.connections.len(), 2, "one to the waypoint, one from where it goes");
}

#[test]
fn a_mobile_host_is_where_its_home_is() {
    let frames = upload().frames().to_vec();
    let expected = told(&of_any_way(&frames));
    let moved = frames.iter().map(|frame| {
        if side_of(frame) == CLIENT {
            // Two bytes of padding, then the home address.
            let option = [&[6, 2, 1, 2, 0, 0, 0xc9, 16][..], &address_of(frame, 8)].concat();
            extended(frame, 60, &option, 8, WAYPOINT)
        } else {
            extended(frame, 43, &routing(6, 2, 1, [0; 4], &address_of(frame, 24)), 24, WAYPOINT)
        }
    });
    assert_eq!(told(&of_any_way(&moved.collect::<Vec<_>>())), expected);
}

#[test]
fn a_datagram_flow_goes_to_the_last_segment() {
    let request = udp(9000, b"who is there");
    let header = routing(17, 4, 1, [1, 0, 0, 0], &[DESTINATION6, WAYPOINT].concat());
    let routed = on_its_way(43, &[&header[..], &request].concat());
    let mut response = ipv6(17, &udp(49152, b"it is me"));
    response[8..40].rotate_left(16);
    response[40..42].copy_from_slice(&9000_u16.to_be_bytes());
    let list = [routed, ethernet(0x86dd, &response)];
    let at = |n: usize, bytes: &Vec<u8>| frame(START_NS + ms(10.0 * n as f64), bytes.len() as u32, bytes);
    let frames: Vec<Frame> = list.iter().enumerate().map(|(n, bytes)| at(n, bytes)).collect();
    let analysis = of_any_way(&frames);
    let [flow] = analysis.datagrams.flows.list() else { panic!("not one flow") };
    assert_eq!((flow.address(1), flow.is_unanswered()), (DESTINATION6.into(), Some(false)));
    assert_eq!(flow.lanes.each_ref().map(|lane| lane.packets), [1, 1]);
}
