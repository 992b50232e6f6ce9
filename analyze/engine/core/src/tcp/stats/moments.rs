//! Count, extremes, mean and standard deviation of durations, in one pass.

use std::num::NonZeroU64;

/// Running moments of durations in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// Samples taken.
    pub count: u64,
    /// Sum of the samples.
    pub sum_ns: u64,
    /// Smallest sample (0 without samples).
    pub min_ns: u64,
    /// Largest sample.
    pub max_ns: u64,
    /// Sum of squared distances from the first sample, which keeps cancellation away.
    squares: f64,
    first_ns: f64,
}

impl Moments {
    /// Takes one duration.
    #[inline(always)]
    pub fn add(&mut self, value_ns: u64) {
        // The first is one of these, too: if it is 0, everything stands as it should already.
        if value_ns < self.min_ns || value_ns > self.max_ns {
            self.widen(value_ns);
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(value_ns);
        let distance = to_float(value_ns) - self.first_ns;
        self.squares += distance * distance;
    }

    /// A duration beyond those before it: rare once there have been some.
    #[cold]
    fn widen(&mut self, value_ns: u64) {
        if self.count == 0 {
            (self.first_ns, self.min_ns) = (to_float(value_ns), value_ns);
        }
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Arithmetic mean, nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Sample standard deviation (n - 1), nanoseconds; none below two samples.
    pub fn stddev_ns(&self) -> Option<f64> {
        let mean_distance = self.mean_ns()? - self.first_ns;
        let count = self.count as f64;
        (self.count > 1)
            .then(|| ((self.squares - count * mean_distance * mean_distance).max(0.0) / (count - 1.0)).sqrt())
    }

    /// Smallest sample, none without samples.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }
}

/// What stays of [`Moments`] when there are no more samples.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// That it is never 0 lets `Option<Statistics>` be no larger.
    count: NonZeroU64,
    /// Smallest, nanoseconds.
    pub min_ns: u64,
    /// Largest, nanoseconds.
    pub max_ns: u64,
    mean_ns: f64,
    stddev_ns: f64,
}

impl Statistics {
    /// None without samples.
    pub fn of(moments: &Moments) -> Option<Self> {
        let Moments { min_ns, max_ns, .. } = *moments;
        let count = NonZeroU64::new(moments.count)?;
        let mean_ns = moments.mean_ns()?;
        Some(Self { count, min_ns, max_ns, mean_ns, stddev_ns: moments.stddev_ns().unwrap_or(f64::NAN) })
    }

    /// Samples taken, at least one.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Arithmetic mean, nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.mean_ns
    }

    /// Sample standard deviation (n - 1), nanoseconds; none below two samples.
    pub fn stddev_ns(&self) -> Option<f64> {
        (self.count.get() > 1).then_some(self.stddev_ns)
    }
}

/// A duration is far from 2^63: from a signed number the processor converts in one step.
#[inline]
fn to_float(value_ns: u64) -> f64 {
    value_ns as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_known_series() {
        let mut moments = Moments::default();
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|value| moments.add(value));
        assert_eq!(moments.mean_ns(), Some(5.0));
        assert!((moments.stddev_ns().expect("two samples") - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((moments.min_ns, moments.max_ns), (2, 9));
    }

    #[test]
    fn one_sample_has_no_spread() {
        let mut moments = Moments::default();
        moments.add(5);
        assert_eq!(moments.stddev_ns(), None);
    }
}
