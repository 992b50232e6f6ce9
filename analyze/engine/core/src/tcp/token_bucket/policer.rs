//! Losses that come when a bucket is empty, and only then, while no queue grows (Flach et al., SIGCOMM 2016).

use super::fit::{Stretch, median, quantile};
use super::{Kind, LEAST_RATIO, LEAST_ROUND_TRIPS, TokenBucket};

/// Lost segments, and round trips in which some were lost.
const FEWEST_LOST_SEGMENTS: f64 = 15.0;
const FEWEST_LOSSY_ROUND_TRIPS: usize = 3;
/// When something is lost the bucket holds at most this, in round trips at the sustained rate, in so many of the cases.
const LEVEL_ON_LOSS: f64 = 2.0;
const SHARE_ON_LOSS: f64 = 0.9;
/// When nothing is lost it is not overdrawn by more than this.
const LEVEL_ON_PASS: f64 = -0.75;
const SHARE_ON_PASS: f64 = 0.97;
/// The round trip was longer than usual before at most this share of the losses.
const MOST_BEHIND_QUEUE: f64 = 0.2;
/// A burst below this many segments may as well be a short queue.
const FEWEST_BURST_SEGMENTS: f64 = 10.0;
/// A sender that always has data keeps within half of the rate over ten round trips, nearly always.
const MOST_BESIDE_RATE: f64 = 0.5;
const SHARE_KEPT_UP: f64 = 0.9;
/// Losses that the rate is read from, at most.
const MOST_POINTS: usize = 64;
/// Bytes before the first loss beyond which the higher rate must have lasted, and how far back a round trip is looked for.
const EARLY_BYTES: f64 = 2e6;
const RECENT_ROUND_TRIPS: f64 = 3.0;

/// Looks for a policer.
pub fn find(stretch: &Stretch) -> Option<TokenBucket> {
    let lossy: Vec<usize> = (0..stretch.len()).filter(|&bin| stretch.lost[bin] > 0.0).collect();
    let (&first, &last) = (lossy.first()?, lossy.last()?);
    let lost: f64 = stretch.lost.iter().sum();
    let cell = ((stretch.min_rtt_ns / stretch.bin_ns).ceil().min(1e9) as usize).max(1);
    let mut round_trips: Vec<usize> = lossy.iter().map(|bin| bin / cell).collect();
    round_trips.dedup();
    if lost < FEWEST_LOST_SEGMENTS * stretch.segment_bytes
        || round_trips.len() < FEWEST_LOSSY_ROUND_TRIPS
        || last - first < (LEAST_ROUND_TRIPS as usize).saturating_mul(cell)
    {
        return None;
    }
    let rate = sustained(stretch, &lossy)?;
    let burst = stretch.deepest(rate, first + cell) + rate / 2.0;
    // The bucket was empty somewhere within the bin of the first loss: half of it is the best guess.
    let early = stretch.delivered[..=first].iter().sum::<f64>() <= EARLY_BYTES;
    let fast = if early { cell } else { (LEAST_ROUND_TRIPS as usize).saturating_mul(cell) };
    let before = fastest(stretch, first + cell, fast)?;
    if rate <= 0.0 || before < LEAST_RATIO * rate || burst < FEWEST_BURST_SEGMENTS * stretch.segment_bytes {
        return None;
    }
    if kept_up(stretch, rate, first, last) < SHARE_KEPT_UP {
        return None;
    }
    let (on_loss, on_pass) = bucket_test(stretch, rate, burst, first, last)?;
    if on_loss < SHARE_ON_LOSS || on_pass < SHARE_ON_PASS || behind_queue(stretch, &lossy, rate)? > MOST_BEHIND_QUEUE {
        return None;
    }
    let sure = [on_loss > 0.97, before > 2.0 * rate, round_trips.len() >= LEAST_ROUND_TRIPS as usize];
    Some(TokenBucket {
        kind: Kind::Policer,
        burst_bytes: burst,
        rate_before_bps: stretch.bps(before),
        sustained_bps: stretch.bps(rate),
        switch_ns: stretch.start_ns.saturating_add((first as f64 * stretch.bin_ns) as i64),
        refill_bps: None,
        confidence: 0.6 + 0.1 * sure.into_iter().filter(|&sure| sure).count() as f64,
    })
}

/// The rate at which the losses say that the bucket fills: the median slope of what had passed, loss to loss. A queue behind
/// the bucket that drains after the first loss, or tokens that overflow once, do not count as they would end to end.
fn sustained(stretch: &Stretch, lossy: &[usize]) -> Option<f64> {
    let (first, last) = (*lossy.first()?, *lossy.last()?);
    let mut passed = 0.0;
    let until: Vec<f64> = stretch
        .delivered
        .iter()
        .map(|bytes| {
            passed += bytes;
            passed
        })
        .collect();
    let stride = (last - first).div_ceil(MOST_POINTS).max(1);
    let mut points: Vec<usize> = lossy.to_vec();
    points.dedup_by_key(|bin| (*bin - first) / stride);
    let far =
        points.iter().enumerate().flat_map(|(index, &one)| points[index + 1..].iter().map(move |&other| (one, other)));
    let slopes = far
        .filter(|(one, other)| 3 * (other - one) >= last - first)
        .map(|(one, other)| (until[other] - until[one]) / (other - one) as f64);
    median(&slopes.collect::<Vec<_>>())
}

/// The share of windows of ten round trips in which about as much was delivered as the rate allows.
fn kept_up(stretch: &Stretch, rate: f64, first: usize, last: usize) -> f64 {
    let bins = (LEAST_ROUND_TRIPS * stretch.min_rtt_ns / stretch.bin_ns).ceil().min(1e9) as usize;
    let windows = stretch.windows(first + 1, last, bins.max(2));
    let near = windows.iter().filter(|&&one| (one / rate - 1.0).abs() <= MOST_BESIDE_RATE).count();
    near as f64 / windows.len().max(1) as f64
}

/// The highest rate over `length` bins that end before `until`; none if there are not so many.
fn fastest(stretch: &Stretch, until: usize, length: usize) -> Option<f64> {
    let bins = stretch.delivered.get(..until.min(stretch.len()))?;
    let sums = bins.windows(length.max(1)).map(|window| window.iter().sum::<f64>());
    sums.max_by(f64::total_cmp).map(|most| most / length.max(1) as f64)
}

/// The shares of bins with and without loss in which the bucket was as a policer's would be. Half of the losses find it at
/// most empty.
fn bucket_test(stretch: &Stretch, rate: f64, burst: f64, first: usize, last: usize) -> Option<(f64, f64)> {
    let mut level = 0.0;
    let mut on_loss = Vec::new();
    for bin in first + 1..=last {
        level += rate - stretch.delivered[bin];
        if stretch.lost[bin] > 0.0 {
            on_loss.push(level);
        }
    }
    let round_trip = rate * (stretch.min_rtt_ns / stretch.bin_ns).max(1.5);
    let (mut level, mut losses, mut passes) = ((-median(&on_loss)?).min(burst), Share::default(), Share::default());
    for bin in first + 1..=last {
        level = (level + rate - stretch.delivered[bin]).min(burst);
        if stretch.lost[bin] > 0.0 {
            losses.add(level.abs() <= LEVEL_ON_LOSS * round_trip);
        } else if stretch.delivered[bin] > 0.0 {
            passes.add(level >= LEVEL_ON_PASS * round_trip);
        }
    }
    losses.value().zip(passes.value())
}

/// The share of lossy bins before which the round trip was longer than it is without a queue; none if too few are known.
fn behind_queue(stretch: &Stretch, lossy: &[usize], rate: f64) -> Option<f64> {
    let known: Vec<f64> = stretch.rtt_ns.iter().flatten().copied().collect();
    let usual = quantile(&known, 0.1)?;
    let two_segments_ns = 2.0 * stretch.segment_bytes / rate * stretch.bin_ns;
    let limit = (1.1 * usual).max(usual + two_segments_ns.max(1e6));
    let recent = (RECENT_ROUND_TRIPS * usual / stretch.bin_ns).ceil() as usize + 1;
    let mut share = Share::default();
    for &bin in lossy {
        let before = &stretch.rtt_ns[bin.saturating_sub(recent)..=bin];
        if let Some(rtt) = before.iter().rev().find_map(|rtt| *rtt) {
            share.add(rtt > limit);
        }
    }
    (2 * share.of >= lossy.len()).then(|| share.value()).flatten()
}

#[derive(Default)]
struct Share {
    number: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, counts: bool) {
        self.number += usize::from(counts);
        self.of += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.of > 0).then(|| self.number as f64 / self.of as f64)
    }
}
