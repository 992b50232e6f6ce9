//! Losses that come when a bucket is empty, and only then, while no queue grows (Flach et al., SIGCOMM 2016).
//!
//! All busy periods of a transfer are judged together. While the application rests the bucket fills, up to its depth, so that
//! each period begins with other tokens; the rate and the depth are the same in all. Within a period the median loss finds the
//! bucket empty: that is where the level is known.
//!
//! Rule: docs/methods.md, "Policer".

use crate::tcp::token_bucket::bucket::{
    CONFIDENCE, FEWEST_LOST_SEGMENTS, FULL_SHARE, LEAST_RATIO, LEAST_ROUND_TRIPS, LEVEL_ON_PASS, LimiterKind,
    MOST_CONFIDENCE, QUEUED, SHARE_ON_PASS, SURER, TokenBucket, confidence,
};
use crate::tcp::token_bucket::fit::{BinSpan, busy_periods, median, quantile, quantiles};

/// Round trips from a period's first loss to its last from which on it says something of the rate, and those of all such periods
/// together from which on they tell it: each moment at which the bucket is empty is known to two round trips.
const LEAST_SPAN_ROUND_TRIPS: usize = 10;

const LEAST_SPANS_ROUND_TRIPS: usize = 20;

/// Round trips in which some were lost.
const FEWEST_LOSSY_ROUND_TRIPS: usize = 3;

/// When something is lost the bucket holds at most this, in round trips at the sustained rate, in so many of the cases.
const LEVEL_ON_LOSS: f64 = 2.0;

const SHARE_ON_LOSS: f64 = 0.9;

/// In this share of them a policer is surer.
const SURE_ON_LOSS: f64 = 0.97;

/// The round trip was longer than usual before at most this share of the losses.
const MOST_BEHIND_QUEUE: f64 = 0.2;

/// Longer than usual is longer than this rank of all by this factor, and by a millisecond.
const USUAL_RANK: f64 = 0.1;

const LONGER: f64 = 1.1;

const LONGER_NS: f64 = 1e6;

/// What is usual is at most so many times the shortest round trip.
const STANDING_QUEUE: f64 = 2.0;

/// A burst below this many segments may as well be a short queue.
pub(crate) const FEWEST_BURST_SEGMENTS: f64 = 10.0;

/// Where the complete round trip is not seen, a link's queue is not either: it lets a connection that came first be ahead by an initial
/// window and what slow start makes of it.
const FEWEST_WHERE_NO_QUEUE_SHOWS: f64 = 30.0;

/// A burst of so many flights was saved up for, however short the time in which it passed.
const FLIGHTS_OF_A_BURST: f64 = 3.0;

/// A sender that always has data keeps within half of the rate over ten round trips, but for a tenth of them, or one.
const MOST_BESIDE_RATE: f64 = 0.5;

const SHARE_BESIDE_RATE: f64 = 0.1;

/// What is lost before this share of a period's losses may have been lost elsewhere, while the bucket still held tokens.
const STRAY_SHARE: f64 = 0.1;

/// Where among the slopes the rate is looked for: the more of its tokens overflow, the nearer it lies to the highest.
const RATE_RANKS: [f64; 5] = [0.5, 0.7, 0.9, 0.95, 1.0];

/// Losses of a period that the rate is read from, at most, and periods whose own rates are tried.
const MOST_POINTS: usize = 64;

const MOST_OWN_RATES: usize = 16;

/// Bytes before the first loss beyond which the higher rate must have lasted, and how far back a round trip is looked for.
const EARLY_BYTES: f64 = 2e6;

const RECENT_ROUND_TRIPS: f64 = 3.0;

/// A rest fills the bucket at its rate, or to the brim and seemingly slower. What seems faster was not empty before.
const REFILL: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// A busy period with losses.
struct Lossy {
    start: usize,
    /// Bins with losses; there are some.
    bins: Vec<usize>,
    /// The first and the last of them.
    first: usize,
    last: usize,
    /// Until here all but stray losses are still to come.
    stray_until: usize,
    /// The period before has losses, too.
    follows: bool,
}

/// What a rate makes of the losses.
struct Fit {
    rate: f64,
    burst: f64,
    before: f64,
    on_loss: f64,
    /// Mean distance of the level from none when something was lost, in round trips at the rate.
    deviation: f64,
    /// The first bin with a loss that finds the bucket empty.
    emptied: usize,
}

/// Looks for a policer in the busy periods `start..end` of a transfer.
pub fn find(stretch: &BinSpan, periods: &[(usize, usize)]) -> Option<TokenBucket> {
    let cell = stretch.round_trip_bins();
    let lossy = lossy_periods(stretch, periods);
    let lost: f64 = stretch.lost.iter().sum();
    let mut round_trips: Vec<usize> = lossy.iter().flat_map(|period| &period.bins).map(|bin| bin / cell).collect();
    round_trips.dedup();
    if lost < FEWEST_LOST_SEGMENTS * stretch.segment_bytes || round_trips.len() < FEWEST_LOSSY_ROUND_TRIPS {
        return None;
    }
    let fits = rates(stretch, &lossy, cell).into_iter().filter_map(|rate| fit(stretch, &lossy, rate, cell));
    let fit = fits.min_by(|one, other| one.deviation.total_cmp(&other.deviation))?;
    let sure =
        [fit.on_loss > SURE_ON_LOSS, fit.before > 2.0 * fit.rate, round_trips.len() >= LEAST_ROUND_TRIPS as usize];
    Some(TokenBucket {
        kind: LimiterKind::Policer,
        burst_bytes: fit.burst,
        rate_before_bps: stretch.bps(fit.before),
        sustained_bps: stretch.bps(fit.rate),
        switch_ns: stretch.start_ns.saturating_add((fit.emptied as f64 * stretch.bin_ns) as i64),
        refill_bps: refill(stretch, &lossy, &fit, cell),
        confidence: (confidence(CONFIDENCE, sure) + SURER * (lossy.len() - 1) as f64).min(MOST_CONFIDENCE),
    })
}

/// The same where a queue before the policer has overflowed, in slow start as a rule: those losses say nothing of the bucket.
///
/// Rule: docs/methods.md, "Policer behind a link".
pub fn find_behind_link(stretch: &BinSpan) -> Option<TokenBucket> {
    let usual = usual_rtt_ns(stretch)?;
    let limit = (QUEUED * usual).max(usual + LONGER_NS);
    let recent = (RECENT_ROUND_TRIPS * stretch.min_rtt_ns / stretch.bin_ns).ceil() as usize + 1;
    let is_behind_queue = |bin: usize| {
        let mut before = stretch.rtt_ns[bin.saturating_sub(recent)..=bin].iter().rev();
        before.find_map(|rtt_ns| *rtt_ns).is_some_and(|rtt_ns| rtt_ns > limit)
    };
    let mut rest = stretch.part(0, stretch.len());
    let lossy: Vec<usize> = (0..rest.len()).filter(|bin| rest.lost[*bin] > 0.0).collect();
    let last = lossy.iter().copied().take_while(|bin| is_behind_queue(*bin)).last()?;
    rest.lost[..=last].fill(0.0);
    find(&rest, &busy_periods(&rest))
}

fn lossy_periods(stretch: &BinSpan, periods: &[(usize, usize)]) -> Vec<Lossy> {
    let mut lossy = Vec::new();
    let mut follows = false;
    for &(start, end) in periods {
        let bins: Vec<usize> = (start..end).filter(|&bin| stretch.lost[bin] > 0.0).collect();
        let (Some(&first), Some(&last)) = (bins.first(), bins.last()) else {
            follows = false;
            continue;
        };
        let all: f64 = stretch.lost[start..end].iter().sum();
        let mut lost = 0.0;
        let is_beyond = |&&bin: &&usize| {
            lost += stretch.lost[bin];
            lost >= STRAY_SHARE * all
        };
        let stray_until = bins.iter().find(is_beyond).copied().unwrap_or(last);
        lossy.push(Lossy { start, bins, first, last, stray_until, follows });
        follows = true;
    }
    lossy
}

/// The rates at which the losses say that the bucket fills: slopes of what had passed, loss to loss, within a period. Tokens
/// that overflow in between make them less than the rate, a queue behind the bucket that drains after the first loss makes
/// some more; so the middle is tried, what lies above it up to the highest, and the middle of each period.
fn rates(stretch: &BinSpan, lossy: &[Lossy], cell: usize) -> Vec<f64> {
    let mut passed = 0.0;
    let until: Vec<f64> = stretch
        .delivered
        .iter()
        .map(|bytes| {
            passed += bytes;
            passed
        })
        .collect();
    let spans = lossy.iter().map(|period| (period.last - period.first) / cell);
    if spans.filter(|span| *span >= LEAST_SPAN_ROUND_TRIPS).sum::<usize>() < LEAST_SPANS_ROUND_TRIPS {
        return Vec::new();
    }
    let of_periods: Vec<Vec<f64>> = lossy.iter().map(|period| slopes(&until, period, cell)).collect();
    let all = of_periods.concat();
    let own = of_periods.iter().take(MOST_OWN_RATES).filter(|_| lossy.len() > 1).filter_map(|slopes| median(slopes));
    quantiles(&all, RATE_RANKS).into_iter().flatten().chain(own).collect()
}

/// Slopes between losses that are a third of a period's losses and ten round trips apart.
fn slopes(until: &[f64], period: &Lossy, cell: usize) -> Vec<f64> {
    let Lossy { first, last, .. } = *period;
    let apart = (last - first).div_ceil(3).max(LEAST_SPAN_ROUND_TRIPS.saturating_mul(cell));
    let stride = (last - first).div_ceil(MOST_POINTS).max(1);
    let mut points = period.bins.clone();
    points.dedup_by_key(|bin| (*bin - first) / stride);
    let pairs =
        points.iter().enumerate().flat_map(|(index, &one)| points[index + 1..].iter().map(move |&other| (one, other)));
    pairs
        .filter(|(one, other)| other - one >= apart)
        .map(|(one, other)| (until[other] - until[one]) / (other - one) as f64)
        .collect()
}

/// None if what was lost and what was not contradicts a bucket that fills at this rate.
fn fit(stretch: &BinSpan, lossy: &[Lossy], rate: f64, cell: usize) -> Option<Fit> {
    let depths = lossy.iter().map(|period| depth(stretch, period, rate, cell));
    // The bucket was empty somewhere within the bin of a loss: half of it is the best guess.
    let burst = depths.fold(0.0, f64::max) + rate / 2.0;
    let is_saved_up = burst >= FLIGHTS_OF_A_BURST * rate * stretch.min_rtt_ns / stretch.bin_ns;
    let before = lossy.iter().filter_map(|period| fastest(stretch, period, cell, is_saved_up)).fold(0.0, f64::max);
    let fewest = if stretch.whole_rtt { FEWEST_BURST_SEGMENTS } else { FEWEST_WHERE_NO_QUEUE_SHOWS };
    let is_burst = before >= LEAST_RATIO * rate && burst >= fewest * stretch.segment_bytes;
    if rate <= 0.0 || !is_burst || !keeps_up(stretch, lossy, rate) {
        return None;
    }
    let levels = Levels::of(stretch, lossy, rate, burst);
    let (on_loss, on_pass) = levels.on_loss.value().zip(levels.on_pass.value())?;
    if on_loss < SHARE_ON_LOSS || on_pass < SHARE_ON_PASS || behind_queue(stretch, lossy, rate)? > MOST_BEHIND_QUEUE {
        return None;
    }
    let deviation = levels.distance / levels.on_loss.of.max(1) as f64;
    Some(Fit { rate, burst, before, on_loss, deviation, emptied: levels.emptied })
}

/// Tokens that a period took from the bucket before it was empty.
fn depth(stretch: &BinSpan, period: &Lossy, rate: f64, cell: usize) -> f64 {
    stretch.deepest(rate, period.start, period.stray_until + cell)
}

/// The share of windows of ten round trips, in which nothing but the network set the rate, that are beside it.
fn keeps_up(stretch: &BinSpan, lossy: &[Lossy], rate: f64) -> bool {
    let bins = (LEAST_ROUND_TRIPS * stretch.min_rtt_ns / stretch.bin_ns).ceil().min(1e9) as usize;
    let windows = lossy.iter().flat_map(|period| stretch.windows(period.first + 1, period.last, bins.max(2)));
    let (mut beside, mut all) = (0, 0);
    for window in windows {
        all += 1;
        beside += usize::from((window / rate - 1.0).abs() > MOST_BESIDE_RATE);
    }
    beside as f64 <= (SHARE_BESIDE_RATE * all as f64).max(1.0)
}

/// The highest rate of a period before its losses: over a round trip, or over ten if they come late and the burst is no proof.
fn fastest(stretch: &BinSpan, period: &Lossy, cell: usize, is_saved_up: bool) -> Option<f64> {
    let early = is_saved_up || stretch.delivered[period.start..=period.first].iter().sum::<f64>() <= EARLY_BYTES;
    let length = if early { cell } else { (LEAST_ROUND_TRIPS as usize).saturating_mul(cell) };
    let bins = stretch.delivered.get(period.start..(period.stray_until + cell).min(stretch.len()))?;
    let sums = bins.windows(length).map(|window| window.iter().sum::<f64>());
    sums.max_by(f64::total_cmp).map(|most| most / length as f64)
}

/// How the bucket stood, bin by bin, when something was lost and when not.
#[derive(Default)]
struct Levels {
    on_loss: BinShare,
    on_pass: BinShare,
    distance: f64,
    emptied: usize,
}

impl Levels {
    fn of(stretch: &BinSpan, lossy: &[Lossy], rate: f64, burst: f64) -> Self {
        let round_trip = rate * (stretch.min_rtt_ns / stretch.bin_ns).max(1.5);
        let mut levels = Self { emptied: usize::MAX, ..Self::default() };
        for period in lossy {
            let walk = |from: f64| {
                (period.first + 1..=period.last).scan(from, |level, bin| {
                    *level = (*level + rate - stretch.delivered[bin]).min(burst);
                    Some((bin, *level))
                })
            };
            let on_loss: Vec<f64> =
                walk(0.0).filter(|&(bin, _)| stretch.lost[bin] > 0.0).map(|(_, level)| level).collect();
            // Half of the losses find it at most empty.
            let from = (-median(&on_loss).unwrap_or(0.0)).min(burst);
            if from.abs() <= LEVEL_ON_LOSS * round_trip {
                levels.emptied = levels.emptied.min(period.first);
            }
            for (bin, level) in walk(from) {
                levels.add(stretch, bin, level, round_trip);
            }
        }
        levels
    }

    fn add(&mut self, stretch: &BinSpan, bin: usize, level: f64, round_trip: f64) {
        if stretch.lost[bin] > 0.0 {
            let is_empty = level.abs() <= LEVEL_ON_LOSS * round_trip;
            self.on_loss.add(is_empty);
            self.distance += level.abs() / round_trip;
            if is_empty {
                self.emptied = self.emptied.min(bin);
            }
        } else if stretch.delivered[bin] > 0.0 {
            self.on_pass.add(level >= LEVEL_ON_PASS * round_trip);
        }
    }
}

/// The round trip without a queue.
fn usual_rtt_ns(stretch: &BinSpan) -> Option<f64> {
    let known: Vec<f64> = stretch.rtt_ns.iter().flatten().copied().collect();
    // A queue that never drains makes a long round trip the usual one.
    let most = if stretch.whole_rtt { STANDING_QUEUE * stretch.min_rtt_ns } else { f64::INFINITY };
    Some(quantile(&known, USUAL_RANK)?.min(most))
}

/// The share of lossy bins before which the round trip was longer than it is without a queue; none if too few are known.
///
/// Rule: docs/methods.md, "Stricter than the policing study".
fn behind_queue(stretch: &BinSpan, lossy: &[Lossy], rate: f64) -> Option<f64> {
    let usual = usual_rtt_ns(stretch)?;
    let two_segments_ns = 2.0 * stretch.segment_bytes / rate * stretch.bin_ns;
    let limit = (LONGER * usual).max(usual + two_segments_ns.max(LONGER_NS));
    let recent = (RECENT_ROUND_TRIPS * usual / stretch.bin_ns).ceil() as usize + 1;
    let (mut share, mut all) = (BinShare::default(), 0);
    for period in lossy {
        all += period.bins.len();
        for &bin in &period.bins {
            let before = &stretch.rtt_ns[bin.saturating_sub(recent).max(period.start)..=bin];
            if let Some(rtt) = before.iter().rev().find_map(|rtt| *rtt) {
                share.add(rtt > limit);
            }
        }
    }
    (2 * share.of >= all).then(|| share.value()).flatten()
}

/// The rate at which the bucket filled from a period's last loss over a rest to the next period, which found so much more in it
/// than that rate alone would have brought; none without a rest, or if it filled it to the brim.
fn refill(stretch: &BinSpan, lossy: &[Lossy], fit: &Fit, cell: usize) -> Option<f64> {
    lossy.windows(2).filter(|pair| pair[1].follows).find_map(|pair| {
        let again = depth(stretch, &pair[1], fit.rate, cell);
        let since = pair[0].last + 1..pair[1].start;
        let time_s = since.len() as f64 * stretch.bin_ns / 1e9;
        let filled = again + stretch.delivered[since].iter().sum::<f64>();
        let is_known = again > 0.0 && again < FULL_SHARE * fit.burst && time_s > 0.0;
        let refill_bps = Some(filled * 8.0 / time_s).filter(|_| is_known)?;
        REFILL.contains(&(refill_bps / stretch.bps(fit.rate))).then_some(refill_bps)
    })
}

#[derive(Default)]
struct BinShare {
    number: usize,
    of: usize,
}

impl BinShare {
    fn add(&mut self, counts: bool) {
        self.number += usize::from(counts);
        self.of += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.of > 0).then(|| self.number as f64 / self.of as f64)
    }
}
