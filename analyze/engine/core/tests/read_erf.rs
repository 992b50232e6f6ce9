//! Files of Endace's record format, which begin with a record.
//!
//! Subjects: `read/records/erf.rs`.

use crate::captures::*;
use crate::frames;

/// A record of an Ethernet frame at so many milliseconds.
fn record(milliseconds: u32, frame: &[u8]) -> Vec<u8> {
    let padding = (18 + frame.len()).next_multiple_of(8) - 18 - frame.len();
    let fraction = (u64::from(milliseconds % 1000) << 32).div_ceil(1000) as u32;
    let length = (18 + frame.len() + padding) as u16;
    [
        &fraction.to_le_bytes()[..],
        &(1_700_000_000 + milliseconds / 1000).to_le_bytes(),
        &[2, 4],
        &length.to_be_bytes(),
        &[0, 0],
        &(frame.len() as u16).to_be_bytes(),
        &[0, 0],
        frame,
        &vec![0; padding],
    ]
    .concat()
}

fn file(count: u32) -> Vec<u8> {
    let frame = frames::ethernet(0x0800, &frames::ipv4(6, &frames::tcp(&[], b"hello")));
    (0..count).flat_map(|n| record(n * 400, &frame)).collect()
}

#[test]
fn records_without_a_file_header_are_read() {
    for count in [1, 2, 3, 500] {
        let outcome = read(&file(count));
        let facts = outcome.facts();
        assert_eq!((facts.format, facts.packets, facts.damage.len()), ("erf", u64::from(count), 0));
        let times: Vec<i64> = outcome.records.iter().take(3).map(|one| one.time_ns / 1_000_000 % 1_000_000).collect();
        assert_eq!(times, [0, 400, 800][..times.len()]);
        assert_eq!(read_slowly(&file(count), 50).records.len(), count as usize);
    }
    let packet = frames::packet(197, &read(&file(3)).frames[0].bytes);
    assert_eq!((packet.payload_length, packet.payload_captured), (5, 5));
}

#[test]
fn a_file_cut_short_keeps_its_records() {
    let whole = file(50);
    let outcome = read(&whole[..whole.len() - 20]);
    assert_eq!((outcome.facts().packets, outcome.facts().damage.len()), (49, 1));
}

#[test]
fn other_files_are_not_taken_for_records() {
    for file in [vec![0; 9000], vec![1; 9000], (0..9000).map(|n| (n * 7 % 251) as u8).collect::<Vec<u8>>()] {
        assert!(read(&file).error.is_some());
    }
}
