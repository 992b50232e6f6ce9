//! A stretch of a transfer as IP bytes for each bin, and what is read off it: windows, evenness, the two-segment fit.

use crate::tcp::rates::series::{Bin, Series};
use crate::tcp::token_bucket::bucket::{BucketTerms, CountedBytes};

/// Nothing delivered for so many round trips, and this long, ends an episode.
const IDLE_ROUND_TRIPS: f64 = 10.0;

const SHORTEST_IDLE_NS: f64 = 300e6;

/// Where the application rests for half of it or more, fewer end a busy period.
const REST_ROUND_TRIPS: f64 = 3.0;

const RESTING_SHARE: f64 = 0.5;

/// Rates are compared over windows of at least so many segments.
const SEGMENTS_PER_WINDOW: f64 = 40.0;

/// Bins of a transfer. Positions are counted in bins, bytes are IP bytes.
pub struct BinSpan {
    pub start_ns: i64,
    pub bin_ns: f64,
    pub delivered: Vec<f64>,
    pub lost: Vec<f64>,
    pub rtt_ns: Vec<Option<f64>>,
    pub usable: Vec<bool>,
    /// Share in which the path was full.
    pub path_full: Vec<f64>,
    /// Share in which the application rested.
    pub resting: Vec<f64>,
    /// Of the whole transfer: times between packets (nanoseconds, and how many), its length, and its largest frame.
    pub spacing: Vec<(u64, u64)>,
    pub all_bins: usize,
    pub frame_bytes: f64,
    /// The whole round trip is sampled: a queue shows in it wherever it stands.
    pub whole_rtt: bool,
    pub min_rtt_ns: f64,
    /// A full segment with its headers.
    pub segment_bytes: f64,
}

impl BinSpan {
    /// None if no round trip is known.
    pub fn of(series: &Series, usable: &[f32], terms: &BucketTerms<'_>) -> Option<Self> {
        let (rtt_ns, by_sender) = round_trips(&series.bins);
        let shortest = rtt_ns.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        // Without the loop to the sender, what is sampled away from it is a part of the round trip.
        let whole = by_sender || terms.beside_sender;
        let min_rtt_ns = terms.min_rtt_ns.map_or(shortest, |known| if whole { known.min(shortest) } else { known });
        let sound = series.bin_ns > 0 && terms.overhead.is_finite() && terms.overhead >= 1.0 && min_rtt_ns.is_finite();
        let bytes = |bin: &Bin| match terms.delivered {
            CountedBytes::Arrived => bin.arrived_bytes,
            CountedBytes::Acknowledged => bin.acknowledged_bytes,
        };
        sound.then(|| Self {
            start_ns: series.start_ns,
            bin_ns: series.bin_ns as f64,
            delivered: series.bins.iter().map(|bin| f64::from(bytes(bin)) * terms.overhead).collect(),
            lost: series.bins.iter().map(|bin| f64::from(bin.lost_bytes) * terms.overhead).collect(),
            rtt_ns,
            usable: (0..series.bins.len()).map(|bin| usable.get(bin).is_none_or(|&share| share >= 0.5)).collect(),
            path_full: shares(terms.path_full, series.bins.len()),
            resting: shares(terms.resting, series.bins.len()),
            spacing: terms.spacing.to_vec(),
            all_bins: series.bins.len(),
            frame_bytes: terms.frame_bytes * terms.overhead,
            whole_rtt: whole,
            min_rtt_ns: min_rtt_ns.max(1.0),
            segment_bytes: (terms.segment_bytes * terms.overhead).max(1.0),
        })
    }

    pub fn part(&self, start: usize, end: usize) -> Self {
        Self {
            delivered: self.delivered[start..end].to_vec(),
            lost: self.lost[start..end].to_vec(),
            rtt_ns: self.rtt_ns[start..end].to_vec(),
            usable: self.usable[start..end].to_vec(),
            path_full: self.path_full[start..end].to_vec(),
            resting: self.resting[start..end].to_vec(),
            spacing: self.spacing.clone(),
            ..*self
        }
    }

    pub fn len(&self) -> usize {
        self.delivered.len()
    }

    /// Whole bins in a round trip without a queue, at least one.
    pub fn round_trip_bins(&self) -> usize {
        ((self.min_rtt_ns / self.bin_ns).ceil().min(1e9) as usize).max(1)
    }

    /// Bins in a window that holds a round trip and enough segments at this rate (bytes for each bin).
    pub fn window(&self, rate: f64) -> usize {
        let by_time = (self.min_rtt_ns / self.bin_ns).ceil();
        let by_segments = (SEGMENTS_PER_WINDOW * self.segment_bytes / rate.max(1e-9)).ceil();
        (by_time.max(by_segments).min(1e9) as usize).max(1)
    }

    /// Mean rates (bytes for each bin) of the whole usable windows in `start..end`.
    pub fn windows(&self, start: usize, end: usize, length: usize) -> Vec<f64> {
        let length = length.max(1);
        (start..end.min(self.len()))
            .step_by(length)
            .filter(|&at| at + length <= end && self.usable[at..at + length].iter().all(|&usable| usable))
            .map(|at| self.delivered[at..at + length].iter().sum::<f64>() / length as f64)
            .collect()
    }

    /// Round trips that so many bins last.
    pub fn round_trips(&self, bins: usize) -> f64 {
        bins as f64 * self.bin_ns / self.min_rtt_ns
    }

    /// Bits per second of a rate in bytes for each bin.
    pub fn bps(&self, rate: f64) -> f64 {
        rate * 8e9 / self.bin_ns
    }

    /// Most tokens that were missing in a bucket filled at `rate`, which was full before bin `from`, up to the end of bin `until`.
    ///
    /// Rule: docs/methods.md, "Burst of a bucket".
    pub fn deepest(&self, rate: f64, from: usize, until: usize) -> f64 {
        let (mut missing, mut deepest) = (0.0f64, 0.0f64);
        for bytes in self.delivered.iter().take(until + 1).skip(from) {
            missing = (missing + bytes - rate).max(0.0);
            deepest = deepest.max(missing);
        }
        deepest
    }
}

/// Round trips of the bins, both loops together. Where the loop to the sender is sampled at all, it is the one that counts,
/// and that to the receiver, which then is short, is the newest that is known. Says whether it is sampled.
fn round_trips(bins: &[Bin]) -> (Vec<Option<f64>>, bool) {
    let sampled = |field: fn(&Bin) -> u32| bins.iter().filter(|bin| field(bin) > 0).count() * 4 > bins.len().min(40);
    let by_sender = sampled(|bin| bin.sender_loop_us);
    let mut receiver_us = 0;
    let of_bin = |bin: &Bin| {
        receiver_us = if bin.receiver_loop_us > 0 { bin.receiver_loop_us } else { receiver_us };
        let known = if by_sender { bin.sender_loop_us > 0 } else { bin.receiver_loop_us > 0 };
        known.then(|| (f64::from(receiver_us) + f64::from(bin.sender_loop_us)) * 1e3)
    };
    (bins.iter().map(of_bin).collect(), by_sender)
}

/// The parts between long silences, without the last bin, which was not over.
pub fn episodes(whole: &BinSpan) -> Vec<(usize, usize)> {
    let silence = silence_bins(whole, IDLE_ROUND_TRIPS);
    parts_between(whole, |from, to| to - from >= silence)
}

/// The parts between long silences and between rests of the application.
pub fn busy_periods(whole: &BinSpan) -> Vec<(usize, usize)> {
    let [silence, rest] = [IDLE_ROUND_TRIPS, REST_ROUND_TRIPS].map(|round_trips| silence_bins(whole, round_trips));
    let rests =
        |from: usize, to: usize| whole.resting[from..to].iter().sum::<f64>() >= RESTING_SHARE * (to - from) as f64;
    parts_between(whole, |from, to| to - from >= silence || to - from >= rest && rests(from, to))
}

fn silence_bins(whole: &BinSpan, round_trips: f64) -> usize {
    let silence_ns = (round_trips * whole.min_rtt_ns).max(SHORTEST_IDLE_NS);
    ((silence_ns / whole.bin_ns).ceil() as usize).max(2)
}

/// The parts between bins `from..to` in which nothing was delivered and that part it.
fn parts_between(whole: &BinSpan, part: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (bin, _) in whole.delivered.iter().enumerate().filter(|(_, bytes)| **bytes > 0.0) {
        match parts.last_mut() {
            Some((_, end)) if !part(*end, bin) => *end = bin + 1,
            _ => parts.push((bin, bin + 1)),
        }
    }
    if let Some((_, end)) = parts.last_mut() {
        *end = (*end).min(whole.len().saturating_sub(1));
    }
    parts.retain(|&(start, end)| start < end);
    parts
}

/// The shares of so many bins; those that are not known are none.
fn shares(known: &[f32], bins: usize) -> Vec<f64> {
    (0..bins).map(|bin| known.get(bin).map_or(0.0, |&share| f64::from(share))).collect()
}

/// The middle value; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which this share lies; none of nothing.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    quantiles(values, [share]).map(|[value]| value)
}

/// The same of several shares, in ascending order.
pub fn quantiles<const N: usize>(values: &[f64], shares: [f64; N]) -> Option<[f64; N]> {
    let mut values = values.to_vec();
    let (last, mut from) = (values.len().checked_sub(1)?, 0);
    Some(shares.map(|share| {
        let place = (last as f64 * share).round() as usize;
        // One of them in its place is enough: sorting all took more than everything else that is asked of a series.
        let (_, value, _) = values[from..].select_nth_unstable_by(place - from, f64::total_cmp);
        from = place;
        *value
    }))
}

/// Coefficient of variation without the outermost twentieth on either side.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted.len() / 20;
    let kept = sorted.get(cut..sorted.len() - cut).filter(|kept| kept.len() > 1)?;
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    let square = kept.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (kept.len() - 1) as f64;
    (mean > 0.0).then(|| square.sqrt() / mean)
}

/// Where two constant rates, the higher one first, fit the cells best, and by how much the Bayesian information criterion prefers them to one;
/// the split is the number of cells of the first.
pub fn best_split(cells: &[f64]) -> Option<(usize, f64)> {
    let count = cells.len();
    let (total, squares) = cells.iter().fold((0.0, 0.0), |(sum, squares), cell| (sum + cell, squares + cell * cell));
    let mut before = 0.0;
    let explained = |sum: f64, number: usize| sum * sum / number as f64;
    let mut best: Option<(usize, f64)> = None;
    for (index, cell) in cells.iter().enumerate().take(count.saturating_sub(1)) {
        before += cell;
        let (first, second) = (index + 1, count - index - 1);
        if before * second as f64 <= (total - before) * first as f64 {
            continue;
        }
        let both = explained(before, first) + explained(total - before, second);
        if best.is_none_or(|(_, most)| both > most) {
            best = Some((index + 1, both));
        }
    }
    let (split, both) = best?;
    // Less than a millionth of the squares is rounding.
    let floor = squares * 1e-6 + f64::MIN_POSITIVE;
    let (one, two) = ((squares - explained(total, count)).max(floor), (squares - both).max(floor));
    // Two more parameters: the second rate and the place of the split.
    Some((split, count as f64 * (one / two).ln() - 2.0 * (count as f64).ln()))
}
