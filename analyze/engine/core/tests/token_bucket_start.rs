//! A token bucket whose burst is used up within slow start, and plain bottlenecks in the same place (docs/methods.md,
//! section 8): series made by a model of a window behind a queue.
//!
//! Subjects: `tcp/token_bucket/ahead.rs`.

use vmtrace_core::tcp::rates::series::{Bin, Series};
use vmtrace_core::tcp::token_bucket::bucket::{BucketTerms, CountedBytes, LimiterKind, TokenBucket};
use vmtrace_core::tcp::token_bucket::find;

const BIN_S: f64 = 0.01;

/// A sender that doubles its window each round trip until something is lost, takes `keeps` of it then and adds a segment each
/// round trip, before a queue.
#[derive(Debug, Clone, Copy)]
struct Path {
    /// Bins of a round trip without a queue.
    round_trip: usize,
    line_mbps: f64,
    /// The sustained rate (Mbit/s) and the burst (bytes); none is a plain bottleneck.
    bucket: Option<(f64, f64)>,
    queue_bytes: f64,
    keeps: f64,
    /// From this bin on, for so many bins, nothing passes.
    blocked: (usize, usize),
    /// From this bin on, for so many bins, acknowledgements wait; then they come at once.
    held: (usize, usize),
    bins: usize,
}

const PLAIN: Path = Path {
    round_trip: 4,
    line_mbps: 20.0,
    bucket: None,
    queue_bytes: 400e3,
    keeps: 0.7,
    blocked: (0, 0),
    held: (0, 0),
    bins: 800,
};
const SHAPED: Path = Path { line_mbps: 200.0, bucket: Some((20.0, 3e6)), ..PLAIN };

fn bytes(mbps: f64) -> f64 {
    mbps * 1e6 / 8.0 * BIN_S
}

fn within((from, bins): (usize, usize), bin: usize) -> bool {
    (from..from + bins).contains(&bin)
}

impl Path {
    fn series(&self) -> Series {
        let (fill, burst) = self.bucket.map_or((bytes(self.line_mbps), 0.0), |(mbps, burst)| (bytes(mbps), burst));
        let (mut tokens, mut queue, mut window, mut flight, mut held) = (burst, 0.0, 15e3, 0.0, 0.0);
        let (mut slow_start, mut deaf_until) = (true, 0);
        let (mut passed, mut dropped) = (vec![0.0; self.round_trip], vec![0.0; self.round_trip]);
        let (mut entered, mut waited, mut came, mut left) = (Vec::new(), Vec::new(), 0.0, 0.0);
        let mut bins = Vec::new();
        for number in 0..self.bins {
            let sent = f64::clamp(window - flight, 0.0, bytes(1e3));
            queue += sent;
            flight += sent;
            let passes = bytes(self.line_mbps).min(tokens + fill);
            let lost = f64::max(((queue - self.queue_bytes - passes) / 1500.0).floor() * 1500.0, 0.0);
            queue -= lost;
            came += sent - lost;
            entered.push(came);
            let open = if within(self.blocked, number) { 0.0 } else { 1.0 };
            let served = queue.min(passes) * open;
            tokens = (tokens + fill - served).min(burst);
            queue -= served;
            left += served;
            // What leaves now came in the bin in which so much had come.
            waited.push(number.saturating_sub(entered.partition_point(|&entered| entered < left)));
            passed.push(served);
            dropped.push(lost);
            // The sender hears of both a round trip later.
            held += passed[number];
            let acknowledged = if within(self.held, number) { 0.0 } else { std::mem::take(&mut held) };
            flight -= acknowledged + dropped[number];
            if dropped[number] > 0.0 && number >= deaf_until {
                (slow_start, window, deaf_until) =
                    (false, f64::max(window * self.keeps, 3e3), number + self.round_trip + (queue / fill) as usize + 1);
            } else if slow_start {
                window += acknowledged;
            } else {
                window += 1500.0 * acknowledged / window;
            }
            let rtt_ms = 10 * (self.round_trip + waited[number.saturating_sub(self.round_trip)]) as u32;
            bins.push(Bin {
                acknowledged_bytes: acknowledged.round() as u32,
                lost_bytes: lost as u32,
                receiver_loop_us: if acknowledged > 0.0 { rtt_ms * 1000 } else { 0 },
                ..Bin::default()
            });
        }
        bins.push(Bin::default());
        Series { start_ns: 0, bin_ns: (BIN_S * 1e9) as i64, bins }
    }

    fn found_beside_sender(&self, beside_sender: bool) -> Option<TokenBucket> {
        let min_rtt_ns = Some(self.round_trip as f64 * BIN_S * 1e9);
        let terms = BucketTerms {
            delivered: CountedBytes::Acknowledged,
            overhead: 1.0,
            segment_bytes: 1500.0,
            beside_sender,
            min_rtt_ns,
            path_full: &[],
            resting: &[],
            spacing: &[],
            frame_bytes: 0.0,
        };
        find(&self.series(), &[], &terms)
    }

    fn found(&self) -> Option<TokenBucket> {
        self.found_beside_sender(true)
    }
}

fn close_to(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() <= share
}

#[test]
fn a_burst_that_is_used_up_within_slow_start_is_a_shapers() {
    for (round_trip, burst) in [(2, 1e6), (4, 2e6), (4, 3e6), (6, 3e6), (12, 6e6)] {
        for line_mbps in [60.0, 100.0, 200.0, 1000.0] {
            let path = Path { round_trip, line_mbps, bucket: Some((20.0, burst)), ..SHAPED };
            let bucket = path.found();
            let told = bucket.unwrap_or_else(|| panic!("not told: {path:?}"));
            assert_eq!(told.kind, LimiterKind::Shaper);
            assert!(
                close_to(told.sustained_bps, 20e6, 0.02) && close_to(told.burst_bytes, burst, 0.06),
                "{path:?} {told:?}"
            );
            assert!(told.rate_before_bps >= 40e6 && told.confidence <= 0.9, "{path:?} {told:?}");
        }
    }
}

#[test]
fn a_burst_no_larger_than_twice_what_the_path_holds_is_not_told() {
    // 20 Mbit/s for 200 ms are 500 kB.
    for burst in [50e3, 100e3, 400e3, 900e3] {
        let path = Path { bucket: Some((20.0, burst)), ..SHAPED };
        assert_eq!(path.found(), None, "{burst}");
    }
}

#[test]
fn where_the_queue_is_not_seen_nothing_says_what_the_path_holds() {
    assert!(SHAPED.found_beside_sender(true).is_some());
    assert_eq!(SHAPED.found_beside_sender(false), None);
}

/// Blocks and holds at many moments of the start, and none.
fn disturbances(round_trip: usize) -> impl Iterator<Item = ((usize, usize), (usize, usize))> {
    let moments = (1..16).map(move |turn| turn * round_trip + 1);
    let disturbed = moments.flat_map(|from| {
        [3, 10, 40].into_iter().flat_map(move |bins| [((from, bins), (0, 0)), ((0, 0), (from, bins))])
    });
    disturbed.chain([((0, 0), (0, 0))])
}

#[test]
fn a_plain_bottleneck_is_none_whatever_is_held_back_while_it_starts() {
    let mut told = Vec::new();
    for round_trip in [1, 2, 4, 12] {
        for queue_bytes in [30e3, 100e3, 400e3, 2e6] {
            for keeps in [0.5, 0.7, 0.9] {
                for (blocked, held) in disturbances(round_trip) {
                    let path = Path { round_trip, queue_bytes, keeps, blocked, held, ..PLAIN };
                    told.extend(path.found().map(|bucket| (path, bucket)));
                }
            }
        }
    }
    assert!(told.is_empty(), "{}: {:?}", told.len(), &told[..told.len().min(3)]);
}
