//! Captures appended in one file whose times overlap by more than a second: what sorting them gives, read once.
//!
//! Subjects: `analysis/runs.rs`, `analysis/run_search.rs`, `read/reopen.rs`.

use crate::playbook::captures::{Frame, Order, enhanced, interface, plain_pcap, section};
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::tcp::rows::rows::Field;

/// Requests and responses for so many seconds.
fn exchanges(talk: Talk, seconds: i64) -> Talk {
    (0..10 * seconds).fold(talk.open(10.0, 0.1), |talk, n| {
        let at_ms = 100.0 + 100.0 * n as f64;
        talk.client(at_ms, data(n * 100, 100).acking(n * 1000))
            .server(at_ms + 10.0, data(n * 1000, 1000).acking((n + 1) * 100))
            .client(at_ms + 20.0, ack((n + 1) * 1000))
    })
}

fn pcapng(frames: &[Frame], interfaces: usize) -> Vec<u8> {
    let order = Order::Little;
    let mut file = section(order);
    (0..interfaces).for_each(|_| file.extend(interface(order, 1, 0, &[])));
    for (number, frame) in frames.iter().enumerate() {
        file.extend(enhanced(order, (number % interfaces) as u32, frame.time_ns as u64 / 1000, frame, &[]));
    }
    file
}

fn in_order(captures: &[Vec<Frame>]) -> Vec<Frame> {
    let mut all = captures.concat();
    all.sort_by_key(|frame| frame.time_ns);
    all
}

fn without_frames(mut value: serde_json::Value) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        if let Some(members) = value.as_object_mut() {
            let is_numbered =
                |name: &str| ["frames", "first_frame", "display_filter", "times_ns", "peak_frames"].contains(&name);
            members.retain(|name, _| !is_numbered(name));
            members.values_mut().for_each(strip);
        }
        value.as_array_mut().into_iter().flatten().for_each(strip);
    }
    strip(&mut value);
    value
}

fn connections(analysis: &Analysis) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_str(&json_of(analysis)).unwrap();
    without_frames(value["connections"].clone())
}

/// Captures that share connections, by what they are of.
fn kinds() -> Vec<(&'static str, Vec<Vec<Frame>>)> {
    let one = exchanges(Talk::new().with_timestamps(), 12).frames().to_vec();
    let bare = exchanges(Talk::new().without_identifications(), 12).frames().to_vec();
    let other = exchanges(Talk::new().between(7, 50_000, 9, 443), 12);
    let later = |frame: &Frame| Frame { time_ns: frame.time_ns + 3_005_000_000, ..frame.clone() };
    let other: Vec<Frame> = other.frames().iter().map(later).collect();
    let client = one[0].bytes[26..30].to_vec();
    let by_side = |frames: &[Frame]| -> (Vec<Frame>, Vec<Frame>) {
        frames.iter().cloned().partition(|frame| frame.bytes[26..30] == client[..])
    };
    let ((up, down), (bare_up, bare_down)) = (by_side(&one), by_side(&bare));
    let bulk = (0..600i64).fold(Talk::new().with_timestamps().open(10.0, 0.1), |talk, n| {
        let at_ms = 100.0 + 20.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 10.0, ack((n + 1) * 1000))
    });
    let (data_of_one, acks_of_one) = by_side(bulk.frames());
    let every_third = |rest: usize| one.iter().skip(rest).step_by(3).cloned().collect::<Vec<_>>();
    let (first, second) = one.split_at(one.len() / 2);
    vec![
        ("a direction each", vec![up.clone(), down.clone()]),
        ("a direction each, without numbers of packets", vec![bare_up, bare_down]),
        ("the responses first", vec![down, in_order(&[up, other.clone()])]),
        ("data and acknowledgements", vec![data_of_one, acks_of_one]),
        ("three queues", (0..3).map(every_third).collect()),
        ("the later half first", vec![second.to_vec(), first.to_vec()]),
        ("the later half first, among others", vec![in_order(&[second.to_vec(), other]), first.to_vec()]),
    ]
}

#[test]
fn captures_that_share_connections_give_what_sorting_them_gives() {
    for (name, captures) in kinds() {
        let sorted = InParts::new(&[plain_pcap(&in_order(&captures))]).analysis(&Options::default());
        for (how, file) in [
            ("mergecap -a", plain_pcap(&captures.concat())),
            ("cat", captures.iter().map(|frames| plain_pcap(frames)).collect::<Vec<_>>().concat()),
            ("cat of pcapng", captures.iter().map(|frames| pcapng(frames, 2)).collect::<Vec<_>>().concat()),
            ("mergecap -a of pcapng", pcapng(&captures.concat(), 1)),
        ] {
            let in_parts = InParts::new(&[file]);
            for threads in [1, 3] {
                let found = in_parts.analysis(&Options { threads, ..Options::default() });
                let disorder = found.inputs[0].facts.out_of_time_order;
                assert_eq!(disorder.appended, captures.len() as u64 - 1, "{how}: {name}: {disorder:?}");
                assert_eq!((disorder.appended_left, found.inputs[0].clock_steps), (0, 0), "{how}: {name}");
                assert_eq!(found.inputs[0].facts.packets, sorted.inputs[0].facts.packets, "{how}: {name}");
                let [ours, theirs] =
                    [&found, &sorted].map(|analysis| (analysis.connections.len(), connections(analysis)));
                assert_eq!(ours.0, theirs.0, "{how}: {name}");
                if !how.ends_with("pcapng") {
                    assert_eq!(ours.1, theirs.1, "{how}: {name}");
                }
            }
        }
    }
}

const FILLERS: usize = 60;

/// Two captures of the same seconds, each with a direction of one connection, among frames of other protocols that fill the file.
fn large() -> Vec<Vec<Frame>> {
    let (_, captures) = kinds().swap_remove(0);
    let filler = |frame: &Frame| Frame { bytes: vec![0; 1400], original_length: 1400, ..frame.clone() };
    let filled = |frame: &Frame| std::iter::once(frame.clone()).chain(vec![filler(frame); FILLERS]);
    captures.iter().map(|frames| frames.iter().flat_map(filled).collect()).collect()
}

#[test]
fn samples_of_a_large_file_show_it_before_it_is_read() {
    let captures = large();
    let in_parts = InParts::new(&[plain_pcap(&captures.concat())]);
    let found = in_parts.analysis(&Options::default());
    assert_eq!(found.inputs[0].facts.out_of_time_order.appended, 1);
    assert_eq!(found.inputs[0].facts.packets, captures.concat().len() as u64);
    // Once for the headers of its records, once for all.
    assert!(in_parts.times_read() < 2.2, "{}", in_parts.times_read());
}

#[test]
fn a_file_in_order_is_read_once() {
    let in_parts = InParts::new(&[plain_pcap(&in_order(&large()))]);
    assert_eq!(in_parts.analysis(&Options::default()).inputs[0].facts.out_of_time_order.appended, 0);
    assert!(in_parts.times_read() < 1.1, "{}", in_parts.times_read());
}

#[test]
fn frames_keep_the_numbers_that_they_have_in_the_file() {
    let captures = large();
    let frames = captures.concat();
    let options = Options { detail_connections: vec![1], ..Options::default() };
    let rows = InParts::new(&[plain_pcap(&frames)]).analysis(&options).rows;
    let times_ns: Vec<_> = rows.values(Field::TimeNs).into_iter().flatten().collect();
    assert!(times_ns.is_sorted() && times_ns.len() == frames.len() / (1 + FILLERS));
    for (number, time_ns) in rows.values(Field::Frame).into_iter().zip(times_ns) {
        assert_eq!(frames[number.unwrap() as usize - 1].time_ns, time_ns);
    }
}

#[test]
fn a_clock_that_was_set_back_makes_no_other_capture() {
    let talk = (0..300i64).fold(Talk::new().open(10.0, 0.1), |talk, n| {
        let talk = if n == 150 { talk.set_capture_clock(-5000.0) } else { talk };
        let at_ms = 50.0 + 10.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 5.0, ack((n + 1) * 1000))
    });
    let found = InParts::new(&[plain_pcap(talk.frames())]).analysis(&Options::default());
    let disorder = found.inputs[0].facts.out_of_time_order;
    assert_eq!((disorder.appended, disorder.appended_left, found.inputs[0].clock_steps), (0, 0, 1));
}

#[test]
fn what_cannot_be_read_in_parts_says_how_many_captures_it_holds() {
    for (name, captures) in kinds() {
        let found = analysis_of(&captures.concat(), &Options::default());
        let disorder = found.inputs[0].facts.out_of_time_order;
        assert_eq!((disorder.appended, disorder.appended_left), (0, captures.len() as u64 - 1), "{name}");
        check_consistency(&found);
    }
}
