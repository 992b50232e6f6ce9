//! Captures of two points drawn at random and merged as mergecap does: the numbers are those of the sender's capture.
//!
//! Subjects: `analysis/points_apart.rs`, `analysis/gaps_to_copies.rs`, `analysis/turnarounds.rs`, `analysis/hops_apart.rs`, `analysis/copies.rs`.

use crate::playbook::captures::{Frame, plain_pcap};
use crate::playbook::two_points::{Dice, Ids, Second, World};
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};

fn drawn(dice: &mut Dice) -> World {
    let rtt_ms = dice.any_size(0.2, 300.0);
    let serialization_ns = dice.any_size(2_000.0, 200_000.0) as i64;
    let is_joined = dice.one_in(2);
    World {
        segments: dice.any_size(60.0, 1500.0) as u32,
        is_upload: dice.one_in(2),
        timestamps: dice.one_in(2),
        ids: dice.of(&[Ids::Zero, Ids::Constant, Ids::Counting]),
        ipv6: dice.one_in(4),
        rtt_ns: ms(rtt_ms),
        serialization_ns,
        jitter_ns: if dice.one_in(2) { ms(rtt_ms / 20.0) } else { 0 },
        lost: if dice.one_in(3) { [0, 0] } else { [dice.any_size(500.0, 20_000.0) as u32, dice.of(&[0, 5_000])] },
        loses_before: dice.one_in(2),
        sends_joined: if is_joined { dice.of(&[2, 8, 40]) } else { 1 },
        receives_joined: if is_joined { dice.of(&[1, 4, 16]) } else { 1 },
        every: dice.of(&[1, 2, 2, 4]),
        second: if dice.one_in(3) {
            Second::Router(dice.of(&[0.1, 0.5, 0.8]), 1 + dice.below(4) as u8)
        } else {
            Second::Receiver
        },
        window: dice.any_size(8.0, 200.0) as u32,
        client_port: 40_000,
        seed: dice.next(),
    }
}

fn drawn_offset_ns(dice: &mut Dice) -> i64 {
    let size = match dice.below(5) {
        0 => 0.0,
        1 => dice.any_size(1e3, 1e6),
        2 => dice.any_size(1e6, 1.5e8),
        3 => dice.any_size(1e6, 1.5e8),
        _ => dice.any_size(1.5e8, 1e12),
    };
    if dice.one_in(2) { size as i64 } else { -size as i64 }
}

fn merged_by_time(near: Vec<Frame>, far: &[Frame], ahead_ns: i64) -> Vec<Frame> {
    let mut frames = near;
    frames.extend(far.iter().map(|frame| Frame { time_ns: frame.time_ns + ahead_ns, ..frame.clone() }));
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

fn analysed(frames: &[Frame]) -> Analysis {
    InParts::new(&[plain_pcap(frames)]).analysis(&Options::default())
}

/// Of each direction: packets, retransmissions, losses behind the capture point, needless ones, round trips, and the shortest and the middle of them.
type Numbers = Vec<OfDirection>;
type OfDirection = (u64, u32, u32, u32, u64, Option<u64>, Option<u64>);

fn numbers(analysis: &Analysis) -> Numbers {
    let directions = analysis.connections.iter().flat_map(|connection| &connection.directions);
    directions
        .map(|direction| {
            let loss = &direction.loss;
            let trips = direction.round_trips.as_ref().map(|trips| &trips.moments);
            let [least, mean] = [trips.map(|trips| trips.min_ns), trips.map(|trips| trips.mean_ns() as u64)];
            (
                direction.packets,
                loss.retransmitted,
                loss.lost_behind,
                loss.spurious,
                trips.map_or(0, |trips| trips.count()),
                least,
                mean,
            )
        })
        .collect()
}

/// Within a hundredth, or 20 us.
fn near_by(a: Option<u64>, b: Option<u64>) -> bool {
    let [a, b] = [a.unwrap_or(0), b.unwrap_or(0)];
    a.abs_diff(b) <= 20_000.max(a / 100)
}

fn offset_ns(analysis: &Analysis) -> Option<i64> {
    analysis.inputs.iter().find_map(|input| input.facts.clock_offset_ns)
}

/// How many are drawn; MERGES asks for more.
fn captures() -> u64 {
    std::env::var("MERGES").ok().and_then(|merges| merges.parse().ok()).unwrap_or(150)
}

#[test]
fn nine_of_ten_merges_are_exact() {
    let merges = captures();
    let (mut exact, mut reported, mut retransmitted) = (0, 0, 0);
    for number in 0..merges {
        let mut dice = Dice(number);
        let (world, ahead_ns) = (drawn(&mut dice), drawn_offset_ns(&mut dice));
        let [near, far] = world.captures();
        let alone = numbers(&analysed(&near));
        let found = analysed(&merged_by_time(near, &far, ahead_ns));
        let same = |a: &Numbers, b: &Numbers| {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| (a.1, a.2, a.3) == (b.1, b.2, b.3) && near_by(a.5, b.5) && near_by(a.6, b.6))
        };
        let is_exact = same(&numbers(&found), &alone);
        let error_ns = offset_ns(&found).map(|offset_ns| (offset_ns - ahead_ns).abs());
        let is_reported = error_ns.is_some_and(|error_ns| error_ns < 1_000_000);
        exact += u64::from(is_exact);
        reported += u64::from(is_reported);
        retransmitted += alone.iter().map(|one| u64::from(one.1)).sum::<u64>();
        if !is_exact || !is_reported {
            println!(
                "{number}: ahead {} ms, off by {error_ns:?}: {world:?}\n  alone  {alone:?}\n  found {:?}",
                ahead_ns as f64 / 1e6,
                numbers(&found)
            );
        }
    }
    println!("{exact} exact, {reported} reported of {merges}; {retransmitted} retransmissions");
    assert!(10 * exact >= 9 * merges && 10 * reported >= 9 * merges);
    assert!(retransmitted > merges);
}

/// Two points that routers lie between, and before and after them other connections of the same hosts that one of the points alone
/// shows: far from the sender, so that their TTLs are those of what is left out.
#[test]
fn connections_that_one_point_alone_shows_are_left_whole() {
    let mut left_out = 0;
    for number in 0..12 {
        let mut dice = Dice(number);
        let routed = Second::Router(0.5, 2);
        let world = World { second: routed, rtt_ns: ms(40.0), segments: 400, timestamps: true, ..drawn(&mut dice) };
        let [near, far] = world.captures();
        let [before, after] = [41_000, 42_000].map(|client_port| {
            let other = World { client_port, segments: 120, ids: world.ids, ipv6: world.ipv6, ..drawn(&mut dice) };
            let [_, far] = World { second: routed, ..other }.captures();
            far
        });
        let [last_ns, end_ns] = [&before, &near].map(|frames| frames.iter().map(|frame| frame.time_ns).max().unwrap());
        let mut all = before.clone();
        let twice = merged_by_time(near.clone(), &far, ms(300.0));
        let later = |frames: &[Frame], by_ns: i64| -> Vec<Frame> {
            frames.iter().map(|frame| Frame { time_ns: frame.time_ns + by_ns, ..frame.clone() }).collect()
        };
        let first_ns = before[0].time_ns;
        let start_ns = last_ns - first_ns + 2_000_000_000;
        all.extend(later(&twice, start_ns));
        all.extend(later(&after, start_ns + end_ns - near[0].time_ns + 5_000_000_000));
        let found = analysed(&all);
        let expected: Numbers = [&before, &near, &after].iter().flat_map(|frames| numbers(&analysed(frames))).collect();
        let found_numbers = numbers(&found);
        assert_eq!(found_numbers.len(), expected.len(), "{number}: {world:?}");
        for (index, (one, alone)) in found_numbers.iter().zip(&expected).enumerate() {
            // Acknowledgements that are alike may stay in the one of both points.
            let packets = |of: &OfDirection| if index / 2 == 1 { 0 } else { of.0 };
            assert_eq!((packets(one), one.1), (packets(alone), alone.1), "{number}, direction {index}: {world:?}");
        }
        left_out += found.inputs.iter().map(|input| input.facts.left_out).sum::<u64>();
    }
    assert!(left_out > 0, "the other point's packets are left out");
}

/// What a mirrored port shows of both ways, or a router of what comes in and what goes out.
fn mirrored(capture: &[Frame], late_ns: i64, jitter_ns: u64, is_routed: bool, dice: &mut Dice) -> Vec<Frame> {
    let copies = capture.iter().map(|frame| {
        let mut bytes = frame.bytes.clone();
        let ttl = if bytes[14] >> 4 == 4 { 22 } else { 21 };
        bytes[ttl] -= u8::from(is_routed);
        Frame { time_ns: frame.time_ns + late_ns + dice.below(jitter_ns) as i64, bytes, ..frame.clone() }
    });
    let mut frames: Vec<Frame> = capture.iter().cloned().chain(copies.collect::<Vec<_>>()).collect();
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

#[test]
fn copies_that_one_capture_makes_are_no_second_point() {
    let mut copies = 0;
    for number in 0..captures() {
        let mut dice = Dice(number);
        let world = World { second: Second::Router(dice.of(&[0.1, 0.5, 0.9, 1.0]), 2), ..drawn(&mut dice) };
        let [at_sender, elsewhere] = world.captures();
        let capture = if dice.one_in(3) { at_sender } else { elsewhere };
        let is_routed = dice.one_in(3);
        let late_ns = if is_routed { dice.any_size(1e3, 5e4) } else { dice.any_size(1e3, 3e7) };
        let mirrored = mirrored(&capture, late_ns as i64, late_ns as u64 / 8, is_routed, &mut dice);
        let found = analysed(&mirrored);
        let left_out = found.inputs.iter().map(|input| input.facts.left_out).sum::<u64>();
        assert_eq!(
            (offset_ns(&found), left_out),
            (None, 0),
            "{number}: {late_ns} ns late, routed: {is_routed}, {world:?}"
        );
        copies += found.inputs.iter().map(|input| input.duplicates).sum::<u64>();
    }
    assert!(copies > captures(), "some are known for what they are");
}
