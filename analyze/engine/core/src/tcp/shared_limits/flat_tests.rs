//! Sums of transfers that share a limit, and of transfers that do not: each a series that is made here.
//!
//! Subjects: `tcp/shared_limits/flat.rs`, `tcp/shared_limits/member.rs`, `tcp/shared_limits/sum.rs`, `tcp/shared_limits/groups.rs`.

use std::net::IpAddr;

use crate::tcp::rates::series::{Bin, Series};
use crate::tcp::shared_limits::flat::{Flat, find};
use crate::tcp::shared_limits::groups::{Role, SharingFlow, groups};
use crate::tcp::shared_limits::sum::SharedSum;

const BIN_NS: i64 = 10_000_000;
/// What all may have in a bin.
const RATE: f64 = 60_000.0;

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

fn flow(place: usize, start_bin: i64, bytes: &[f64]) -> SharingFlow {
    let bin = |bytes: &f64| Bin { arrived_bytes: *bytes as u32, receiver_loop_us: 12_000, ..Bin::default() };
    let series = Series { start_ns: start_bin * BIN_NS, bin_ns: BIN_NS, bins: bytes.iter().map(bin).collect() };
    SharingFlow {
        place,
        side: 1,
        hosts: [IpAddr::from([198, 18, 0, 1]), IpAddr::from([198, 18, 0, 2])],
        bytes: bytes.iter().sum(),
        usable: vec![1.0; bytes.len()],
        path_full: vec![0.0; bytes.len()],
        rtt_ns: 12e6,
        segment_bytes: 1500.0,
        overhead: 1.04,
        beside_sender: true,
        has_bucket: false,
        series,
    }
}

/// Weights that wander, so that each rises and falls.
fn wandering(dice: &mut Dice, flows: usize, bins: usize) -> Vec<Vec<f64>> {
    let mut weights = vec![1.0f64; flows];
    let mut all = vec![Vec::new(); flows];
    for _ in 0..bins {
        for (weight, kept) in weights.iter_mut().zip(&mut all) {
            *weight = (*weight * (0.9 + 0.2 * dice.roll())).clamp(0.3, 3.0);
            kept.push(*weight);
        }
    }
    all
}

/// Transfers that share `rate(bin)` by weights that wander.
fn sharing(seed: u64, flows: usize, bins: usize, rate: impl Fn(usize) -> f64) -> Vec<SharingFlow> {
    let weights = wandering(&mut Dice(seed), flows, bins);
    let all = |bin: usize| weights.iter().map(|weights| weights[bin]).sum::<f64>();
    let part = |weights: &Vec<f64>| (0..bins).map(|bin| rate(bin) * weights[bin] / all(bin)).collect::<Vec<f64>>();
    weights.iter().enumerate().map(|(place, weights)| flow(place, 0, &part(weights))).collect()
}

/// Transfers that wander without knowing of each other.
fn apart(seed: u64, flows: usize, bins: usize) -> Vec<SharingFlow> {
    let weights = wandering(&mut Dice(seed), flows, bins);
    let part = |weights: &Vec<f64>| weights.iter().map(|weight| weight * RATE / flows as f64).collect::<Vec<f64>>();
    weights.iter().enumerate().map(|(place, weights)| flow(place, 0, &part(weights))).collect()
}

fn found(flows: &[SharingFlow]) -> Option<Flat> {
    let flows: Vec<&SharingFlow> = flows.iter().collect();
    find(&SharedSum::of(&flows)?, &flows)
}

#[test]
fn a_bottleneck_of_all_is_found_with_its_rate() {
    for seed in 1..20 {
        let count = 2 + seed as usize % 7;
        let flat = found(&sharing(seed, count, 500, |_| RATE)).expect("it is found whatever the seed");
        let rate_bps = RATE * 8e9 / BIN_NS as f64;
        assert_eq!(flat.members.len(), count, "seed {seed}");
        assert!((flat.rate_bps / rate_bps - 1.0).abs() < 0.02, "{} instead of {rate_bps}", flat.rate_bps);
        assert!(!flat.is_bucket && flat.confidence >= 0.8, "{flat:?}");
    }
}

#[test]
fn a_bucket_of_all_is_found_with_its_burst() {
    let rate = |bin: usize| if bin < 150 { 3.0 * RATE } else { RATE };
    let mut flows = sharing(7, 6, 600, rate);
    for flow in &mut flows {
        // The queue of the shaper: round trips grow when the bucket is empty.
        flow.series.bins[150..].iter_mut().for_each(|bin| bin.receiver_loop_us = 60_000);
    }
    let flat = found(&flows).expect("a bucket");
    assert!(flat.is_bucket, "{flat:?}");
    let burst_bytes = flat.burst_bytes.expect("a burst");
    assert!((burst_bytes / (150.0 * 2.0 * RATE) - 1.0).abs() < 0.05, "{burst_bytes}");
    assert!((flat.between_ns[0] - 150 * BIN_NS).abs() < 20 * BIN_NS, "{:?}", flat.between_ns);
}

#[test]
fn transfers_that_know_nothing_of_each_other_share_nothing() {
    for seed in 1..60 {
        assert_eq!(found(&apart(seed, 2 + seed as usize % 30, 400)), None, "seed {seed}");
    }
}

#[test]
fn steady_transfers_share_nothing_though_their_sum_is_steady() {
    let mut dice = Dice(3);
    let steady = |dice: &mut Dice| (0..400).map(|_| RATE / 8.0 * (0.98 + 0.04 * dice.roll())).collect::<Vec<f64>>();
    let flows: Vec<SharingFlow> = (0..8).map(|place| flow(place, 0, &steady(&mut dice))).collect();
    assert_eq!(found(&flows), None);
}

#[test]
fn a_pool_of_workers_at_one_pace_shares_nothing() {
    // Four at a time, each at the pace of its window: whatever ends is followed by the next.
    let mut dice = Dice(5);
    let mut pace = |bins: usize| (0..bins).map(|_| RATE / 4.0 * (0.9 + 0.2 * dice.roll())).collect::<Vec<f64>>();
    let flows: Vec<SharingFlow> =
        (0..40).map(|place| flow(place, place as i64 / 4 * 60 + place as i64 % 4 * 15, &pace(60))).collect();
    assert_eq!(found(&flows), None);
}

#[test]
fn what_has_a_limit_of_its_own_is_no_member() {
    let mut flows = sharing(11, 5, 500, |_| RATE);
    let mut dice = Dice(17);
    let own =
        wandering(&mut dice, 1, 500).remove(0).into_iter().map(|weight| weight * RATE / 10.0).collect::<Vec<f64>>();
    flows.push(flow(5, 0, &own));
    let flat = found(&flows).expect("the limit of the others");
    assert_eq!(flat.members, [0, 1, 2, 3, 4]);
}

#[test]
fn a_limit_that_an_application_sets_is_none_of_the_network() {
    let mut flows = sharing(13, 4, 500, |_| RATE);
    flows.iter_mut().for_each(|flow| flow.usable.fill(0.2));
    assert_eq!(found(&flows), None);
}

#[test]
fn transfers_that_come_and_go_show_the_limit_of_all() {
    let weights = wandering(&mut Dice(23), 6, 600);
    let lives: Vec<[usize; 2]> = (0..6).map(|number| [number * 40, 600 - number * 35]).collect();
    let there = |number: usize, bin: usize| (lives[number][0]..lives[number][1]).contains(&bin);
    let weight = |number: usize, bin: usize| if there(number, bin) { weights[number][bin] } else { 0.0 };
    let all = |bin: usize| (0..6).map(|number| weight(number, bin)).sum::<f64>();
    let flows: Vec<SharingFlow> = (0..6)
        .map(|number| {
            let [from, to] = lives[number];
            let part: Vec<f64> = (from..to).map(|bin| RATE * weight(number, bin) / all(bin)).collect();
            flow(number, from as i64, &part)
        })
        .collect();
    let flat = found(&flows).expect("a limit");
    assert_eq!(flat.members.len(), 6);
}

#[test]
fn groups_are_of_two_or_more_with_a_host_in_common() {
    let mut flows: Vec<SharingFlow> = (0..4).map(|place| flow(place, 0, &[1e6; 100])).collect();
    flows[2].hosts[1] = IpAddr::from([198, 18, 0, 3]);
    flows[3].hosts[0] = IpAddr::from([198, 18, 0, 4]);
    assert_eq!(groups(&flows, Role::Sender), [vec![0, 1, 2]]);
    assert_eq!(groups(&flows, Role::Receiver), [vec![0, 1, 3]]);
    assert_eq!(groups(&flows, Role::Pair), [vec![0, 1]]);
}

/// Four that share a rate, and of what kind that is: a tenth of all is lost, and round trips are so long.
fn with_losses(loop_us: impl Fn(usize) -> u32) -> Option<Flat> {
    let mut flows = sharing(5, 4, 500, |_| RATE);
    for flow in &mut flows {
        for (number, bin) in flow.series.bins.iter_mut().enumerate() {
            bin.lost_bytes = bin.arrived_bytes / 10;
            bin.receiver_loop_us = loop_us(number);
        }
    }
    found(&flows)
}

#[test]
fn a_rate_that_loses_much_and_never_has_a_queue_is_a_policers() {
    let kind = |flat: Option<Flat>| flat.map(|flat| (flat.is_bucket, flat.confidence <= 0.8));
    assert_eq!(kind(with_losses(|_| 12_000)), Some((true, true)));
    let queued = kind(with_losses(|number| 12_000 + 20 * (number % 100) as u32));
    assert_ne!(queued.map(|(is_bucket, _)| is_bucket), Some(true));
}

/// Two transfers that send 1.4 times what one policer lets pass, and rest in turn, in which its bucket fills by half.
fn policed() -> Vec<SharingFlow> {
    const DEPTH: f64 = 40.0 * RATE;
    let mut tokens = DEPTH;
    let mut bins = [Vec::new(), Vec::new()];
    for bin in 0..900usize {
        tokens = (tokens + RATE).min(DEPTH);
        let sent = [0, 1].map(|number| if (bin / 75 + 2 * number) % 4 == 0 { 0.0 } else { 0.7 * RATE });
        let all: f64 = sent.iter().sum();
        let share = (tokens / all).min(1.0);
        tokens -= share * all;
        for (bins, sent) in bins.iter_mut().zip(sent) {
            bins.push((share * sent, (1.0 - share) * sent));
        }
    }
    let of = |(place, bins): (usize, &Vec<(f64, f64)>)| {
        let mut flow = flow(place, 0, &bins.iter().map(|bin| bin.0).collect::<Vec<f64>>());
        for (bin, (_, lost)) in flow.series.bins.iter_mut().zip(bins) {
            bin.lost_bytes = *lost as u32;
        }
        flow
    };
    bins.iter().enumerate().map(of).collect()
}

#[test]
fn a_policer_of_transfers_that_rest_is_found_by_what_they_lose() {
    let flat = found(&policed()).expect("a policer");
    let rate_bps = RATE * 8e9 / BIN_NS as f64;
    assert!(flat.is_bucket && flat.members == [0, 1], "{flat:?}");
    assert!((flat.rate_bps / rate_bps - 1.0).abs() < 0.02, "{} instead of {rate_bps}", flat.rate_bps);
}

#[test]
fn what_each_loses_by_a_bucket_of_its_own_is_no_policer_of_both() {
    let mut flows = policed();
    flows.iter_mut().for_each(|flow| flow.has_bucket = true);
    assert_eq!(found(&flows), None);
    let mut flows = policed();
    flows[0].series.bins.iter_mut().for_each(|bin| bin.lost_bytes = 0);
    assert_eq!(found(&flows), None, "one that loses nothing shares no policer");
}
