//! Packets split to slices by address pair, and the connections of each bucket: the result is that of one reading.
//!
//! Subjects: `analysis/slices/split.rs`, `analysis/slices/bucket.rs`, `analysis/slices/piece.rs`.

use std::collections::BTreeMap;
use std::io::{Cursor, Error};

use crate::playbook::captures::{Frame, cases, plain_pcap};
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::slices::bucket::{Slice, analyze_slices};
use vmtrace_core::analysis::slices::split::split;
use vmtrace_core::analysis::{Analysis, Failure, Inputs, NoObserver, Options, analyze};
use vmtrace_core::output::columns::Column;
use vmtrace_core::read::{self, Input};

/// By bucket.
type Slices = BTreeMap<u32, Vec<u8>>;

fn opened(files: &[Vec<u8>]) -> Vec<Input> {
    files.iter().map(|file| Box::new(Cursor::new(file.clone())) as Input).collect()
}

/// Slices, their packets, whether no frame has a time, and when the last one passed.
fn slices_of(files: &[Vec<u8>], buckets: u32) -> (Slices, u64, bool, Option<i64>) {
    let mut slices = Slices::new();
    let mut sink = |bucket: u32, piece: Vec<u8>| {
        slices.entry(bucket).or_default().extend_from_slice(&piece);
        true
    };
    let found = split(read::open(opened(files)), buckets, 1, &Options::default(), &NoObserver, &mut sink).unwrap();
    assert!(found.analysis.connections.is_empty());
    let timeless = found.analysis.inputs.iter().all(|input| input.facts.is_timeless());
    let end_ns = found.analysis.inputs.iter().filter_map(|input| input.facts.end_ns).max();
    (slices, found.packets, timeless, end_ns)
}

/// The connections of all buckets of one run or several, in the order of their first packets.
fn in_buckets(runs: &[&[Vec<u8>]], buckets: u32, room_bytes: Option<usize>) -> Vec<(u64, Vec<Column>)> {
    let split_runs: Vec<_> = runs.iter().map(|run| slices_of(run, buckets)).collect();
    let options = Options { room_bytes, ..Options::default() };
    let mut found = Vec::new();
    for bucket in 0..buckets {
        let open = || {
            let (mut before, mut first_input) = (0, 0);
            let mut slices = Vec::new();
            for ((bytes, packets, ..), run) in split_runs.iter().zip(runs) {
                let reader = Box::new(Cursor::new(bytes.get(&bucket).cloned().unwrap_or_default()));
                let inputs = (first_input..first_input + run.len() as u16).collect();
                slices.push(Slice { reader, first_place: before, inputs });
                before += packets;
                first_input += run.len() as u16;
            }
            Ok(slices)
        };
        let timeless = split_runs.iter().all(|(.., timeless, _)| *timeless);
        let end_ns = split_runs.iter().filter_map(|(.., end_ns)| *end_ns).max();
        let inputs = Inputs { count: runs.iter().map(|run| run.len()).sum(), timeless, end_ns, ..Inputs::default() };
        found.extend(by_first_packet(&analyze_slices(&open, &inputs, &options, &NoObserver).unwrap()));
    }
    found.sort_by_key(|(order, _)| *order);
    found
}

/// Each connection as a row of the table, without its number.
fn by_first_packet(analysis: &Analysis) -> Vec<(u64, Vec<Column>)> {
    let row = |index: usize| {
        let mut columns = analysis.connection_rows(&[index], None).into_iter().collect::<Vec<_>>();
        columns.retain(|column| column.name != "id");
        columns
    };
    analysis.connections.iter().enumerate().map(|(index, summary)| (summary.order, row(index))).collect()
}

fn assert_same(found: &[(u64, Vec<Column>)], expected: &[(u64, Vec<Column>)], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for ((order, columns), (expected_order, expected_columns)) in found.iter().zip(expected) {
        assert_eq!(order, expected_order, "{what}");
        assert_eq!(format!("{columns:?}"), format!("{expected_columns:?}"), "{what}");
    }
}

/// Transfers between several hosts, of both families, that begin one after the other.
fn transfers() -> Vec<Frame> {
    let transfer = |number: u32| {
        let base = Talk::new().between(1 + (number % 7) as u8, 10_000 + number as u16, 200, 443);
        let base = if number.is_multiple_of(3) { base.over_ipv6() } else { base };
        let at = |time_ms: f64| 9.0 * f64::from(number) + time_ms;
        base.client(at(0.0), syn())
            .server(at(40.0), syn_ack())
            .client(at(40.1), ack(0))
            .each(0..12, |talk, n| talk.client(at(50.0 + n as f64), data(n * 1000, 1000)))
            .server(at(91.0), ack(0).sack(1000, 12_000))
            .client(at(92.0), data(0, 1000))
            .server(at(132.0), ack(12_000))
    };
    merged(&(0..60).map(transfer).collect::<Vec<_>>())
}

#[test]
fn buckets_make_the_connections_of_one_reading() {
    let files = [plain_pcap(&transfers())];
    let whole = by_first_packet(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
    for buckets in [1, 2, 8, 64] {
        assert_same(&in_buckets(&[&files], buckets, None), &whole, &format!("{buckets} buckets"));
    }
}

#[test]
fn connections_in_buckets_know_the_tunnels_that_they_were_found_in() {
    let frames: Vec<Frame> = transfers()
        .iter()
        .map(|frame| {
            let vxlan = [&[8, 0, 0, 0, 0, 0, frame.bytes[11], 0], &frame.bytes[..]].concat();
            let bytes = crate::frames::ethernet(0x0800, &crate::frames::ipv4(17, &crate::frames::udp(4_789, &vxlan)));
            captures::frame(frame.time_ns, bytes.len() as u32, &bytes)
        })
        .collect();
    let told = |analysis: &Analysis| -> BTreeMap<String, String> {
        let document: serde_json::Value = serde_json::from_str(&json_of(analysis)).unwrap();
        let connections = document["connections"].as_array().unwrap().clone();
        connections
            .iter()
            .map(|one| (format!("{} {}", one["client"], one["server"]), one["tunnel"].to_string()))
            .collect()
    };
    let files = [plain_pcap(&frames)];
    let whole = told(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
    assert!(whole.len() == 60 && whole.values().all(|tunnel| tunnel.contains("vxlan")), "{whole:?}");
    let (slices, packets, ..) = slices_of(&files, 5);
    let mut found = BTreeMap::new();
    for bytes in slices.into_values() {
        let open = || {
            let reader = Box::new(Cursor::new(bytes.clone())) as Input;
            Ok(vec![Slice { reader, first_place: packets, inputs: vec![0] }])
        };
        let inputs = Inputs { count: 1, ..Inputs::default() };
        found.extend(told(&analyze_slices(&open, &inputs, &Options::default(), &NoObserver).unwrap()));
    }
    assert_eq!(found, whole);
}

#[test]
fn runs_one_behind_the_other_make_the_connections_of_all_files() {
    let all = transfers();
    let files: Vec<Vec<u8>> = all.chunks(all.len() / 5).map(plain_pcap).collect();
    let whole = by_first_packet(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
    let (first, second) = files.split_at(2);
    assert_same(&in_buckets(&[first, second], 8, None), &whole, "two runs");
}

#[test]
fn a_bucket_without_room_is_taken_in_parts() {
    let files = [plain_pcap(&transfers())];
    let whole = in_buckets(&[&files], 1, None);
    assert_same(&in_buckets(&[&files], 1, Some(60_000)), &whole, "little room");
}

#[test]
fn a_slice_that_is_cut_short_is_refused() {
    let (slices, ..) = slices_of(&[plain_pcap(&transfers())], 1);
    let cut = slices[&0].split_last_chunk::<7>().unwrap().0.to_vec();
    let open =
        || Ok(vec![Slice { reader: Box::new(Cursor::new(cut.clone())) as Input, first_place: 0, inputs: vec![0] }]);
    let inputs = Inputs { count: 1, ..Inputs::default() };
    let failure = analyze_slices(&open, &inputs, &Options::default(), &NoObserver).unwrap_err();
    assert!(failure.to_string().contains("damaged slice"), "{failure}");
    let gone = || Err(Error::other("gone"));
    assert!(matches!(analyze_slices(&gone, &inputs, &Options::default(), &NoObserver), Err(Failure::Read(_))));
}

#[test]
fn a_sink_that_has_had_enough_ends_the_run() {
    let files = [plain_pcap(&transfers())];
    let split = split(read::open(opened(&files)), 4, 1, &Options::default(), &NoObserver, &mut |_, _| false);
    assert!(split.unwrap().analysis.interrupted);
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn hostile_captures_give_the_same_in_buckets(lines in lines(150), buckets in 1u32..9) {
        let files = [file(&frames(&lines))];
        let whole = by_first_packet(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
        assert_same(&in_buckets(&[&files], buckets, None), &whole, "hostile");
    }
}
