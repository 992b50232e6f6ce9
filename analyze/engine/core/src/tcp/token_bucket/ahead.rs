//! A shaper whose burst is used up before the faster rate has lasted, within slow start say: an even rate with a queue, and what
//! was delivered before it is ahead of that rate.
//!
//! A queue delays, it never delivers more than its rate. Behind a plain bottleneck what is delivered is ahead of the bottleneck's
//! rate only as far as something else held it back and let it go at once, acknowledgements say, and that is no more than is in
//! flight: the rate times the longest round trip. Where twice as much is ahead, the place had been saved up for. It does not matter what
//! slow start made of the rate before.
//!
//! A path that becomes slower while the transfer starts looks the same, as it does to [`crate::tcp::token_bucket::shaper`], so that such a bucket is
//! less sure.
//!
//! Rule: docs/methods.md, "Shaper within slow start".

use crate::tcp::token_bucket::bucket::{LEAST_RATIO, LEAST_ROUND_TRIPS, LimiterKind, TokenBucket, confidence};
use crate::tcp::token_bucket::fit::{BinSpan, median, quantile};
use crate::tcp::token_bucket::shaper::{EvenRate, Lower, MOST_VARIATION, comes_in_bursts, queue_grows};

/// Round trips that were faster than the lower rate: one may be a burst that was let go at once.
const FEWEST_FASTER_ROUND_TRIPS: f64 = 2.0;

/// The round trips of the queue are those that all but this share are shorter than.
const LONGEST_ROUND_TRIPS: f64 = 0.95;

/// So many flights must be ahead: slow start has up to twice in flight what the path holds.
const LEAST_FLIGHTS: f64 = 2.0;

/// A bucket that held so many is surer.
const MANY_FLIGHTS: f64 = 3.0;

/// What is shown by bytes alone is less sure.
const CONFIDENCE: f64 = 0.5;

/// Looks for such a shaper. The queue must be seen: nothing else says how much is in flight.
pub(crate) fn find(stretch: &BinSpan, Lower { rate: after, .. }: &Lower) -> Option<TokenBucket> {
    if !stretch.whole_rtt {
        return None;
    }
    let settled = after.start.min(stretch.len() - 1);
    let rtt_ns: Vec<f64> = stretch.rtt_ns.get(after.start..after.end)?.iter().flatten().copied().collect();
    let longest_bins = quantile(&rtt_ns, LONGEST_ROUND_TRIPS)? / stretch.bin_ns;
    let ahead = stretch.deepest(after.rate, 0, settled);
    let is_even_for_long = (after.end - after.start) as f64 * stretch.bin_ns >= LEAST_ROUND_TRIPS * median(&rtt_ns)?;
    if ahead <= LEAST_FLIGHTS * after.rate * longest_bins || !is_even_for_long {
        return None;
    }
    let switch = emptied(stretch, after, settled, ahead);
    let before = faster(stretch, after, switch)?;
    if !queue_grows(stretch, &before, switch as f64) || comes_in_bursts(stretch, &before, after) {
        return None;
    }
    let sure = [
        before.rate > 2.0 * after.rate,
        after.variation < MOST_VARIATION / 2.0,
        ahead > MANY_FLIGHTS * after.rate * longest_bins,
    ];
    Some(TokenBucket {
        kind: LimiterKind::Shaper,
        burst_bytes: ahead,
        rate_before_bps: stretch.bps(before.rate),
        sustained_bps: stretch.bps(after.rate),
        switch_ns: stretch.start_ns.saturating_add((switch as f64 * stretch.bin_ns) as i64),
        refill_bps: None,
        confidence: confidence(CONFIDENCE, sure),
    })
}

/// The end of the first bin after which no more than two bins' tokens are left, which is as near as it is known.
fn emptied(stretch: &BinSpan, after: &EvenRate, settled: usize, ahead: f64) -> usize {
    let mut missing = 0.0f64;
    let is_empty = |bin: &usize| {
        missing = (missing + stretch.delivered[*bin] - after.rate).max(0.0);
        missing >= ahead - 2.0 * after.rate
    };
    (0..settled).find(is_empty).map_or(settled, |bin| bin + 1)
}

/// The round trips in a row before `switch` that were faster than the lower rate, with the highest of their rates.
fn faster(stretch: &BinSpan, after: &EvenRate, switch: usize) -> Option<EvenRate> {
    let cell = stretch.round_trip_bins();
    let rate = |end: &usize| stretch.delivered[end - cell..*end].iter().sum::<f64>() / cell as f64;
    let ends = (cell..=switch).rev().step_by(cell).take_while(|end| rate(end) >= LEAST_RATIO * after.rate);
    let ends: Vec<usize> = ends.collect();
    let start = ends.last()? - cell;
    let lasts = stretch.round_trips(switch - start) >= FEWEST_FASTER_ROUND_TRIPS;
    let highest = ends.iter().map(rate).fold(0.0, f64::max);
    lasts.then_some(EvenRate { start, end: switch, rate: highest, variation: f64::INFINITY })
}
