//! Joining of IP fragments: completeness, bounds, counting.
//!
//! Subjects: `decode/ip_header.rs`, `decode/reason.rs`.

use crate::captures::Frame;
use crate::frames::*;
use crate::playbook::{CLIENT, SERVER, Talk, ack, analysis_of, data, json_of};
use proptest::prelude::*;
use serde_json::Value;
use vmtrace_core::analysis::Options;
use vmtrace_core::decode::fragments::{Joined, Reassembler};
use vmtrace_core::decode::{Batch, CountsByInput, Decoded, ReasonCounts, Undecoded, decode};
use vmtrace_core::packet::{Packet, tcp_flags};
use vmtrace_core::read::{Chunk, Record};

const SECOND_NS: i64 = 1_000_000_000;

/// The IPv4 fragments of a datagram, split at multiples of eight bytes, as Ethernet frames.
fn split4(protocol: u8, payload: &[u8], at: &[usize]) -> Vec<Vec<u8>> {
    pieces(payload, at)
        .map(|(start, more, piece)| {
            let field = (start / 8) as u16 | if more { 0x2000 } else { 0 };
            ethernet(0x0800, &ipv4_with(&[], field, protocol, piece))
        })
        .collect()
}

fn split6(next: u8, payload: &[u8], at: &[usize]) -> Vec<Vec<u8>> {
    pieces(payload, at)
        .map(|(start, more, piece)| ethernet(0x86dd, &ipv6(44, &ipv6_fragment(next, start as u16, more, piece))))
        .collect()
}

/// Start, "more follow" and bytes of each piece.
fn pieces<'a>(payload: &'a [u8], at: &'a [usize]) -> impl Iterator<Item = (usize, bool, &'a [u8])> {
    let ends = at.iter().copied().chain([payload.len()]);
    let starts = [0].into_iter().chain(at.iter().copied());
    starts.zip(ends).map(|(start, end)| (start, end < payload.len(), &payload[start..end]))
}

/// A chunk being fed to a reassembler frame by frame, a second apart.
#[derive(Default)]
struct Feed {
    bytes: Vec<u8>,
    frames: u32,
    time_ns: i64,
    reassembler: Reassembler,
    counts: CountsByInput,
}

impl Feed {
    fn push(&mut self, frame: &[u8]) -> Option<Packet> {
        self.push_cut(frame, frame.len())
    }

    /// As [`Feed::push`], of a frame that the snap length cut.
    fn push_cut(&mut self, frame: &[u8], captured: usize) -> Option<Packet> {
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&frame[..captured.min(frame.len())]);
        self.frames += 1;
        self.time_ns += SECOND_NS;
        let captured_length = self.bytes.len() as u32 - offset;
        let whole = record(1, frame);
        self.push_record(Record { time_ns: self.time_ns, offset, captured_length, frame: self.frames, ..whole })
    }

    fn push_record(&mut self, record: Record) -> Option<Packet> {
        assert_eq!(decode(&self.bytes, &record), Decoded::Fragment);
        match self.reassembler.push(&mut self.bytes, &record, &mut self.counts) {
            Some(Joined::Tcp(packet)) => Some(packet),
            _ => None,
        }
    }

    fn payload(&self, packet: &Packet) -> &[u8] {
        payload_of(packet, &self.bytes)
    }
}

fn long_payload() -> Vec<u8> {
    (0..3000_u32).map(|number| (number % 251) as u8).collect()
}

#[test]
fn fragments_in_any_order_give_the_segment_once() {
    let payload = long_payload();
    let segment = tcp(&[1, 1, 1, 1], &payload);
    for frames in [split4(6, &segment, &[1480, 2960]), split6(6, &segment, &[1448, 2896])] {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
            let mut feed = Feed::default();
            assert_eq!(feed.push(&frames[order[0]]), None);
            assert_eq!(feed.push(&frames[order[1]]), None);
            let packet = feed.push(&frames[order[2]]).unwrap();
            assert_eq!(feed.payload(&packet), payload);
            assert_eq!(packet.payload_length, 3000);
            assert_eq!((packet.frame, packet.time_ns), (3, 3 * SECOND_NS));
            assert_eq!(packet.wire_length as usize, frames.iter().map(Vec::len).sum::<usize>());
            assert_eq!(packet.ip_id, if packet.ip_version == 4 { 0x1234 } else { 0xbeef });
            assert_eq!((packet.ports, packet.ttl), (40000 << 16 | 443, 61));
            assert_eq!(feed.counts.together().of(Undecoded::FragmentJoined), 2);
            feed.reassembler.finish(&mut feed.counts);
            assert_eq!(feed.counts.together().total(), 2);
            assert_eq!((feed.reassembler.joined(), feed.reassembler.overlaps()), (1, 0));
        }
    }
}

#[test]
fn the_joined_segment_has_the_fields_it_would_have_had_whole() {
    let segment = tcp(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], &long_payload());
    let whole = packet(1, &ethernet(0x0800, &ipv4(6, &segment)));
    let mut feed = Feed::default();
    let joined = split4(6, &segment, &[8, 16, 24, 1000]).iter().filter_map(|frame| feed.push(frame)).last().unwrap();
    assert_eq!((joined.address_key, joined.flow_hash, joined.ports), (whole.address_key, whole.flow_hash, whole.ports));
    assert_eq!((joined.tsval, joined.tsecr, joined.options), (whole.tsval, whole.tsecr, whole.options));
    assert_eq!(
        (joined.sequence, joined.window, joined.flags & tcp_flags::OF_HEADER),
        (whole.sequence, whole.window, whole.flags)
    );
    assert_eq!(joined.ip_header_length, 20);
}

#[test]
fn fragments_cut_by_the_snap_length_still_give_the_segment() {
    let segment = tcp(&[], &long_payload());
    let frames = split4(6, &segment, &[1480, 2960]);
    let mut feed = Feed::default();
    assert_eq!(feed.push_cut(&frames[0], 96), None);
    assert_eq!(feed.push_cut(&frames[1], 96), None);
    let packet = feed.push_cut(&frames[2], 60).unwrap();
    assert_eq!(packet.payload_length, 3000);
    assert_eq!(packet.payload_captured, 96 - 54);
    assert_eq!(feed.payload(&packet), &long_payload()[..96 - 54]);
    assert_eq!(packet.wire_length as usize, frames.iter().map(Vec::len).sum::<usize>());
}

#[test]
fn a_missing_fragment_is_counted_at_the_end() {
    let frames = split4(6, &tcp(&[], &long_payload()), &[1480, 2960]);
    let mut feed = Feed::default();
    assert_eq!(feed.push(&frames[0]), None);
    assert_eq!(feed.push(&frames[2]), None);
    assert_eq!(feed.counts.together().total(), 0);
    feed.reassembler.finish(&mut feed.counts);
    assert_eq!(feed.counts.together().of(Undecoded::FragmentIncomplete), 2);
}

#[test]
fn a_datagram_is_given_up_after_30_seconds() {
    let frames = split4(6, &tcp(&[], &long_payload()), &[1480]);
    for (pause_s, complete) in [(29, true), (30, false)] {
        let mut feed = Feed::default();
        assert_eq!(feed.push(&frames[0]), None);
        feed.time_ns += pause_s * SECOND_NS;
        assert_eq!(feed.push(&frames[1]).is_some(), complete, "{pause_s}");
        assert_eq!(feed.counts.together().of(Undecoded::FragmentIncomplete), u64::from(!complete));
    }
}

#[test]
fn of_overlapping_fragments_the_first_is_kept() {
    let segment = tcp(&[], &[1; 44]);
    let mut feed = Feed::default();
    assert_eq!(feed.push(&ethernet(0x0800, &ipv4_with(&[], 0x2000, 6, &segment[..32]))), None);
    // Bytes 24 to 47, of which the first eight are there already with other contents.
    assert_eq!(feed.push(&ethernet(0x0800, &ipv4_with(&[], 0x2003, 6, &[9; 24]))), None);
    let packet = feed.push(&ethernet(0x0800, &ipv4_with(&[], 6, 6, &segment[48..]))).unwrap();
    assert_eq!(feed.payload(&packet), [vec![1; 12], vec![9; 16], vec![1; 16]].concat());
    assert_eq!(feed.reassembler.overlaps(), 1);
}

#[test]
fn a_fragment_seen_twice_is_no_overlap() {
    let frames = split4(6, &tcp(&[], &[1; 44]), &[32]);
    let mut feed = Feed::default();
    assert_eq!(feed.push(&frames[0]), None);
    assert_eq!(feed.push(&frames[0]), None);
    assert!(feed.push(&frames[1]).is_some());
    assert_eq!((feed.reassembler.overlaps(), feed.counts.together().of(Undecoded::FragmentJoined)), (0, 2));
}

#[test]
fn fragments_beyond_the_known_end_are_ignored() {
    let segment = tcp(&[], &[1; 44]);
    let frames = split4(6, &segment, &[32]);
    let mut feed = Feed::default();
    assert_eq!(feed.push(&frames[1]), None);
    assert_eq!(feed.push(&ethernet(0x0800, &ipv4_with(&[], 0x2000 | 100, 6, &[7; 16]))), None);
    let packet = feed.push(&frames[0]).unwrap();
    assert_eq!((packet.payload_length, feed.reassembler.overlaps()), (44, 1));
}

#[test]
fn tunnels_are_joined_before_what_they_carry() {
    let inner = split4(6, &tcp(&[], &long_payload()), &[1480, 2960]);
    let mut feed = Feed::default();
    let mut packets = Vec::new();
    for fragment in &inner {
        // GRE around each inner fragment, split once more.
        let outer = [&[0, 0, 8, 0], &fragment[14..]].concat();
        let at = outer.len() / 16 * 8;
        packets.extend(split4(47, &outer, &[at]).iter().filter_map(|frame| feed.push(frame)));
    }
    assert_eq!(packets.len(), 1);
    assert_eq!((feed.payload(&packets[0]), packets[0].frame), (&long_payload()[..], 6));
    assert_eq!(feed.counts.together().of(Undecoded::FragmentJoined), 5);
}

#[test]
fn joined_datagrams_that_are_no_tcp_count_with_all_their_frames() {
    let frames = split4(17, &udp(53, &[0; 200]), &[64, 128]);
    let mut feed = Feed::default();
    assert!(frames.iter().all(|frame| feed.push(frame).is_none()));
    assert_eq!((feed.counts.together().of(Undecoded::NotTcp), feed.counts.together().total()), (3, 3));
}

#[test]
fn fragments_that_cannot_lead_to_tcp_are_not_collected() {
    let reason_of = |protocol, field, length| {
        let frame = ethernet(0x0800, &ipv4_with(&[], field, protocol, &vec![0; length]));
        reason(1, &frame)
    };
    assert_eq!(reason_of(1, 0x2000, 64), Undecoded::NotTcp);
    assert_eq!(reason_of(50, 0x2000, 64), Undecoded::EncryptedIpsec);
    // Not a multiple of eight, though more follow; and a datagram longer than any can be.
    assert_eq!(reason_of(6, 0x2000, 63), Undecoded::BadIpHeader);
    assert_eq!(reason_of(6, 0x1fff, 64), Undecoded::BadIpHeader);
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let mut feed = Feed::default();
    for number in 0..20_000_u32 {
        let mut frame = ethernet(0x0800, &ipv4_with(&[], 0x2000, 6, &[0; 1024]));
        frame[26..30].copy_from_slice(&number.to_be_bytes());
        assert_eq!(feed.push(&frame), None);
        feed.time_ns -= SECOND_NS;
        feed.bytes.clear();
    }
    // 4096 datagrams are kept.
    assert_eq!(feed.counts.together().of(Undecoded::FragmentIncomplete), 20_000 - 4096);
    feed.reassembler.finish(&mut feed.counts);
    assert_eq!(feed.counts.together().of(Undecoded::FragmentIncomplete), 20_000);

    let mut feed = Feed::default();
    for number in 0..1000_u32 {
        let mut frame = ethernet(0x0800, &ipv4_with(&[], 0x2000, 6, &[0; 65_000]));
        frame[26..30].copy_from_slice(&number.to_be_bytes());
        assert_eq!(feed.push(&frame), None);
        feed.time_ns -= SECOND_NS;
        feed.bytes.clear();
    }
    // 16 MiB are kept, with 64 bytes for the book-keeping of each piece.
    assert_eq!(feed.counts.together().of(Undecoded::FragmentIncomplete), 1000 - (16 << 20) / (65_000 + 64));
}

#[test]
fn pieces_of_which_nothing_was_captured_take_from_the_bound_too() {
    let mut feed = Feed::default();
    for number in 0..300_000_u32 {
        // 1000 one-block pieces of each datagram, with a hole after each, cut behind the IP header.
        let mut frame = ethernet(0x0800, &ipv4_with(&[], 0x2000 | (number % 1000 * 2) as u16, 6, &[0; 8]));
        frame[26..30].copy_from_slice(&(number / 1000).to_be_bytes());
        assert_eq!(feed.push_cut(&frame, 34), None);
        feed.time_ns -= SECOND_NS;
        feed.bytes.clear();
    }
    let kept = 300_000 - feed.counts.together().of(Undecoded::FragmentIncomplete);
    assert!(kept <= (16 << 20) / 64, "{kept}");
}

#[test]
fn a_batch_puts_the_segment_where_its_last_fragment_was() {
    let fragments = split4(6, &tcp(&[], &long_payload()), &[1480]);
    let single = ethernet(0x0800, &ipv4(6, &tcp(&[], b"hello")));
    let frames = [&single, &fragments[0], &single, &fragments[1], &single];
    // In one chunk, and split between two.
    for split in [frames.len(), 2] {
        let mut reassembler = Reassembler::new();
        let mut seen = Vec::new();
        let mut counts = ReasonCounts::default();
        for (part, frames) in [&frames[..split], &frames[split..]].into_iter().enumerate() {
            let mut chunk = Chunk::default();
            for frame in frames {
                let offset = chunk.bytes.len() as u32;
                chunk.bytes.extend_from_slice(frame);
                let number = (part * split + chunk.records.len()) as u32 + 1;
                chunk.records.push(Record { offset, frame: number, ..record(1, frame) });
            }
            let mut batch = Batch::default();
            batch.decode(&mut chunk);
            batch.join_fragments(&mut chunk, &mut reassembler);
            seen.extend(batch.packets().iter().map(|packet| (packet.frame, payload_of(packet, &chunk.bytes).to_vec())));
            counts.merge(&batch.counts.together());
        }
        let hello = b"hello".to_vec();
        assert_eq!(seen, [(1, hello.clone()), (3, hello.clone()), (4, long_payload()), (5, hello)]);
        assert_eq!((counts.of(Undecoded::FragmentJoined), counts.total()), (1, 1));
    }
}

proptest! {
    #![proptest_config(kept_beside_the_tests())]

    #[test]
    fn split_anywhere_in_any_order_a_datagram_is_joined(
        payload in prop::collection::vec(any::<u8>(), 100..600),
        cuts in prop::collection::btree_set(1_usize..75, 1..8),
        order in any::<u64>(),
        six in any::<bool>(),
    ) {
        let segment = tcp(&[], &payload);
        let at: Vec<usize> = cuts.into_iter().map(|cut| cut * 8).filter(|&cut| cut < segment.len()).collect();
        prop_assume!(!at.is_empty());
        let mut frames = if six { split6(6, &segment, &at) } else { split4(6, &segment, &at) };
        let mut shuffled = Vec::new();
        let mut random = order;
        while !frames.is_empty() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.push(frames.swap_remove((random >> 33) as usize % frames.len()));
        }
        let mut feed = Feed::default();
        let (last, others) = shuffled.split_last().unwrap();
        for frame in others {
            prop_assert_eq!(feed.push(frame), None);
        }
        let packet = feed.push(last).unwrap();
        prop_assert_eq!(feed.payload(&packet), &payload[..]);
    }
}

/// A frame of IPv4 in fragments of 512 bytes, as a router makes them where the MTU is small.
fn through_small_mtu(frame: &Frame) -> Vec<Frame> {
    let (headers, payload) = frame.bytes.split_at(34);
    let starts = (0..payload.len()).step_by(512).enumerate();
    let fragments = starts.map(|(number, start)| {
        let end = payload.len().min(start + 512);
        let mut bytes = [headers, &payload[start..end]].concat();
        bytes[16..18].copy_from_slice(&((end - start) as u16 + 20).to_be_bytes());
        let more = if end < payload.len() { 0x2000 } else { 0 };
        bytes[20..22].copy_from_slice(&((start / 8) as u16 | more).to_be_bytes());
        Frame { time_ns: frame.time_ns + number as i64, original_length: bytes.len() as u32, bytes }
    });
    fragments.collect()
}

#[test]
fn data_in_fragments_is_counted_in_its_direction_and_else_analysed_as_if_whole() {
    let talk = Talk::new().open(0.1, 40.0).each(0..20_i64, |talk, n| {
        let at_ms = 50.0 + 50.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 40.1, ack((n + 1) * 1000))
    });
    let whole = analysis_of(talk.frames(), &Options::default());
    let frames: Vec<Frame> = talk.frames().iter().flat_map(through_small_mtu).collect();
    assert_eq!(frames.len(), talk.frames().len() + 20);
    let cut = analysis_of(&frames, &Options::default());

    let document: Value = serde_json::from_str(&json_of(&cut)).unwrap();
    assert_eq!(document["connections"][0]["client_to_server"]["packets_in_fragments"], 20);
    assert!(document["connections"][0]["server_to_client"].get("packets_in_fragments").is_none());
    let document: Value = serde_json::from_str(&json_of(&whole)).unwrap();
    assert!(document["connections"][0]["client_to_server"].get("packets_in_fragments").is_none());
    for side in [CLIENT, SERVER] {
        let [cut, whole] = [&cut, &whole].map(|analysis| {
            let way = &analysis.connections[0].directions[side];
            (way.packets, way.data_packets, way.payload_bytes, way.loss.clone())
        });
        assert_eq!(cut, whole);
    }
}
