//! HTTP/2 in clear text: windows, and how streams and connections end; inside TLS: `tests/analyze/test_http2.py`.
//!
//! Subjects: `http2/frame.rs`, `http2/ordered.rs`, `http2/reader.rs`, `http2/record_keys.rs`, `http2/sealed.rs`, `http2/tracker.rs`, `http2/windows.rs`,
//! `output/describe/http2.rs`.

use crate::playbook::ms;
use proptest::prelude::*;
use vmtrace_core::http2::{Http2Summary, Http2Tracker};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn initial_window(bytes: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&[0, 4][..], &bytes.to_be_bytes()].concat())
}

fn credit(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

struct Talk {
    tracker: Http2Tracker,
    offsets: [u64; 2],
}

impl Talk {
    fn new(client: &[Vec<u8>]) -> Self {
        let mut talk = Self { tracker: Http2Tracker::new(), offsets: [0; 2] };
        talk.says(0, 0.0, &[PREFACE, &client.concat()].concat());
        talk
    }

    fn says(&mut self, side: usize, time_ms: f64, bytes: &[u8]) {
        self.tracker.segment(side, self.offsets[side], bytes, bytes.len() as u32, ms(time_ms));
        self.offsets[side] += bytes.len() as u64;
    }

    fn summary(&self) -> Http2Summary {
        self.tracker.summary()
    }
}

/// A response of windows of 16 kB, each followed by credit; the server answers credit after `reply_ms`.
fn windows(rounds: u32, frame_bytes: usize, reply_ms: impl Fn(u32) -> f64) -> Http2Summary {
    let mut talk = Talk::new(&[initial_window(16_384), frame(HEADERS, 5, 1, b"x"), credit(0, 1 << 20)]);
    talk.says(1, 1.0, &[frame(SETTINGS, 0, 0, &[]), frame(HEADERS, 4, 1, b"y")].concat());
    let mut time_ms = 2.0;
    for round in 0..rounds {
        for _ in 0..16_384 / frame_bytes {
            talk.says(1, time_ms, &frame(DATA, 0, 1, &vec![0; frame_bytes]));
        }
        time_ms += 80.0;
        talk.says(0, time_ms, &credit(1, 16_384));
        time_ms += reply_ms(round);
    }
    talk.summary()
}

#[test]
fn a_stream_window_of_each_round_trip_is_found() {
    for frame_bytes in [16_384, 4096] {
        let http2 = windows(10, frame_bytes, |_| 1.0);
        let server = &http2.windows[1];
        assert_eq!((server.times, server.limited_ns, server.times_of_connection), (9, ms(9.0 * 81.0), 0));
        assert_eq!((server.initial_window_bytes, server.data_bytes, http2.streams), (Some(16_384), 163_840, 1));
        assert!(http2.complete && server.stalls.len() == 9);
    }
}

#[test]
fn an_application_that_comes_late_stands_at_no_window() {
    let server = windows(10, 16_384, |round| if round < 5 { 1.0 } else { 300.0 }).windows[1].clone();
    assert_eq!(server.times, 5);
}

#[test]
fn credit_in_time_costs_nothing() {
    let mut talk = Talk::new(&[frame(HEADERS, 5, 1, b"x")]);
    for round in 0..20 {
        let time_ms = f64::from(round) * 80.0;
        talk.says(1, time_ms, &frame(DATA, 0, 1, &[0; 10_000]));
        talk.says(0, time_ms + 10.0, &[credit(1, 10_000), credit(0, 10_000)].concat());
    }
    assert_eq!(talk.summary().windows[1].times, 0);
}

#[test]
fn the_window_of_the_connection_is_told_from_that_of_a_stream() {
    let mut talk = Talk::new(&[initial_window(1 << 20), frame(HEADERS, 5, 1, b"x")]);
    talk.says(1, 0.0, &frame(DATA, 0, 1, &[0; 65_535]));
    talk.says(0, 80.0, &credit(0, 65_535));
    talk.says(1, 81.0, &frame(DATA, 1, 1, &[0; 1000]));
    let server = &talk.summary().windows[1];
    assert_eq!((server.times, server.times_of_connection, server.limited_ns), (1, 1, ms(81.0)));
}

#[test]
fn ends_of_streams_and_of_the_connection_are_counted_by_code() {
    let mut talk = Talk::new(&[frame(HEADERS, 5, 1, b"x"), frame(HEADERS, 5, 3, b"x"), frame(PING, 0, 0, &[0; 8])]);
    let reset = |stream| frame(RST_STREAM, 0, stream, &8u32.to_be_bytes());
    talk.says(1, 1.0, &[frame(PING, 1, 0, &[0; 8]), reset(1), reset(3)].concat());
    let goaway = frame(GOAWAY, 0, 0, &[&3u32.to_be_bytes()[..], &11u32.to_be_bytes(), b"too_many_pings"].concat());
    talk.says(1, 2.0, &goaway);
    let http2 = talk.summary();
    assert_eq!((http2.streams, http2.pings, http2.resets.get(&8)), (2, 1, Some(&2)));
    let goaway = http2.goaway.unwrap();
    assert_eq!((goaway.side, goaway.code, goaway.last_stream, goaway.time_ns), (1, 11, 3, ms(2.0)));
}

#[test]
fn bytes_that_were_not_captured_end_the_reading_unless_they_are_data() {
    let mut talk = Talk::new(&[frame(HEADERS, 5, 1, b"x")]);
    let data = frame(DATA, 0, 1, &[0; 1000]);
    talk.tracker.segment(1, 0, &data[..100], data.len() as u32, 1);
    talk.tracker.segment(1, data.len() as u64, &data, data.len() as u32, 2);
    assert_eq!((talk.summary().windows[1].data_bytes, talk.summary().complete), (2000, true));
    talk.tracker.skip_hole(1, data.len() as u64 * 2 + 500);
    assert!(!talk.summary().complete);
}

proptest! {
    #[test]
    fn frames_cut_anywhere_come_to_the_same(cuts in prop::collection::vec(1usize..3000, 1..30)) {
        let bytes = (0..8).flat_map(|_| frame(DATA, 0, 1, &[7; 2000])).collect::<Vec<u8>>();
        let mut talk = Talk::new(&[frame(HEADERS, 5, 1, b"x")]);
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            talk.says(1, 1.0, now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(talk.summary().windows[1].data_bytes, 16_000);
    }

    #[test]
    fn any_bytes_are_bounded(client in prop::collection::vec(any::<u8>(), 0..300), server in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut talk = Talk::new(&[client]);
        talk.says(1, 1.0, &server);
        prop_assert!(talk.summary().resets.len() <= 32);
    }
}
