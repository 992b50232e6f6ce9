//! Records that are stored in another order than that of their times: what the same file gives after sorting, and a clock that was
//! set stays a step of the clock.
//!
//! Subjects: `analysis/time_order.rs`, `analysis/set_back.rs`.

use crate::playbook::captures::{Frame, Order, block, cases, enhanced, interface, plain_pcap, section};
use crate::playbook::hostile::{self, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::tcp::rows::rows::Field;

/// A download beside the client in rounds of ten segments; in each the `lost`-th is retransmitted half a round later.
fn download(talk: Talk, rounds: i64, lost: Option<i64>) -> Talk {
    let talk = talk.open(50.0, 0.05).client(51.0, data(0, 300)).server(101.0, ack(300));
    (0..rounds).fold(talk, |talk, round| {
        let at_ms = 110.0 + 50.0 * round as f64;
        let first = round * 10;
        let talk = (first..first + 10).filter(|n| lost != Some(n - first)).fold(talk, |talk, n| {
            let at_ms = at_ms + 0.1 * (n - first) as f64;
            let acknowledged = lost.map_or(n + 1, |lost| (n + 1).min(first + lost + i64::from(n < first + lost)));
            talk.server(at_ms, data(n * 1000, 1000)).client(at_ms + 0.02, ack(acknowledged.min(n + 1) * 1000))
        });
        match lost {
            Some(lost) => talk
                .server(at_ms + 25.0, data((first + lost) * 1000, 1000))
                .client(at_ms + 25.02, ack((first + 10) * 1000)),
            None => talk,
        }
    })
}

/// The frames as a card stores them that holds each back for a while.
fn stored(frames: &[Frame], delays_ns: impl Iterator<Item = i64>) -> Vec<Frame> {
    let mut stored: Vec<(i64, Frame)> =
        frames.iter().zip(delays_ns).map(|(frame, delay_ns)| (frame.time_ns + delay_ns, frame.clone())).collect();
    stored.sort_by_key(|(stored_ns, _)| *stored_ns);
    stored.into_iter().map(|(_, frame)| frame).collect()
}

/// What has numbers of frames in it, or is listed by them.
const NUMBERED: [&str; 6] = ["frames", "first_frame", "display_filter", "times_ns", "peak_frames", "out_of_time_order"];

/// All that a result says, but for the numbers of frames and the disorder itself: those differ.
fn said(analysis: &Analysis) -> serde_json::Value {
    fn without_frames(value: &mut serde_json::Value) {
        if let Some(members) = value.as_object_mut() {
            members.retain(|name, _| !NUMBERED.contains(&name.as_str()));
            members.values_mut().for_each(without_frames);
        }
        value.as_array_mut().into_iter().flatten().for_each(without_frames);
    }
    let mut value = serde_json::from_str(&json_of(analysis)).unwrap();
    without_frames(&mut value);
    value
}

/// Where two values differ first; none if they do not.
fn difference(one: &serde_json::Value, other: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Object};
    let within = |name: String, one: &serde_json::Value, other: Option<&serde_json::Value>| {
        difference(one, other.unwrap_or(&serde_json::Value::Null)).map(|rest| format!("{name}.{rest}"))
    };
    match (one, other) {
        (Object(a), Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(name, one)| within(name.clone(), one, b.get(name)))
        }
        (Array(a), Array(b)) if a.len() == b.len() => {
            a.iter().enumerate().find_map(|(index, one)| within(index.to_string(), one, b.get(index)))
        }
        _ => (one != other).then(|| format!(" {one:.300} and not {other:.300}")),
    }
}

fn records(analysis: &Analysis) -> u64 {
    analysis.inputs.iter().map(|input| input.facts.out_of_time_order.records).sum()
}

fn analysed_again(files: &[Vec<u8>], options: &Options) -> Analysis {
    InParts::new(files).analysis(options)
}

#[test]
fn two_queues_give_what_one_gives() {
    let talk = download(Talk::new(), 60, None);
    let frames = stored(talk.frames(), (0..).map(|n: i64| if n * 7 % 11 < 5 { 250_000 } else { 0 }));
    let found = analysis_of(&frames, &Options::default());
    let server = &found.connections[0].directions[SERVER];
    assert_eq!((server.loss.retransmitted, server.loss.reordered, server.loss.capture_reordered), (0, 0, 0));
    assert_eq!(difference(&said(&found), &said(&talk.analysis())), None);
    let disorder = found.inputs[0].facts.out_of_time_order;
    assert!(disorder.records > 100 && disorder.left == 0, "{disorder:?}");
    assert!((100_000..=250_000).contains(&disorder.largest_step_ns), "{disorder:?}");
    assert_eq!(records(&talk.analysis()), 0);
}

#[test]
fn a_syn_stored_behind_its_flow_opens_it() {
    let talk = download(Talk::new(), 5, None);
    for late_ns in [60_000_000, 400_000_000] {
        let delays_ns = (0..).map(|n| if n == 0 { late_ns } else { 0 });
        let found = analysis_of(&stored(talk.frames(), delays_ns), &Options::default());
        assert_eq!(difference(&said(&found), &said(&talk.analysis())), None);
        assert_eq!(found.connections.len(), 1);
    }
}

#[test]
fn interfaces_written_block_by_block_are_put_in_order() {
    let talk = download(Talk::new(), 60, Some(3));
    let order = Order::Little;
    let client = talk.frames()[0].bytes[26..30].to_vec();
    // One interface has what the client sends, the other what the server sends; each is written every 700 ms.
    let mut blocks: Vec<(i64, usize, usize)> = talk
        .frames()
        .iter()
        .enumerate()
        .map(|(index, frame)| {
            let side = usize::from(frame.bytes[26..30] != client[..]);
            ((frame.time_ns - START_NS) / 700_000_000, side, index)
        })
        .collect();
    blocks.sort_unstable();
    let mut file = [section(order), interface(order, 1, 0, &[]), interface(order, 1, 0, &[])].concat();
    for (_, side, index) in blocks {
        let frame = &talk.frames()[index];
        file.extend(enhanced(order, side as u32, frame.time_ns as u64 / 1000, frame, &[]));
    }
    let found = analysis_of_files(vec![file], &Options::default());
    let sorted = analysis_of(&talk.frames().iter().map(in_microseconds).collect::<Vec<_>>(), &Options::default());
    assert_eq!(difference(&said(&found)["connections"], &said(&sorted)["connections"]), None);
    assert_eq!((found.inputs[0].clock_steps, found.inputs[0].facts.out_of_time_order.left), (0, 0));
}

fn in_microseconds(frame: &Frame) -> Frame {
    Frame { time_ns: frame.time_ns / 1000 * 1000, ..frame.clone() }
}

#[test]
fn a_clock_that_was_set_back_is_a_step_and_no_disorder() {
    for timestamps in [false, true] {
        for back_ms in [-60.0, -300.0, -900.0, -5000.0] {
            let talk = if timestamps { Talk::new().with_timestamps() } else { Talk::new() };
            let talk = (0..300i64).fold(talk.open(10.0, 0.1), |talk, n| {
                let talk = if n == 150 { talk.set_capture_clock(back_ms) } else { talk };
                let at_ms = 50.0 + 10.0 * n as f64;
                talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 5.0, ack((n + 1) * 1000))
            });
            let found = talk.analysis();
            assert_eq!(
                (records(&found), found.inputs[0].clock_steps),
                (0, 1),
                "{back_ms} ms, timestamps: {timestamps}"
            );
            let loss = &found.connections[0].directions[CLIENT].loss;
            assert_eq!((loss.retransmitted, loss.reordered, loss.capture_reordered), (0, 0, 0));
        }
    }
}

#[test]
fn times_that_jitter_within_one_senders_packets_leave_the_order_as_it_is() {
    let talk = Talk::new().open(0.1, 10.0).each(0..100i64, |talk, n| {
        let jitter_ms = if n % 3 == 1 { -0.015 } else { 0.0 };
        talk.client(50.0 + 0.01 * n as f64 + jitter_ms, data(n * 1000, 1000))
    });
    let found = talk.analysis();
    let loss = &found.connections[0].directions[CLIENT].loss;
    assert_eq!((records(&found), loss.reordered, loss.capture_reordered, found.inputs[0].clock_steps), (0, 0, 0, 0));
}

#[test]
fn several_files_each_out_of_order_agree_with_one_in_order() {
    let talks = [download(Talk::new(), 40, Some(2)), download(Talk::new().between(7, 50_000, 9, 443), 40, None)];
    let files =
        talks.each_ref().map(|talk| plain_pcap(&stored(talk.frames(), (0..).map(|n: i64| n * 5 % 7 * 100_000))));
    let sorted = talks.each_ref().map(|talk| plain_pcap(talk.frames()));
    for threads in [1, 3] {
        let options = Options { threads, ..Options::default() };
        let found = analysis_of_files(files.to_vec(), &options);
        assert_eq!(difference(&said(&found), &said(&analysis_of_files(sorted.to_vec(), &options))), None);
        assert!(found.inputs.iter().all(|input| input.facts.out_of_time_order.records > 0));
    }
}

/// One capture behind the other, though their times overlap.
fn appended(captures: &[Vec<Frame>]) -> Vec<Frame> {
    captures.concat()
}

fn in_order(captures: &[Vec<Frame>]) -> Vec<Frame> {
    let mut all = appended(captures);
    all.sort_by_key(|frame| frame.time_ns);
    all
}

#[test]
fn captures_appended_give_what_sorting_them_gives() {
    let lossy = download(Talk::new(), 12, Some(2)).frames().to_vec();
    let other = download(Talk::new().between(7, 50_000, 9, 443), 12, None).frames().to_vec();
    let stamped = download(Talk::new().over_ipv6().with_timestamps().between(3, 51_000, 4, 443), 12, Some(5));
    let client = lossy[0].bytes[26..30].to_vec();
    let (up, down): (Vec<_>, Vec<_>) = lossy.iter().cloned().partition(|frame| frame.bytes[26..30] == client[..]);
    let (early, late) = lossy.split_at(lossy.len() / 2);
    let kinds = [
        ("two of the same time", vec![lossy.clone(), other.clone()]),
        ("the later one first", vec![late.to_vec(), [early.to_vec(), other.clone()].concat()]),
        ("one of each direction", vec![down, up]),
        ("three, of both families", vec![stamped.frames().to_vec(), other, lossy]),
    ];
    for (name, captures) in kinds {
        let [found, sorted] = [appended(&captures), in_order(&captures)]
            .map(|frames| analysed_again(&[plain_pcap(&frames)], &Options::default()));
        assert_eq!(difference(&said(&found), &said(&sorted)), None, "{name}");
        assert_eq!(found.inputs[0].facts.out_of_time_order.left, 0, "{name}");
        assert!(records(&found) > 0, "{name}");
    }
}

#[test]
fn frames_keep_their_numbers_and_come_in_order_of_time() {
    let talk = download(Talk::new(), 20, None);
    let frames = stored(talk.frames(), (0..).map(|n: i64| n * 5 % 7 * 100_000));
    let options = Options { detail_connections: vec![1], ..Options::default() };
    let rows = analysis_of(&frames, &options).rows;
    assert!(rows.values(Field::TimeNs).is_sorted());
    for (frame, time_ns) in rows.values(Field::Frame).into_iter().zip(rows.values(Field::TimeNs)) {
        assert_eq!(Some(frames[frame.unwrap() as usize - 1].time_ns), time_ns);
    }
}

#[test]
fn large_steps_are_found_in_another_reading_where_one_holds_too_little() {
    // The first chunk has gone on long before the record comes that belongs into it.
    let talk = download(Talk::new(), 600, None);
    let frames = stored(talk.frames(), (0..).map(|n| if n == 40 { 900_000_000 } else { 0 }));
    // Frames of other protocols fill the chunks.
    let filler = |frame: &Frame| Frame { bytes: vec![0; 60_000], original_length: 60_000, ..frame.clone() };
    let filled: Vec<Frame> = frames.iter().flat_map(|frame| [frame.clone(), filler(frame)]).collect();
    let found = analysed_again(&[plain_pcap(&filled)], &Options::default());
    let disorder = found.inputs[0].facts.out_of_time_order;
    assert!(disorder.records > 0 && disorder.left == 0, "{disorder:?}");
    assert_eq!(difference(&said(&found)["connections"], &said(&talk.analysis())["connections"]), None);
}

#[test]
fn frames_without_a_time_stay_behind_the_one_before_them() {
    let order = Order::Little;
    let simple = block(order, 3, &[order.words(&[4]), vec![9; 4]].concat());
    let talk = download(Talk::new(), 3, None);
    let mut file = [section(order), interface(order, 1, 0, &[])].concat();
    for frame in talk.frames() {
        file.extend(enhanced(order, 0, frame.time_ns as u64 / 1000, frame, &[]));
        file.extend(&simple);
    }
    let found = analysis_of_files(vec![file], &Options::default());
    assert_eq!((records(&found), found.inputs[0].facts.packets_without_time), (0, talk.frames().len() as u64));
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn shuffled_within_the_window_is_the_same_as_sorted(
        rounds in 1..40i64,
        lost in prop::option::of(0..9i64),
        timestamps in any::<bool>(),
        identified in any::<bool>(),
        longest_us in prop_oneof![1..500i64, 1..400_000i64],
        delays in prop::collection::vec(0..1000i64, 1..50),
        threads in 1..4usize,
    ) {
        let talk = if timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let talk = if identified { talk } else { talk.without_identifications() };
        let talk = download(talk, rounds, lost);
        let frames = stored(talk.frames(), delays.iter().map(|share| share * longest_us).cycle());
        let options = Options { threads, ..Options::default() };
        let found = analysis_of(&frames, &options);
        prop_assert_eq!(difference(&said(&found), &said(&talk.analysis())), None);
        prop_assert_eq!(records(&analysed_again(&[plain_pcap(&frames)], &options)), records(&found));
    }

    #[test]
    fn any_capture_in_any_order_keeps_all_its_frames(lines in lines(60), delays in prop::collection::vec(0..3_000_000_000i64, 1..20)) {
        let frames = stored(&hostile::frames(&lines), delays.iter().copied().cycle());
        let file = hostile::file(&frames);
        let once = analysis_in_small_chunks(std::slice::from_ref(&file), &Options::default());
        check_consistency(&once);
        prop_assert_eq!(once.inputs[0].facts.packets, captures::read(&file).records.len() as u64);
        let again = analysed_again(&[file], &Options { threads: 2, ..Options::default() });
        prop_assert_eq!(again.inputs[0].tcp_packets, once.inputs[0].tcp_packets);
    }
}
