//! What is a token bucket and what only looks like one (docs/methods.md, section 8): series of bins written down, or made by
//! a model of the path.
//!
//! Subjects: `tcp/token_bucket/mod.rs`, `tcp/token_bucket/bucket.rs`, `tcp/token_bucket/fit.rs`,
//! `tcp/token_bucket/shaper.rs`, `tcp/token_bucket/policer.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::rates::series::{Bin, Series};
use vmtrace_core::tcp::token_bucket::bucket::{BucketTerms, CountedBytes, LimiterKind, TokenBucket};
use vmtrace_core::tcp::token_bucket::{empty_times, find};

const BIN_S: f64 = 0.01;
const TERMS: BucketTerms<'static> = BucketTerms {
    delivered: CountedBytes::Acknowledged,
    overhead: 1.0,
    segment_bytes: 1500.0,
    beside_sender: true,
    min_rtt_ns: Some(20e6),
    path_full: &[],
    resting: &[],
    spacing: &[],
    frame_bytes: 0.0,
};

/// So many seconds at a rate (Mbit/s) with a round trip (ms).
#[derive(Clone, Copy)]
struct Part(f64, f64, f64);

fn bin(mbps: f64, rtt_ms: f64, lost_bytes: f64) -> Bin {
    Bin {
        acknowledged_bytes: (mbps * 1e6 / 8.0 * BIN_S).round() as u32,
        lost_bytes: lost_bytes as u32,
        receiver_loop_us: (rtt_ms * 1e3) as u32,
        ..Bin::default()
    }
}

/// The slow start of a sender that reaches `mbps`, then the parts, then the bin that was not over.
fn transfer(parts: &[Part]) -> Series {
    let start = [1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0].map(|mbps| bin(mbps, 20.0, 0.0));
    let parts = parts.iter().flat_map(|&Part(seconds, mbps, rtt_ms)| {
        std::iter::repeat_n(bin(mbps, rtt_ms, 0.0), (seconds / BIN_S).round() as usize)
    });
    let bins = start.into_iter().chain(parts).chain([Bin::default()]).collect();
    Series { start_ns: 0, bin_ns: (BIN_S * 1e9) as i64, bins }
}

fn found(series: &Series) -> Option<TokenBucket> {
    find(series, &[], &TERMS)
}

fn close_to(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() <= share
}

const SHAPED: [Part; 2] = [Part(0.7, 60.0, 40.0), Part(3.0, 12.0, 200.0)];

#[test]
fn a_shaper_switches_between_two_even_rates_and_its_queue_grows() {
    let bucket = found(&transfer(&SHAPED)).unwrap();
    assert_eq!(bucket.kind, LimiterKind::Shaper);
    assert!(close_to(bucket.rate_before_bps, 60e6, 0.01) && close_to(bucket.sustained_bps, 12e6, 0.01), "{bucket:?}");
    assert!(close_to(bucket.burst_bytes, 0.7 * 48e6 / 8.0, 0.02), "{bucket:?}");
    assert!((bucket.switch_ns - 780_000_000).abs() <= 20_000_000, "{bucket:?}");
    assert!(bucket.confidence >= 0.8 && bucket.refill_bps.is_none());
}

#[test]
fn one_even_rate_is_a_bottleneck() {
    assert_eq!(found(&transfer(&[Part(4.0, 40.0, 100.0)])), None);
}

#[test]
fn a_slow_start_is_no_token_bucket() {
    assert_eq!(found(&transfer(&[Part(0.1, 16.0, 20.0), Part(0.1, 32.0, 20.0), Part(0.1, 64.0, 25.0)])), None);
    assert_eq!(found(&transfer(&[])), None);
}

#[test]
fn a_stall_is_no_token_bucket() {
    for stall_s in [0.05, 0.15, 0.6] {
        let parts = [Part(1.0, 40.0, 60.0), Part(stall_s, 0.0, 0.0), Part(2.0, 40.0, 60.0)];
        assert_eq!(found(&transfer(&parts)), None, "{stall_s} s");
    }
}

#[test]
fn cross_traffic_that_goes_again_is_no_token_bucket() {
    let parts = [Part(1.0, 60.0, 40.0), Part(2.0, 30.0, 90.0), Part(1.0, 60.0, 40.0)];
    assert_eq!(found(&transfer(&parts)), None);
    let competing = (0..200).map(|step| Part(0.02, 20.0 + 12.0 * (f64::from(step) / 7.0).sin(), 90.0));
    let parts: Vec<_> = [Part(1.0, 60.0, 40.0)].into_iter().chain(competing).collect();
    assert_eq!(found(&transfer(&parts)), None);
}

#[test]
fn an_application_that_sends_less_makes_no_queue() {
    assert_eq!(found(&transfer(&[Part(1.0, 60.0, 40.0), Part(3.0, 12.0, 20.0)])), None);
}

#[test]
fn a_step_of_less_than_a_third_is_none() {
    assert_eq!(found(&transfer(&[Part(1.0, 40.0, 40.0), Part(3.0, 32.0, 90.0)])), None);
}

/// A slow start that doubles its rate each round trip, up to far beyond a lower one, and then the parts.
fn doubling(parts: &[Part]) -> Series {
    let doubled = [16.0, 32.0, 64.0, 128.0].map(|mbps| Part(0.02, mbps, 20.0));
    transfer(&doubled.into_iter().chain(parts.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_rate_that_lasts_less_than_ten_round_trips_shows_a_bucket_that_brought_twice_what_the_path_holds() {
    // 12 Mbit/s for 120 ms are 180 kB: 48 Mbit/s more bring twice that in 60 ms.
    assert_eq!(found(&transfer(&[Part(0.04, 60.0, 20.0), Part(3.0, 12.0, 120.0)])), None);
    let bucket = found(&transfer(&[Part(0.1, 60.0, 20.0), Part(3.0, 12.0, 120.0)])).unwrap();
    assert!(bucket.kind == LimiterKind::Shaper && close_to(bucket.burst_bytes, 600e3, 0.05), "{bucket:?}");
    let bucket = found(&doubling(&[Part(3.0, 12.0, 120.0)])).unwrap();
    assert!(close_to(bucket.burst_bytes, 480e3, 0.05) && close_to(bucket.sustained_bps, 12e6, 0.01), "{bucket:?}");
    assert!((bucket.switch_ns - 160_000_000).abs() <= 20_000_000 && bucket.confidence < 0.8, "{bucket:?}");
}

#[test]
fn a_slow_start_beyond_a_lower_rate_without_a_queue_or_without_an_even_rate_shows_no_bucket() {
    assert_eq!(found(&doubling(&[Part(3.0, 12.0, 20.0)])), None, "an application that sends less");
    assert_eq!(found(&doubling(&[Part(1.0, 12.0, 120.0), Part(1.0, 128.0, 40.0)])), None, "others that go again");
    let competing: Vec<_> =
        (0..150).map(|step| Part(0.02, 12.0 + 3.0 * (f64::from(step) / 7.0).sin(), 120.0)).collect();
    assert_eq!(found(&doubling(&competing)), None, "others that compete");
    assert_eq!(found(&doubling(&[Part(1.0, 12.0, 120.0)])), None, "ten of the longer round trips are 1.2 s");
}

#[test]
fn a_rate_that_lasts_eleven_round_trips_is_one_though_its_own_queue_doubles_them() {
    let mut series = transfer(&[Part(0.57, 60.0, 115.0), Part(3.0, 12.0, 300.0)]);
    series.bins.iter_mut().for_each(|bin| bin.receiver_loop_us = bin.receiver_loop_us.max(50_000));
    let bucket = find(&series, &[], &BucketTerms { min_rtt_ns: Some(50e6), ..TERMS }).unwrap();
    assert!(close_to(bucket.rate_before_bps, 60e6, 0.01) && close_to(bucket.sustained_bps, 12e6, 0.01), "{bucket:?}");
}

#[test]
fn bins_that_something_else_limits_are_left_out() {
    let mut series = transfer(&SHAPED);
    let mut usable = vec![1.0; series.bins.len()];
    // Every tenth tenth of a second the machine stalled.
    for stalled in (100..370).filter(|bin| bin % 50 < 10) {
        series.bins[stalled] = Bin::default();
        usable[stalled] = 0.0;
    }
    assert_eq!(found(&series), None);
    assert_eq!(find(&series, &usable, &TERMS).map(|bucket| bucket.kind), Some(LimiterKind::Shaper));
}

#[test]
fn an_idle_time_shows_how_fast_the_bucket_fills() {
    let refilled = 2.0 * 12e6 / 8.0;
    let again = Part(refilled * 8.0 / 48e6, 60.0, 40.0);
    let parts = [SHAPED[0], SHAPED[1], Part(2.0, 0.0, 0.0), again, Part(2.0, 12.0, 200.0)];
    let bucket = found(&transfer(&parts)).unwrap();
    assert!(close_to(bucket.refill_bps.unwrap(), 12e6, 0.05), "{bucket:?}");
    let full = [SHAPED[0], SHAPED[1], Part(9.0, 0.0, 0.0), SHAPED[0], Part(2.0, 12.0, 200.0)];
    assert_eq!(found(&transfer(&full)).unwrap().refill_bps, None, "full again, nobody knows since when");
}

/// A sender that adds to its rate until something is lost and then takes `keeps` of it, through a bucket without a queue.
struct Policed {
    sustained_mbps: f64,
    burst_bytes: f64,
    line_mbps: f64,
    keeps: f64,
    /// From this bin on it takes another share.
    keeps_from: Option<(usize, f64)>,
    /// Bins between a loss and the sender's answer to it; a round trip has one less.
    hears_after: u32,
    bins: usize,
    /// Bins in which the application rests: so many of each so many, from their end on.
    rests: Option<(usize, usize)>,
}

impl Policed {
    fn new(sustained_mbps: f64, burst_bytes: f64, line_mbps: f64, keeps: f64) -> Self {
        let keeps_from = None;
        Self { sustained_mbps, burst_bytes, line_mbps, keeps, keeps_from, hears_after: 3, bins: 400, rests: None }
    }

    fn is_resting(&self, number: usize) -> bool {
        self.rests.is_some_and(|(rest, of)| number % of >= of - rest)
    }

    fn resting(&self) -> Vec<f32> {
        (0..self.bins).map(|number| if self.is_resting(number) { 1.0 } else { 0.0 }).collect()
    }

    fn series(&self) -> Series {
        let &Self { sustained_mbps, burst_bytes, line_mbps, hears_after, .. } = self;
        let (mut tokens, mut offered, mut bins) = (burst_bytes, 1.0, Vec::new());
        let fill = sustained_mbps * 1e6 / 8.0 * BIN_S;
        let round_trip = hears_after as usize - 1;
        let (mut waits, mut started) = (0, false);
        for number in 0..self.bins {
            let keeps = self.keeps_from.filter(|&(from, _)| number >= from).map_or(self.keeps, |(_, keeps)| keeps);
            if self.is_resting(number) {
                tokens = f64::min(tokens + fill, burst_bytes);
                (offered, started) = (1.0, false);
                bins.push(Bin::default());
                continue;
            }
            let sent = f64::min(offered, line_mbps) * 1e6 / 8.0 * BIN_S;
            let passed = sent.min(tokens + fill);
            tokens = (tokens + fill - passed).min(burst_bytes);
            let lost = ((sent - passed) / 1500.0).round() * 1500.0;
            bins.push(bin(passed * 8e-6 / BIN_S, 10.25 * round_trip as f64, lost));
            // It hears of a loss two bins later, and of one only once a round trip.
            if lost > 0.0 && waits == 0 {
                waits = hears_after;
            }
            waits = u32::saturating_sub(waits, 1);
            started |= lost > 0.0;
            offered = match (waits, started) {
                (1, _) => f64::max(offered.min(line_mbps) * keeps, 0.5),
                (0, false) => offered * if number % round_trip == round_trip - 1 { 2.0 } else { 1.0 },
                (0, true) => offered + 0.04 * sustained_mbps / round_trip as f64,
                _ => offered,
            };
        }
        bins.push(Bin::default());
        Series { start_ns: 0, bin_ns: (BIN_S * 1e9) as i64, bins }
    }
}

fn policed(sustained_mbps: f64, burst_bytes: f64, line_mbps: f64, keeps: f64) -> Series {
    Policed::new(sustained_mbps, burst_bytes, line_mbps, keeps).series()
}

#[test]
fn a_policer_loses_what_exceeds_it_and_makes_no_queue() {
    for (sustained, burst, line, keeps) in
        [(10.0, 100e3, 1e3, 0.7), (10.0, 2e6, 50.0, 0.7), (20.0, 400e3, 100.0, 0.5), (5.0, 150e3, 40.0, 0.7)]
    {
        let bucket = found(&policed(sustained, burst, line, keeps)).unwrap();
        assert_eq!(bucket.kind, LimiterKind::Policer);
        assert!(close_to(bucket.sustained_bps, sustained * 1e6, 0.05), "{sustained} Mbit/s: {bucket:?}");
        assert!(close_to(bucket.burst_bytes, burst, 0.1), "{burst} bytes: {bucket:?}");
    }
}

#[test]
fn a_policer_whose_bucket_overflows_after_most_losses_has_the_rate_of_the_few_after_which_it_does_not() {
    for (burst, keeps) in [(40e3, 0.4), (30e3, 0.45), (30e3, 0.5), (20e3, 0.5)] {
        let careful = Policed { bins: 900, keeps_from: Some((600, 0.9)), ..Policed::new(10.0, burst, 100.0, keeps) };
        let bucket = found(&careful.series()).unwrap();
        assert!(close_to(bucket.sustained_bps, 10e6, 0.02), "{burst} bytes: {bucket:?}");
    }
}

/// Chunks of a video, 7.5 s each, and half a second between them: five round trips of 100 ms.
fn chunks() -> Policed {
    Policed { hears_after: 11, bins: 3200, rests: Some((50, 800)), ..Policed::new(10.0, 300e3, 60.0, 0.7) }
}

fn found_in_chunks(of: &Policed) -> Option<TokenBucket> {
    let min_rtt_ns = Some(f64::from(of.hears_after - 1) * BIN_S * 1e9);
    find(&of.series(), &[], &BucketTerms { min_rtt_ns, resting: &of.resting(), ..TERMS })
}

#[test]
fn a_bucket_that_fills_while_the_application_rests_is_the_same_in_all_busy_periods() {
    let bucket = found_in_chunks(&chunks()).unwrap();
    assert_eq!(bucket.kind, LimiterKind::Policer);
    assert!(close_to(bucket.sustained_bps, 10e6, 0.05) && close_to(bucket.burst_bytes, 300e3, 0.1), "{bucket:?}");
    // Half a second brings more than the bucket holds.
    assert_eq!(bucket.refill_bps, None);
    let deep = Policed { burst_bytes: 1.5e6, ..chunks() };
    let bucket = found_in_chunks(&deep).unwrap();
    assert!(close_to(bucket.burst_bytes, 1.5e6, 0.1) && close_to(bucket.refill_bps.unwrap(), 10e6, 0.2), "{bucket:?}");
}

#[test]
fn losses_too_few_in_each_busy_period_tell_a_policer_together() {
    let rests = Some((40, 290));
    let few = Policed { hears_after: 6, bins: 1450, rests, ..Policed::new(2.0, 250e3, 3.0, 0.5) };
    let lost: Vec<u32> =
        few.series().bins.chunks(290).map(|chunk| chunk.iter().map(|bin| bin.lost_bytes).sum::<u32>() / 1500).collect();
    let bucket = found_in_chunks(&few);
    assert!(lost.iter().all(|&segments| segments < 15), "{lost:?} segments, {bucket:?}");
    assert!(close_to(bucket.unwrap().sustained_bps, 2e6, 0.1), "{bucket:?}");
}

#[test]
fn a_loss_elsewhere_before_the_burst_is_used_up_hides_no_policer() {
    let mut series = policed(10.0, 2e6, 50.0, 0.7);
    let first = series.bins.iter().position(|bin| bin.lost_bytes > 0).unwrap();
    series.bins[first - 12].lost_bytes = 1500;
    let bucket = found(&series).unwrap();
    assert!(close_to(bucket.burst_bytes, 2e6, 0.1), "{bucket:?}");
    assert!((bucket.switch_ns - first as i64 * 10_000_000).abs() <= 20_000_000, "{bucket:?}, empty from bin {first}");
}

/// A sender that halves its window at a loss and adds a segment a round trip, on a path without a queue that loses one of so many
/// segments by chance; now and then its application rests.
fn unlucky(seed: u64, one_of: f64, rests: Option<(usize, usize)>) -> (Series, Vec<f32>) {
    let rules = Policed { rests, ..Policed::new(1.0, 0.0, 0.0, 0.5) };
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut window, mut threshold, mut bins) = (10.0, f64::INFINITY, Vec::new());
    let (mut sent, mut deaf) = (0.0, 0);
    for number in 0..900 {
        if rules.is_resting(number) {
            (window, threshold) = (10.0, f64::max(threshold, 10.0));
            bins.push(Bin::default());
            continue;
        }
        sent += window / 2.0;
        let whole = f64::floor(sent);
        sent -= whole;
        let lost = (0..whole as u32).filter(|_| chance() < 1.0 / one_of).count() as f64;
        bins.push(bin((whole - lost) * 12e-3 / (BIN_S * 1e3), 20.5, lost * 1500.0));
        deaf = i32::max(deaf - 1, 0);
        if lost > 0.0 && deaf == 0 {
            (window, deaf) = (f64::max(window * 0.5, 2.0), 3);
            threshold = window;
        } else if number % 2 == 1 {
            window = if window < threshold { window * 2.0 } else { window + 1.0 };
            window = window.min(2000.0);
        }
    }
    bins.push(Bin::default());
    (Series { start_ns: 0, bin_ns: (BIN_S * 1e9) as i64, bins }, rules.resting())
}

#[test]
fn losses_by_chance_are_no_policer() {
    let mut told = Vec::new();
    for seed in 1..=400 {
        for one_of in [30.0, 100.0, 300.0, 1000.0, 5000.0] {
            for rests in [None, Some((40, 150)), Some((40, 450))] {
                let (series, resting) = unlucky(seed, one_of, rests);
                if let Some(bucket) = find(&series, &[], &BucketTerms { resting: &resting, ..TERMS }) {
                    told.push((seed, one_of, rests, bucket));
                }
            }
        }
    }
    assert!(told.is_empty(), "{} of 6000: {:?}", told.len(), &told[..told.len().min(5)]);
}

#[test]
fn a_policer_is_found_at_the_receiver_where_round_trips_are_seen_in_part_only() {
    let mut series = policed(10.0, 100e3, 50.0, 0.7);
    series.bins.iter_mut().for_each(|bin| bin.receiver_loop_us = 1);
    let at_receiver = BucketTerms { beside_sender: false, ..TERMS };
    let bucket = find(&series, &[], &at_receiver).unwrap();
    assert_eq!(bucket.kind, LimiterKind::Policer);
    assert!(close_to(bucket.sustained_bps, 10e6, 0.05) && close_to(bucket.burst_bytes, 100e3, 0.1), "{bucket:?}");
}

#[test]
fn losses_behind_a_growing_queue_are_no_policer() {
    let mut series = policed(10.0, 100e3, 1e3, 0.7);
    let lossy: Vec<usize> = (0..400).filter(|&at| series.bins[at].lost_bytes > 0).collect();
    for at in lossy {
        for bin in &mut series.bins[at.saturating_sub(3)..=at] {
            bin.receiver_loop_us = 32_000;
        }
    }
    assert_eq!(found(&series), None);
}

#[test]
fn losses_behind_a_queue_that_never_drains_are_no_policer() {
    let mut series = policed(10.0, 100e3, 1e3, 0.7);
    series.bins.iter_mut().for_each(|bin| bin.receiver_loop_us = 65_000);
    assert_eq!(found(&series), None);
}

#[test]
fn without_a_faster_beginning_losses_are_no_policer() {
    let bins = (0..400).map(|at| bin(10.0, 20.0, if at % 20 == 0 { 4500.0 } else { 0.0 }));
    let series = Series { start_ns: 0, bin_ns: 10_000_000, bins: bins.chain([Bin::default()]).collect() };
    assert_eq!(found(&series), None);
}

#[test]
fn without_round_trips_nothing_is_said() {
    let mut series = transfer(&SHAPED);
    series.bins.iter_mut().for_each(|bin| bin.receiver_loop_us = 0);
    assert_eq!(find(&series, &[], &BucketTerms { min_rtt_ns: None, ..TERMS }), None);
    assert_eq!(found(&series), None);
}

/// A sender with 80 packets in flight behind a shaper, or an application that gives it no more than gets through.
fn conversation(backlogged: bool) -> Talk {
    let acknowledged_ms =
        |packet: f64| 50.0 + if packet < 2000.0 { packet / 2.0 } else { 1000.0 + (packet - 2000.0) * 2.0 };
    let sent_ms = |packet: f64| match backlogged {
        true if packet < 80.0 => 11.0 + packet / 100.0,
        true => acknowledged_ms(packet - 80.0) + 0.001,
        false => acknowledged_ms(packet) - 39.0,
    };
    let packets = 0..3500;
    let mut lines: Vec<(f64, bool, i64)> =
        packets.clone().map(|at| (sent_ms(f64::from(at)), true, i64::from(at))).collect();
    lines.extend(packets.map(|at| (acknowledged_ms(f64::from(at)), false, i64::from(at))));
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    Talk::seen_at_client(39.0).each(lines, |talk, (time_ms, sent, at)| {
        if sent { talk.client(time_ms, data(at * 1000, 1000)) } else { talk.server(time_ms, ack((at + 1) * 1000)) }
    })
}

#[test]
fn a_shaped_conversation_says_so_in_the_document() {
    let talk = conversation(true);
    let summary = talk.summary();
    let bucket = summary.directions[CLIENT].extras.token_bucket.as_deref().unwrap();
    // 1000 bytes of payload are 1040 bytes of IP.
    assert!(
        close_to(bucket.rate_before_bps, 16.64e6, 0.02) && close_to(bucket.sustained_bps, 4.16e6, 0.02),
        "{bucket:?}"
    );
    assert!(close_to(bucket.burst_bytes, 2000.0 * 1040.0 * 0.75, 0.05), "{bucket:?}");
    assert!((bucket.switch_ns - START_NS - ms(1050.0)).abs() <= ms(10.0), "{bucket:?}");
    let json = json_of(&talk.analysis());
    assert!(json.contains("\"token_bucket\":{\"kind\":\"shaper\",\"burst_bytes\":"), "{json}");
    assert!(json.contains("\"peak_rate_bps\":{\"1ms\":"), "{json}");
}

#[test]
fn where_no_round_trip_shows_the_queue_a_path_that_is_full_at_the_lower_rate_does() {
    // Between the hosts, beyond the bucket and without timestamps: the loop to the receiver alone is seen.
    let series = transfer(&[Part(0.7, 60.0, 10.0), Part(3.0, 12.0, 10.0)]);
    let switch = 8 + 70;
    let full_from = |first: usize, share: f32| -> Vec<f32> {
        (0..series.bins.len()).map(|bin| if bin >= first { share } else { 0.0 }).collect()
    };
    let found = |path_full: &[f32], beside_sender: bool| {
        find(&series, &[], &BucketTerms { path_full, beside_sender, ..TERMS }).map(|bucket| bucket.kind)
    };
    assert_eq!(found(&full_from(switch, 0.9), false), Some(LimiterKind::Shaper));
    // Full now and then, and where a queue would show.
    assert_eq!(found(&full_from(switch, 0.6), false), None);
    assert_eq!(found(&full_from(switch, 0.9), true), None);
}

/// When a packet passes between the hosts, ms: two a millisecond, from the 2000th on one in two.
fn passes_ms(packet: f64) -> f64 {
    50.0 + if packet < 2000.0 { packet / 2.0 } else { 1000.0 + (packet - 2000.0) * 2.0 }
}

/// 3500 packets that pass between the hosts without timestamps, at `at_ms`, each acknowledged 10 ms later.
fn in_between(at_ms: impl Fn(f64) -> f64) -> Talk {
    let mut lines: Vec<(f64, bool, i64)> = Vec::new();
    for packet in 0..3500 {
        let time_ms = at_ms(f64::from(packet));
        lines.extend([(time_ms, true, i64::from(packet)), (time_ms + 10.0, false, i64::from(packet))]);
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    Talk::new().open(10.0, 12.0).each(lines, |talk, (time_ms, sent, at)| {
        if sent { talk.client(time_ms, data(at * 1000, 1000)) } else { talk.server(time_ms, ack((at + 1) * 1000)) }
    })
}

#[test]
fn between_the_hosts_two_even_rates_without_a_pause_are_a_shaper() {
    let summary = in_between(passes_ms).summary();
    let bucket = summary.directions[CLIENT].extras.token_bucket.as_deref().unwrap();
    assert_eq!(bucket.kind, LimiterKind::Shaper);
    assert!(close_to(bucket.sustained_bps, 4.16e6, 0.02), "{bucket:?}");
}

#[test]
fn between_the_hosts_a_lower_rate_that_comes_in_bursts_with_pauses_is_no_shaper() {
    // Twenty packets at once in each 40 ms: a window, or an application.
    let bursts = |packet: f64| match packet < 2000.0 {
        true => passes_ms(packet),
        false => passes_ms(packet - (packet % 20.0)) + (packet % 20.0) * 0.05,
    };
    assert_eq!(in_between(bursts).summary().directions[CLIENT].extras.token_bucket, None);
}

/// A shaper between the sender and the capture, whose queue the sender's echoes show. Now and then a packet is lost, either on
/// the way to the capture or beyond it, and repeated 300 ms later; till then nothing new is acknowledged.
fn losing(lost_before_here: bool) -> Talk {
    let lost = |packet: i64| (0..8).any(|loss| packet == 1000 + 300 * loss);
    let mut sent: Vec<i64> = Vec::new();
    for packet in 0..3500 {
        if !(lost(packet) && lost_before_here) {
            sent.push(packet);
        }
        if lost(packet - 150) {
            sent.push(packet - 150);
        }
    }
    let mut lines: Vec<(f64, bool, i64)> = Vec::new();
    let mut arrived = vec![false; 3500];
    for (slot, &packet) in sent.iter().enumerate() {
        let time_ms = passes_ms(slot as f64);
        let lost_now = lost(packet) && sent[slot + 1..].contains(&packet);
        arrived[packet as usize] |= !lost_now;
        let first_missing = arrived.iter().position(|&arrived| !arrived).unwrap_or(arrived.len());
        lines.extend([(time_ms, true, packet), (time_ms + 10.0, false, first_missing as i64)]);
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    Talk::new().with_timestamps().open(10.0, 12.0).each(lines, |talk, (time_ms, sent, at)| {
        let loop_ms = if time_ms < 1050.0 { 12.0 } else { 60.0 };
        let heard = (2_000_000.0 + (time_ms - loop_ms).max(10.0)) as u32;
        if sent {
            talk.client(time_ms, data(at * 1000, 1000).tsecr(heard))
        } else {
            talk.server(time_ms, ack(at * 1000))
        }
    })
}

#[test]
fn losses_before_the_capture_make_the_arrivals_the_delivered() {
    // What passes here has come through the bucket, however late it is acknowledged.
    let summary = losing(true).summary();
    let bucket = summary.directions[CLIENT].extras.token_bucket.as_deref().unwrap();
    assert_eq!(bucket.kind, LimiterKind::Shaper);
    assert!((bucket.switch_ns - START_NS - ms(1050.0)).abs() <= ms(20.0), "{bucket:?}");
    assert!(close_to(bucket.sustained_bps, 4.2e6, 0.03), "{bucket:?}");
}

#[test]
fn losses_beyond_the_capture_leave_the_acknowledged_the_delivered() {
    // What passes here may have been lost beyond it: what is acknowledged comes in lumps, at no even rate.
    assert_eq!(losing(false).summary().directions[CLIENT].extras.token_bucket, None);
}

#[test]
fn a_conversation_that_the_application_slows_says_nothing() {
    let summary = conversation(false).summary();
    assert_eq!(summary.directions[CLIENT].extras.token_bucket, None);
    let peaks = summary.directions[CLIENT].extras.peaks.as_deref().unwrap();
    assert_eq!(peaks[2].wire_bytes, 200 * 1054, "two packets a millisecond");
}

#[test]
fn a_short_conversation_carries_nothing_of_this() {
    let talk = Talk::seen_at_client(40.0)
        .each(0..63, |talk, at| talk.client(50.0 + f64::from(at), data(i64::from(at) * 1000, 1000)));
    let direction = &talk.summary().directions[CLIENT];
    assert!(direction.extras.peaks.is_none() && direction.extras.token_bucket.is_none());
    assert!(!json_of(&talk.analysis()).contains("peak_rate_bps"));
}

proptest! {
    #[test]
    fn any_series_is_taken_without_a_panic_and_a_burst_is_never_negative(
        values in proptest::collection::vec(prop::array::uniform5(prop_oneof![Just(0u32), 0..1000u32, any::<u32>()]), 0..300),
        usable in proptest::collection::vec(-1.0f32..2.0, 0..300),
        bin_ns in prop_oneof![Just(0i64), 1..1_000_000_000i64, any::<i64>()],
        start_ns in any::<i64>(),
        min_rtt_ns in prop_oneof![Just(None), (0.0..1e12f64).prop_map(Some)],
    ) {
        let bins = values.into_iter().map(|[arrived, acknowledged, lost, receiver, sender]| Bin {
            arrived_bytes: arrived, acknowledged_bytes: acknowledged, lost_bytes: lost,
            receiver_loop_us: receiver, sender_loop_us: sender,
        });
        let series = Series { start_ns, bin_ns, bins: bins.collect() };
        for delivered in [CountedBytes::Arrived, CountedBytes::Acknowledged] {
            if let Some(bucket) = find(&series, &usable, &BucketTerms { delivered, min_rtt_ns, ..TERMS }) {
                prop_assert!(bucket.burst_bytes >= 0.0 && bucket.sustained_bps > 0.0, "{bucket:?}");
                prop_assert!(bucket.rate_before_bps >= 1.3 * bucket.sustained_bps, "{bucket:?}");
                let terms = BucketTerms { delivered, min_rtt_ns, ..TERMS };
                let empty_ns = empty_times(&series, &usable, &terms, &bucket);
                prop_assert!(empty_ns.iter().flatten().is_sorted() && empty_ns[0][0] == bucket.switch_ns, "{empty_ns:?}");
            }
        }
    }

    #[test]
    fn ten_times_the_rates_switch_at_the_same_time(
        before_s in 0.4..2.0f64, after_s in 2.0..4.0f64, before in 30.0..80.0f64, ratio in 1.6..4.0f64, grows in 1.4..6.0f64,
    ) {
        let parts = |factor: f64| [
            Part(before_s, factor * before, 30.0), Part(after_s, factor * before / ratio, 30.0 * grows),
        ];
        let (one, ten) = (found(&transfer(&parts(1.0))).unwrap(), found(&transfer(&parts(10.0))).unwrap());
        prop_assert!((one.switch_ns - ten.switch_ns).abs() <= 10_000_000, "{one:?} {ten:?}");
        prop_assert!(close_to(ten.sustained_bps, 10.0 * one.sustained_bps, 0.01));
        prop_assert!((one.switch_ns as f64 / 1e9 - 0.08 - before_s).abs() <= 0.02, "{one:?}");
    }
}
