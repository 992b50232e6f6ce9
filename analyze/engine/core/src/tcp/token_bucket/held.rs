//! A rate that is held whatever the sender does: what gets through over time, which no sender controls.
//!
//! A congestion window that losses reduce delivers less after each of them. Where losses or a queue show that more was sent,
//! and what was delivered is the same in all windows, a place on the path set the rate: its link, or a bucket. What was delivered
//! before tells which. A link is never ahead of its own rate by more than something held back and let go at once, which is
//! no more than was in flight. A bucket is, until it is empty.
//!
//! How losses lie does not matter here, so that a queue before the bucket may overflow in slow start, and a
//! sender may repair one overflow for most of the transfer.
//!
//! Rule: docs/methods.md, "A rate that is held".

use crate::tcp::token_bucket::bucket::{
    CONFIDENCE, FEWEST_LOST_SEGMENTS, LEAST_RATIO, LimiterKind, QUEUED, TokenBucket, confidence,
};
use crate::tcp::token_bucket::fit::{BinSpan, median, quantile};
use crate::tcp::token_bucket::shaper::{EvenRate, MOST_VARIATION, held_windows};

/// The rate may begin to be held in any of the first so many of twenty parts of the transfer.
const PARTS: usize = 20;

const FIRST_PARTS: usize = 14;

/// Behind a bucket whose burst is plain, windows may vary twice as much: a policer that is empty lets a sender repair and grow again.
const MOST_VARIATION_BEHIND_BURST: f64 = 2.0 * MOST_VARIATION;

/// Round trips with losses that show that more was sent than passed.
const FEWEST_LOSSY_ROUND_TRIPS: usize = 3;

/// Of eight parts of a link's rate so many have losses: after a single overflow a window may stall, too.
const LOSSY_PARTS: usize = 3;

const PARTS_OF_A_RATE: usize = 8;

/// Flights that a bucket's burst is ahead of the rate, at least, and those that a link's is at most.
const FLIGHTS_OF_A_BURST: f64 = 2.0;

const FLIGHTS_OF_A_LINK: f64 = 1.5;

/// So many times what the rate itself wavers by, and so many segments: an initial window is ten (RFC 6928).
const BEYOND_WAVERING: f64 = 2.0;

const FEWEST_BURST_SEGMENTS: f64 = 30.0;

/// A link's rate has so many segments in a round trip: a window of fewer hardly varies.
const FEWEST_SEGMENTS_IN_FLIGHT: f64 = 10.0;

/// Round trips that were faster before the bucket was empty.
const FEWEST_FASTER_ROUND_TRIPS: f64 = 2.0;

/// The round trips before the bucket was empty are those that all but this share are shorter than.
const LONGEST_ROUND_TRIPS: f64 = 0.95;

/// What holds a rate.
#[derive(Debug, Clone, Copy)]
pub enum Held {
    /// A bucket that has run empty.
    Bucket(TokenBucket),
    /// The narrowest place of the path, from one bin up to another, with losses.
    Link(usize, usize),
}

/// Looks for it.
pub fn find(stretch: &BinSpan) -> Option<Held> {
    let end = stretch.delivered.iter().rposition(|bytes| *bytes > 0.0)?;
    // Most transfers lose too little for either; to look for what is even takes much longer.
    if !loses(stretch, 0..stretch.len()) {
        return None;
    }
    let starts = (0..FIRST_PARTS).map(|part| part * stretch.len() / PARTS);
    let mut uneven = Vec::new();
    let mut held = starts.filter_map(|start| {
        let windows = held_windows(stretch, start, end)?;
        let rate = windows.plateau(MOST_VARIATION);
        uneven.push(windows);
        rate
    });
    if let Some(rate) = held.next() {
        let burst = Burst::before(stretch, &rate);
        return match burst.bucket(stretch, &rate) {
            Some(bucket) => Some(Held::Bucket(bucket)),
            None if burst.flights(&rate) > FLIGHTS_OF_A_LINK => None,
            None if loses_all_along(stretch, &rate) => Some(Held::Link(rate.start, rate.end)),
            None => None,
        };
    }
    let rate = uneven.iter().find_map(|windows| windows.plateau(MOST_VARIATION_BEHIND_BURST))?;
    Burst::before(stretch, &rate).bucket(stretch, &rate).map(Held::Bucket)
}

/// What was delivered ahead of a rate.
struct Burst {
    bytes: f64,
    /// The bin in which it was used up.
    emptied: usize,
    /// The longest round trip up to then, in bins.
    longest_bins: f64,
}

impl Burst {
    fn before(stretch: &BinSpan, rate: &EvenRate) -> Self {
        let (mut missing, mut bytes, mut emptied) = (0.0f64, 0.0, 0);
        for bin in 0..rate.start + (rate.end - rate.start) / 4 {
            missing = (missing + stretch.delivered[bin] - rate.rate).max(0.0);
            if missing > bytes {
                (bytes, emptied) = (missing, bin);
            }
        }
        let until: Vec<f64> = stretch.rtt_ns[..=emptied].iter().flatten().copied().collect();
        let longest_ns = quantile(&until, LONGEST_ROUND_TRIPS).unwrap_or(0.0).max(stretch.min_rtt_ns);
        Self { bytes, emptied, longest_bins: (longest_ns / stretch.bin_ns).max(1.0) }
    }

    fn flights(&self, rate: &EvenRate) -> f64 {
        self.bytes / (rate.rate * self.longest_bins)
    }

    fn bucket(&self, stretch: &BinSpan, rate: &EvenRate) -> Option<TokenBucket> {
        let empty = self.emptied + 1..rate.end;
        let wavering = stretch.deepest(rate.rate, empty.start, empty.end.saturating_sub(1));
        let is_burst = self.flights(rate) >= FLIGHTS_OF_A_BURST
            && self.bytes >= BEYOND_WAVERING * wavering
            && self.bytes >= FEWEST_BURST_SEGMENTS * stretch.segment_bytes;
        let queued = is_queued(stretch, empty.clone()) || loses_behind_queue(stretch, empty.clone());
        if !is_burst || queued || !loses(stretch, empty.clone()) || lossy_parts(stretch, &empty) < LOSSY_PARTS {
            return None;
        }
        let before = self.faster(stretch, rate)?;
        let sure = [
            before > 2.0 * rate.rate,
            rate.variation < MOST_VARIATION / 2.0,
            self.flights(rate) >= 2.0 * FLIGHTS_OF_A_BURST,
        ];
        Some(TokenBucket {
            kind: LimiterKind::Policer,
            burst_bytes: self.bytes,
            rate_before_bps: stretch.bps(before),
            sustained_bps: stretch.bps(rate.rate),
            switch_ns: stretch.start_ns.saturating_add((empty.start as f64 * stretch.bin_ns) as i64),
            refill_bps: None,
            confidence: confidence(CONFIDENCE, sure),
        })
    }

    /// The highest rate of a round trip among those in a row, up to the switch, that were faster than the rate that is held.
    fn faster(&self, stretch: &BinSpan, held: &EvenRate) -> Option<f64> {
        let cell = stretch.round_trip_bins();
        let rate = |end: usize| stretch.delivered[end - cell..end].iter().sum::<f64>() / cell as f64;
        let ends = (cell..=self.emptied + 1).rev().step_by(cell);
        // The round trip of the switch itself may have fewer.
        let rates: Vec<f64> = ends
            .map(rate)
            .skip_while(|one| *one < LEAST_RATIO * held.rate)
            .take_while(|one| *one >= held.rate)
            .collect();
        let fast = rates.iter().filter(|one| **one >= LEAST_RATIO * held.rate).count();
        (stretch.round_trips(fast * cell) >= FEWEST_FASTER_ROUND_TRIPS).then(|| rates.into_iter().fold(0.0, f64::max))
    }
}

fn is_queued(stretch: &BinSpan, bins: std::ops::Range<usize>) -> bool {
    let rtt_ns: Vec<f64> = stretch.rtt_ns.get(bins).unwrap_or_default().iter().flatten().copied().collect();
    median(&rtt_ns).is_some_and(|rtt| rtt >= QUEUED * stretch.min_rtt_ns)
}

/// Most losses come while the round trip is long: a queue that grows and overflows.
fn loses_behind_queue(stretch: &BinSpan, bins: std::ops::Range<usize>) -> bool {
    let lossy: Vec<usize> = bins.filter(|bin| stretch.lost[*bin] > 0.0).collect();
    let recent = stretch.round_trip_bins();
    let is_behind = |bin: &&usize| {
        let rtt = stretch.rtt_ns[bin.saturating_sub(recent)..=**bin].iter().rev().find_map(|rtt| *rtt);
        rtt.is_some_and(|rtt| rtt >= QUEUED * stretch.min_rtt_ns)
    };
    2 * lossy.iter().filter(is_behind).count() > lossy.len()
}

fn loses(stretch: &BinSpan, bins: std::ops::Range<usize>) -> bool {
    let cell = stretch.round_trip_bins();
    let lossy = |bin: &usize| stretch.lost[*bin] > 0.0;
    let mut round_trips: Vec<usize> = bins.clone().filter(lossy).map(|bin| bin / cell).collect();
    round_trips.dedup();
    let lost: f64 = stretch.lost.get(bins).unwrap_or_default().iter().sum();
    lost >= FEWEST_LOST_SEGMENTS * stretch.segment_bytes && round_trips.len() >= FEWEST_LOSSY_ROUND_TRIPS
}

/// Of eight parts of these bins, so many have losses.
fn lossy_parts(stretch: &BinSpan, bins: &std::ops::Range<usize>) -> usize {
    let length = bins.len().div_ceil(PARTS_OF_A_RATE).max(1);
    let lost = stretch.lost.get(bins.clone()).unwrap_or_default();
    lost.chunks(length).filter(|part| part.iter().sum::<f64>() > 0.0).count()
}

/// Losses all along leave a link's rate as it is, and there is enough in flight for it to vary.
fn loses_all_along(stretch: &BinSpan, rate: &EvenRate) -> bool {
    let in_flight = rate.rate * stretch.min_rtt_ns / stretch.bin_ns;
    lossy_parts(stretch, &(rate.start..rate.end)) >= LOSSY_PARTS
        && in_flight >= FEWEST_SEGMENTS_IN_FLIGHT * stretch.segment_bytes
        && loses(stretch, rate.start..rate.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 10 ms.
    const BIN_NS: f64 = 10e6;

    const SEGMENT: f64 = 1500.0;

    /// Deliveries and losses of bins, with a round trip of 40 ms.
    fn stretch(delivered: Vec<f64>, lost: Vec<f64>) -> BinSpan {
        let bins = delivered.len();
        BinSpan {
            start_ns: 0,
            bin_ns: BIN_NS,
            rtt_ns: vec![Some(40e6); bins],
            usable: vec![true; bins],
            path_full: vec![0.0; bins],
            resting: vec![0.0; bins],
            spacing: Vec::new(),
            all_bins: bins,
            frame_bytes: SEGMENT,
            whole_rtt: true,
            min_rtt_ns: 40e6,
            segment_bytes: SEGMENT,
            delivered,
            lost,
        }
    }

    /// `burst` bins of the faster rate, then `rate` bytes a bin up to 600; every `apart` bins two segments are lost.
    fn held(burst: usize, faster: f64, rate: f64, apart: usize) -> Option<Held> {
        let delivered = (0..600).map(|bin| if bin < burst { faster } else { rate }).collect();
        let lost = (0..600).map(|bin| if bin >= burst && bin % apart == 0 { 2.0 * SEGMENT } else { 0.0 }).collect();
        find(&stretch(delivered, lost))
    }

    proptest! {
        #[test]
        fn a_rate_that_holds_after_a_burst_is_a_buckets(
            burst in 20usize..60, faster in 2.0f64..6.0, rate in 8e3f64..40e3, apart in 3usize..25,
        ) {
            let Some(Held::Bucket(bucket)) = held(burst, faster * rate, rate, apart) else {
                return Err(TestCaseError::fail("no bucket"));
            };
            prop_assert!((bucket.sustained_bps / (rate * 800.0) - 1.0).abs() < 0.02);
            let burst_bytes = burst as f64 * (faster - 1.0) * rate;
            prop_assert!((bucket.burst_bytes / burst_bytes - 1.0).abs() < 0.05);
            prop_assert_eq!(bucket.kind, LimiterKind::Policer);
        }

        #[test]
        fn a_rate_that_holds_from_the_start_is_a_links(rate in 8e3f64..40e3, apart in 3usize..25) {
            prop_assert!(matches!(held(0, 0.0, rate, apart), Some(Held::Link(..))));
        }

        #[test]
        fn a_rate_that_falls_with_each_loss_is_held_by_nothing(rate in 8e3f64..40e3, period in 100usize..200) {
            let saw = |bin: usize| rate * (0.6 + 0.4 * (bin % period) as f64 / period as f64);
            let lost = (0..600).map(|bin| if bin % period == 0 { 8.0 * SEGMENT } else { 0.0 }).collect();
            prop_assert!(find(&stretch((0..600).map(saw).collect(), lost)).is_none());
        }
    }

    #[test]
    fn an_even_rate_without_losses_or_a_queue_may_be_a_windows() {
        assert!(held(0, 0.0, 20e3, 1000).is_none());
        assert!(held(30, 60e3, 20e3, 1000).is_none());
    }

    #[test]
    fn four_segments_in_flight_hardly_vary_whatever_limits_them() {
        assert!(held(0, 0.0, 1500.0, 10).is_none());
    }
}
