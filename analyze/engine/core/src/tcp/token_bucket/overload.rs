//! What passes while far more is sent: during the repair of a large loss the rate of a policer that has run empty stands out.
//!
//! A sender that overshoots in slow start loses much, round trip after round trip. How much it sends then changes all the time, as
//! it repairs. What passes does not: it is what the narrow place lets through. Where no queue stands, that place drops instead of
//! delaying. And where the losses begin at the very moment at which a full bucket would have run empty, it is a policer's.
//!
//! The sender may never reach that rate again: over a long round trip it may take longer than the transfer. So nothing is asked of
//! what comes after the repair but that it stays within the bucket.
//!
//! Rule: docs/methods.md, "A rate that overload shows".

use std::ops::Range;

use crate::tcp::token_bucket::bucket::{
    CONFIDENCE, FEWEST_LOST_SEGMENTS, LEVEL_ON_PASS, LimiterKind, QUEUED, SHARE_ON_PASS, TokenBucket, confidence,
};
use crate::tcp::token_bucket::fit::{BinSpan, median};

/// Cells (round trips, or what 40 segments take) in which what passes is even, and from how many on it is surer.
const FEWEST_CELLS: usize = 5;

const MANY_CELLS: usize = 10;

/// Of an overload no more of them in a row lose nothing; so many lose something while it is even, and of all so many are looked at.
const MOST_CLEAN_CELLS: usize = 5;

const FEWEST_LOSSY_CELLS: usize = 2;

const MOST_CELLS: usize = 100;

/// What is left of the burst, and the first repairs, may pass in so many cells before it is even.
const FIRST_CELLS: usize = 4;

/// Places within a round trip at which the cells may begin.
const PHASES: usize = 4;

/// So much of what is sent in an overload is lost.
const LEAST_LOST: f64 = 0.08;

/// What passes varies by so much at most (coefficient of variation), and by half of what is sent.
const MOST_VARIATION: f64 = 0.04;

const SHARE_OF_SENT: f64 = 0.5;

/// A repair that lets tokens overflow now and then passes less than the rate. Over ten round trips later so much more may pass.
const MOST_LATER: f64 = 1.2;

const CELLS_OF_A_RATE: usize = 10;

/// What passed ahead of the rate is so many flights, and segments, at least; from so many flights on it is surer.
const LEAST_FLIGHTS: f64 = 0.5;

const MANY_FLIGHTS: f64 = 1.5;

const FEWEST_BURST_SEGMENTS: f64 = 20.0;

/// The bucket runs empty no more of these cells before or after the first loss.
const CELLS_AROUND_SWITCH: usize = 2;

/// What passes for a part of a round trip is the rate before: so many parts.
const PARTS_OF_A_CELL: usize = 4;

/// Overloads that are looked at.
const MOST_OVERLOADS: usize = 8;

/// Cells in a row that lose, with little between them, and in which the same passes.
struct Overload {
    /// The bin of the first loss.
    start: usize,
    /// Bins of a cell.
    cell: usize,
    /// Cells that are even.
    cells: usize,
    /// Bytes for each bin.
    rate: f64,
    variation: f64,
}

/// Looks for a policer.
pub fn find(stretch: &BinSpan) -> Option<TokenBucket> {
    overloads(stretch).iter().find_map(|overload| bucket(stretch, overload))
}

fn bucket(stretch: &BinSpan, overload: &Overload) -> Option<TokenBucket> {
    let Overload { start, cell, cells, variation, .. } = *overload;
    let rate = highest_rate(stretch, overload)?;
    let until = (start + CELLS_AROUND_SWITCH * cell).min(stretch.len() - 1);
    let (emptied, burst) = emptied(stretch, rate, until);
    let flight = rate * (stretch.min_rtt_ns / stretch.bin_ns).max(1.0);
    let is_burst = burst >= LEAST_FLIGHTS * flight && burst >= FEWEST_BURST_SEGMENTS * stretch.segment_bytes;
    let at_switch = emptied + CELLS_AROUND_SWITCH * cell >= start;
    if !is_burst || !at_switch || !stays_within(stretch, emptied, rate, burst) {
        return None;
    }
    let sure = [cells >= MANY_CELLS, variation < MOST_VARIATION / 2.0, burst >= MANY_FLIGHTS * flight];
    Some(TokenBucket {
        kind: LimiterKind::Policer,
        burst_bytes: burst,
        rate_before_bps: stretch.bps(fastest(stretch, until, cell)),
        sustained_bps: stretch.bps(rate),
        switch_ns: stretch.start_ns.saturating_add((emptied as f64 * stretch.bin_ns) as i64),
        refill_bps: None,
        confidence: confidence(CONFIDENCE, sure),
    })
}

/// The rate of the overload, or what passes later over ten round trips, if that is a little more; none if it is much more.
fn highest_rate(stretch: &BinSpan, overload: &Overload) -> Option<f64> {
    let later = stretch.windows(overload.start, stretch.len(), CELLS_OF_A_RATE * overload.cell);
    let highest = later.iter().skip(1).copied().fold(overload.rate, f64::max);
    (highest <= MOST_LATER * overload.rate).then_some(highest)
}

/// In time order.
fn overloads(stretch: &BinSpan) -> Vec<Overload> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MOST_OVERLOADS {
        let Some(start) = (from..stretch.len()).find(|bin| stretch.lost[*bin] > 0.0) else { break };
        let (overload, end) = overload_at(stretch, start);
        found.extend(overload);
        from = end;
    }
    found
}

/// The overload that begins with a loss, and the bin after it.
fn overload_at(stretch: &BinSpan, start: usize) -> (Option<Overload>, usize) {
    let rest = &stretch.delivered[start..];
    let nearby = &rest[..rest.len().min(FEWEST_CELLS * stretch.round_trip_bins())];
    let cell = stretch.window(nearby.iter().sum::<f64>() / nearby.len() as f64);
    let cells = cells_of_overload(&cells_from(&stretch.lost, start, cell));
    let end = start + cells.max(1) * cell;
    if cells < FEWEST_CELLS || !is_overload(stretch, start..end.min(stretch.len())) {
        return (None, end);
    }
    // Within a round trip data comes in bursts: where the cells begin matters.
    let phases = (0..PHASES).map(|phase| start + phase * cell / PHASES);
    let overloads = phases.filter_map(|from| {
        let passed = cells_from(&stretch.delivered[..end.min(stretch.len())], from, cell);
        let even = longest_even(&passed, &cells_from(&stretch.lost[..end.min(stretch.len())], from, cell))?;
        let bins = from + even.start * cell..from + even.end * cell;
        let rate = median(&passed[even.clone()])? / cell as f64;
        let variation = deviation(&passed[even.clone()])?;
        (!is_queued(stretch, bins)).then_some(Overload { start, cell, cells: even.len(), rate, variation })
    });
    (overloads.max_by_key(|overload| overload.cells), end)
}

fn cells_from(bytes: &[f64], start: usize, cell: usize) -> Vec<f64> {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.chunks_exact(cell).take(MOST_CELLS).map(|bins| bins.iter().sum()).collect()
}

/// Up to the last cell that loses something before there are several in a row that do not.
fn cells_of_overload(lost: &[f64]) -> usize {
    let mut last = 0;
    for (number, bytes) in lost.iter().enumerate() {
        if *bytes > 0.0 {
            last = number;
        } else if number - last > MOST_CLEAN_CELLS {
            break;
        }
    }
    (last + 1).min(lost.len())
}

fn is_overload(stretch: &BinSpan, bins: Range<usize>) -> bool {
    let [lost, passed] = [&stretch.lost, &stretch.delivered].map(|bytes| bytes[bins.clone()].iter().sum::<f64>());
    lost >= LEAST_LOST * (lost + passed) && lost >= FEWEST_LOST_SEGMENTS * stretch.segment_bytes
}

/// The most cells in a row in which the same passes, though what is sent varies.
fn longest_even(passed: &[f64], lost: &[f64]) -> Option<Range<usize>> {
    let sent: Vec<f64> = passed.iter().zip(lost).map(|(passed, lost)| passed + lost).collect();
    let is_even = |cells: &Range<usize>| {
        let lossy = lost[cells.clone()].iter().filter(|bytes| **bytes > 0.0).count();
        let (of_passed, of_sent) = (deviation(&passed[cells.clone()]), deviation(&sent[cells.clone()]));
        lossy >= FEWEST_LOSSY_CELLS
            && of_passed
                .zip(of_sent)
                .is_some_and(|(passed, sent)| passed <= MOST_VARIATION && passed <= SHARE_OF_SENT * sent)
    };
    let from = |start: usize| (start + FEWEST_CELLS..=passed.len()).rev().map(move |end| start..end).find(is_even);
    (0..=FIRST_CELLS).filter_map(from).max_by_key(ExactSizeIterator::len)
}

fn is_queued(stretch: &BinSpan, bins: Range<usize>) -> bool {
    let rtt_ns: Vec<f64> = stretch.rtt_ns.get(bins).unwrap_or_default().iter().flatten().copied().collect();
    median(&rtt_ns).is_some_and(|rtt_ns| rtt_ns >= QUEUED * stretch.min_rtt_ns)
}

/// The bin up to `until` in which the most was missing in a bucket filled at this rate, and how much.
fn emptied(stretch: &BinSpan, rate: f64, until: usize) -> (usize, f64) {
    let (mut missing, mut most) = (0.0f64, (0, 0.0));
    for bin in 0..=until {
        missing = (missing + stretch.delivered[bin] - rate).max(0.0);
        if missing > most.1 {
            most = (bin, missing);
        }
    }
    most
}

/// Nothing passes later that such a bucket would drop.
fn stays_within(stretch: &BinSpan, emptied: usize, rate: f64, burst: f64) -> bool {
    let least = LEVEL_ON_PASS * rate * (stretch.min_rtt_ns / stretch.bin_ns).max(1.5);
    let (mut level, mut within, mut all) = (0.0f64, 0, 0);
    for bin in emptied + 1..stretch.len() {
        level = (level + rate - stretch.delivered[bin]).min(burst);
        all += 1;
        within += usize::from(level >= least);
    }
    within as f64 >= SHARE_ON_PASS * f64::from(all)
}

/// The highest rate of a part of a round trip.
fn fastest(stretch: &BinSpan, until: usize, cell: usize) -> f64 {
    let part = (cell / PARTS_OF_A_CELL).max(1);
    let sums = stretch.delivered[..=until].windows(part).map(|bins| bins.iter().sum::<f64>());
    sums.fold(0.0, f64::max) / part as f64
}

/// Coefficient of variation.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64;
    (mean > 0.0).then(|| square.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: f64 = 1500.0;

    /// Bins of 10 ms with a round trip of 100 ms: what passes and what is lost in each, in segments.
    fn stretch(bins: &[(f64, f64)], rtt_ns: impl Fn(usize) -> f64) -> BinSpan {
        let count = bins.len();
        BinSpan {
            start_ns: 0,
            bin_ns: 10e6,
            delivered: bins.iter().map(|(passed, _)| passed * SEGMENT).collect(),
            lost: bins.iter().map(|(_, lost)| lost * SEGMENT).collect(),
            rtt_ns: (0..count).map(|bin| Some(rtt_ns(bin))).collect(),
            usable: vec![true; count],
            path_full: vec![0.0; count],
            resting: vec![0.0; count],
            spacing: Vec::new(),
            all_bins: count,
            frame_bytes: SEGMENT,
            whole_rtt: true,
            min_rtt_ns: 100e6,
            segment_bytes: SEGMENT,
        }
    }

    /// Slow start that is ahead of the rate by `ahead` segments, an overload of so many round trips, and a window that grows slowly.
    fn transfer(rate: f64, ahead: f64, trips: usize, lost: f64) -> Vec<(f64, f64)> {
        let mut bins: Vec<(f64, f64)> = (0..20).map(|bin| (rate * f64::from(bin) / 40.0, 0.0)).collect();
        bins.extend([(rate + ahead / 10.0, 0.0); 10]);
        bins.extend((0..10 * trips).map(|bin| (rate, if bin / 10 % 2 == 0 { lost } else { 0.0 })));
        bins.extend((0..300).map(|bin| (rate * (0.6 + f64::from(bin) / 1000.0), 0.0)));
        bins
    }

    proptest! {
        #[test]
        fn a_policer_shows_its_rate_in_the_repair_of_an_overshoot(
            rate in 5f64..40.0, flights in 1f64..4.0, trips in 5usize..30, lost in 0.4f64..3.0,
        ) {
            let bins = transfer(rate, flights * 10.0 * rate, trips, lost * rate);
            let bucket = find(&stretch(&bins, |_| 100e6)).ok_or_else(|| TestCaseError::fail("no bucket"))?;
            prop_assert!((bucket.sustained_bps / (rate * SEGMENT * 800.0) - 1.0).abs() < 0.02);
            prop_assert!((bucket.burst_bytes / (flights * 10.0 * rate * SEGMENT) - 1.0).abs() < 0.1);
            prop_assert!((200e6..=420e6).contains(&(bucket.switch_ns as f64)));
        }

        #[test]
        fn a_link_that_overflows_is_never_ahead_of_its_rate(rate in 5f64..40.0, trips in 5usize..30, lost in 0.4f64..3.0) {
            prop_assert!(find(&stretch(&transfer(rate, 0.0, trips, lost * rate), |_| 100e6)).is_none());
        }

        #[test]
        fn a_queue_stands_before_a_link(rate in 5f64..40.0, flights in 1f64..4.0, queued in 1.3f64..4.0) {
            let bins = transfer(rate, flights * 10.0 * rate, 10, rate);
            let rtt_ns = |bin: usize| if bin < 25 { 100e6 } else { queued * 100e6 };
            prop_assert!(find(&stretch(&bins, rtt_ns)).is_none());
        }

        #[test]
        fn chance_leaves_no_rate_even(rate in 5f64..40.0, seed in any::<u64>()) {
            let mut state = seed;
            let mut roll = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / (1u64 << 31) as f64
            };
            let mut window = 2.0 * rate;
            let mut bins = vec![(window, 0.0); 30];
            for _ in 0..60 {
                let loses = roll() < 0.6;
                bins.extend([(window, if loses { 0.2 * window } else { 0.0 }); 10]);
                window *= if loses { 0.7 } else { 1.5 };
            }
            prop_assert!(find(&stretch(&bins, |_| 100e6)).is_none());
        }
    }

    #[test]
    fn what_passes_later_beyond_the_rate_shows_that_it_was_none() {
        let mut bins = transfer(20.0, 300.0, 10, 20.0);
        bins.extend([(30.0, 0.0); 200]);
        assert!(find(&stretch(&bins, |_| 100e6)).is_none());
    }
}
