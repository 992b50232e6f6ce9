//! Tunnels that no port proves: read where the packet inside does, counted where it cannot, and never found in other UDP.
//!
//! Subjects: `decode/look.rs`, `decode/proof.rs`, `decode/unread.rs`, `decode/tunnel.rs`, `decode/udp.rs`, `decode/entered.rs`, `decode/unknown_tag.rs`, `analysis/tunnels.rs`.

use crate::captures;
use crate::frames::*;
use crate::playbook;
use crate::playbook::two_points::Dice;
use proptest::prelude::*;
use serde_json::Value;
use vmtrace_core::analysis::Options;
use vmtrace_core::decode::walk::tunnels;
use vmtrace_core::decode::{Batch, Decoded};
use vmtrace_core::packet::Packet;
use vmtrace_core::read::Chunk;

fn in_udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    let header = [ports[0].to_be_bytes(), ports[1].to_be_bytes(), length, [0, 0]].concat();
    ethernet(0x0800, &ipv4(17, &[&header, payload].concat()))
}

/// An IPv6 packet with a segment whose checksum is right, or only that of the pseudo-header, as a network card gets it.
fn ipv6_segment(is_left_to_card: bool) -> Vec<u8> {
    let mut segment = tcp(&[], b"hello!");
    segment[16..18].fill(0);
    let pseudo = [&SOURCE6[..], &DESTINATION6, &(segment.len() as u32).to_be_bytes(), &[0, 0, 0, 6]].concat();
    let sum = if is_left_to_card { internet_sum(&pseudo) } else { !internet_sum(&[&pseudo[..], &segment].concat()) };
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    ipv6(6, &segment)
}

#[test]
fn ipv6_inside_proves_a_tunnel_by_the_segments_checksum() {
    for left_to_card in [false, true] {
        let inner = ipv6_segment(left_to_card);
        let found = packet(1, &in_udp([40_000, 5_555], &inner));
        assert_eq!((found.ip_version, found.payload_length), (6, 6));
        let mut damaged = inner.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let is_read = matches!(decode_whole(1, &in_udp([40_000, 5_555], &damaged)), Decoded::Tcp(_));
        assert_eq!(is_read, left_to_card, "what a card is to compute says nothing of the data");
    }
}

#[test]
fn ipv4_inside_proves_nothing_with_a_wrong_checksum() {
    let mut inner = ipv4(6, &tcp(&[], b"hello"));
    inner[11] ^= 4;
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0800, &inner)[..]].concat();
    for payload in [inner, vxlan] {
        assert_eq!(reason(1, &in_udp([40_000, 5_555], &payload)).name(), "not_tcp");
    }
}

fn path_of(frame: &[u8]) -> Vec<(&'static str, Option<u32>, String)> {
    let (path, _) = tunnels(frame, &record(1, frame)).unwrap();
    path.into_iter().map(|one| (one.kind, one.id, one.outer[0].to_string())).collect()
}

#[test]
fn every_kind_of_tunnel_is_in_the_list_that_slices_name_them_by() {
    use vmtrace_core::decode::entered::KINDS;
    let found: std::collections::BTreeSet<&str> = shapes()
        .iter()
        .filter_map(|(_, link, frame)| tunnels(frame, &record(*link, frame)))
        .flat_map(|(path, _)| path)
        .map(|one| one.kind)
        .collect();
    assert!(found.len() > 15 && found.iter().all(|kind| KINDS.contains(kind)), "{found:?}");
}

#[test]
fn teredo_has_addresses_of_its_own() {
    let mut inner = ipv6_segment(true);
    assert_eq!(path_of(&in_udp([3_545, 3_544], &inner))[0].0, "fou");
    // The checksum, which is left to the card, covers the addresses.
    let sum_of = |bytes: &[u8]| u32::from(internet_sum(bytes));
    let before = sum_of(&inner[8..12]);
    inner[8..12].copy_from_slice(&[0x20, 1, 0, 0]);
    let after = sum_of(&inner[8..12]);
    let old = u32::from(u16::from_be_bytes([inner[56], inner[57]]));
    let new = (old + after + 0xffff - before) % 0xffff;
    inner[56..58].copy_from_slice(&(new as u16).to_be_bytes());
    assert_eq!(path_of(&in_udp([3_545, 3_544], &inner))[0].0, "teredo");
}

#[test]
fn tunnels_are_named_from_the_outermost_on() {
    let inner = ipv4(6, &tcp(&[], b"hello"));
    let vxlan = |payload: &[u8]| in_udp([49_152, 4_789], &[&[8, 0, 0, 0, 0, 1, 2, 0], payload].concat());
    assert_eq!(path_of(&vxlan(&ethernet(0x0800, &inner))), [("vxlan", Some(258), "10.1.2.3".to_owned())]);
    let gre = ethernet(0x86dd, &ipv6(47, &[&[0x20, 0, 8, 0, 0, 0, 0, 9], &inner[..]].concat()));
    let nested = [("vxlan", Some(258), "10.1.2.3".to_owned()), ("gre", Some(9), "2001:db8::1".to_owned())];
    assert_eq!(path_of(&vxlan(&gre)), nested);
    let plain = ethernet(0x0800, &inner);
    assert!(tunnels(&plain, &record(1, &plain)).is_none());
}

fn unread(frames: &[(Vec<u8>, usize)]) -> Vec<(String, u64, Vec<u16>)> {
    let mut chunk = Chunk::default();
    for (frame, captured) in frames {
        let offset = chunk.bytes.len() as u32;
        chunk.records.push(vmtrace_core::read::Record {
            offset,
            captured_length: *captured as u32,
            ..record(1, frame)
        });
        chunk.bytes.extend_from_slice(&frame[..*captured]);
    }
    let mut batch = Batch::default();
    batch.decode(&mut chunk);
    assert!(batch.packets().is_empty());
    let counts = batch.counts.together();
    assert_eq!(counts.total(), frames.len() as u64);
    counts.unread.iter().map(|one| (one.look.name().into_owned(), one.packets, one.ports.clone())).collect()
}

#[test]
fn what_looks_like_a_tunnel_and_proves_nothing_is_counted_by_look() {
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0800, &ipv4(6, &tcp(&[], b"hello")))[..]].concat();
    let cut = in_udp([40_000, 50_789], &vxlan);
    let again = in_udp([40_000, 50_790], &vxlan);
    let wireguard =
        in_udp([51_820, 51_820], &[&[4, 0, 0, 0, 9, 9, 9, 9, 7, 0, 0, 0, 0, 0, 0, 0], &[9; 48][..]].concat());
    let esp = in_udp([4_500, 4_500], &[7; 80]);
    let ike = in_udp([4_500, 4_500], &[&[0; 4], &[7; 80][..]].concat());
    let macsec = ethernet(0x88e5, &[&[0x0c, 0, 0, 0, 0, 1], &[3; 60][..]].concat());
    let whole = |frame: &Vec<u8>| (frame.clone(), frame.len());
    let found = unread(&[(cut, 60), (again, 60), whole(&wireguard), whole(&esp), whole(&ike), whole(&macsec)]);
    let named = |look: &str, packets: u64, ports: &[u16]| (look.to_owned(), packets, ports.to_vec());
    assert_eq!(
        found,
        [
            named("vxlan", 2, &[50_789, 50_790]),
            named("wireguard", 1, &[51_820]),
            named("esp", 1, &[4_500]),
            named("macsec", 1, &[])
        ]
    );
}

/// A connection in VXLAN: the client's frames go from 10.1.2.3, the server's come back.
fn tunnelled(talk: &playbook::Talk) -> Vec<captures::Frame> {
    let wrap = |frame: &captures::Frame| {
        let from_client = frame.bytes[34..36] == talk.ports[0].to_be_bytes();
        let payload = [&[8, 0, 0, 0, 0, 0, 7, 0], &frame.bytes[..]].concat();
        let mut bytes = in_udp([49_152, 4_789], &payload);
        if !from_client {
            bytes[26..34].rotate_left(4);
        }
        captures::frame(frame.time_ns, bytes.len() as u32, &bytes)
    };
    talk.frames().iter().map(wrap).collect()
}

#[test]
fn a_connection_says_which_tunnel_it_was_found_in_whoever_was_seen_first() {
    use playbook::{ack, data};
    let talk = playbook::Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000));
    for from in [0, 1] {
        let frames = &tunnelled(&talk)[from..];
        let analysis = playbook::analysis_of(frames, &Options::default());
        let document: Value = serde_json::from_str(&playbook::json_of(&analysis)).unwrap();
        let tunnel = &document["connections"][0]["tunnel"];
        let expected = serde_json::json!([{"kind": "vxlan", "outer": ["10.1.2.3", "192.168.7.9"], "id": 7}]);
        assert_eq!(*tunnel, expected, "from frame {from}");
    }
    let plain: Value = serde_json::from_str(&playbook::json_of(&talk.analysis())).unwrap();
    assert!(plain["connections"][0].get("tunnel").is_none());
}

/// Payloads as programs send them: random, DNS, QUIC with long and short headers, RTP, and tunnels' first bytes before noise.
fn ordinary() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..1400);
    let starts = prop::sample::select(vec![
        vec![],
        vec![0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 7],
        vec![0xc3, 0, 0, 0, 1, 8],
        vec![0x45],
        vec![0x62],
        vec![0x80, 0x60, 1, 2],
        vec![8, 0, 0, 0, 1, 2, 3, 0],
        vec![0, 0, 0x65, 0x58, 1, 2, 3, 0],
        vec![0, 0, 8, 0],
        vec![0, 4, 0, 0, 0x45],
    ]);
    (starts, noise).prop_map(|(start, noise)| [start, noise].concat())
}

fn ports() -> impl Strategy<Value = [u16; 2]> {
    let some = prop::sample::select(vec![53_u16, 123, 443, 1701, 3478, 4341, 4500, 5004, 5072, 5247, 6080, 37_008]);
    // Those that a port proves are left out.
    let any_port =
        (1024_u16..=65_535).prop_filter("proved", |port| ![2152, 4789, 4790, 6081, 6635, 8472].contains(port));
    let one = || prop_oneof![some.clone(), any_port.clone()];
    (one(), one()).prop_map(|(a, b)| [a, b])
}

proptest! {
    #![proptest_config(captures::cases(4000))]

    #[test]
    fn ordinary_datagrams_are_no_tunnels(ports in ports(), payload in ordinary(), cut in 0_usize..1500) {
        let frame = in_udp(ports, &payload);
        for captured in [frame.len(), cut.min(frame.len())] {
            let found = decode_cut(1, &frame, captured);
            let Decoded::None(reason) = found else { panic!("{found:?}") };
            let name = reason.name();
            prop_assert!(name == "not_tcp" || name.starts_with("cut_ip") || name.starts_with("cut_link"), "{}", name);
        }
    }

    #[test]
    fn any_bytes_in_a_tunnels_place_are_no_trouble(
        shape in prop::sample::select(shapes()),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..120,
    ) {
        let (_, link_type, mut frame) = shape;
        frame.truncate(at);
        frame.extend(noise);
        if let Decoded::Tcp(Packet { payload_offset, payload_captured, .. }) = decode_whole(link_type, &frame) {
            prop_assert!((payload_offset + payload_captured) as usize <= frame.len());
        }
    }
}

/// The payload of a datagram as some kind of program sends it: kind, number of the datagram, a number drawn by chance.
fn payload_of(kind: usize, number: u32, chance: &mut Dice) -> ([u16; 2], Vec<u8>) {
    let noise = |chance: &mut Dice, least: u64, most: u64| -> Vec<u8> {
        let length = least + chance.below(most - least);
        (0..length).map(|_| chance.below(256) as u8).collect()
    };
    let counted = number.to_be_bytes();
    let sequence = (number as u16).to_be_bytes();
    let (port, head) = match kind {
        0 => (53, [&sequence[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7]].concat()),
        1 => (53, [&sequence[..], &[0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 1, 7]].concat()),
        2 => (443, [&[0xc3, 0, 0, 0, 1, 8][..], &counted, &counted].concat()),
        3 => (443, vec![0x40 | (chance.below(0x40) as u8)]),
        4 => (5004, [&[0x80, 0x60][..], &sequence, &counted, &[1, 2, 3, 4]].concat()),
        5 => (123, vec![0x23, 2, 6, 0xe9]),
        6 => (3478, [&[0, 1, 0, 80, 0x21, 0x12, 0xa4, 0x42][..], &counted].concat()),
        // Games and others number their messages as they like.
        7 => (27_015, [&[0xff; 4][..], &counted].concat()),
        8 => (30_000, number.to_le_bytes().to_vec()),
        9 => (30_001, [&counted[..], &[0, 1, 0, 0]].concat()),
        _ => (30_002, Vec::new()),
    };
    let client = 1024 + chance.below(60_000) as u16;
    let client = if [2152, 4789, 4790, 6081, 6635, 8472].contains(&client) { 2000 } else { client };
    ([client, port], [head, noise(chance, 12, 1200)].concat())
}

#[test]
fn no_capture_of_ordinary_datagrams_has_a_tunnel() {
    for seed in 0..500 {
        let mut chance = Dice(seed);
        let kind = seed as usize % 11;
        let frames: Vec<captures::Frame> = (0..60)
            .map(|number| {
                let (ports, payload) = payload_of(kind, number, &mut chance);
                let bytes = in_udp(ports, &payload);
                let cut = if seed % 3 == 0 { bytes.len().min(96) } else { bytes.len() };
                captures::frame(i64::from(number) * 20_000_000, bytes.len() as u32, &bytes[..cut])
            })
            .collect();
        let analysis = playbook::analysis_of(&frames, &Options::default());
        assert_eq!(analysis.connections.len(), 0, "seed {seed}");
        // One packet of many may have the length and the first bytes of a handshake by chance: nothing is said of it.
        let unread = &analysis.inputs[0].unread_tunnels;
        assert!(unread.iter().all(|unread| unread.packets < 3), "seed {seed}: {unread:?}");
        assert_eq!(analysis.inputs[0].facts.packets, 60);
    }
}
