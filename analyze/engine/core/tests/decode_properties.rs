//! Properties of decoding: built frames give their fields back, and no bytes whatever make it fail or claim too much.
//!
//! Subjects: `decode/batch.rs`, `decode/frame.rs`, `decode/fast.rs`, `decode/fixed.rs`, `decode/tags.rs`,
//! `decode/envelope.rs`, `decode/erf.rs`, `decode/gre.rs`, `decode/l2tp.rs`, `decode/access.rs`, `decode/over_udp.rs`.

use crate::frames::*;
use proptest::prelude::*;
use vmtrace_core::decode::fragments::Reassembler;
use vmtrace_core::decode::options::{Options, OptionsEnd};
use vmtrace_core::decode::{Batch, CountsByInput, Decoded, decode};
use vmtrace_core::packet::Packet;
use vmtrace_core::read::{Chunk, Record};

/// Everything a packet points to lies within the frame, and its lengths fit together.
fn assert_within(packet: &Packet, record: &Record) {
    let end = u64::from(record.offset) + u64::from(record.captured_length);
    assert!(u64::from(packet.payload_offset) + u64::from(packet.payload_captured) <= end);
    assert!(u64::from(packet.options_offset) + u64::from(packet.options_captured) <= end);
    assert!(packet.address_offset >= record.offset);
    let addresses = if packet.ip_version == 4 { 8 } else { 32 };
    assert!(u64::from(packet.address_offset) + addresses <= end);
    assert!(packet.payload_captured <= packet.payload_length);
    assert!((20..=60).contains(&packet.tcp_header_length) && packet.tcp_header_length.is_multiple_of(4));
    assert!(packet.options_captured <= packet.tcp_header_length - 20);
    assert!(packet.sequence_length() >= packet.payload_length);
}

fn link_types() -> impl Strategy<Value = u16> {
    let known = vec![
        0, 1, 6, 7, 9, 10, 12, 14, 50, 51, 101, 104, 105, 108, 113, 119, 127, 129, 163, 192, 197, 204, 219, 228, 229,
        242, 258, 276,
    ];
    prop_oneof![8 => prop::sample::select(known), 1 => any::<u16>()]
}

/// A frame of a known shape with some bytes changed.
fn damaged() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(shapes()), changes).prop_map(|((_, link_type, mut frame), changes)| {
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        (link_type, frame)
    })
}

fn check(link_type: u16, frame: &[u8], record: Record) {
    let mut bytes = [&[0; 3], frame].concat();
    let record = Record { offset: 3, link_type, ..record };
    match decode(&bytes, &record) {
        Decoded::Tcp(packet) => {
            assert_within(&packet, &record);
            let _ = Options::of_packet(&packet, &bytes);
        }
        Decoded::Fragment => {
            let (mut reassembler, mut counts) = (Reassembler::new(), CountsByInput::default());
            let packet = reassembler.push(&mut bytes, &record, &mut counts);
            reassembler.finish(&mut counts);
            assert_eq!(counts.together().total() + u64::from(packet.is_some()), 1);
        }
        Decoded::None(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..kept_beside_the_tests() })]

    #[test]
    fn any_bytes_on_any_link_type_are_safe(
        link_type in link_types(),
        frame in prop::collection::vec(any::<u8>(), 0..200),
        original_length in prop_oneof![0_u32..300, any::<u32>()],
        fcs_length in 0_u8..16,
    ) {
        let record = Record { original_length, fcs_length, ..record(link_type, &frame) };
        check(link_type, &frame, record);
    }

    #[test]
    fn damaged_frames_are_safe_wherever_they_are_cut(
        (link_type, frame) in damaged(),
        cut in any::<prop::sample::Index>(),
        fcs_length in prop::sample::select(vec![0_u8, 4]),
    ) {
        let cut = cut.index(frame.len() + 1);
        let whole = record(link_type, &frame);
        check(link_type, &frame[..cut], Record { captured_length: cut as u32, fcs_length, ..whole });
        check(link_type, &frame[..cut], Record { fcs_length, ..record(link_type, &frame[..cut]) });
    }

    #[test]
    fn a_built_segment_gives_its_fields_back(
        ports in any::<u32>(),
        numbers in any::<(u32, u32)>(),
        flags in 0_u16..512,
        window in any::<u16>(),
        options in prop::collection::vec(Just(1_u8), 0..=10),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        tags in 0_usize..4,
        six in any::<bool>(),
    ) {
        let options = options.repeat(4);
        let mut segment = tcp(&options, &payload);
        segment[..4].copy_from_slice(&ports.to_be_bytes());
        segment[4..8].copy_from_slice(&numbers.0.to_be_bytes());
        segment[8..12].copy_from_slice(&numbers.1.to_be_bytes());
        segment[12] |= (flags >> 8) as u8;
        segment[13] = flags as u8;
        segment[14..16].copy_from_slice(&window.to_be_bytes());
        let (mut kind, mut inner) = if six { (0x86dd, ipv6(6, &segment)) } else { (0x0800, ipv4(6, &segment)) };
        for _ in 0..tags {
            (kind, inner) = (0x8100, vlan(kind, &inner));
        }
        let frame = ethernet(kind, &inner);
        let found = packet(1, &frame);
        prop_assert_eq!((found.ports, found.sequence, found.acknowledgement), (ports, numbers.0, numbers.1));
        prop_assert_eq!((found.flags, found.window, found.ip_version), (flags, window, if six { 6 } else { 4 }));
        prop_assert_eq!(usize::from(found.options_captured), options.len());
        prop_assert_eq!(payload_of(&found, &frame), &payload[..]);
        prop_assert_eq!(found.payload_length as usize, payload.len());
    }

    #[test]
    fn any_option_area_is_read_to_an_end(
        area in prop::collection::vec(prop_oneof![0_u8..12, any::<u8>()], 0..=10).prop_map(|bytes| bytes.repeat(4)),
        cut in 0_usize..=40,
    ) {
        use vmtrace_core::decode::options::TcpOptions;
        let whole: Vec<_> = TcpOptions::new(&area, area.len()).collect();
        let mut options = TcpOptions::new(&area[..cut.min(area.len())], area.len());
        let known: Vec<_> = options.by_ref().collect();
        // What is read from the captured part is what is read from all of it, but for a SACK option cut in two.
        for (index, option) in known.iter().enumerate() {
            let last_of_cut = index + 1 == known.len() && options.end() == OptionsEnd::Cut;
            prop_assert!(whole.get(index) == Some(option) || last_of_cut);
        }
        prop_assert!(Options::collect(TcpOptions::new(&area, area.len())).end != OptionsEnd::Cut);
    }

    #[test]
    fn every_frame_is_counted_once(frames in prop::collection::vec(damaged(), 1..30), cut in 0_u16..1400) {
        let mut chunk = Chunk::default();
        for (number, (link_type, frame)) in frames.iter().enumerate() {
            let offset = chunk.bytes.len() as u32;
            chunk.bytes.extend_from_slice(frame);
            chunk.records.push(Record { offset, frame: number as u32 + 1, ..record(*link_type, frame) });
            // And a fragment of it now and then.
            let piece = ethernet(0x0800, &ipv4_with(&[], 0x2000 | (cut & 7), 6, &[1; 64]));
            let offset = chunk.bytes.len() as u32;
            chunk.bytes.extend_from_slice(&piece);
            chunk.records.push(Record { offset, ..record(1, &piece) });
        }
        let (mut batch, mut reassembler) = (Batch::default(), Reassembler::new());
        batch.decode(&mut chunk);
        batch.join_fragments(&mut chunk, &mut reassembler);
        reassembler.finish(&mut batch.counts);
        prop_assert_eq!(batch.packets().len() as u64 + batch.counts.together().total(), chunk.records.len() as u64);
    }
}
