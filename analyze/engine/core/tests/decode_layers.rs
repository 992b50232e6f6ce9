//! Decoding of single frames: every link type and tunnel, IP lengths, cut and malformed headers.
//!
//! Subjects: `decode/frame.rs`, `decode/walk.rs`, `decode/view.rs`, `decode/link.rs`, `decode/ethernet.rs`,
//! `decode/ppp.rs`, `decode/mpls.rs`, `decode/wifi.rs`, `decode/ip.rs`, `decode/tunnel.rs`, `decode/numbers.rs`,
//! `decode/tcp.rs`.

use crate::frames::*;
use vmtrace_core::decode::{Decoded, ReasonCounts, Undecoded, decode};
use vmtrace_core::packet::{Packet, option_bits, tcp_flags};
use vmtrace_core::read::Record;

#[test]
fn every_link_type_and_tunnel_leads_to_the_segment() {
    for (name, link_type, frame) in shapes() {
        let Decoded::Tcp(packet) = decode_whole(link_type, &frame) else {
            panic!("{name}: {:?}", decode_whole(link_type, &frame));
        };
        assert_eq!(packet.ports, 40000 << 16 | 443, "{name}");
        assert_eq!((packet.sequence, packet.acknowledgement), (1000, 2000), "{name}");
        assert_eq!(packet.flags, tcp_flags::PSH | tcp_flags::ACK, "{name}");
        assert_eq!((packet.window, packet.checksum), (501, 0xabcd), "{name}");
        assert_eq!((packet.ip_version, packet.ttl, packet.ip_id), (4, 61, 0x1234), "{name}");
        assert_eq!((packet.ip_header_length, packet.tcp_header_length), (20, 20), "{name}");
        assert_eq!((packet.payload_length, payload_of(&packet, &frame)), (5, &b"hello"[..]), "{name}");
        let addresses = &frame[packet.address_offset as usize..][..8];
        assert_eq!(addresses, [SOURCE, DESTINATION].concat(), "{name}");
        assert_eq!(packet.address_key.to_be_bytes(), addresses, "{name}");
        assert_eq!((packet.frame, packet.input, packet.wire_length), (7, 3, frame.len() as u32), "{name}");
        assert_eq!(packet.time_ns, 1_700_000_000_123_456_789, "{name}");
    }
}

#[test]
fn cut_anywhere_a_frame_claims_no_byte_that_is_not_there_and_never_another_segment() {
    for (name, link_type, frame) in shapes() {
        let whole = packet(link_type, &frame);
        for captured in 0..frame.len() {
            match decode_cut(link_type, &frame, captured) {
                Decoded::Tcp(cut) => {
                    assert!(cut.payload_offset + cut.payload_captured <= captured as u32, "{name} at {captured}");
                    assert_eq!(
                        (cut.ports, cut.sequence, cut.flow_hash),
                        (whole.ports, whole.sequence, whole.flow_hash)
                    );
                    assert_eq!(cut.payload_length, whole.payload_length, "{name} at {captured}");
                }
                Decoded::Fragment => panic!("{name} at {captured}: fragment"),
                Decoded::None(reason) => {
                    let cut = reason.name().starts_with("cut_");
                    // What follows the cut decides: UDP ports tell a tunnel, an EtherType a pseudo-wire, a SNAP header a
                    // decrypted frame.
                    let undecided = ["not_tcp", "not_ip", "encrypted_wifi"].contains(&&*reason.name());
                    // Where no port proves a tunnel, the header of the packet inside does.
                    let unknown = undecided && captured < frame.len() - 25;
                    assert!(cut || unknown, "{name} at {captured}: {reason:?}");
                }
            }
        }
    }
}

#[test]
fn padding_and_frame_check_sequence_are_no_payload() {
    let frame = [ethernet(0x0800, &ipv4(6, &tcp(&[], b""))), vec![0xee; 6]].concat();
    let found = packet(1, &frame);
    assert_eq!((found.payload_length, found.payload_captured), (0, 0));
    assert_eq!(found.wire_length, 60);

    // An IP length of 0 stands for the frame's, but for the check sequence.
    let mut datagram = ipv4(6, &tcp(&[], b"data"));
    datagram[2..4].fill(0);
    let frame = [ethernet(0x0800, &datagram), vec![0xfc; 4]].concat();
    let Decoded::Tcp(found) = decode(&frame, &Record { fcs_length: 4, ..record(1, &frame) }) else { panic!() };
    assert_eq!((found.payload_length, payload_of(&found, &frame)), (4, &b"data"[..]));

    // With IEEE 802.3 the frame's length field takes the padding off.
    let llc = snap(0x0800, &datagram);
    let frame = [ethernet(llc.len() as u16, &llc), vec![0; 9]].concat();
    assert_eq!(packet(1, &frame).payload_length, 4);
}

#[test]
fn the_check_sequence_that_radiotap_announces_is_no_payload() {
    let mut datagram = ipv4(6, &tcp(&[], b"data"));
    datagram[2..4].fill(0);
    let frame = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], &wifi(0, 2, &[], &snap(0x0800, &datagram))[..], &[0xfc; 4]].concat();
    assert_eq!(packet(127, &frame).payload_length, 4);
}

#[test]
fn an_enclosing_length_bounds_the_datagram() {
    // A router that took Ethernet padding for payload: IP says 46 bytes, the PPPoE session around it 40.
    let mut datagram = [ipv4(6, &tcp(&[], b"")), vec![0; 6]].concat();
    datagram[3] = 46;
    let session = [&[0x11, 0, 0, 5, 0, 42, 0, 0x21], &datagram[..]].concat();
    assert_eq!(packet(1, &ethernet(0x8864, &session)).payload_length, 0);
    // The frame's own length is no bound: programs that cut frames lose it.
    let whole = ethernet(0x0800, &ipv4(6, &tcp(&[], &[7; 500])));
    let found = packet(1, &whole[..80]);
    assert_eq!((found.payload_length, found.payload_captured), (500, 80 - 54));
}

#[test]
fn offloaded_superpackets_are_as_long_as_their_frame() {
    let payload = vec![7; 70_000];
    let mut datagram = ipv4(6, &tcp(&[], &payload));
    datagram[2..4].fill(0);
    let frame = ethernet(0x0800, &datagram);
    assert_eq!(packet(1, &frame).payload_length, 70_000);
    let Decoded::Tcp(cut) = decode_cut(1, &frame, 100) else { panic!() };
    assert_eq!((cut.payload_length, cut.payload_captured), (70_000, 100 - 54));

    let mut datagram = ipv6(6, &tcp(&[], &payload));
    datagram[4..6].fill(0);
    assert_eq!(packet(1, &ethernet(0x86dd, &datagram)).payload_length, 70_000);
}

#[test]
fn jumbo_payload_option_gives_the_length() {
    let segment = tcp(&[], &[7; 70_000]);
    let length = (segment.len() as u32 + 8).to_be_bytes();
    let hop_by_hop = [&[6, 0, 0xc2, 4], &length[..], &segment].concat();
    let mut datagram = ipv6(0, &hop_by_hop);
    datagram[4..6].fill(0);
    let frame = [ethernet(0x86dd, &datagram), vec![0; 11]].concat();
    let found = packet(1, &frame);
    assert_eq!((found.payload_length, found.ip_header_length), (70_000, 48));
}

#[test]
fn ipv6_extension_headers_are_followed() {
    let segment = tcp(&[], b"hello");
    let extension = |next: u8, units: u8| [&[next, units][..], &vec![0; usize::from(units) * 8 + 6]].concat();
    let authentication = [&[60, 4][..], &[0; 22]].concat();
    let chain = [extension(43, 0), extension(51, 2), authentication, extension(44, 1)].concat();
    let whole = [chain, ipv6_fragment(6, 0, false, &segment)].concat();
    let frame = ethernet(0x86dd, &ipv6(0, &whole));
    let found = packet(1, &frame);
    assert_eq!(found.ip_header_length, 40 + 8 + 24 + 24 + 16 + 8);
    assert_eq!((found.ip_version, found.ttl, found.ip_id), (6, 61, 0xbeef));
    assert_eq!(payload_of(&found, &frame), b"hello");
    let addresses = &frame[found.address_offset as usize..][..32];
    assert_eq!(addresses, [SOURCE6, DESTINATION6].concat());
}

#[test]
fn ipv6_without_extensions_is_read_on_every_link_type_that_can_tell() {
    let datagram = ipv6(6, &tcp(&[], b"hello"));
    let loopback = |family: u8| [&[family, 0, 0, 0], &datagram[..]].concat();
    let cases = [
        (1, ethernet(0x86dd, &datagram)),
        (1, ethernet(0x8100, &vlan(0x86dd, &datagram))),
        (101, datagram.clone()),
        (229, datagram.clone()),
        (9, [&[0, 0x57], &datagram[..]].concat()),
        (113, [&[0, 0, 0, 1, 0, 6], &[0; 8][..], &[0x86, 0xdd], &datagram].concat()),
        (0, loopback(10)),
        (0, loopback(23)),
        (0, loopback(24)),
        (0, loopback(28)),
        (0, loopback(30)),
        (1, ethernet(0x0800, &ipv4(41, &datagram))),
    ];
    for (link_type, frame) in cases {
        let found = packet(link_type, &frame);
        assert_eq!((found.ip_version, found.ip_header_length, found.ttl), (6, 40, 61), "{link_type}");
        assert_eq!(payload_of(&found, &frame), b"hello", "{link_type}");
    }
}

#[test]
fn ip_options_are_passed_over() {
    let frame = ethernet(0x0800, &ipv4_with(&[1; 12], 0x4000, 6, &tcp(&[], b"hello")));
    let found = packet(1, &frame);
    assert_eq!(found.ip_header_length, 32);
    assert_eq!(payload_of(&found, &frame), b"hello");
}

#[test]
fn both_directions_have_one_flow_hash() {
    let frame = ethernet(0x0800, &ipv4(6, &tcp(&[], b"")));
    let mut back = frame.clone();
    back[26..30].copy_from_slice(&DESTINATION);
    back[30..34].copy_from_slice(&SOURCE);
    back[34..38].copy_from_slice(&[1, 187, 0x9c, 0x40]);
    let (there, back) = (packet(1, &frame), packet(1, &back));
    assert_eq!(there.flow_hash, back.flow_hash);
    assert_eq!(there.address_key, back.address_key.rotate_left(32));
}

#[test]
fn timestamps_and_other_options_are_noted() {
    let timestamps = [8, 10, 0, 0, 1, 0, 0, 0, 2, 0];
    let cases: [(Vec<u8>, u8, u32, u32); 8] = [
        (vec![], 0, 0, 0),
        ([&[1, 1], &timestamps[..]].concat(), option_bits::TIMESTAMPS, 256, 512),
        ([&timestamps[..], &[1, 1]].concat(), option_bits::TIMESTAMPS, 256, 512),
        ([&timestamps[..], &[0, 9]].concat(), option_bits::TIMESTAMPS, 256, 512),
        ([&[2, 4, 5, 180, 4, 2], &timestamps[..], &[1, 3, 3, 7]].concat(), 3, 256, 512),
        (vec![1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2], option_bits::OTHERS, 0, 0),
        (vec![1, 1, 8, 11, 0, 0, 0, 1, 0, 0, 0, 2], option_bits::MALFORMED, 0, 0),
        (vec![2, 4, 5, 180, 8, 0, 1, 1], option_bits::OTHERS | option_bits::MALFORMED, 0, 0),
    ];
    for (options, bits, tsval, tsecr) in cases {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(&options, b"hello")));
        let found = packet(1, &frame);
        assert_eq!((found.options, found.tsval, found.tsecr), (bits, tsval, tsecr), "{options:?}");
        assert_eq!(usize::from(found.options_captured), options.len());
        assert_eq!(payload_of(&found, &frame), b"hello");
    }
}

#[test]
fn cut_options_are_told() {
    let timestamps = [1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 2, 0];
    let frame = ethernet(0x0800, &ipv4(6, &tcp(&timestamps, b"hello")));
    let Decoded::Tcp(found) = decode_cut(1, &frame, 14 + 20 + 20 + 11) else { panic!() };
    assert_eq!((found.options, found.options_captured), (option_bits::CUT, 11));
    assert_eq!((found.payload_length, found.payload_captured), (5, 0));
    assert_eq!(found.tcp_header_length, 32);
}

#[test]
fn a_header_cut_behind_the_window_is_still_a_segment() {
    let frame = ethernet(0x0800, &ipv4(6, &tcp(&[1, 1, 1, 1], b"hello")));
    for captured in 50..54 {
        let Decoded::Tcp(found) = decode_cut(1, &frame, captured) else { panic!("{captured}") };
        assert_eq!((found.window, found.payload_length, found.payload_captured), (501, 5, 0));
        assert_eq!(found.checksum, if captured < 52 { 0 } else { 0xabcd });
        assert_eq!(found.options, option_bits::CUT);
    }
    assert_eq!(decode_cut(1, &frame, 49), Decoded::None(Undecoded::CutTcpHeader));
    assert_eq!(decode_cut(1, &frame, 33), Decoded::None(Undecoded::CutIpHeader));
    assert_eq!(decode_cut(1, &frame, 13), Decoded::None(Undecoded::CutLinkHeader));
}

#[test]
fn accurate_ecn_flag_is_bit_8() {
    let mut segment = tcp(&[], b"");
    segment[12] |= 1;
    segment[13] = 0xc2;
    let expected = tcp_flags::AE | tcp_flags::CWR | tcp_flags::ECE | tcp_flags::SYN;
    assert_eq!(packet(1, &ethernet(0x0800, &ipv4(6, &segment))).flags, expected);
    assert_eq!(packet(9, &[&[0, 0x21], &ipv4(6, &segment)[..]].concat()).flags, expected);
}

#[test]
fn contradictory_headers_are_refused_with_their_reason() {
    let segment = tcp(&[], b"hello");
    let edit = |at: usize, value: u8| {
        let mut frame = ethernet(0x0800, &ipv4(6, &segment));
        frame[at] = value;
        frame
    };
    let cases = [
        ("IP version 5", edit(14, 0x55), Undecoded::BadIpHeader),
        ("IP header of 16 bytes", edit(14, 0x44), Undecoded::BadIpHeader),
        ("IP length below its header", edit(17, 19), Undecoded::BadIpHeader),
        ("TCP header of 16 bytes", edit(46, 0x40), Undecoded::BadTcpHeader),
        ("TCP header beyond the datagram", edit(46, 0xf0), Undecoded::BadTcpHeader),
        ("datagram of 10 TCP bytes", edit(17, 30), Undecoded::BadTcpHeader),
        ("frame of 10 bytes", vec![0; 10], Undecoded::BadLinkHeader),
        ("frame without payload", ethernet(0x0800, b""), Undecoded::BadIpHeader),
    ];
    for (name, frame, expected) in cases {
        assert_eq!(reason(1, &frame), expected, "{name}");
    }
}

#[test]
fn what_is_no_tcp_is_named() {
    let cases = [
        ("ARP", 1, ethernet(0x0806, &[0; 28]), "not_ip"),
        ("spanning tree", 1, ethernet(38, &[&[0x42, 0x42, 3], &[0; 35][..]].concat()), "not_ip"),
        ("DNS", 1, ethernet(0x0800, &ipv4(17, &udp(53, b"?"))), "not_tcp"),
        ("ICMP", 1, ethernet(0x0800, &ipv4(1, &[0; 8])), "not_tcp"),
        ("ICMPv6", 1, ethernet(0x86dd, &ipv6(58, &[0; 8])), "not_tcp"),
        ("ESP", 1, ethernet(0x0800, &ipv4(50, &[0; 40])), "encrypted_ipsec"),
        ("ESP in IPv6", 1, ethernet(0x86dd, &ipv6(50, &[0; 40])), "encrypted_ipsec"),
        ("PPPoE discovery code", 1, ethernet(0x8864, &[0x11, 9, 0, 0, 0, 0]), "not_ip"),
        ("PPP LCP", 9, vec![0xff, 3, 0xc0, 0x21, 1, 1, 0, 4], "not_ip"),
        ("AppleTalk loopback", 0, vec![16, 0, 0, 0, 1, 2], "not_ip"),
        ("netlink", 113, [&[0, 4, 3, 0x38], &[0; 10][..], &[0, 0], &[0; 20]].concat(), "not_ip"),
        ("802.11 beacon", 105, [&[0x80, 0], &[0; 40][..]].concat(), "not_ip"),
        ("802.11 null data", 105, wifi(4, 1, &[], b""), "not_ip"),
        ("802.11 encrypted", 105, wifi(8, 0x41, &[0, 0], &[0x55; 60]), "encrypted_wifi"),
        ("802.11 bundle", 105, wifi(8, 2, &[0x80, 0], &[0; 60]), "wifi_aggregate"),
        ("802.11 fragment", 105, wifi(0, 5, &[], &snap(0x0800, &[0; 60])), "wifi_aggregate"),
        (
            "802.11 with errors",
            127,
            [&[0, 0, 9, 0, 2, 0, 0, 0, 0x50], &wifi(0, 1, &[], &[0; 40])[..]].concat(),
            "corrupt_frame",
        ),
        ("USB", 189, vec![0; 64], "unknown_link_type_189"),
        ("VXLAN without identifier", 1, ethernet(0x0800, &ipv4(17, &udp(4789, &[0; 40]))), "not_tcp"),
    ];
    for (name, link_type, frame, expected) in cases {
        assert_eq!(reason(link_type, &frame).name(), expected, "{name}");
    }
}

#[test]
fn nesting_is_followed_to_a_bound() {
    let nested = |depth: usize| {
        let mut datagram = ipv4(6, &tcp(&[], b"hello"));
        for _ in 1..depth {
            datagram = ipv4(4, &datagram);
        }
        ethernet(0x0800, &datagram)
    };
    assert_eq!(packet(1, &nested(8)).payload_length, 5);
    assert_eq!(reason(1, &nested(9)), Undecoded::TunnelTooDeep);

    let tags = |depth: usize| {
        let mut inner = vlan(0x0800, &ipv4(6, &tcp(&[], b"hello")));
        for _ in 1..depth {
            inner = vlan(0x8100, &inner);
        }
        ethernet(0x8100, &inner)
    };
    assert_eq!(packet(1, &tags(20)).payload_length, 5);
    assert_eq!(reason(1, &tags(200)), Undecoded::TunnelTooDeep);
}

#[test]
fn offsets_are_positions_in_the_whole_chunk() {
    for (name, link_type, frame) in shapes() {
        let bytes = [vec![0x5a; 1000], frame.clone(), vec![0x5a; 50]].concat();
        let Decoded::Tcp(found) = decode(&bytes, &Record { offset: 1000, ..record(link_type, &frame) }) else {
            panic!("{name}");
        };
        assert_eq!(payload_of(&found, &bytes), b"hello", "{name}");
        assert_eq!(&bytes[found.address_offset as usize..][..4], SOURCE, "{name}");
        assert_eq!(&bytes[found.options_offset as usize..][..5], b"hello", "{name}");
    }
}

#[test]
fn a_packet_takes_at_most_96_bytes() {
    assert!(size_of::<Packet>() <= 96);
}

#[test]
fn a_record_outside_of_the_bytes_gives_a_reason() {
    for link_type in [1, 101, 113, 127] {
        for (offset, captured_length) in [(0, 11), (11, 0), (u32::MAX, u32::MAX), (5, u32::MAX)] {
            let outside = Record { offset, captured_length, ..record(link_type, &[]) };
            assert!(matches!(decode(&[0x45; 10], &outside), Decoded::None(_)));
        }
    }
}

#[test]
fn reasons_count_and_merge() {
    let mut counts = ReasonCounts::default();
    counts.count(Undecoded::NotIp);
    counts.add(Undecoded::UnknownLinkType(189), 2);
    counts.count(Undecoded::UnknownLinkType(220));
    let mut all = counts.clone();
    all.merge(&counts);
    let named: Vec<_> = all.iter().map(|(reason, frames)| (reason.name().into_owned(), frames)).collect();
    let expected = [("not_ip", 2), ("unknown_link_type_189", 4), ("unknown_link_type_220", 2)];
    assert_eq!(named, expected.map(|(name, frames)| (name.to_owned(), frames)));
    assert_eq!((all.total(), all.of(Undecoded::UnknownLinkType(189)), all.of(Undecoded::NotTcp)), (8, 4, 0));
    for (index, reason) in Undecoded::ALL.into_iter().enumerate() {
        let mut one = ReasonCounts::default();
        one.count(reason);
        assert_eq!((one.of(reason), one.total()), (1, 1), "{index}: {reason:?}");
        assert_eq!(one.iter().collect::<Vec<_>>(), [(reason, 1)]);
    }
}
