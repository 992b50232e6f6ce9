//! Durations in numbers: mean, extremes, deviation, quantiles.

use crate::tcp::stats::moments::{Moments, Statistics};
use crate::tcp::stats::quantile_sketch::DurationSketch;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Durations<const N: usize> {
    /// Count, mean, extremes, deviation.
    pub moments: Statistics,
    /// Quantiles, nanoseconds.
    pub quantiles_ns: [f64; N],
}

impl<const N: usize> Durations<N> {
    #[inline(always)]
    pub(crate) fn of(moments: &Moments, sketch: &DurationSketch, ranks: [f64; N]) -> Option<Self> {
        let [min_ns, max_ns] = [moments.min_ns, moments.max_ns].map(|ns| ns as f64);
        // A bucket may reach beyond the samples in it.
        let quantiles_ns = sketch.quantiles(ranks)?.map(|quantile_ns| quantile_ns.clamp(min_ns, max_ns));
        Some(Self { moments: Statistics::of(moments)?, quantiles_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_quantile_lies_beyond_the_samples() {
        let (mut moments, mut sketch) = (Moments::default(), DurationSketch::default());
        (0..200).for_each(|number| {
            let sample_ns = 1_000_003 + u64::from(number == 7);
            moments.add(sample_ns);
            sketch.add(sample_ns);
        });
        sketch.settle();
        let durations = Durations::of(&moments, &sketch, [0.0, 0.5, 0.99]).expect("samples");
        assert!(durations.quantiles_ns.iter().all(|ns| (1_000_003.0..=1_000_004.0).contains(ns)), "{durations:?}");
    }
}
