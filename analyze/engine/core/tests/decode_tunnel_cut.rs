//! Packets that were cut before they were put into a tunnel, as mirrors of traffic do: their lengths are those of their own headers.

use crate::frames::*;
use proptest::prelude::*;

/// A mirrored packet in a tunnel of each kind; the outer headers are those of what is left of it.
fn mirrored(payload: &[u8], left: usize) -> Vec<(&'static str, Vec<u8>)> {
    let inner = [ethernet(0x0800, &ipv4(6, &tcp(&[], payload))), Vec::new()].concat();
    let frame = &inner[..left.min(inner.len())];
    let datagram = &frame[14..];
    let over_udp =
        |port: u16, header: &[u8], inner: &[u8]| ethernet(0x0800, &ipv4(17, &udp(port, &[header, inner].concat())));
    let gre = |bits: u16, kind: u16, header: &[u8], inner: &[u8]| {
        ethernet(0x0800, &ipv4(47, &[&bits.to_be_bytes()[..], &kind.to_be_bytes(), header, inner].concat()))
    };
    let gtp_length = (datagram.len() as u16).to_be_bytes();
    vec![
        ("VXLAN", over_udp(4789, &[8, 0, 0, 0, 0, 0, 11, 0], frame)),
        ("VXLAN over IPv6", ethernet(0x86dd, &ipv6(17, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 11, 0], frame].concat())))),
        ("VXLAN-GPE", over_udp(4790, &[0x0c, 0, 0, 3, 0, 0, 42, 0], frame)),
        ("GENEVE", over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], frame)),
        ("GRE", gre(0, 0x0800, &[], datagram)),
        ("ERSPAN I", gre(0, 0x88be, &[], frame)),
        ("ERSPAN II", gre(0x1000, 0x88be, &[0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0, 0, 0], frame)),
        ("GTP", over_udp(2152, &[&[0x30, 0xff], &gtp_length[..], &[0, 0, 0, 1]].concat(), datagram)),
    ]
}

#[test]
fn a_mirrored_packet_has_the_length_of_its_own_header() {
    let payload = [7; 5000];
    for left in [54, 100, 1400, 5000, 5053] {
        for ((name, cut), (_, whole)) in mirrored(&payload, left).into_iter().zip(mirrored(&payload, usize::MAX)) {
            let (cut, whole) = (packet(1, &cut), packet(1, &whole));
            assert_eq!((cut.payload_length, cut.payload_captured as usize), (5000, left - 54), "{name}, {left} left");
            assert_eq!(cut.wire_length, whole.wire_length, "{name}: the frame as it would have been");
            assert_eq!((cut.sequence, cut.ports, cut.flow_hash), (whole.sequence, whole.ports, whole.flow_hash));
        }
    }
}

#[test]
fn padding_behind_a_mirrored_packet_is_no_payload() {
    let padded = [ethernet(0x0800, &ipv4(6, &tcp(&[], b""))), vec![0; 6]].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 11, 0], &padded[..]].concat();
    let found = packet(1, &ethernet(0x0800, &ipv4(17, &udp(4789, &vxlan))));
    assert_eq!((found.payload_length, found.payload_captured), (0, 0));
}

#[test]
fn an_outer_length_bounds_what_stands_in_no_tunnel() {
    let mut datagram = [ipv4(6, &tcp(&[], b"")), vec![0; 6]].concat();
    datagram[3] = 46;
    let session = [&[0x11, 0, 0, 5, 0, 42, 0, 0x21], &datagram[..]].concat();
    assert_eq!(packet(1, &ethernet(0x8864, &session)).payload_length, 0);
}

proptest! {
    #![proptest_config(kept_beside_the_tests())]

    #[test]
    fn cut_anywhere_it_is_as_long_as_uncut(payload in 0..9000usize, left in 54..9100usize) {
        let payload = vec![1; payload];
        for ((name, cut), (_, whole)) in mirrored(&payload, left).into_iter().zip(mirrored(&payload, usize::MAX)) {
            let (cut, whole) = (packet(1, &cut), packet(1, &whole));
            prop_assert_eq!((cut.payload_length, cut.wire_length), (whole.payload_length, whole.wire_length), "{}", name);
        }
    }
}
