//! A reading that is looked at while it goes on: each look gives what the file up to there gives, and the end what the file gives.
//!
//! Subjects: `analysis/live.rs`, `analysis/kept.rs`, `analysis/serial.rs`, `tcp/flow/forget.rs`, `tcp/flow/forgotten.rs`, `keyed.rs`, `dns/lookups.rs`, `flows/table.rs`.

use std::io::{ErrorKind, Read};

use crate::datagram_flows::udp;
use crate::playbook::captures::plain_pcap;
use crate::playbook::segment::{ack, data, fin, syn, syn_ack};
use crate::playbook::{Talk, analysis_of_files, json_of, merged, ms};
use crate::soup::file::pcap;
use crate::soup::talk::soup as soup_of;
use proptest::prelude::*;
use vmtrace_core::analysis::kept::Keep;
use vmtrace_core::analysis::live::Live;
use vmtrace_core::analysis::{NoObserver, Options};

const FILE_HEADER_BYTES: usize = 24;

/// Gives a file in pieces, and nothing between them.
struct Dripping {
    bytes: Vec<u8>,
    at: usize,
    pieces: Vec<usize>,
    given: usize,
    waits: bool,
}

fn dripping(bytes: &[u8], pieces: &[usize]) -> Box<Dripping> {
    Box::new(Dripping { bytes: bytes.to_vec(), at: 0, pieces: pieces.to_vec(), given: 0, waits: false })
}

impl Read for Dripping {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.waits = !self.waits;
        if self.waits {
            return Err(ErrorKind::WouldBlock.into());
        }
        let wanted = self.pieces[self.given % self.pieces.len()].min(buffer.len());
        self.given += 1;
        let piece = &self.bytes[self.at..(self.at + wanted).min(self.bytes.len())];
        buffer[..piece.len()].copy_from_slice(piece);
        self.at += piece.len();
        Ok(piece.len())
    }
}

/// The file with its first `packets` packets alone.
fn cut_behind(file: &[u8], packets: u64) -> Vec<u8> {
    let mut end = FILE_HEADER_BYTES;
    for _ in 0..packets {
        end += 16 + u32::from_le_bytes(file[end + 8..end + 12].try_into().unwrap()) as usize;
    }
    file[..end].to_vec()
}

fn of_file(file: Vec<u8>) -> String {
    json_of(&analysis_of_files(vec![file], &Options::default()))
}

proptest! {
    #![proptest_config(crate::captures::cases(24))]

    #[test]
    fn each_look_at_a_stream_shows_what_the_file_up_to_there_shows(
        data in proptest::collection::vec(any::<u8>(), 8..300),
        pieces in proptest::collection::vec(1usize..5_000, 1..6),
    ) {
        let file = pcap(&soup_of(&data).capture, 65_535);
        let options = Options::default();
        let mut live = Live::new(dripping(&file, &pieces), &options, &NoObserver, Keep::default());
        let mut steps = 0;
        while live.step() {
            steps += 1;
            if steps % 7 == 0 {
                let seen = live.snapshot();
                let packets = seen.inputs.first().map_or(0, |input| input.facts.packets);
                prop_assert_eq!(json_of(&seen), of_file(cut_behind(&file, packets)));
            }
        }
        prop_assert_eq!(json_of(&live.finish().unwrap()), of_file(file));
    }
}

/// Short connections one behind the other, each from a port of its own, `apart_ms` apart.
fn short_connections(count: u16, apart_ms: f64) -> Vec<u8> {
    let talk = |number: u16| {
        let begin_ms = apart_ms * f64::from(number);
        Talk::new()
            .between(1, 40_000 + number, 2, 80)
            .client(begin_ms, syn())
            .server(begin_ms + 10.0, syn_ack())
            .client(begin_ms + 11.0, ack(0))
            .client(begin_ms + 12.0, data(0, 100))
            .server(begin_ms + 22.0, ack(100))
            .client(begin_ms + 23.0, fin(100))
            .server(begin_ms + 33.0, fin(0).acking(101))
            .client(begin_ms + 34.0, ack(1))
    };
    plain_pcap(&merged(&(0..count).map(talk).collect::<Vec<_>>()))
}

#[test]
fn connections_that_ended_long_ago_are_forgotten_and_the_others_keep_their_numbers() {
    let file = short_connections(300, 1_000.0);
    let whole = analysis_of_files(vec![file.clone()], &Options::default());
    let options = Options::default();
    let mut live = Live::new(dripping(&file, &[1_500]), &options, &NoObserver, Keep::default());
    let (mut gone, mut most) = (Vec::new(), 0);
    while live.step() {
        most = most.max(live.snapshot().connections.len());
        gone.extend(live.forget(20_000_000_000, usize::MAX / 8));
    }
    assert_eq!(live.forgotten() as usize, gone.len());
    let left = live.finish().unwrap();
    // Records wait to be put in order: those that are there count as well.
    assert_eq!(gone.len() + left.connections.len(), 300);
    assert!(gone.is_sorted(), "{gone:?}");
    for summary in &left.connections {
        let same = &whole.connections[summary.id as usize - 1];
        assert_eq!((same.ports, same.start_ns, same.order), (summary.ports, summary.start_ns, summary.order));
    }
}

#[test]
fn flows_that_were_silent_for_long_are_forgotten_and_the_others_keep_their_numbers() {
    // One begins each second; every third of them goes on to the end.
    let datagram = |second: u16, flow: u16| udp(f64::from(second) * 1000.0, true, [40_000 + flow, 9000], &[1; 1400]);
    let goes_on = |second: u16| (0..second).filter(|flow| flow % 3 == 0);
    let frames: Vec<_> =
        (0..90).flat_map(|second| goes_on(second).chain([second]).map(move |flow| datagram(second, flow))).collect();
    let options = Options::default();
    let mut live = Live::new(dripping(&plain_pcap(&frames), &[700]), &options, &NoObserver, Keep::default());
    while live.step() {}
    live.forget(10_000_000_000, usize::MAX / 8);
    let left = live.finish().unwrap();
    let flows = left.datagrams.flows.list();
    assert!((30..50).contains(&flows.len()), "{}", flows.len());
    for flow in flows {
        assert_eq!(flow.number, u32::from(flow.ports[usize::from(flow.ports[0] == 9000)]) - 39_999);
    }
    assert!(json_of(&left).contains(r#""id":88"#));
}

#[test]
fn where_there_is_no_room_those_that_were_silent_for_longest_go_first() {
    let file = short_connections(300, 1_000.0);
    let options = Options::default();
    let mut live = Live::new(dripping(&file, &[usize::MAX]), &options, &NoObserver, Keep::default());
    while live.step() {}
    let gone = live.forget(i64::MAX / 2, 100_000);
    let left = live.finish().unwrap();
    assert!(!left.connections.is_empty() && !gone.is_empty());
    assert_eq!(gone.len() + left.connections.len(), 300);
    let ids: Vec<u32> = left.connections.iter().map(|summary| summary.id).collect();
    assert_eq!(ids, (gone.len() as u32 + 1..=300).collect::<Vec<_>>());
}

#[test]
fn the_last_packets_are_a_capture_of_the_same_connections() {
    let file = short_connections(40, 100.0);
    let options = Options::default();
    let all = Keep { bytes: usize::MAX, time_ns: None };
    let mut live = Live::new(dripping(&file, &[999]), &options, &NoObserver, all);
    while live.step() {}
    let saved = analysis_of_files(vec![live.last_packets()], &options);
    let whole = live.finish().unwrap();
    let shown = |analysis: &vmtrace_core::analysis::Analysis| {
        let of = |summary: &vmtrace_core::tcp::summary::summary::ConnectionSummary| {
            (summary.ports, summary.start_ns, summary.end_ns, summary.id)
        };
        analysis.connections.iter().map(|summary| of(summary)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&saved), shown(&whole));
    assert_eq!(saved.inputs[0].facts.packets, whole.inputs[0].facts.packets);
}

#[test]
fn of_the_last_packets_no_more_are_kept_than_was_asked_for() {
    let file = short_connections(3_000, 100.0);
    let options = Options::default();
    for keep in [Keep { bytes: 300_000, time_ns: None }, Keep { bytes: usize::MAX, time_ns: Some(ms(60_000.0)) }] {
        let mut live = Live::new(dripping(&file, &[64_000]), &options, &NoObserver, keep);
        while live.step() {}
        let saved = live.last_packets();
        let analysis = analysis_of_files(vec![saved.clone()], &options);
        let whole = live.finish().unwrap();
        assert!(saved.len() < 800_000 && saved.len() * 2 < file.len(), "{} of {}", saved.len(), file.len());
        assert_eq!(analysis.inputs[0].facts.end_ns, whole.inputs[0].facts.end_ns, "the last ones are there");
        assert!(!analysis.connections.is_empty());
    }
}
