//! Formats: what is written comes back, whatever the byte order, time unit and kind of block.
//!
//! Subjects: `read/foreign.rs`, `read/endian.rs`, `read/input_facts.rs`, `read/record.rs`, `read/records/layout.rs`,
//! `read/records/pcap.rs`, `read/records/snoop.rs`, `read/pcapng/mod.rs`, `read/pcapng/blocks.rs`,
//! `read/pcapng/packets.rs`, `read/file_source.rs`.

use crate::captures::*;
use proptest::prelude::*;
use vmtrace_core::read::{CHUNK_BYTES, Chunk, ChunkSource, FileSource, ReadError, Record};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];
/// A time that microseconds can hold.
const T: i64 = 1_700_000_000_123_456_000;

#[test]
fn pcap_is_read_in_both_byte_orders_and_all_units() {
    let sent = frames(5);
    for order in ORDERS {
        for magic in [MICROSECONDS, NANOSECONDS, MODIFIED] {
            let outcome = read(&pcap(order, magic, &sent));
            assert_eq!(outcome.frames, sent, "{order:?} {magic:x}");
            assert_eq!(outcome.facts().format, "pcap");
            assert_eq!(outcome.facts().time_resolution_s, if magic == NANOSECONDS { 1e-9 } else { 1e-6 });
            assert_eq!(outcome.facts().damage, []);
        }
    }
}

/// Records of each chunk of a capture of so many frames.
fn chunks(frames: usize, captured_bytes: usize) -> Vec<usize> {
    let file = plain_pcap(&vec![frame(T, 1514, &vec![7; captured_bytes]); frames]);
    let mut source = FileSource::new(Box::new(std::io::Cursor::new(file)), 0);
    let (mut chunk, mut records) = (Chunk::default(), Vec::new());
    while source.next_chunk(&mut chunk).unwrap() {
        records.push(chunk.records.len());
    }
    records
}

#[test]
fn a_chunk_of_long_records_holds_more_bytes() {
    let (short, long) = (chunks(20_000, 96), chunks(5_000, 1514));
    assert_eq!((short.iter().sum::<usize>(), long.iter().sum::<usize>()), (20_000, 5_000));
    assert!(short.iter().all(|records| *records <= CHUNK_BYTES / 112 + 1), "{short:?}");
    assert!(long[0] <= CHUNK_BYTES / 1530 && long.iter().max() == Some(&((1 << 20) / 1530 + 1)), "{long:?}");
}

#[test]
fn frames_are_numbered_from_one_and_counted() {
    let outcome = read(&plain_pcap(&[frame(T, 1514, &[1; 96]), frame(T + 5, 60, &[2; 60])]));
    let numbers: Vec<u32> = outcome.records.iter().map(|record| record.frame).collect();
    assert_eq!(numbers, [1, 2]);
    let facts = outcome.facts();
    assert_eq!((facts.packets, facts.captured_bytes, facts.wire_bytes), (2, 156, 1574));
    assert_eq!((facts.start_ns, facts.end_ns), (Some(T), Some(T + 5)));
    assert_eq!((facts.snap_length, facts.link_types.as_slice()), (Some(262_144), [1_u16].as_slice()));
}

#[test]
fn the_link_type_field_tells_of_frame_check_sequences() {
    // Two 16-bit words of FCS, the bit that says so, and a link type.
    let file = [
        pcap_header(Order::Little, NANOSECONDS, 0, 2 << 28 | 1 << 26 | 113),
        pcap_record(Order::Little, NANOSECONDS, &frame(T, 64, &[7; 64])),
    ]
    .concat();
    let outcome = read(&file);
    assert_eq!((outcome.records[0].link_type, outcome.records[0].fcs_length), (113, 4));
    assert_eq!(outcome.facts().snap_length, None);
}

#[test]
fn versions_before_2_4_name_the_lengths_the_other_way_round() {
    let order = Order::Big;
    let swapped = [order.words(&[1_700_000_000, 0, 1514, 4]), vec![1, 2, 3, 4]].concat();
    let usual = [order.words(&[1_700_000_000, 0, 4, 1514]), vec![1, 2, 3, 4]].concat();
    for (version, record) in [((2, 2), &swapped), ((2, 3), &swapped), ((2, 3), &usual), ((2, 4), &usual)] {
        let header = pcap_header_version(order, MICROSECONDS, version, 96, 1);
        let outcome = read(&[header, record.clone(), record.clone()].concat());
        let expected = frame(1_700_000_000_000_000_000, 1514, &[1, 2, 3, 4]);
        assert_eq!(outcome.frames, [expected.clone(), expected], "{version:?}");
    }
}

/// A file whose record headers are of so many bytes: the usual numbers, and others behind them.
fn longer_headers(order: Order, magic: u32, header_bytes: usize, frames: &[Frame]) -> Vec<u8> {
    let mut file = pcap_header(order, magic, 1514, 1);
    for frame in frames {
        file.extend(&pcap_record(order, MICROSECONDS, frame)[..16]);
        // Index of the interface, protocol, kind of packet.
        file.extend(&[order.words(&[2]), order.u16(0x800).to_vec(), vec![1; 6]].concat()[..header_bytes - 16]);
        file.extend(&frame.bytes);
    }
    file
}

#[test]
fn longer_record_headers_of_old_programs_are_told_by_the_records_they_lead_to() {
    for (magic, header_bytes) in [(MICROSECONDS, 24), (MICROSECONDS, 20), (MODIFIED, 28)] {
        for (order, count) in ORDERS.into_iter().flat_map(|order| [2, 3, 50].map(|count| (order, count))) {
            let outcome = read(&longer_headers(order, magic, header_bytes, &frames(count)));
            assert_eq!(outcome.frames, frames(count), "{magic:x} {header_bytes} {order:?} {count}");
            assert_eq!((outcome.facts().format, outcome.facts().damage.len()), ("pcap", 0));
        }
    }
}

#[test]
fn one_record_alone_has_the_usual_header_wherever_the_file_ends() {
    // As many bytes behind the first frame as the longer headers have.
    let file = pcap(Order::Little, MICROSECONDS, &frames(2));
    for cut in [4, 8, 12, 15] {
        let outcome = read(&file[..24 + 16 + 60 + cut]);
        assert_eq!(outcome.frames, frames(1), "{cut} bytes of the second header");
    }
}

#[test]
fn captures_with_wrong_snap_length_odd_times_or_empty_records_are_still_whole() {
    let long = vec![frame(T, 500, &[9; 500]); 3];
    let header = pcap_header(Order::Little, NANOSECONDS, 68, 1);
    let records: Vec<u8> = long.iter().flat_map(|one| pcap_record(Order::Little, NANOSECONDS, one)).collect();
    assert_eq!(read(&[header, records].concat()).frames, long, "longer than the snap length");

    let stepping = [frame(5_000_000_000, 60, &[1; 60]), frame(6_000_000_000, 60, &[2; 60]), frame(T, 60, &[3; 60])];
    let and_back = [stepping.as_slice(), &[frame(T + 1, 60, &[4; 60]), frame(7_000_000_000, 60, &[5; 60])]].concat();
    let outcome = read(&plain_pcap(&and_back));
    assert_eq!(outcome.frames, and_back, "a clock that is set and set back");
    assert_eq!(outcome.facts().clock_steps_back, 1);

    let empty = [frame(T, 1514, &[]), frame(T + 1, 60, &[]), frame(T + 2, 60, &[6; 60])];
    assert_eq!(read(&plain_pcap(&empty)).frames, empty, "records without bytes");

    let simulated = [frame(0, 58, &[1; 58]), frame(1_000_000, 58, &[2; 58]), frame(2_000_000, 58, &[3; 58])];
    assert_eq!(read(&plain_pcap(&simulated)).frames, simulated, "times from zero on");
}

#[test]
fn a_record_larger_than_any_chunk_comes_whole() {
    let sent = [frame(T, 60, &[1; 60]), frame(T + 1, 3_000_000, &vec![2; 3_000_000]), frame(T + 2, 60, &[3; 60])];
    let header = pcap_header(Order::Little, NANOSECONDS, 4_000_000, 1);
    let records: Vec<u8> = sent.iter().flat_map(|one| pcap_record(Order::Little, NANOSECONDS, one)).collect();
    assert_eq!(read(&[header, records].concat()).frames, sent);
    assert_eq!(read(&pcapng(Order::Little, &sent)).frames, sent);
}

#[test]
fn snoop_is_read() {
    let sent = frames(4);
    let outcome = read(&snoop(&sent));
    assert_eq!(outcome.frames, sent);
    assert_eq!((outcome.facts().format, outcome.facts().link_types.as_slice()), ("snoop", [1_u16].as_slice()));
    let mut of_another_link = snoop(&sent);
    of_another_link[15] = 99;
    let error = read(&of_another_link).error.unwrap().to_string();
    assert!(error.contains("datalink type 99"), "{error}");
}

#[test]
fn pcapng_sections_have_their_own_byte_order_and_interfaces() {
    let sent = frames(3);
    let file = [pcapng(Order::Little, &sent), pcapng(Order::Big, &sent)].concat();
    let outcome = read(&file);
    assert_eq!(outcome.frames, [sent.clone(), sent].concat());
    let seen: Vec<(u32, u16)> = outcome.records.iter().map(|record| (record.frame, record.interface)).collect();
    assert_eq!(seen, [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1)]);
    assert_eq!(outcome.facts().damage, []);
}

/// One packet of an interface with these options, its time stamp given raw.
fn time_of(order: Order, options: &[u8], stamp: u64) -> i64 {
    let packet = enhanced(order, 0, stamp, &frame(0, 60, &[1; 60]), &[]);
    let file = [section(order), interface(order, 1, 0, options), packet].concat();
    read(&file).frames[0].time_ns
}

#[test]
fn pcapng_time_stamps_are_read_in_any_resolution_and_offset() {
    for order in ORDERS {
        let resolution = |value: u8| option(order, 9, &[value]);
        assert_eq!(time_of(order, &[], 1_700_000_000_123_456), T, "microseconds unless said otherwise");
        assert_eq!(time_of(order, &resolution(9), T as u64), T);
        assert_eq!(time_of(order, &resolution(3), 1_700_000_000_123), 1_700_000_000_123_000_000);
        assert_eq!(time_of(order, &resolution(0), 1_700_000_000), 1_700_000_000_000_000_000);
        assert_eq!(time_of(order, &resolution(10), T as u64 * 10 + 7), T, "a tenth of a nanosecond is cut off");
        assert_eq!(time_of(order, &resolution(0x80 | 10), 3 * 1024 + 512), 3_500_000_000, "units of 2^-10 s");
        assert_eq!(time_of(order, &resolution(0xff), u64::MAX), 0, "units of 2^-127 s");
        assert_eq!(time_of(order, &resolution(0x7f), 1 << 60), 0, "units of 10^-127 s");
        assert_eq!(time_of(order, &resolution(0), u64::MAX), Record::NO_TIME, "beyond 64 bits of nanoseconds");
        let offset = option(order, 14, &order.u64(-100_i64 as u64));
        assert_eq!(time_of(order, &offset, 1_700_000_000_123_456), T - 100_000_000_000);
    }
}

#[test]
fn simple_and_obsolete_packet_blocks_are_read() {
    let order = Order::Big;
    let simple = block(order, 3, &[order.words(&[100]), vec![5; 40]].concat());
    let stamp = 1_700_000_000_123_456_u64;
    let fields = [order.u16(1), order.u16(3)].concat();
    let times = order.words(&[(stamp >> 32) as u32, stamp as u32, 4, 60]);
    let obsolete = block(order, 2, &[fields, times, vec![1, 2, 3, 4]].concat());
    let file = [section(order), interface(order, 1, 40, &[]), interface(order, 101, 0, &[]), simple, obsolete].concat();
    let outcome = read(&file);
    assert_eq!(outcome.frames, [frame(Record::NO_TIME, 100, &[5; 40]), frame(T, 60, &[1, 2, 3, 4])]);
    let links: Vec<(u16, u16)> = outcome.records.iter().map(|record| (record.link_type, record.interface)).collect();
    assert_eq!(links, [(1, 0), (101, 1)]);
    assert_eq!(outcome.facts().dropped_by_kernel, Some(3));
    assert_eq!(outcome.facts().snap_length, None, "one interface has no limit");
}

#[test]
fn interface_statistics_give_the_last_drops_of_every_interface() {
    let order = Order::Little;
    let statistics =
        |interface: u32, options: &[u8]| block(order, 5, &[order.words(&[interface, 0, 0]), options.to_vec()].concat());
    let number = |code, value: u64| option(order, code, &order.u64(value));
    let one_section = [
        section(order),
        interface(order, 1, 0, &[]),
        interface(order, 1, 0, &[]),
        statistics(0, &[number(5, 1), number(7, 10)].concat()),
        statistics(0, &[number(5, 2), number(7, 20)].concat()),
        // Accepted by the filter less delivered: dropped by the system.
        statistics(1, &[number(6, 100), number(8, 95)].concat()),
    ]
    .concat();
    let outcome = read(&[one_section.clone(), one_section].concat());
    assert_eq!((outcome.facts().dropped_by_kernel, outcome.facts().dropped_by_interface), (Some(50), Some(4)));
}

#[test]
fn options_of_packets_tell_frame_check_sequence_and_drops() {
    let order = Order::Little;
    let options = [option(order, 2, &order.u32(4 << 5)), option(order, 4, &order.u64(17))].concat();
    let file = [
        section(order),
        interface(order, 1, 0, &option(order, 13, &[16])),
        enhanced(order, 0, 1, &frame(0, 60, &[1; 59]), &options),
        enhanced(order, 0, 2, &frame(0, 60, &[1; 59]), &[]),
    ]
    .concat();
    let outcome = read(&file);
    let lengths: Vec<u8> = outcome.records.iter().map(|record| record.fcs_length).collect();
    assert_eq!(lengths, [4, 2], "16 bits are said for the interface, 4 bytes for the first packet");
    assert_eq!(outcome.facts().dropped_by_kernel, Some(17));
}

#[test]
fn secrets_are_kept_and_unknown_blocks_counted() {
    let order = Order::Big;
    let secrets =
        |kind: u32, text: &[u8]| block(order, 10, &[order.words(&[kind, text.len() as u32]), text.to_vec()].concat());
    let file = [
        section(order),
        secrets(0x544c_534b, b"CLIENT_RANDOM 01 02"),
        secrets(0x5747_4b4c, b"not for TLS"),
        block(order, 0x0bad, &[0; 8]),
        block(order, 0x7777, &[]),
        block(order, 0x7777, &[1; 5]),
    ]
    .concat();
    let outcome = read(&file);
    assert_eq!(outcome.facts().tls_key_log, b"CLIENT_RANDOM 01 02\n");
    assert_eq!(outcome.facts().unknown_blocks, [(0x0bad, 1), (0x7777, 2)]);
    assert_eq!(outcome.facts().damage, []);
}

#[test]
fn what_is_no_capture_is_refused_in_one_sentence() {
    let cases: [(&[u8], &str); 5] = [
        (b"", "empty"),
        (b"hello world, this is text\n", "text"),
        (b"\0\x01\x02\x03\x04\x05\x06\x07\x08", "not a capture"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "cut short in its file header"),
        (&[0xd4], "not a capture"),
    ];
    for (file, word) in cases {
        match read(file).error {
            Some(ReadError::NotACapture { input: 0, what }) => {
                assert!(what.contains(word) && !what.contains('\n'), "{what}");
            }
            other => panic!("{file:?}: {other:?}"),
        }
    }
}

#[test]
fn a_header_alone_is_a_capture_without_packets() {
    for file in [plain_pcap(&[]), pcapng(Order::Big, &[]), section(Order::Little), snoop(&[])] {
        let outcome = read(&file);
        assert!(outcome.error.is_none());
        assert_eq!((outcome.facts().packets, outcome.facts().damage.len()), (0, 0));
        assert_eq!(outcome.facts().start_ns, None);
    }
}

fn any_frames() -> impl Strategy<Value = Vec<Frame>> {
    let one = (0..86_400_000_000_000_i64, 0..2000_u32, prop::collection::vec(any::<u8>(), 1..300));
    prop::collection::vec(one, 0..60).prop_map(|frames| {
        let whole = |(time_ns, more, bytes): (i64, u32, Vec<u8>)| Frame {
            time_ns: 1_700_000_000_000_000_000 + time_ns,
            original_length: bytes.len() as u32 + more,
            bytes,
        };
        frames.into_iter().map(whole).collect()
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_is_written_comes_back(sent in any_frames(), step in 1..5000_usize) {
        for order in ORDERS {
            for file in [pcap(order, NANOSECONDS, &sent), pcapng(order, &sent)] {
                prop_assert_eq!(&read(&file).frames, &sent);
                let slow = read_slowly(&file, step);
                prop_assert_eq!(&slow.frames, &sent);
                prop_assert_eq!(slow.facts().damage.len(), 0);
            }
        }
    }
}
