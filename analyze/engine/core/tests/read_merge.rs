//! Several inputs as one: in time order, each in its own order, nothing lost, errors told once.
//!
//! Subjects: `read/same_point.rs`, `read/chunk_source.rs`.

use crate::captures::*;
use proptest::prelude::*;
use vmtrace_core::read::{Input, ReadError, Record, open, shared_frames};

const T: i64 = 1_700_000_000_000_000_000;

/// Small frames at these times (nanoseconds from `T`), marked with a number.
fn at(times: &[i64], mark: u8) -> Vec<Frame> {
    times.iter().map(|time| frame(T + time, 60, &[mark; 60])).collect()
}

fn input(file: Vec<u8>) -> Input {
    Box::new(std::io::Cursor::new(file))
}

fn merge(files: &[Vec<Frame>]) -> Outcome {
    drain(open(files.iter().map(|frames| input(plain_pcap(frames))).collect()).as_mut())
}

fn order(outcome: &Outcome) -> Vec<(u16, u32)> {
    outcome.records.iter().map(|record| (record.input, record.frame)).collect()
}

#[test]
fn rotated_files_are_strung_together_by_time_whatever_their_order() {
    let outcome = merge(&[at(&[20, 21, 22], 2), at(&[0, 1, 2], 0), at(&[10, 11], 1)]);
    assert_eq!(order(&outcome), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (0, 1), (0, 2), (0, 3)]);
}

#[test]
fn overlapping_files_are_merged_by_time() {
    let outcome = merge(&[at(&[0, 10, 20, 30], 0), at(&[5, 10, 25], 1)]);
    assert_eq!(order(&outcome), [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4)]);
    assert_eq!(outcome.frames[1].bytes, [1; 60]);
    let packets: Vec<u64> = outcome.inputs.iter().map(|facts| facts.packets).collect();
    assert_eq!(packets, [4, 3]);
}

#[test]
fn disorder_within_a_file_is_kept() {
    let outcome = merge(&[at(&[10, 8, 9, 30, 12], 0), at(&[11, 40], 1)]);
    assert_eq!(order(&outcome), [(0, 1), (0, 2), (0, 3), (1, 1), (0, 4), (0, 5), (1, 2)]);
}

#[test]
fn large_files_that_overlap_at_their_ends_only_are_whole() {
    let ends: Vec<Vec<Frame>> = (0..4_i64)
        .map(|file| (0..6000).map(|n| frame(T + file * 5990 + n, 300, &[file as u8; 300])).collect())
        .collect();
    let outcome = merge(&ends);
    assert_eq!(outcome.records.len(), 24_000);
    assert!(outcome.records.is_sorted_by_key(|record| (record.time_ns, record.input)));
}

#[test]
fn an_input_that_cannot_be_read_is_told_once_and_the_others_are_read() {
    let files = vec![input(plain_pcap(&at(&[1], 0))), input(b"some text".to_vec()), input(plain_pcap(&at(&[0], 2)))];
    let outcome = drain(open(files).as_mut());
    assert_eq!(order(&outcome), [(2, 1), (0, 1)]);
    assert!(matches!(outcome.error, Some(ReadError::NotACapture { input: 1, .. })), "{:?}", outcome.error);
    assert_eq!(outcome.inputs.len(), 3);
}

#[test]
fn no_input_gives_nothing_and_empty_captures_do_no_harm() {
    assert_eq!(drain(open(Vec::new()).as_mut()).records.len(), 0);
    let outcome = merge(&[Vec::new(), at(&[3], 1), Vec::new()]);
    assert_eq!(order(&outcome), [(1, 1)]);
    assert_eq!(outcome.inputs[0].format, "pcap");
}

#[test]
fn records_without_time_stay_where_they_are_in_their_file() {
    let order_ = Order::Little;
    let simple = block(order_, 3, &[order_.words(&[4]), vec![9; 4]].concat());
    let timed = |micros: u64| enhanced(order_, 0, micros, &frame(0, 4, &[1; 4]), &[]);
    let file = [section(order_), interface(order_, 1, 0, &[]), timed(10), simple, timed(30)].concat();
    let other = [frame(20_000, 60, &[0; 60])];
    let outcome = drain(open(vec![input(file), input(plain_pcap(&other))]).as_mut());
    assert_eq!(order(&outcome), [(0, 1), (0, 2), (1, 1), (0, 3)]);
    assert_eq!(outcome.records[1].time_ns, Record::NO_TIME);
}

/// An Ethernet frame with an IPv4 TCP segment.
fn segment(identification: u16, sequence: u32, ttl: u8, vlan: bool) -> Vec<u8> {
    let mut frame = vec![2; 12];
    if vlan {
        frame.extend([0x81, 0, 0, 7]);
    }
    frame.extend([8, 0, 0x45, 0, 0, 40]);
    frame.extend(identification.to_be_bytes());
    frame.extend([0x40, 0, ttl, 6, ttl, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x30, 0x39, 0, 80]);
    frame.extend(sequence.to_be_bytes());
    frame.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, ttl, ttl, 0, 0]);
    frame
}

/// A capture of segments `from..to` as they pass a point.
fn passing(from: u32, to: u32, ttl: u8, vlan: bool, delay_ns: i64) -> Vec<u8> {
    let at = |n: u32| {
        let bytes = segment(n as u16, n * 1448, ttl, vlan);
        frame(T + i64::from(n) * 1_000_000 + delay_ns, bytes.len() as u32, &bytes)
    };
    plain_pcap(&(from..to).map(at).collect::<Vec<_>>())
}

#[test]
fn the_same_traffic_at_two_points_is_known_by_its_packets() {
    let sender = passing(0, 3000, 64, false, 0);
    let receiver = passing(1000, 5000, 61, true, 40_000_000);
    let overlap = shared_frames([input(sender.clone()), input(receiver)]).unwrap();
    assert_eq!(overlap.shared, 2000);
    assert!(overlap.share().unwrap() > 0.49, "{overlap:?}");
    let another = plain_pcap(&frames(500));
    assert_eq!(shared_frames([input(sender.clone()), input(another)]).unwrap().share(), None, "no IP in it");
    let elsewhere = passing(10_000, 13_000, 64, false, -10_000_000_000);
    assert_eq!(shared_frames([input(sender), input(elsewhere)]).unwrap().share(), Some(0.0));
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn merging_keeps_every_record_in_its_files_order(
        files in prop::collection::vec(prop::collection::vec((0..300_i64, 1..2000_usize), 0..60), 1..6)
    ) {
        let files: Vec<Vec<Frame>> = files
            .into_iter()
            .map(|records| records.into_iter().map(|(time, length)| frame(T + time, 2000, &vec![7; length])).collect())
            .collect();
        let outcome = merge(&files);
        for (number, sent) in files.iter().enumerate() {
            let of_this = outcome.records.iter().zip(&outcome.frames).filter(|(r, _)| usize::from(r.input) == number);
            let came: Vec<Frame> = of_this.map(|(_, frame)| frame.clone()).collect();
            prop_assert_eq!(&came, sent);
        }
    }

    #[test]
    fn merging_sorted_files_sorts_all(mut files in prop::collection::vec(prop::collection::vec(0..5000_i64, 0..200), 1..8)) {
        files.iter_mut().for_each(|times| times.sort_unstable());
        let outcome = merge(&files.iter().map(|times| at(times, 1)).collect::<Vec<_>>());
        prop_assert!(outcome.records.is_sorted_by_key(|record| (record.time_ns, record.input)));
        prop_assert_eq!(outcome.records.len(), files.iter().map(Vec::len).sum::<usize>());
    }
}
