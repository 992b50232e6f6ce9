//! Connections that do not fit into memory together are analysed in parts: the result is that of one reading, byte by byte.
//!
//! Subjects: `analysis/part.rs`, `analysis/options.rs`, `analysis/failure.rs`.

use std::cell::Cell;
use std::io::{Cursor, Error};
use std::sync::Mutex;

use crate::playbook::captures::{Frame, cases, plain_pcap};
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Failure, NoObserver, Observer, Options, analyze, analyze_in_parts};
use vmtrace_core::read::{Input, ReadError};

/// Of some forty connections of the test a few fit.
const LITTLE_ROOM: Option<usize> = Some(200_000);

fn opened(files: &[Vec<u8>]) -> Vec<Input> {
    files.iter().map(|file| Box::new(Cursor::new(file.clone())) as Input).collect()
}

/// Transfers with a loss that begin at once and never end, every third over IPv6; some more that are over.
fn open_transfers() -> Vec<Frame> {
    let transfer = |number: u32| {
        let base = Talk::new().between(1 + (number % 7) as u8, 10_000 + number as u16, 200, 443);
        let base = if number.is_multiple_of(3) { base.over_ipv6() } else { base };
        let at = |time_ms: f64| 3.0 * f64::from(number) + time_ms;
        let segments = 5 + i64::from(number % 11);
        let talk = base
            .client(at(0.0), syn())
            .server(at(40.0), syn_ack())
            .client(at(40.1), ack(0))
            .each(0..segments, |talk, n| talk.client(at(50.0 + n as f64), data(n * 1000, 1000)))
            .server(at(91.0), ack(0).sack(1000, segments * 1000))
            .client(at(92.0), data(0, 1000))
            .server(at(132.0), ack(segments * 1000));
        if number.is_multiple_of(5) { talk.server(at(140.0), rst()) } else { talk }
    };
    merged(&(0..120).map(transfer).collect::<Vec<_>>())
}

/// JSON, SYNs by second, and how often the files were opened again.
fn in_parts(files: &[Vec<u8>], options: &Options) -> (String, usize) {
    let times = Cell::new(0);
    let again = || {
        times.set(times.get() + 1);
        Ok(opened(files))
    };
    let analysis = analyze_in_parts(opened(files), &again, options, &NoObserver).unwrap();
    (described(&analysis), times.get())
}

fn described(analysis: &Analysis) -> String {
    check_consistency(analysis);
    format!("{}{:?}", json_of(analysis), analysis.syn_columns())
}

fn little_room(threads: usize) -> Options {
    Options { threads, room_bytes: LITTLE_ROOM, ..Options::default() }
}

#[test]
fn parts_make_the_result_of_one_reading() {
    let files = [plain_pcap(&open_transfers())];
    let whole = described(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
    for threads in [1, 2, 8] {
        let (parts, times) = in_parts(&files, &little_room(threads));
        assert!(times > 3, "opened {times} times again");
        assert!(parts == whole, "{threads} threads");
    }
}

#[test]
fn what_fits_is_read_once() {
    let files = [plain_pcap(&open_transfers())];
    assert_eq!(in_parts(&files, &Options::default()).1, 0);
}

#[test]
fn connections_asked_for_by_number_are_read_once() {
    let files = [plain_pcap(&open_transfers())];
    let options = Options { detail_connections: vec![3], ..little_room(1) };
    assert_eq!(in_parts(&files, &options).1, 0);
}

#[test]
fn several_inputs_make_no_difference() {
    let frames = open_transfers();
    let every = |number: usize| plain_pcap(&frames.iter().skip(number).step_by(2).cloned().collect::<Vec<_>>());
    let files = [every(0), every(1)];
    let whole = described(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
    assert!(in_parts(&files, &little_room(3)).0 == whole);
}

#[test]
fn an_input_that_is_another_by_then_is_told() {
    let files = [plain_pcap(&open_transfers())];
    let other = [plain_pcap(&open_transfers()[10..])];
    let times = Cell::new(0);
    let again = || {
        times.set(times.get() + 1);
        Ok(opened(if times.get() < 3 { &files } else { &other }))
    };
    let failure = analyze_in_parts(opened(&files), &again, &little_room(1), &NoObserver).unwrap_err();
    assert!(failure.to_string().contains("it was changed while it was read"), "{failure}");
}

#[test]
fn an_input_that_is_gone_by_then_is_told() {
    let files = [plain_pcap(&open_transfers())];
    let gone = || Err(ReadError::Io { input: 0, source: Error::other("no such file") });
    let failure = analyze_in_parts(opened(&files), &gone, &little_room(1), &NoObserver).unwrap_err();
    assert!(matches!(&failure, Failure::Read(errors) if errors.len() == 1), "{failure}");
}

/// Keeps what is reported to it, and ends the run after so many reports.
struct Told {
    consumed_bytes: Mutex<Vec<u64>>,
    most: usize,
}

impl Observer for Told {
    fn progress(&self, consumed_bytes: u64) -> bool {
        let mut told = self.consumed_bytes.lock().unwrap();
        told.push(consumed_bytes);
        told.len() >= self.most
    }
}

#[test]
fn progress_never_goes_beyond_the_files_and_an_end_keeps_the_parts_that_are_done() {
    let files = [plain_pcap(&open_transfers())];
    let run = |most: usize| {
        let told = Told { consumed_bytes: Mutex::default(), most };
        let analysis = analyze_in_parts(opened(&files), &|| Ok(opened(&files)), &little_room(1), &told).unwrap();
        (analysis, told.consumed_bytes.into_inner().unwrap())
    };
    let (whole, told) = run(usize::MAX);
    assert!(!whole.interrupted && told.iter().all(|bytes| *bytes <= files[0].len() as u64), "{told:?}");
    let (part, _) = run(told.len() - 1);
    assert!(part.interrupted);
    assert!((1..whole.connections.len()).contains(&part.connections.len()), "{}", part.connections.len());
    check_consistency(&part);
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn any_packets(lines in lines(150), threads in 1usize..4) {
        let files = [file(&frames(&lines))];
        let whole = described(&analyze(opened(&files), &Options::default(), &NoObserver).unwrap());
        let options = Options { room_bytes: Some(20_000), ..little_room(threads) };
        prop_assert!(in_parts(&files, &options).0 == whole);
    }
}
