//! Captures of both hosts in one file while their clocks differ: by whatever they do, the numbers are those of the sender's capture.
//!
//! Subjects: `analysis/one_point.rs`, `analysis/pairs.rs`, `analysis/point_labels.rs`.

use crate::playbook::captures::{Frame, Order, cases, enhanced, interface, plain_pcap, section};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};

const SECOND: i64 = 1_000_000_000;

/// How the hosts and what is between them behave.
#[derive(Debug, Clone)]
struct World {
    rounds: i64,
    /// Of the ten segments of each round this one is lost on the way, and retransmitted.
    lost: Option<i64>,
    timestamps: bool,
    identified: bool,
    ipv6: bool,
    one_way_ms: f64,
}

impl World {
    const PLAIN: Self =
        Self { rounds: 20, lost: Some(4), timestamps: true, identified: true, ipv6: false, one_way_ms: 10.0 };

    fn talk(&self) -> Talk {
        let talk = if self.timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let talk = if self.identified { talk } else { talk.without_identifications() };
        if self.ipv6 { talk.over_ipv6() } else { talk }
    }

    /// What each host's capture shows of an upload: (time at the client, time at the server) of every packet; none where it was lost.
    fn captures(&self) -> [Vec<Frame>; 2] {
        let way = self.one_way_ms;
        let mut both = [self.talk(), self.talk()];
        // A packet as its sender's capture and, if it arrives, the other one has it.
        let mut pass = |side: usize, sent_ms: f64, segment: Segment, arrives: bool| {
            let tsval = (1_000_000 * (side as i64 + 1) + sent_ms as i64) as u32;
            let segment = segment.tsval(tsval);
            let mut put = |point: usize, at_ms: f64, kept: bool| {
                let talk = std::mem::replace(&mut both[point], Talk::new());
                let frames = talk.frames().len();
                let talk = talk.line(side, at_ms, segment.clone());
                both[point] = if kept { talk } else { talk.until(frames) };
            };
            put(side, sent_ms, true);
            put(1 - side, sent_ms + way, arrives);
        };
        pass(CLIENT, 0.0, syn(), true);
        pass(SERVER, way + 0.01, syn_ack(), true);
        pass(CLIENT, 2.0 * way + 0.02, ack(0), true);
        for round in 0..self.rounds {
            let at_ms = 2.0 * way + 1.0 + round as f64 * (4.0 * way + 10.0);
            let first = round * 10;
            for n in first..first + 10 {
                let arrives = self.lost != Some(n - first);
                let sent_ms = at_ms + 0.1 * (n - first) as f64;
                pass(CLIENT, sent_ms, data(n * 1000, 1000), arrives);
                let acknowledged =
                    self.lost.map_or(n + 1, |lost| (n + 1).min(first + lost + i64::from(n < first + lost)));
                if arrives {
                    pass(SERVER, sent_ms + way + 0.02, ack(acknowledged.min(n + 1) * 1000), true);
                }
            }
            if let Some(lost) = self.lost {
                let again_ms = at_ms + 2.0 * way + 2.0;
                pass(CLIENT, again_ms, data((first + lost) * 1000, 1000), true);
                pass(SERVER, again_ms + way + 0.02, ack((first + 10) * 1000), true);
            }
        }
        let of = |talk: &Talk| {
            let mut frames = talk.frames().to_vec();
            frames.sort_by_key(|frame| frame.time_ns);
            frames
        };
        both.each_ref().map(of)
    }
}

fn shifted(frames: &[Frame], ahead_ns: i64) -> Vec<Frame> {
    frames.iter().map(|frame| Frame { time_ns: frame.time_ns + ahead_ns, ..frame.clone() }).collect()
}

/// Both captures in one, in order of their times.
fn merged_by_time(captures: [Vec<Frame>; 2]) -> Vec<Frame> {
    let mut frames = captures.concat();
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

fn analysed(files: &[Vec<u8>], threads: usize) -> Analysis {
    InParts::new(files).analysis(&Options { threads, ..Options::default() })
}

/// What must not depend on the clocks: connections, and of each direction packets, payload, retransmissions, losses, and
/// round trips.
fn numbers(analysis: &Analysis) -> Vec<(u64, u64, u32, u32, u32, Option<u64>)> {
    let directions = analysis.connections.iter().flat_map(|connection| &connection.directions);
    directions
        .map(|direction| {
            let loss = &direction.loss;
            let trips = direction.round_trips.as_ref().map(|trips| trips.moments.count());
            let unique = direction.unique_payload_bytes;
            (direction.packets, unique, loss.retransmitted, loss.spurious, loss.reordered, trips)
        })
        .collect()
}

fn offset_ns(analysis: &Analysis) -> Option<i64> {
    analysis.inputs.iter().find_map(|input| input.facts.clock_offset_ns)
}

#[test]
fn clocks_that_differ_change_no_number() {
    let [client, server] = World::PLAIN.captures();
    let alone = analysed(&[plain_pcap(&client)], 1);
    assert_eq!((alone.connections.len(), offset_ns(&alone)), (1, None));
    for ahead_ns in [300_000_000, SECOND, 37 * SECOND, 7200 * SECOND, -300_000_000, -5 * SECOND, -7200 * SECOND] {
        let file = plain_pcap(&merged_by_time([client.clone(), shifted(&server, ahead_ns)]));
        let found = analysed(&[file], 2);
        assert_eq!(numbers(&found), numbers(&alone), "{ahead_ns} ns");
        let found_ns = offset_ns(&found).expect("it is told");
        assert!((found_ns - ahead_ns).abs() < 1_000_000, "{found_ns} of {ahead_ns}");
        assert_eq!(found.inputs[0].tcp_packets as usize, client.len() + server.len());
    }
}

#[test]
fn captures_that_stand_one_behind_the_other_are_one_traffic() {
    let [client, server] = World::PLAIN.captures();
    let alone = analysed(&[plain_pcap(&client)], 1);
    for ahead_ns in [0, 20_000_000, 400_000_000, -400_000_000, 3600 * SECOND, -3600 * SECOND] {
        let file = plain_pcap(&[client.clone(), shifted(&server, ahead_ns)].concat());
        let found = analysed(&[file], 1);
        assert_eq!(numbers(&found), numbers(&alone), "{ahead_ns} ns");
        assert!((offset_ns(&found).unwrap() - ahead_ns).abs() < 1_000_000, "{ahead_ns} ns");
        assert_eq!(found.inputs[0].clock_steps, 0, "no clock was set");
    }
}

#[test]
fn the_captures_may_be_two_files_or_two_interfaces() {
    let [client, server] = World::PLAIN.captures();
    let alone = analysed(&[plain_pcap(&client)], 1);
    let ahead_ns = 12 * SECOND;
    let files = [plain_pcap(&client), plain_pcap(&shifted(&server, ahead_ns))];
    let found = analysed(&files, 1);
    assert_eq!(numbers(&found), numbers(&alone));
    let offsets: Vec<Option<i64>> = found.inputs.iter().map(|input| input.facts.clock_offset_ns).collect();
    assert_eq!(offsets[0], None);
    assert!((offsets[1].unwrap() - ahead_ns).abs() < 1_000_000, "{offsets:?}");

    let order = Order::Little;
    let mut file = [section(order), interface(order, 1, 0, &[]), interface(order, 1, 0, &[])].concat();
    let mut all: Vec<(u32, Frame)> = client.into_iter().map(|frame| (0, frame)).collect();
    all.extend(shifted(&server, ahead_ns).into_iter().map(|frame| (1, frame)));
    all.sort_by_key(|(_, frame)| frame.time_ns);
    for (number, frame) in all {
        file.extend(enhanced(order, number, frame.time_ns as u64 / 1000, &frame, &[]));
    }
    assert_eq!(numbers(&analysed(&[file], 1)), numbers(&alone));
}

#[test]
fn equal_clocks_give_the_numbers_of_one_capture_on_ways_of_any_length() {
    for one_way_ms in [0.2, 1.5, 10.0, 40.0, 400.0] {
        let [client, server] = World { one_way_ms, ..World::PLAIN }.captures();
        let alone = analysed(&[plain_pcap(&client)], 1);
        let found = analysed(&[plain_pcap(&merged_by_time([client, server]))], 1);
        assert_eq!(numbers(&found), numbers(&alone), "{one_way_ms} ms");
        assert!(offset_ns(&found).expect("it is reported").abs() < 100_000, "{one_way_ms} ms");
    }
}

#[test]
fn copies_that_one_capture_makes_are_no_second_point() {
    for one_way_ms in [0.2, 1.5, 10.0, 40.0] {
        let [client, server] = World { one_way_ms, ..World::PLAIN }.captures();
        for capture in [client, server] {
            for late_ns in [1_000, 40_000, 1_000_000, 3_000_000] {
                let found = analysed(&[plain_pcap(&merged_by_time([capture.clone(), shifted(&capture, late_ns)]))], 1);
                assert_eq!(offset_ns(&found), None, "{late_ns} ns late on a way of {one_way_ms} ms");
            }
        }
    }
}

#[test]
fn a_connection_that_one_point_alone_shows_is_kept() {
    let [client, server] = World::PLAIN.captures();
    let other = Talk::new().between(1, 41_000, 9, 443).with_timestamps().open(3.0, 0.1);
    let other = (0..20).fold(other, |talk, n| {
        let at_ms = 10.0 + 4.0 * f64::from(n);
        talk.server(at_ms, data(i64::from(n) * 1000, 1000)).client(at_ms + 0.1, ack(i64::from(n + 1) * 1000))
    });
    for ahead_ns in [0, 3_000_000, SECOND] {
        let mut near = client.clone();
        near.extend(other.frames().iter().cloned());
        near.sort_by_key(|frame| frame.time_ns);
        let alone = analysed(&[plain_pcap(&near)], 1);
        let found = analysed(&[plain_pcap(&merged_by_time([near, shifted(&server, ahead_ns)]))], 1);
        assert_eq!((alone.connections.len(), numbers(&found)), (2, numbers(&alone)), "{ahead_ns} ns");
    }
}

#[test]
fn a_capture_that_began_later_takes_nothing_from_the_other() {
    let [client, server] = World { lost: None, ..World::PLAIN }.captures();
    let alone = analysed(&[plain_pcap(&client)], 1);
    for ahead_ns in [0, 2_000_000, 400_000_000] {
        let later = shifted(&server[server.len() / 3..], ahead_ns);
        let found = analysed(&[plain_pcap(&merged_by_time([client.clone(), later]))], 1);
        assert_eq!(numbers(&found), numbers(&alone), "{ahead_ns} ns");
    }
}

#[test]
fn retransmissions_of_one_capture_are_no_second_point() {
    let [client, _] = World { lost: Some(2), timestamps: false, identified: false, ..World::PLAIN }.captures();
    let found = analysed(&[plain_pcap(&client)], 1);
    assert_eq!((offset_ns(&found), found.connections[0].directions[CLIENT].loss.retransmitted), (None, 20));
}

#[test]
fn segments_of_a_frame_are_its_copies() {
    let world = World { lost: None, timestamps: false, ..World::PLAIN };
    let [client, server] = world.captures();
    // The client's card takes two segments in one frame.
    let joined = joined_by_two(&client);
    let ahead_ns = 5 * SECOND;
    let alone = analysed(&[plain_pcap(&joined)], 1);
    let found = analysed(&[plain_pcap(&merged_by_time([joined, shifted(&server, ahead_ns)]))], 1);
    assert_eq!(numbers(&found), numbers(&alone));
    assert!(offset_ns(&found).is_some());
}

/// Neighbouring full segments of a capture in one frame each.
fn joined_by_two(frames: &[Frame]) -> Vec<Frame> {
    let is_data = |frame: &&Frame| frame.bytes.len() > 1000;
    let mut joined: Vec<Frame> = Vec::new();
    let mut rest = frames.iter().peekable();
    while let Some(frame) = rest.next() {
        let mut frame = frame.clone();
        if is_data(&&frame)
            && let Some(second) = rest.next_if(is_data)
        {
            frame.bytes.extend(&second.bytes[second.bytes.len() - 1000..]);
            let total = u16::from_be_bytes([frame.bytes[16], frame.bytes[17]]) + 1000;
            frame.bytes[16..18].copy_from_slice(&total.to_be_bytes());
            frame.original_length = frame.bytes.len() as u32;
        }
        joined.push(frame);
    }
    joined
}

/// The numbers of both captures together are those of the client's alone, and the distance is reported.
fn assert_as_one(world: World, ahead_ns: i64, threads: usize) -> Result<(), TestCaseError> {
    let [client, server] = world.captures();
    let alone = analysed(&[plain_pcap(&client)], 1);
    let found = analysed(&[plain_pcap(&merged_by_time([client, shifted(&server, ahead_ns)]))], threads);
    prop_assert_eq!(numbers(&found), numbers(&alone));
    prop_assert!((offset_ns(&found).unwrap_or(i64::MAX) - ahead_ns).abs() < 1_000_000);
    Ok(())
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn any_offset_gives_the_numbers_of_none(
        rounds in 4..30i64,
        lost in prop::option::of(0..9i64),
        timestamps in any::<bool>(),
        identified in any::<bool>(),
        ipv6 in any::<bool>(),
        one_way_ms in 0.05..60.0f64,
        ahead_ns in prop_oneof![200_000_000..2_000_000_000i64, 2_000_000_000..100_000_000_000_000i64],
        is_behind in any::<bool>(),
        threads in 1..3usize,
    ) {
        let numbered = timestamps || (identified && !ipv6);
        prop_assume!(numbered);
        // Of clocks nearer than that, retransmissions may come as late as a copy: `analysis_merged.rs` has how many are right then.
        prop_assume!(ahead_ns as f64 > 3e6 * one_way_ms);
        let world = World { rounds, lost, timestamps, identified: identified && !ipv6, ipv6, one_way_ms };
        assert_as_one(world, if is_behind { -ahead_ns } else { ahead_ns }, threads)?;
    }

    #[test]
    fn near_clocks_give_the_numbers_of_one_where_nothing_is_lost(
        rounds in 8..30i64,
        timestamps in any::<bool>(),
        ipv6 in any::<bool>(),
        one_way_ms in 0.2..60.0f64,
        ahead_ns in -150_000_000..150_000_000i64,
    ) {
        // Else the packets of one host appear at both points at about once, among others that look like them.
        prop_assume!((ahead_ns.abs() as f64 / 1e6 - one_way_ms).abs() > 2.0);
        let world = World { rounds, lost: None, timestamps, identified: !ipv6, ipv6, one_way_ms };
        prop_assume!(timestamps || !ipv6);
        assert_as_one(world, ahead_ns, 1)?;
    }
}
