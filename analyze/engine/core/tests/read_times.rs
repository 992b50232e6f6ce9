//! Times of pcapng: impossible ones, resolutions, and captures that have none.
//!
//! Subjects: `read/input_facts.rs`.

use crate::captures::*;
use crate::playbook;
use vmtrace_core::analysis::Options;
use vmtrace_core::read::Record;

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
