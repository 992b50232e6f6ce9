//! Times of pcapng: impossible ones, resolutions, and captures that have none.
//!
//! Subjects: `read/input_facts.rs`.

use std::io::Cursor;

use crate::captures::*;
use crate::playbook;
use vmtrace_core::analysis::Options;
use vmtrace_core::read::{Chunk, ChunkSource, FileSource, Record};

const YEARS_NS: i64 = 49 * 365 * 86_400 * 1_000_000_000;

/// Frames, of which those at `wrong` claim to be decades late.
fn sent(count: usize, wrong: &[usize]) -> Vec<Frame> {
    let mut sent = frames(count);
    wrong.iter().for_each(|&index| sent[index].time_ns += YEARS_NS);
    sent
}

fn timeless(file: &[u8]) -> (Vec<usize>, u64, u64, usize) {
    let outcome = read(file);
    let slow = read_slowly(file, 700);
    let times = |records: &[Record]| records.iter().map(|record| record.time_ns).collect::<Vec<i64>>();
    assert_eq!(times(&slow.records), times(&outcome.records), "whatever the sizes of reads");
    let facts = outcome.facts();
    let without = outcome.records.iter().enumerate().filter(|(_, record)| record.time_ns == Record::NO_TIME);
    let without: Vec<usize> = without.map(|(index, _)| index).collect();
    (without, facts.packets_without_time, facts.clock_steps_back, facts.damage.len())
}

#[test]
fn a_time_far_from_both_neighbours_is_none() {
    for order in [Order::Little, Order::Big] {
        for wrong in [vec![1], vec![3, 9, 20], vec![4, 6]] {
            let found = timeless(&pcapng(order, &sent(30, &wrong)));
            assert_eq!(found, (wrong.clone(), wrong.len() as u64, 0, wrong.len()), "{wrong:?}");
        }
    }
}

#[test]
fn captures_put_together_may_be_years_apart() {
    let mut late = sent(30, &[]);
    late[15..].iter_mut().for_each(|frame| frame.time_ns += YEARS_NS);
    assert_eq!(timeless(&pcapng(Order::Little, &late)).0, [0; 0]);
    let last = sent(10, &[9]);
    assert_eq!(timeless(&pcapng(Order::Little, &last)).0, [0; 0], "nothing follows that says otherwise");
}

#[test]
fn no_time_is_further_than_the_farthest_whatever_clocks_and_stamps_say() {
    let order = Order::Little;
    let stamped = |offset_s: i64, stamps: &[u64]| {
        let options = [option(order, 9, &[9]), option(order, 14, &order.u64(offset_s as u64))].concat();
        let packets = stamps.iter().flat_map(|stamp| enhanced(order, 0, *stamp, &frames(1)[0], &[]));
        [section(order), interface(order, 1, 0, &options)].concat().into_iter().chain(packets).collect::<Vec<u8>>()
    };
    let weeks: Vec<u64> = (0..3000).map(|week| week * 40 * 86_400 * 1_000_000_000).collect();
    for (file, with_times) in [
        (stamped(i64::MIN, &[0, 5, 1000]), 0),
        (stamped(i64::MAX, &[1 << 63, 5, 0]), 0),
        (stamped(0, &[1 << 63, (1 << 63) + 7, u64::MAX]), 0),
        (stamped(0, &weeks), weeks.iter().filter(|stamp| **stamp < 1 << 62).count()),
    ] {
        let records = read(&file).records;
        let times = records.iter().map(|record| record.time_ns).filter(|time_ns| *time_ns != Record::NO_TIME);
        let times: Vec<i64> = times.collect();
        assert_eq!(times.len(), with_times);
        assert!(times.iter().all(|time_ns| time_ns.unsigned_abs() <= Record::FARTHEST_TIME_NS as u64));
    }
}

#[test]
fn the_packet_after_one_of_an_odd_time_is_not_looked_for_without_end() {
    let order = Order::Little;
    let mut large = order.words(&[0x0bad, 16 << 20]);
    large.resize(16 << 20, 0);
    let file = [pcapng(order, &sent(2, &[1])), large.repeat(8)].concat();
    let mut source = FileSource::new(Box::new(Cursor::new(file)), 0);
    let (mut chunk, mut most_bytes, mut packets) = (Chunk::default(), 0, 0);
    while source.next_chunk(&mut chunk).unwrap() {
        (most_bytes, packets) = (most_bytes.max(chunk.bytes.capacity()), packets + chunk.records.len());
    }
    assert_eq!(packets, 2);
    assert!(most_bytes < 64 << 20, "{most_bytes} bytes at hand");
}

#[test]
fn the_capture_lasts_as_long_as_the_times_that_count() {
    let file = pcapng(Order::Little, &sent(30, &[7]));
    let facts = read(&file).inputs[0].clone();
    assert_eq!(facts.end_ns.unwrap() - facts.start_ns.unwrap(), 29_000_000);
    assert_eq!(facts.damage[0].what, "a record of a time far from both its neighbours");
}

/// A file of one interface with this `if_tsresol`.
fn with_resolution(resolution: u8) -> Vec<u8> {
    let order = Order::Little;
    let option = [&order.u16(9)[..], &order.u16(1), &[resolution, 0, 0, 0], &[0; 4]].concat();
    [section(order), interface(order, 1, 0, &option)].concat()
}

#[test]
fn resolutions_finer_than_a_nanosecond_are_reported() {
    let seconds = |resolution: u8| read(&with_resolution(resolution)).facts().time_resolution_s;
    assert_eq!([seconds(6), seconds(9), seconds(12)], [1e-6, 1e-9, 1e-12]);
    assert_eq!([seconds(0x80 | 10), seconds(0x80 | 30)], [0.5_f64.powi(10), 0.5_f64.powi(30)]);
}

#[test]
fn frames_that_all_have_one_time_have_none() {
    use playbook::{Talk, ack, data};
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 1000)).server(90.0, ack(1000));
    for time_ns in [0, playbook::START_NS] {
        let equal: Vec<Frame> = talk.frames().iter().map(|frame| Frame { time_ns, ..frame.clone() }).collect();
        let analysis = playbook::analysis_of(&equal, &Options::default());
        let connection = &analysis.connections[0];
        assert_eq!(connection.handshake_rtt_ns(), None);
        assert_eq!(connection.directions[0].data_time_ns.get(), None);
    }
    assert!(talk.summary().handshake_rtt_ns().is_some());
}
