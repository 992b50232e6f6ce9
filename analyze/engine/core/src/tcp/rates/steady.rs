//! A rate that somebody set (`limit_rate`, `--limit-rate`, a timer that writes): what is delivered keeps to a straight line, and is never
//! further from it than the longest pause explains. An application that is slow by itself strays.
//!
//! Rule: docs/verdict.md, "A steady rate".

use crate::tcp::rates::delivered::DeliveredSeries;
use crate::tcp::rates::series::Series;

/// Of the transfer, the first and the last part are left out: slow start, a burst that is allowed, the end.
const FIRST_PART: f64 = 0.1;

const LAST_PART: f64 = 0.05;

/// Bins that tell, at least, and pauses as long as the longest that would fit.
const FEWEST_BINS: usize = 40;

const FEWEST_PAUSES: f64 = 4.0;

/// How far it may stray, in what the longest pause would have delivered; bins cut off as much as one or two of them.
const STRAYS: f64 = 1.3;

const CUT_BINS: f64 = 2.0;

/// Payload, bits/s; none where it is not steady.
pub(crate) fn steady_bps(delivered: &DeliveredSeries) -> Option<f64> {
    steady_bytes_s(&delivered.series).map(|bytes_s| bytes_s * 8.0 / delivered.overhead.max(1.0))
}

fn steady_bytes_s(series: &Series) -> Option<f64> {
    let all = &series.bins;
    let [skipped, kept] = [FIRST_PART, 1.0 - LAST_PART].map(|part| (part * all.len() as f64) as usize);
    let bins = all.get(skipped..kept).filter(|bins| bins.len() >= FEWEST_BINS)?;
    let mut sum = 0.0;
    let sums: Vec<f64> = bins
        .iter()
        .map(|bin| {
            sum += f64::from(bin.arrived_bytes);
            sum
        })
        .collect();
    let slope = slope(&sums);
    let strayed = |(at, sum): (usize, &f64)| sum - slope * at as f64;
    let (least, most) = sums
        .iter()
        .enumerate()
        .map(strayed)
        .fold((f64::MAX, f64::MIN), |(least, most), off| (least.min(off), most.max(off)));
    let pause = longest_pause(bins.iter().map(|bin| bin.arrived_bytes)) as f64;
    let is_steady = slope > 0.0
        && (pause + 1.0) * FEWEST_PAUSES <= bins.len() as f64
        && most - least <= (STRAYS * pause + CUT_BINS) * slope;
    is_steady.then(|| slope * 1e9 / series.bin_ns.max(1) as f64)
}

/// Of a line through them, each one further than the one before (least squares).
fn slope(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let (mut along, mut square) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        let off = at as f64 - middle;
        along += off * (value - mean);
        square += off * off;
    }
    if square > 0.0 { along / square } else { 0.0 }
}

/// Bins in a row without data, the most.
fn longest_pause(bytes: impl Iterator<Item = u32>) -> usize {
    let (mut longest, mut now) = (0, 0);
    for bytes in bytes {
        now = if bytes == 0 { now + 1 } else { 0 };
        longest = longest.max(now);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::rates::series::Bin;
    use proptest::prelude::*;

    /// Bits/s of bins of 10 ms with so many bytes each.
    fn steady(bytes: impl IntoIterator<Item = u32>) -> Option<f64> {
        let bins = bytes.into_iter().map(|arrived_bytes| Bin { arrived_bytes, ..Bin::default() }).collect();
        steady_bytes_s(&Series { start_ns: 0, bin_ns: 10_000_000, bins }).map(|bytes_s| bytes_s * 8.0)
    }

    /// A burst of that many bins' worth of 1250 bytes, once in as many bins.
    fn bursts(every: usize, bins: usize) -> impl Iterator<Item = u32> {
        (0..bins).map(move |at| if at.is_multiple_of(every) { 1250 * every as u32 } else { 0 })
    }

    proptest! {
        #[test]
        fn a_timer_that_writes_once_in_a_while_is_steady(every in 1usize..100) {
            let found = steady(bursts(every, 2000)).expect("steady");
            prop_assert!((found / 1e6 - 1.0).abs() < 0.06, "{found}");
        }

        #[test]
        fn pauses_of_any_length_are_not(seed in 1u64..) {
            let mut dice = seed;
            let mut pause = || {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (dice >> 33) as usize % 20
            };
            let bytes: Vec<u32> = (0..300).flat_map(|_| std::iter::once(12_500).chain(std::iter::repeat_n(0, pause()))).collect();
            prop_assert_eq!(steady(bytes), None);
        }
    }

    #[test]
    fn a_rate_that_changes_and_a_short_transfer_are_none() {
        assert_eq!(steady(std::iter::repeat_n(1250, 300).chain(std::iter::repeat_n(2500, 300))), None);
        assert_eq!(steady(std::iter::repeat_n(1250, 40)), None);
        assert_eq!(steady(std::iter::repeat_n(0, 400)), None);
    }
}
