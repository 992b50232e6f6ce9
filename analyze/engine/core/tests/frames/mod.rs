//! Little builders of frames for the decoder's tests: each function puts one header before a payload.
#![allow(dead_code, reason = "each test program uses some of them")]
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;
use vmtrace_core::decode::{Decoded, Undecoded, decode};
use vmtrace_core::packet::Packet;
use vmtrace_core::read::Record;

pub const SOURCE: [u8; 4] = [10, 1, 2, 3];
pub const DESTINATION: [u8; 4] = [192, 168, 7, 9];
pub const SOURCE6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DESTINATION6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Failing inputs are kept in `<test>.regressions` (proptest's default looks for a lib.rs above the file).
pub fn kept_beside_the_tests() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// A TCP segment: ports 40000 to 443, sequence 1000, acknowledgement 2000, PSH and ACK, window 501.
pub fn tcp(options: &[u8], payload: &[u8]) -> Vec<u8> {
    assert!(options.len().is_multiple_of(4) && options.len() <= 40);
    let offset = (((20 + options.len()) / 4) << 4) as u8;
    let ports = [40000_u16.to_be_bytes(), 443_u16.to_be_bytes()].concat();
    let numbers = [1000_u32.to_be_bytes(), 2000_u32.to_be_bytes()].concat();
    let rest = [offset, 0x18, 1, 0xf5, 0xab, 0xcd, 0, 0];
    [&ports, &numbers, &rest[..], options, payload].concat()
}

pub fn udp(destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    [&49152_u16.to_be_bytes()[..], &destination.to_be_bytes(), &length, &[0, 0], payload].concat()
}

/// IPv4, identification 0x1234, TTL 61.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with(&[], 0x4000, protocol, payload)
}

/// IPv4 with options and the flags and fragment offset field.
pub fn ipv4_with(options: &[u8], fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let first = 0x45 + (options.len() / 4) as u8;
    let length = ((20 + options.len() + payload.len()) as u16).to_be_bytes();
    let fragment = fragment.to_be_bytes();
    let start = [first, 0, length[0], length[1], 0x12, 0x34, fragment[0], fragment[1], 61, protocol, 0, 0];
    [&start, &SOURCE[..], &DESTINATION, options, payload].concat()
}

/// IPv6, hop limit 61; `payload` starts with the extension headers, if any.
pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let start = [0x60, 0, 0, 0, length[0], length[1], next, 61];
    [&start, &SOURCE6[..], &DESTINATION6, payload].concat()
}

/// IPv6 fragment header with `start` in bytes.
pub fn ipv6_fragment(next: u8, start: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let offset = (start | u16::from(more)).to_be_bytes();
    [&[next, 0, offset[0], offset[1], 0xde, 0xad, 0xbe, 0xef], payload].concat()
}

pub fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind.to_be_bytes()[..], payload].concat()
}

/// What stands behind an EtherType of a VLAN: tag and inner type.
pub fn vlan(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0x20, 7], &kind.to_be_bytes()[..], payload].concat()
}

pub fn snap(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0], &kind.to_be_bytes()[..], payload].concat()
}

/// IEEE 802.11 data frame; the header is `flags`, then addresses, then `more` (fourth address, QoS, HT control).
pub fn wifi(subtype: u8, flags: u8, more: &[u8], payload: &[u8]) -> Vec<u8> {
    [&[subtype << 4 | 0x08, flags, 0, 0], &[2; 18][..], &[0x10, 0], more, payload].concat()
}

pub fn record(link_type: u16, frame: &[u8]) -> Record {
    Record {
        time_ns: 1_700_000_000_123_456_789,
        offset: 0,
        captured_length: frame.len() as u32,
        original_length: frame.len() as u32,
        frame: 7,
        link_type,
        input: 3,
        interface: 0,
        fcs_length: 0,
    }
}

pub fn decode_whole(link_type: u16, frame: &[u8]) -> Decoded {
    decode(frame, &record(link_type, frame))
}

/// Decodes what is left of a frame after the snap length has cut it.
pub fn decode_cut(link_type: u16, frame: &[u8], captured: usize) -> Decoded {
    let record = Record { captured_length: captured as u32, ..record(link_type, frame) };
    decode(&frame[..captured], &record)
}

pub fn packet(link_type: u16, frame: &[u8]) -> Packet {
    match decode_whole(link_type, frame) {
        Decoded::Tcp(packet) => packet,
        other => panic!("no packet but {other:?}"),
    }
}

pub fn reason(link_type: u16, frame: &[u8]) -> Undecoded {
    match decode_whole(link_type, frame) {
        Decoded::None(reason) => reason,
        other => panic!("no reason but {other:?}"),
    }
}

pub fn payload_of<'a>(packet: &Packet, bytes: &'a [u8]) -> &'a [u8] {
    &bytes[packet.payload_offset as usize..][..packet.payload_captured as usize]
}

/// One frame of each shape that is read, all with the segment `tcp(&[], b"hello")` in IPv4 inside: name, link type,
/// frame.
pub fn shapes() -> Vec<(&'static str, u16, Vec<u8>)> {
    let datagram = ipv4(6, &tcp(&[], b"hello"));
    let d = &datagram[..];
    let frame = ethernet(0x0800, d);
    let f = &frame[..];
    let gre = |bits: u16, kind: u16, optional: &[u8], payload: &[u8]| {
        ethernet(0x0800, &ipv4(47, &[&bits.to_be_bytes()[..], &kind.to_be_bytes(), optional, payload].concat()))
    };
    let over_udp =
        |port: u16, header: &[u8], payload: &[u8]| ethernet(0x0800, &ipv4(17, &udp(port, &[header, payload].concat())));
    let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
    let pppoe = |ppp: &[u8]| {
        let length = (ppp.len() as u16).to_be_bytes();
        [&[0x11, 0, 0, 5], &length[..], ppp].concat()
    };
    let ppp4 = [&[0, 0x21], d].concat();
    let label = [0, 1, 0, 64];
    let bottom = [0, 2, 1, 64];
    let radiotap = |flags: u8, payload: &[u8]| {
        // Time stamp (bit 0) and flags (bit 1).
        [&[0, 0, 17, 0, 3, 0, 0, 0], &[9; 8][..], &[flags], payload].concat()
    };
    let mut all = vec![
        ("Ethernet", 1, frame.clone()),
        ("Ethernet, 802.3 and SNAP", 1, {
            let llc = snap(0x0800, d);
            ethernet(llc.len() as u16, &llc)
        }),
        ("Ethernet, 802.3 and LLC", 1, ethernet(d.len() as u16 + 3, &[&[6, 6, 3], d].concat())),
        ("Ethernet, jumbo LLC", 1, ethernet(0x8870, &snap(0x0800, d))),
        ("802.1Q", 1, ethernet(0x8100, &vlan(0x0800, d))),
        ("802.1ad and 802.1Q", 1, ethernet(0x88a8, &vlan(0x8100, &vlan(0x0800, d)))),
        ("old QinQ", 1, ethernet(0x9100, &vlan(0x8100, &vlan(0x0800, d)))),
        ("three tags", 1, ethernet(0x8100, &vlan(0x8100, &vlan(0x8100, &vlan(0x0800, d))))),
        ("802.1ah", 1, ethernet(0x88e7, &[&[0, 0, 0, 9], f].concat())),
        ("802.1BR", 1, ethernet(0x893f, &[&[0; 6][..], &[8, 0], d].concat())),
        ("PPPoE", 1, ethernet(0x8864, &pppoe(&ppp4))),
        ("PPPoE in QinQ", 1, ethernet(0x88a8, &vlan(0x8100, &vlan(0x8864, &pppoe(&ppp4))))),
        ("MPLS", 1, ethernet(0x8847, &[&label, &bottom, d].concat())),
        ("MPLS pseudo-wire", 1, ethernet(0x8847, &[&bottom, f].concat())),
        ("MPLS pseudo-wire, control word", 1, ethernet(0x8847, &[&bottom, &[0; 4], f].concat())),
        ("raw 12", 12, datagram.clone()),
        ("raw 14", 14, datagram.clone()),
        ("raw 101", 101, datagram.clone()),
        ("raw 228", 228, datagram.clone()),
        ("NULL, little-endian", 0, [&[2, 0, 0, 0], d].concat()),
        ("NULL, big-endian", 0, [&[0, 0, 0, 2], d].concat()),
        ("LOOP", 108, [&[0, 0, 0, 2], d].concat()),
        ("SLL", 113, [&[0, 0, 0, 1, 0, 6], &[0; 8][..], &[8, 0], d].concat()),
        ("SLL, tagged", 113, [&[0, 0, 0, 1, 0, 6], &[0; 8][..], &[0x81, 0, 0, 5, 8, 0], d].concat()),
        ("SLL, LLC", 113, [&[0, 0, 0, 1, 0, 6], &[0; 8][..], &[0, 4], &snap(0x0800, d)].concat()),
        ("SLL2", 276, [&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &[0; 8][..], d].concat()),
        ("PPP", 9, ppp4.clone()),
        ("PPP, HDLC framing", 9, [&[0xff, 3], &ppp4[..]].concat()),
        ("PPP, short protocol", 9, [&[0x21], d].concat()),
        ("PPP serial", 50, [&[0xff, 3], &ppp4[..]].concat()),
        ("PPP serial, Cisco", 50, [&[0x0f, 0, 8, 0], d].concat()),
        ("PPP with direction", 204, [&[1, 0xff, 3], &ppp4[..]].concat()),
        ("PPP with MPLS", 9, [&[2, 0x81], &bottom[..], d].concat()),
        ("PPPoE link type", 51, pppoe(&ppp4)),
        ("Cisco HDLC", 104, [&[0x0f, 0, 8, 0], d].concat()),
        ("Cisco HDLC, MPLS", 104, [&[0x0f, 0, 0x88, 0x47], &bottom[..], d].concat()),
        ("MPLS link type", 219, [&bottom[..], d].concat()),
        ("FDDI", 10, [&[0x50], &[2; 12][..], &snap(0x0800, d)].concat()),
        ("token ring", 6, [&[0x10, 0x40], &[2; 12][..], &snap(0x0800, d)].concat()),
        ("token ring, source route", 6, {
            [&[0x10, 0x40], &[2; 6][..], &[0x82, 2, 2, 2, 2, 2], &[6, 0, 0, 1, 0, 2], &snap(0x0800, d)].concat()
        }),
        ("802.11", 105, wifi(0, 1, &[], &snap(0x0800, d))),
        ("802.11 QoS", 105, wifi(8, 2, &[0, 0], &snap(0x0800, d))),
        ("802.11 QoS, HT control", 105, wifi(8, 0x82, &[0; 6], &snap(0x0800, d))),
        ("802.11, four addresses", 105, wifi(8, 3, &[0; 8], &snap(0x0800, d))),
        ("802.11, decrypted", 105, wifi(8, 0x41, &[0, 0], &snap(0x0800, d))),
        ("radiotap", 127, radiotap(0, &wifi(8, 2, &[0, 0], &snap(0x0800, d)))),
        ("radiotap, FCS", 127, radiotap(0x10, &wifi(0, 2, &[], &[&snap(0x0800, d)[..], &[0xfc; 4]].concat()))),
        ("radiotap, padded", 127, radiotap(0x20, &wifi(8, 2, &[0, 0, 0xee, 0xee], &snap(0x0800, d)))),
        ("radiotap, two presence words", 127, {
            let header = [&[0, 0, 21, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0x10], &[0; 8][..]].concat();
            [&header[..], &wifi(0, 2, &[], &snap(0x0800, d)), &[0xfc; 4]].concat()
        }),
        ("Prism, little-endian", 119, {
            [&[0x44, 0, 0, 0, 144, 0, 0, 0], &[0; 136][..], &wifi(0, 1, &[], &snap(0x0800, d))].concat()
        }),
        ("Prism, big-endian", 119, {
            [&[0, 0, 0, 0x44, 0, 0, 0, 144], &[0; 136][..], &wifi(0, 1, &[], &snap(0x0800, d))].concat()
        }),
        ("AVS", 163, {
            [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64], &[0; 56][..], &wifi(0, 1, &[], &snap(0x0800, d))].concat()
        }),
        ("AVS where Prism is announced", 119, {
            [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64], &[0; 56][..], &wifi(0, 1, &[], &snap(0x0800, d))].concat()
        }),
        ("IPv4 in IPv4", 1, ethernet(0x0800, &ipv4(4, d))),
        ("IPv4 in IPv6", 1, ethernet(0x86dd, &ipv6(4, d))),
        ("IPv4 with AH", 1, ethernet(0x0800, &ipv4(51, &[&[4, 4, 0, 0], &[0; 20][..], d].concat()))),
        ("MPLS in IP", 1, ethernet(0x0800, &ipv4(137, &[&bottom[..], d].concat()))),
        ("Ethernet in IP", 1, ethernet(0x0800, &ipv4(143, f))),
        ("GRE", 1, gre(0, 0x0800, &[], d)),
        ("GRE, checksum, key, sequence", 1, gre(0xb000, 0x0800, &[0; 12], d)),
        ("GRE, source routes", 1, gre(0x4000, 0x0800, &[0, 0, 0, 0, 8, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 0], d)),
        ("GRE, bridged Ethernet", 1, gre(0x2000, 0x6558, &[0, 0, 1, 0], f)),
        ("GRE, MPLS", 1, gre(0, 0x8847, &bottom, d)),
        ("PPTP", 1, gre(0x3081, 0x880b, &[0; 12], &ppp4)),
        ("ERSPAN I", 1, gre(0, 0x88be, &[], f)),
        ("ERSPAN II", 1, gre(0x1000, 0x88be, &[&[0; 4], &[0x10, 1, 0, 0, 0, 0, 0, 0][..]].concat(), f)),
        ("ERSPAN III", 1, gre(0x1000, 0x22eb, &[&[0; 4], &[0x20, 1][..], &[0; 10]].concat(), f)),
        ("ERSPAN III, platform header", 1, {
            gre(0x1000, 0x22eb, &[&[0; 4], &[0x20, 1][..], &[0; 9], &[1], &[0; 8]].concat(), f)
        }),
        ("WCCP, redirect header", 1, gre(0, 0x883e, &[0, 0, 0, 0], d)),
        ("Aruba GRE", 1, gre(0, 0x8210, &[], &wifi(8, 2, &[0, 0], &snap(0x0800, d)))),
        ("VXLAN", 1, over_udp(4789, &vxlan, f)),
        ("VXLAN on Linux' old port", 1, over_udp(8472, &vxlan, f)),
        ("VXLAN-GPE, Ethernet", 1, over_udp(4790, &[0x0c, 0, 0, 3, 0, 0, 42, 0], f)),
        ("VXLAN-GPE, IPv4", 1, over_udp(4790, &[0x0c, 0, 0, 1, 0, 0, 42, 0], d)),
        ("VXLAN-GPE, NSH", 1, {
            let service = [&[0, 2, 1, 1, 0, 0, 1, 255][..], d].concat();
            over_udp(4790, &[0x0c, 0, 0, 4, 0, 0, 42, 0], &service)
        }),
        ("GENEVE", 1, over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], f)),
        ("GENEVE, options", 1, over_udp(6081, &[2, 0, 0x08, 0, 0, 0, 42, 0, 1, 2, 3, 4, 5, 6, 7, 8], d)),
        ("GTP-U", 1, over_udp(2152, &[0x30, 0xff, 0, 45, 0, 0, 0, 1], d)),
        ("GTP-U, extension", 1, { over_udp(2152, &[0x34, 0xff, 0, 53, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0], d) }),
        ("MPLS over UDP", 1, over_udp(6635, &bottom, d)),
    ];
    let nested = over_udp(4789, &vxlan, &over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], &gre(0, 0x0800, &[], d)));
    all.push(("VXLAN, GENEVE, GRE", 1, nested));
    all
}
