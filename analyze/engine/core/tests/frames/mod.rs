//! Little builders of frames for the decoder's tests: each function puts one header before a payload.

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
    let mut header = [&start, &SOURCE[..], &DESTINATION, options].concat();
    let checksum = !internet_sum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [&header, payload].concat()
}

/// The sum of RFC 1071 over an even number of bytes.
pub fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
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
        captured_length: frame.len() as u32,
        original_length: frame.len() as u32,
        frame: 7,
        link_type,
        input: 3,
        ..Record::default()
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
    all.extend(tags_and_envelopes(d, f));
    all.extend(more_tunnels(d, f));
    let nested = over_udp(4789, &vxlan, &over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], &gre(0, 0x0800, &[], d)));
    all.push(("VXLAN, GENEVE, GRE", 1, nested));
    all
}

/// Tags that are no VLAN tags, and headers that adapters and programs put before frames.
fn tags_and_envelopes(d: &[u8], f: &[u8]) -> Vec<(&'static str, u16, Vec<u8>)> {
    let tag = |kind: u16, tag: &[u8], payload: &[u8]| ethernet(kind, &[tag, payload].concat());
    let check = [7; 16];
    let macsec = |header: &[u8]| ethernet(0x88e5, &[header, &[8, 0], d, &check].concat());
    let pktap = |order: fn(u32) -> [u8; 4], kind: u32, payload: &[u8]| {
        [&order(108)[..], &order(1), &order(kind), &[0; 96], payload].concat()
    };
    let ppi = |fields: &[u8], kind: u8, payload: &[u8]| {
        [&[0, 0, 8 + fields.len() as u8, 0, kind, 0, 0, 0], fields, payload].concat()
    };
    // A field of another type, then the one of IEEE 802.11, whose flags stand behind a time.
    let common = [&[9, 0, 2, 0, 1, 1], &[2, 0, 20, 0][..], &[0; 8], &[1, 0], &[0; 10]].concat();
    let erf = |kind: u8, extensions: &[u8], wire: usize, payload: &[u8]| {
        let wire = (wire as u16).to_be_bytes();
        let length = ((16 + extensions.len() + payload.len()) as u16).to_be_bytes();
        let head = [&[1; 8][..], &[kind, 4], &length, &[0, 0], &wire].concat();
        [&head, extensions, payload].concat()
    };
    vec![
        ("Cisco MetaData", 1, tag(0x8909, &[1, 1, 0, 1, 0, 2, 8, 0], d)),
        ("Cisco MetaData, two options", 1, tag(0x8909, &[1, 2, 0, 1, 0, 2, 0, 9, 0, 9, 8, 0], d)),
        ("VN-Tag", 1, tag(0x8926, &[0, 1, 0, 2, 8, 0], d)),
        ("HSR", 1, tag(0x892f, &[0, 58, 0, 1, 8, 0], d)),
        ("802.1CB", 1, tag(0xf1c1, &[0, 0, 0, 7, 8, 0], d)),
        ("DSA behind an EtherType", 1, tag(0xdada, &[0, 0, 0xc0, 0, 0, 1, 8, 0], d)),
        ("TRILL", 1, tag(0x22f3, &[0, 63, 0, 1, 0, 2], f)),
        ("TRILL, options", 1, tag(0x22f3, &[0, 0x80, 0, 1, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8], f)),
        ("FabricPath", 1, tag(0x8903, &[0, 66], f)),
        ("MACsec, unencrypted", 1, macsec(&[0, 0, 0, 0, 0, 1])),
        ("MACsec, channel", 1, macsec(&[0x20, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 0, 1])),
        ("MACsec, short", 1, macsec(&[0, 2 + d.len() as u8, 0, 0, 0, 1])),
        ("MACsec in 802.1Q", 1, ethernet(0x8100, &vlan(0x88e5, &[&[0, 0, 0, 0, 0, 1, 8, 0], d, &check].concat()))),
        ("a tag that nobody knows", 1, tag(0x9876, &[1, 2, 3, 4, 5, 6, 8, 0], d)),
        ("IP over InfiniBand", 242, [&[3; 40][..], &[8, 0, 0, 0], d].concat()),
        ("PKTAP", 258, pktap(u32::to_le_bytes, 1, f)),
        ("PKTAP, big-endian, raw", 258, pktap(u32::to_be_bytes, 12, d)),
        ("PPI", 192, ppi(&[], 1, f)),
        ("PPI, 802.11 and check sequence", 192, {
            ppi(&common, 105, &[&wifi(0, 1, &[], &snap(0x0800, d))[..], &[0xfc; 4]].concat())
        }),
        ("ARCnet", 7, [&[1, 2, 212, 0, 0, 9], d].concat()),
        ("ARCnet, RFC 1051", 7, [&[1, 2, 240], d].concat()),
        ("ARCnet, exception", 7, [&[1, 2, 212, 0xff, 0xff, 0xff, 0, 0, 9], d].concat()),
        ("ARCnet of Linux", 129, [&[1, 2, 0, 0, 212, 0, 0, 9], d].concat()),
        ("ERF, Ethernet", 197, erf(2, &[], f.len(), &[&[0, 0], f].concat())),
        ("ERF, two extensions", 197, {
            erf(0x82, &[&[0x80; 8], &[0; 8][..]].concat(), f.len(), &[&[0, 0], f].concat())
        }),
        ("ERF, padded", 197, erf(11, &[], f.len(), &[&[0, 0], f, &[0xee; 5]].concat())),
        ("ERF, IPv4", 197, erf(22, &[], d.len(), d)),
        ("ERF, PPP", 197, erf(1, &[], d.len() + 4, &[&[0xff, 3, 0, 0x21], d].concat())),
        ("ERF, Cisco HDLC", 197, erf(5, &[], d.len() + 4, &[&[0x0f, 0, 8, 0], d].concat())),
    ]
}

/// Tunnels whose ports do not prove them, and those that have none.
fn more_tunnels(d: &[u8], f: &[u8]) -> Vec<(&'static str, u16, Vec<u8>)> {
    let over_ip = |protocol: u8, parts: &[&[u8]]| ethernet(0x0800, &ipv4(protocol, &parts.concat()));
    let over_udp = |port: u16, parts: &[&[u8]]| ethernet(0x0800, &ipv4(17, &udp(port, &parts.concat())));
    let session = [0, 0, 0, 9];
    let ppp = [&[0xff, 3, 0, 0x21], d].concat();
    vec![
        ("EtherIP", 1, over_ip(97, &[&[0x30, 0], f])),
        ("L2TPv3, Ethernet", 1, over_ip(115, &[&session, f])),
        ("L2TPv3, cookie", 1, over_ip(115, &[&session, &[0xee; 4], f])),
        ("L2TPv3, long cookie and sublayer", 1, over_ip(115, &[&session, &[0xee; 8], &[0x40, 0, 0, 1], f])),
        ("L2TPv3, PPP", 1, over_ip(115, &[&session, &ppp])),
        ("L2TPv3 over UDP", 1, over_udp(1701, &[&[0, 3, 0, 0], &session, f])),
        ("L2TPv2", 1, over_udp(1701, &[&[0, 2, 0, 1, 0, 2], &ppp])),
        ("L2TPv2, length, sequence, offset", 1, {
            over_udp(1701, &[&[0x4a, 2, 0, 80, 0, 1, 0, 2, 0, 7, 0, 8, 0, 2, 0, 0], &ppp])
        }),
        ("LISP", 1, over_udp(4341, &[&[0x88, 1, 2, 3, 0, 0, 7, 0], d])),
        ("GUE", 1, over_udp(6080, &[&[0, 4, 0, 0], d])),
        ("GUE, options", 1, over_udp(6080, &[&[2, 4, 0, 0], &[9; 8], d])),
        ("GUE, direct", 1, over_udp(6080, &[d])),
        ("GUE on another port", 1, over_udp(40123, &[&[0, 4, 0, 0], d])),
        ("FOU", 1, over_udp(5555, &[d])),
        ("FOU, GRE", 1, over_udp(5556, &[&[0x20, 0, 8, 0, 0, 0, 0, 1], d])),
        ("VXLAN on another port", 1, over_udp(50_789, &[&[8, 0, 0, 0, 0, 0, 42, 0], f])),
        ("VXLAN-GPE on another port", 1, over_udp(50_790, &[&[0x0c, 0, 0, 1, 0, 0, 42, 0], d])),
        ("GENEVE on another port", 1, over_udp(50_081, &[&[1, 0, 0x65, 0x58, 0, 0, 42, 0, 1, 2, 3, 0], f])),
        ("TZSP", 1, over_udp(37_008, &[&[1, 0, 0, 1, 10, 1, 7, 0, 1], f])),
        ("TZSP, 802.11", 1, over_udp(37_008, &[&[1, 0, 0, 18, 1], &wifi(0, 1, &[], &snap(0x0800, d))])),
        ("CAPWAP, 802.3", 1, over_udp(5247, &[&[0, 0x10, 2, 0, 0, 0, 0, 0], f])),
        ("CAPWAP, 802.11", 1, {
            over_udp(5247, &[&[0, 0x20, 3, 0], &[0; 12], &wifi(8, 1, &[0, 0], &snap(0x0800, d))])
        }),
        ("AYIYA, IPv4 in IPv6", 1, {
            over_udp(5072, &[&[0x44, 0x52, 0x11, 41, 0, 0, 0, 1], &[5; 16], &[6; 20], &ipv6(4, d)])
        }),
    ]
}
