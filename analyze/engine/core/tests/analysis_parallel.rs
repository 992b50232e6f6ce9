//! The number of threads changes nothing: serial and parallel runs write the same JSON, byte by byte.
//!
//! Subjects: `analysis/serial.rs`, `analysis/stage.rs`, `analysis/whole.rs`, `output/json_connections.rs`.

use crate::playbook::captures::{Frame, cases, plain_pcap};
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, FilterCompiler, NoObserver, Options, analyze};
use vmtrace_core::output::packets;
use vmtrace_core::read::Input;

fn analysis(files: &[Vec<u8>], options: Options) -> Analysis {
    analysis_in_small_chunks(files, &options)
}

/// JSON and columns by second, for all that the threads could mix up.
fn result(files: &[Vec<u8>], options: Options) -> String {
    let analysis = analysis(files, options);
    check_consistency(&analysis);
    format!("{}{:?}", json_of(&analysis), analysis.syn_columns())
}

fn assert_same(files: &[Vec<u8>], options: impl Fn(usize) -> Options) {
    let serial = result(files, options(1));
    for threads in [2, 3, 8] {
        let parallel = result(files, options(threads));
        if let Some(at) = serial.bytes().zip(parallel.bytes()).position(|(one, other)| one != other) {
            let from = at.saturating_sub(200);
            let part =
                |text: &str| String::from_utf8_lossy(&text.as_bytes()[from..]).chars().take(300).collect::<String>();
            panic!("{threads} threads:\n{}\nserial:\n{}", part(&parallel), part(&serial));
        }
        assert_eq!(serial.len(), parallel.len());
    }
}

fn threads(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

/// A transfer with a loss, seen at the client, that begins at `begin_ms`.
fn transfer(number: u32, begin_ms: f64) -> Talk {
    let base = Talk::new().between(1 + (number % 7) as u8, 10_000 + number as u16, 200, 443);
    let base = if number.is_multiple_of(3) { base.over_ipv6() } else { base };
    let at = |time_ms: f64| begin_ms + time_ms;
    let segments = 5 + i64::from(number % 11);
    let end = segments * 1000;
    base.client(at(0.0), syn())
        .server(at(40.0), syn_ack())
        .client(at(40.1), ack(0))
        .each(0..segments, |talk, n| talk.client(at(50.0 + n as f64), data(n * 1000, 1000)))
        .server(at(91.0), ack(0).sack(1000, end))
        .client(at(92.0), data(0, 1000))
        .server(at(132.0), ack(end))
        .client(at(133.0), fin(end))
        .server(at(173.0), fin(0).acking(end + 1))
        .client(at(173.1), ack(1))
}

fn transfers(count: u32) -> Vec<Frame> {
    merged(&(0..count).map(|number| transfer(number, f64::from(number) * 3.0)).collect::<Vec<_>>())
}

/// IPv4 packets longer than `length` cut into two fragments; every tenth of them loses its second half.
fn fragmented(frames: &[Frame], length: usize) -> Vec<Frame> {
    let mut cut = 0;
    let mut pieces = |frame: &Frame| {
        if frame.bytes[12..14] != [8, 0] || frame.bytes.len() < length + 34 {
            return vec![frame.clone()];
        }
        cut += 1;
        let piece = |from: usize, to: usize, more: u8| {
            let mut bytes = [&frame.bytes[..34], &frame.bytes[34 + from..34 + to]].concat();
            bytes[16..18].copy_from_slice(&(20 + (to - from) as u16).to_be_bytes());
            bytes[20..22].copy_from_slice(&[more | ((from / 8) >> 8) as u8, (from / 8) as u8]);
            Frame { original_length: bytes.len() as u32, bytes, time_ns: frame.time_ns }
        };
        let mut both = vec![piece(0, length, 0x20), piece(length, frame.bytes.len() - 34, 0)];
        both.truncate(if cut % 10 == 0 { 1 } else { 2 });
        both
    };
    frames.iter().flat_map(&mut pieces).collect()
}

#[test]
fn many_connections() {
    let file = plain_pcap(&transfers(300));
    let serial = analysis(std::slice::from_ref(&file), threads(1));
    assert_eq!(serial.connections.len(), 300);
    assert!(
        serial.connections.iter().all(|connection| connection.directions[CLIENT].loss.by_trigger == [1, 0, 0, 0, 0])
    );
    assert_same(&[file], threads);
}

#[test]
fn one_connection() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..200, |talk, n| talk.client(50.0 + f64::from(n), data(i64::from(n) * 1000, 1000)));
    assert_same(&[plain_pcap(talk.frames())], threads);
}

#[test]
fn an_empty_capture_and_one_of_a_single_frame() {
    assert_same(&[plain_pcap(&[])], threads);
    assert_same(&[plain_pcap(Talk::new().client(0.0, syn()).frames())], threads);
}

#[test]
fn fragments_are_joined_in_order_of_the_file() {
    let frames = fragmented(&transfers(30), 504);
    let file = plain_pcap(&frames);
    let serial = analysis(std::slice::from_ref(&file), threads(1));
    let counts: Vec<_> = serial.inputs[0].undecoded.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(counts, ["fragment_joined", "fragment_incomplete"]);
    assert_same(&[file], threads);
}

#[test]
fn several_inputs_are_merged_first() {
    let frames = transfers(30);
    let every = |number: usize| plain_pcap(&frames.iter().skip(number).step_by(3).cloned().collect::<Vec<_>>());
    let files = [every(0), every(1), every(2)];
    assert_eq!(analysis(&files, threads(8)).connections.len(), 30);
    assert_same(&files, threads);
}

#[test]
fn fragments_of_merged_inputs_count_for_the_input_they_are_of() {
    let every_second = |from: u32| {
        let transfers: Vec<_> = (from..30).step_by(2).map(|number| transfer(number, f64::from(number) * 3.0)).collect();
        plain_pcap(&fragmented(&merged(&transfers), 504))
    };
    let files = [every_second(0), every_second(1)];
    let together = analysis(&files, threads(1));
    for (file, input) in files.iter().zip(&together.inputs) {
        let alone = analysis(std::slice::from_ref(file), threads(1));
        assert_eq!(input.undecoded, alone.inputs[0].undecoded);
        assert_eq!(input.tcp_packets, alone.inputs[0].tcp_packets);
    }
    assert_same(&files, threads);
}

/// Takes frames of at least so many bytes: `ld len; jge; ret`.
struct AtLeast(u32);

impl FilterCompiler for AtLeast {
    fn compile(&self, _link_type: u16, _snap_length: u32) -> Result<Vec<u8>, String> {
        let program = [(0x80u16, 0u8, 0u8, 0u32), (0x35, 0, 1, self.0), (0x06, 0, 0, 262_144), (0x06, 0, 0, 0)];
        let pack =
            |(code, jt, jf, k): (u16, u8, u8, u32)| [&code.to_ne_bytes()[..], &[jt, jf], &k.to_ne_bytes()].concat();
        Ok(program.into_iter().flat_map(pack).collect())
    }
}

#[test]
fn a_filter_takes_the_same_frames() {
    let files = [plain_pcap(&transfers(30))];
    let options = |threads: usize| Options { threads, filter: Some(Box::new(AtLeast(100))), ..Options::default() };
    let inputs = analysis(&files, options(3)).inputs;
    assert_eq!(inputs[0].undecoded.last().map(|(reason, _)| reason.as_str()), Some("left_out_by_filter"));
    assert!(inputs[0].tcp_packets > 100 && inputs[0].tcp_packets < inputs[0].facts.packets);
    assert_same(&files, options);
}

#[test]
fn a_filter_that_cannot_be_compiled_ends_every_run_with_its_reason() {
    struct Refuses;
    impl FilterCompiler for Refuses {
        fn compile(&self, _link_type: u16, _snap_length: u32) -> Result<Vec<u8>, String> {
            Err("no such word".to_owned())
        }
    }
    for threads in [1, 4] {
        let options = Options { threads, filter: Some(Box::new(Refuses)), ..Options::default() };
        let file = plain_pcap(&transfers(3));
        let failure = analyze(vec![Box::new(std::io::Cursor::new(file)) as Input], &options, &NoObserver).unwrap_err();
        assert_eq!(failure.to_string(), "no such word");
    }
}

#[test]
fn rows_stand_in_capture_order() {
    let files = [plain_pcap(&transfers(20))];
    let rows = |threads: usize| {
        let analysis = analysis(&files, Options { threads, detail_connections: vec![3, 7], ..Options::default() });
        format!("{:?}", packets::packet_columns(&analysis).collect::<Vec<_>>())
    };
    let serial = rows(1);
    assert_eq!([rows(2), rows(8)], [serial.clone(), serial]);
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn any_packets(lines in lines(150)) {
        assert_same(&[file(&frames(&lines))], threads);
    }

    #[test]
    fn any_packets_of_two_inputs(first in lines(60), second in lines(60)) {
        assert_same(&[file(&frames(&first)), file(&frames(&second))], threads);
    }
}
