//! The fast path must agree with the complete decoder on whatever frame it takes.
//!
//! Subjects: `decode/fast.rs`, `decode/fixed.rs`.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::decode::{fast, walk};
use crate::link_type;
use crate::packet::Packet;
use crate::read::record::Record;

/// Fields whose values decide which path a frame takes.
#[derive(Debug, Clone)]
struct Shape {
    link_type: u16,
    ether_types: Vec<u16>,
    version: u8,
    header_words: u8,
    length_change: i8,
    no_length: bool,
    fragment: u16,
    protocol: u8,
    tcp_words: u8,
    rest: Vec<u8>,
    captured: usize,
    fcs_length: u8,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let links = prop::sample::select(vec![
        link_type::ETHERNET,
        link_type::RAW,
        link_type::IPV4,
        link_type::IPV6,
        link_type::LINUX_SLL,
        link_type::LINUX_SLL2,
    ]);
    let types = prop::sample::select(vec![0x0800_u16, 0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x0806]);
    let timestamps = Just([&[1, 1, 8, 10][..], &[3; 60]].concat());
    let rest = prop_oneof![timestamps, prop::collection::vec(any::<u8>(), 0..80)];
    let ip = (4_u8..=6, 4_u8..=7, -3_i8..=3, prop::bool::weighted(0.1));
    let tail =
        (prop::sample::select(vec![0_u16, 0x4000, 0x2000, 1]), prop::sample::select(vec![6_u8, 6, 6, 17, 0, 44]));
    let link = (links, prop::collection::vec(types, 1..4));
    (link, ip, tail, 4_u8..=15, rest, 0_usize..200, prop::sample::select(vec![0_u8, 0, 0, 4])).prop_map(
        |((link_type, ether_types), (version, header_words, length_change, no_length), tail, words, rest, cut, fcs)| {
            let (fragment, protocol) = tail;
            Shape {
                link_type,
                ether_types,
                version,
                header_words,
                length_change,
                no_length,
                fragment,
                protocol,
                tcp_words: words,
                rest,
                captured: cut,
                fcs_length: fcs,
            }
        },
    )
}

impl Shape {
    fn frame(&self) -> Vec<u8> {
        let mut frame = match self.link_type {
            link_type::ETHERNET => vec![2; 12],
            link_type::LINUX_SLL => vec![0; 14],
            _ => Vec::new(),
        };
        match self.link_type {
            link_type::ETHERNET => frame.extend(self.ether_types.iter().flat_map(|kind| {
                let [a, b] = kind.to_be_bytes();
                // Each type stands behind the tag of the one before it.
                [a, b, 0, 1]
            })),
            link_type::LINUX_SLL => frame.extend(self.ether_types[0].to_be_bytes()),
            link_type::LINUX_SLL2 => frame.extend([&self.ether_types[0].to_be_bytes()[..], &[0; 18]].concat()),
            _ => {}
        }
        if self.link_type == link_type::ETHERNET {
            frame.truncate(frame.len() - 2);
        }
        frame.extend(self.datagram());
        frame
    }

    fn datagram(&self) -> Vec<u8> {
        let mut tcp = vec![0x11; 20];
        tcp[12] = self.tcp_words << 4 | 1;
        tcp.extend(&self.rest);
        let length = |base: usize| {
            let length = (base + tcp.len()) as i32 + i32::from(self.length_change);
            if self.no_length { [0, 0] } else { (length as u16).to_be_bytes() }
        };
        let header = if self.version == 6 {
            let [l0, l1] = length(0);
            [&[0x60, 0, 0, 0, l0, l1, self.protocol, 64][..], &[0x20; 16], &[0x30; 16]].concat()
        } else {
            let [l0, l1] = length(20);
            let [f0, f1] = self.fragment.to_be_bytes();
            let first = self.version << 4 | self.header_words;
            vec![first, 0, l0, l1, 9, 9, f0, f1, 64, self.protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        };
        [header, tcp].concat()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn fast_path_and_walk_agree(shape in shapes()) {
        let frame = shape.frame();
        let captured = shape.captured.min(frame.len());
        let record = Record {
            time_ns: 5,
            captured_length: captured as u32,
            original_length: frame.len() as u32,
            frame: 1,
            link_type: shape.link_type,
            input: 2,
            fcs_length: shape.fcs_length,
            ..Record::default()
        };
        let mut packet = Packet::default();
        if fast::packet(&frame[..captured], &record, &mut packet).is_some() {
            match walk::frame(&frame[..captured], &record) {
                Ok(walk::WalkEnd::Tcp(walked, false)) => prop_assert_eq!(packet, walked),
                other => prop_assert!(false, "walk says {:?}", other),
            }
        }
    }
}

#[test]
fn the_shapes_of_the_property_reach_the_fast_path() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let taken = (0..2000).filter(|_| {
        let shape = shapes().new_tree(&mut runner).map(|tree| tree.current());
        shape.is_ok_and(|shape| {
            let frame = shape.frame();
            let record = Record {
                captured_length: frame.len() as u32,
                original_length: frame.len() as u32,
                frame: 1,
                link_type: shape.link_type,
                fcs_length: shape.fcs_length,
                ..Record::default()
            };
            fast::packet(&frame, &record, &mut Packet::default()).is_some()
        })
    });
    assert!(taken.count() > 20);
}
