//! Two even rates, one after the other, with a queue that begins to grow at the switch.
//!
//! Rule: docs/methods.md, "Shaper".

use crate::tcp::token_bucket::bucket::{
    CONFIDENCE, LEAST_RATIO, LEAST_ROUND_TRIPS, LimiterKind, TokenBucket, confidence,
};
use crate::tcp::token_bucket::fit::{BinSpan, best_split, median, quantile, variation};

/// Either rate varies less than this.
pub(crate) const MOST_VARIATION: f64 = 0.05;

/// At most so many times that, for a step so many times the least.
const MOST_STEPS: f64 = 3.0;

/// Strong evidence on the scale of the Bayesian information criterion (Kass and Raftery 1995).
const LEAST_EVIDENCE: f64 = 10.0;

/// The round trip grows by this factor (docs/methods.md, section 8).
const LEAST_GROWTH: f64 = 1.25;

/// What it has grown to is this rank of those after the switch: the queue takes its time to fill.
const GROWN_RANK: f64 = 0.75;

/// Windows on either side.
pub(crate) const FEWEST_WINDOWS: usize = 4;

/// The transfer's start is over when a round trip delivers this share of what the best do.
const STARTED: f64 = 0.75;

/// A window this near the rate is past the start of the transfer.
const AT_RATE: f64 = 0.92;

/// Time within which the queue must show, in round trips and at least in nanoseconds.
const QUEUE_ROUND_TRIPS: f64 = 20.0;

const QUEUE_NS: f64 = 500e6;

/// Share of the lower rate's time that the path must have been full for, where no round trip shows the queue.
const LEAST_FULL: f64 = 0.75;

/// A pause is so much of what the round trip has grown by, and so many of the largest frames at the lower rate, at least; and a
/// sender that pauses does so in this share of the round trips.
const PAUSE_SHARE: f64 = 0.5;

const FRAMES_IN_A_PAUSE: f64 = 1.5;

const PAUSING_SHARE: f64 = 0.5;

/// An even rate.
pub(crate) struct EvenRate {
    pub start: usize,
    pub end: usize,
    /// Bytes for each bin.
    pub rate: f64,
    pub variation: f64,
}

/// Rates are compared over this share of a plateau, up to so much time: acknowledgements come in lumps.
const WINDOW_SHARE: usize = 20;

const LONGEST_WINDOW_NS: f64 = 250e6;

/// The lower of two rates that fit better than one, where it is even, and the bin at which it begins, roughly.
pub(crate) struct Lower {
    pub rate: EvenRate,
    split: usize,
}

impl Lower {
    /// Looks for it.
    pub fn of(stretch: &BinSpan) -> Option<Self> {
        let split = split(stretch)?;
        second(stretch, split).map(|rate| Self { rate, split })
    }
}

/// Looks for a shaper.
pub(crate) fn find(stretch: &BinSpan, &Lower { split, rate: ref after }: &Lower) -> Option<TokenBucket> {
    let before = first(stretch, split, after.rate)?;
    if before.rate < LEAST_RATIO * after.rate {
        return None;
    }
    let switch = crossing(stretch, &before, after);
    if !queue_grows(stretch, &before, switch) && !keeps_path_full(stretch, after) {
        return None;
    }
    let settled = after.start.min(stretch.len() - 1);
    if comes_in_bursts(stretch, &before, after) {
        return None;
    }
    let sure = [
        before.rate > 2.0 * after.rate,
        before.variation.max(after.variation) < MOST_VARIATION / 2.0,
        stretch.round_trips(before.end - before.start) >= 2.0 * LEAST_ROUND_TRIPS,
    ];
    Some(TokenBucket {
        kind: LimiterKind::Shaper,
        burst_bytes: stretch.deepest(after.rate, 0, settled),
        rate_before_bps: stretch.bps(before.rate),
        sustained_bps: stretch.bps(after.rate),
        switch_ns: stretch.start_ns.saturating_add((switch * stretch.bin_ns) as i64),
        refill_bps: None,
        confidence: confidence(CONFIDENCE, sure),
    })
}

/// The bin at which a lower rate begins, roughly, if two rates fit better than one.
fn split(stretch: &BinSpan) -> Option<usize> {
    let cell = stretch.round_trip_bins();
    let cells: Vec<f64> =
        (0..stretch.len() / cell).map(|at| stretch.delivered[at * cell..(at + 1) * cell].iter().sum()).collect();
    // A transfer's start is another step, upwards.
    let started = STARTED * quantile(&cells, 0.9)?;
    let start = cells.iter().position(|&cell| cell >= started)?;
    let (split, evidence) = best_split(&cells[start..])?;
    (evidence >= LEAST_EVIDENCE).then_some((start + split) * cell)
}

/// The even rate before `split`, without the transfer's start and the cell of the switch itself.
fn first(stretch: &BinSpan, split: usize, after: f64) -> Option<EvenRate> {
    let rough = stretch.windows(0, split, stretch.window(f64::INFINITY));
    let window = stretch.window(quantile(&rough, 0.75)?);
    let end = split.saturating_sub(window / 2);
    let windows = stretch.windows(0, end, window);
    let rate = quantile(&windows, 0.75)?;
    let start = (0..end.saturating_sub(window))
        .find(|&at| stretch.delivered[at..at + window].iter().sum::<f64>() >= AT_RATE * rate * window as f64)?;
    plateau(stretch, start, end, window, MOST_VARIATION * step_against_least(rate / after))
}

/// How much larger than the least step a step is. A large one shows above the unevenness that repairs of losses give to what
/// is acknowledged.
fn step_against_least(ratio: f64) -> f64 {
    ((ratio - 1.0) / (LEAST_RATIO - 1.0)).clamp(1.0, MOST_STEPS)
}

/// The even rate from shortly after `split` to the end.
fn second(stretch: &BinSpan, split: usize) -> Option<EvenRate> {
    let rough = stretch.delivered.get(split..).and_then(median_of_bins)?;
    let window = stretch.window(rough);
    let start = split + (2 * window).min((stretch.len() - split) / 4);
    plateau(stretch, start, stretch.len().saturating_sub(window / 2), window, MOST_VARIATION)
}

/// What was delivered from `start` to `end`, where that is long enough for an even rate.
pub(crate) fn held_windows(stretch: &BinSpan, start: usize, end: usize) -> Option<Windows> {
    let bins = stretch.delivered.get(start..end).filter(|bins| !bins.is_empty())?;
    let window = stretch.window(bins.iter().sum::<f64>() / bins.len() as f64);
    Windows::of(stretch, start, end, window)
}

fn median_of_bins(bins: &[f64]) -> Option<f64> {
    // Of bins shorter than the distance of packets most are empty: the mean tells then.
    let mean = bins.iter().sum::<f64>() / bins.len().max(1) as f64;
    median(bins).map(|middle| if middle > 0.0 { middle } else { mean })
}

fn plateau(stretch: &BinSpan, start: usize, end: usize, shortest: usize, most_variation: f64) -> Option<EvenRate> {
    Windows::of(stretch, start, end, shortest)?.plateau(most_variation)
}

/// Rates of as many windows as a stretch gives, where it lasts.
pub(crate) struct Windows {
    start: usize,
    end: usize,
    rates: Vec<f64>,
    variation: f64,
}

impl Windows {
    fn of(stretch: &BinSpan, start: usize, end: usize, shortest: usize) -> Option<Self> {
        let rtt_ns = stretch.rtt_ns.get(start..end)?;
        let length = end - start;
        if stretch.round_trips(length) < LEAST_ROUND_TRIPS {
            return None;
        }
        let by_length = (length / WINDOW_SHARE).min((LONGEST_WINDOW_NS / stretch.bin_ns) as usize);
        let (mut least, most) = (shortest.max(by_length), length / FEWEST_WINDOWS);
        // Where none is longer, the middle one is not either.
        let longest_ns = rtt_ns.iter().flatten().fold(0.0, |longest, &rtt| if rtt > longest { rtt } else { longest });
        if least < most && longest_ns / stretch.bin_ns > least as f64 {
            let rtt: Vec<f64> = rtt_ns.iter().flatten().copied().collect();
            least = least.max(((median(&rtt).unwrap_or(0.0) / stretch.bin_ns).ceil() as usize).min(most));
        }
        // They share it all, or a plateau that lasts just long enough would seem shorter.
        let count = (length / least.max(1)).max(1);
        let rates = stretch.windows(start, end, length / count);
        let lasts =
            stretch.round_trips(length * rates.len() / count) >= LEAST_ROUND_TRIPS && rates.len() >= FEWEST_WINDOWS;
        let variation = variation(&rates).filter(|_| lasts)?;
        Some(Self { start, end, rates, variation })
    }

    /// An even rate, which varies less than that.
    pub(crate) fn plateau(&self, most_variation: f64) -> Option<EvenRate> {
        let &Self { start, end, ref rates, variation } = self;
        let rate = (variation < most_variation).then(|| median(rates)).flatten()?;
        let mostly_there = rates.iter().filter(|&&one| (one / rate - 1.0).abs() < 3.0 * most_variation).count() * 10;
        (mostly_there >= rates.len() * 9).then_some(EvenRate { start, end, rate, variation })
    }
}

/// Where the line of bytes delivered at the first rate meets that of the second, in bins.
fn crossing(stretch: &BinSpan, before: &EvenRate, after: &EvenRate) -> f64 {
    let mut sum = 0.0;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (bin, bytes) in stretch.delivered.iter().enumerate() {
        sum += bytes;
        let at = (bin + 1) as f64;
        if (before.start..before.end).contains(&bin) {
            first.push(sum - before.rate * at);
        } else if (after.start..after.end).contains(&bin) {
            second.push(sum - after.rate * at);
        }
    }
    let line = |offsets: &[f64]| median(offsets).unwrap_or(0.0);
    let at = (line(&second) - line(&first)) / (before.rate - after.rate);
    at.clamp(before.start as f64, after.start as f64)
}

/// The round trip after the switch against the one just before it.
pub(crate) fn queue_grows(stretch: &BinSpan, before: &EvenRate, switch: f64) -> bool {
    let switch = switch as usize;
    let rtt = |start: usize, end: usize| -> Vec<f64> {
        stretch.rtt_ns.get(start..end.min(stretch.len())).unwrap_or_default().iter().flatten().copied().collect()
    };
    let half = before.start + (before.end.min(switch) - before.start.min(switch)) / 2;
    let within = (QUEUE_ROUND_TRIPS * stretch.min_rtt_ns).max(QUEUE_NS) / stretch.bin_ns;
    let after = rtt(switch, switch.saturating_add(within.ceil() as usize));
    match (median(&rtt(half, switch)), quantile(&after, GROWN_RANK)) {
        (Some(before), Some(after)) => after >= LEAST_GROWTH * before,
        _ => false,
    }
}

/// A flight that stays the same on a path that has become longer has two even rates as well, and a round trip that grows. Then
/// what filled the shorter one comes with a pause in each of the longer ones, about as long as the difference of both. Behind a
/// shaper that is never empty it comes all the time.
pub(crate) fn comes_in_bursts(stretch: &BinSpan, before: &EvenRate, after: &EvenRate) -> bool {
    let usual = |plateau: &EvenRate| {
        let known: Vec<f64> = stretch.rtt_ns.get(plateau.start..plateau.end)?.iter().flatten().copied().collect();
        median(&known)
    };
    let (Some(short_ns), Some(long_ns)) = (usual(before), usual(after)) else { return false };
    let frame_ns = stretch.frame_bytes / after.rate * stretch.bin_ns;
    let pause_ns = (PAUSE_SHARE * (long_ns - short_ns)).max(FRAMES_IN_A_PAUSE * frame_ns);
    let pauses: u64 =
        stretch.spacing.iter().filter(|(from_ns, _)| *from_ns as f64 >= pause_ns).map(|(_, count)| count).sum();
    let lower_bins = after.end - after.start;
    // At other times there is one in a round trip at most.
    let elsewhere = stretch.all_bins.saturating_sub(lower_bins) as f64 * stretch.bin_ns / short_ns.max(1.0);
    let round_trips = lower_bins as f64 * stretch.bin_ns / long_ns.max(1.0);
    pauses as f64 - elsewhere >= PAUSING_SHARE * round_trips
}

/// Where the queue stands before the capture and nothing measures the way to the sender, no round trip grows. There a place
/// that is always busy shows in the data itself: it comes without a pause, so the path was full for most of the lower rate. A
/// sender that is slowed by its window or its application leaves pauses.
fn keeps_path_full(stretch: &BinSpan, after: &EvenRate) -> bool {
    let full: f64 = stretch.path_full.get(after.start..after.end).unwrap_or_default().iter().sum();
    !stretch.whole_rtt && full >= LEAST_FULL * (after.end - after.start) as f64
}
