//! Streaming quantiles of durations: exact while samples are few, then a histogram of constant relative width.
//!
//! Buckets are logarithmic with 64 steps to the octave (as in HDR histograms), so that a quantile is off by at most half a
//! bucket, 0.8 %, and usually far less because values are interpolated within their bucket. Only the range of buckets in
//! use is stored: a connection whose RTT spans two octaves pays 512 bytes.
//!
//! Rule: docs/methods.md, "Mean and quantiles".

use crate::tcp::stats::packed::{Packed, put_list};
use crate::tcp::stats::reuse::room_of;

/// Bits of resolution below the leading one.
const STEP_BITS: u32 = 6;

const STEPS: u64 = 1 << STEP_BITS;

/// Samples kept exactly before the histogram takes over.
const EXACT: usize = 64;

/// More than there are buckets of durations.
const MOST_BUCKETS: u64 = 64 * STEPS + 64;

/// Room that is made at first: enough for an initial window of ten segments (RFC 6928).
const FIRST_ROOM: usize = 16;

/// Quantiles of durations in nanoseconds.
#[derive(Debug, Default, Clone)]
pub struct DurationSketch {
    exact: Vec<u64>,
    counts: Vec<u32>,
    first_bucket: u32,
}

#[inline]
fn bucket_of(value: u64) -> u32 {
    const EXACT_FLOATS: u64 = 1 << 53;
    if value.wrapping_sub(STEPS) >= EXACT_FLOATS - STEPS {
        return unusual_bucket(value);
    }
    // Exponent and leading bits stand side by side in a floating-point number.
    const BIAS: u32 = (1023 + STEP_BITS - 1) << STEP_BITS;
    ((value as i64 as f64).to_bits() >> (f64::MANTISSA_DIGITS - 1 - STEP_BITS)) as u32 - BIAS
}

#[inline(never)]
fn unusual_bucket(value: u64) -> u32 {
    if value < STEPS {
        return value as u32;
    }
    let exponent = 63 - value.leading_zeros();
    let shift = exponent - STEP_BITS;
    ((exponent - STEP_BITS + 1) << STEP_BITS) | ((value >> shift) & (STEPS - 1)) as u32
}

/// Smallest value of a bucket.
pub fn bucket_floor(bucket: u32) -> u64 {
    if u64::from(bucket) < STEPS {
        return u64::from(bucket);
    }
    let exponent = (bucket >> STEP_BITS) - 1;
    (STEPS + (u64::from(bucket) & (STEPS - 1))) << exponent.min(57)
}

/// A duration is far from 2^63: from a signed number the processor converts in one step.
#[inline(always)]
fn to_float(value: u64) -> f64 {
    value as i64 as f64
}

/// The values at the given ranks (each 0..=1) of durations in ascending order, linearly interpolated; none without durations.
pub fn quantiles_of<const N: usize>(sorted_ns: &[u64], ranks: [f64; N]) -> Option<[f64; N]> {
    let last = to_float(sorted_ns.len().checked_sub(1)? as u64);
    let sample = |index: i64| to_float(sorted_ns[index as usize]);
    Some(ranks.map(|rank| {
        let position = rank * last;
        // A cast cuts as `floor` does, without the call that it is on processors of the oldest kind.
        let below = position as i64;
        let within = position - below as f64;
        let (low, high) = (sample(below), sample(below + i64::from(within > 0.0)));
        low + (high - low) * within
    }))
}

impl DurationSketch {
    /// A new one in the room of this one.
    #[inline(always)]
    pub fn renewed(&mut self) -> Self {
        Self { exact: room_of(&mut self.exact), ..Self::default() }
    }

    /// Takes one duration, in nanoseconds.
    #[inline(always)]
    pub fn add(&mut self, value_ns: u64) {
        // Without a histogram there is no such bucket.
        let index = bucket_of(value_ns).wrapping_sub(self.first_bucket) as usize;
        match self.counts.get_mut(index) {
            Some(count) => *count = count.saturating_add(1),
            None => self.add_unusual(value_ns),
        }
    }

    #[inline(never)]
    fn add_unusual(&mut self, value_ns: u64) {
        if !self.counts.is_empty() {
            self.count(bucket_of(value_ns));
        } else if self.exact.len() < EXACT {
            if self.exact.is_empty() {
                self.exact.reserve_exact(FIRST_ROOM);
            }
            self.exact.push(value_ns);
        } else {
            self.become_histogram();
            self.count(bucket_of(value_ns));
        }
    }

    fn count(&mut self, bucket: u32) {
        let index = bucket.wrapping_sub(self.first_bucket) as usize;
        match self.counts.get_mut(index) {
            Some(count) => *count = count.saturating_add(1),
            None => self.count_outside(bucket),
        }
    }

    #[cold]
    fn count_outside(&mut self, bucket: u32) {
        const SLACK: u32 = 32;
        if self.counts.is_empty() {
            self.first_bucket = bucket.saturating_sub(SLACK);
        } else if bucket < self.first_bucket {
            let lower = bucket.saturating_sub(SLACK);
            let grown = (self.first_bucket - lower) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, grown));
            self.first_bucket = lower;
        }
        let needed = (bucket - self.first_bucket + SLACK) as usize;
        if needed > self.counts.len() {
            self.counts.resize(needed, 0);
        }
        if let Some(count) = self.counts.get_mut((bucket - self.first_bucket) as usize) {
            *count = count.saturating_add(1);
        }
    }

    #[cold]
    fn become_histogram(&mut self) {
        for value in std::mem::take(&mut self.exact) {
            self.count(bucket_of(value));
        }
    }

    /// Takes the samples of another.
    pub fn merge(&mut self, other: &Self) {
        other.exact.iter().for_each(|&value_ns| self.add(value_ns));
        if other.counts.is_empty() {
            return;
        }
        self.become_histogram();
        for (index, &count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bucket = other.first_bucket + index as u32;
            self.count(bucket);
            if let Some(own) = self.counts.get_mut((bucket - self.first_bucket) as usize) {
                *own = own.saturating_add(count - 1);
            }
        }
    }

    /// Packs it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_list(out, &self.exact, |out, value_ns| out.extend_from_slice(&value_ns.to_le_bytes()));
        out.extend_from_slice(&self.first_bucket.to_le_bytes());
        put_list(out, &self.counts, |out, count| out.extend_from_slice(&count.to_le_bytes()));
    }

    /// One that was packed; none if it is damaged.
    pub fn of(packed: &mut Packed<'_>) -> Option<Self> {
        let (exact, first_bucket, counts) = (packed.list(Packed::u64)?, packed.u32()?, packed.list(Packed::u32)?);
        let buckets = u64::from(first_bucket) + counts.len() as u64;
        (exact.len() <= EXACT && buckets <= MOST_BUCKETS).then_some(Self { exact, counts, first_bucket })
    }

    /// The same without some of its samples.
    pub fn without(&self, values_ns: &[u64]) -> Self {
        let mut rest = self.clone();
        for value_ns in values_ns {
            if let Some(index) = rest.exact.iter().position(|exact_ns| exact_ns == value_ns) {
                rest.exact.remove(index);
            }
            let index = bucket_of(*value_ns).wrapping_sub(rest.first_bucket) as usize;
            if let Some(count) = rest.counts.get_mut(index) {
                *count = count.saturating_sub(1);
            }
        }
        rest
    }

    /// Prepares for questions. To be called once, after the last sample.
    pub fn settle(&mut self) {
        self.exact.sort_unstable();
    }

    /// The values at the given ranks (each 0..=1, ascending), linearly interpolated; none without samples. As all questions,
    /// to be asked after [`Self::settle`].
    pub fn quantiles<const N: usize>(&self, ranks: [f64; N]) -> Option<[f64; N]> {
        if self.counts.is_empty() { quantiles_of(&self.exact, ranks) } else { self.histogram_quantiles(ranks) }
    }

    fn histogram_quantiles<const N: usize>(&self, ranks: [f64; N]) -> Option<[f64; N]> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let mut result = [0.0; N];
        let mut below = 0u64;
        let mut next = 0;
        for (floor, width, count) in self.buckets() {
            let width = width.max(1);
            while next < N && (ranks[next] * total as f64) <= (below + count) as f64 {
                let within = (ranks[next] * total as f64 - below as f64) / count as f64;
                // A bucket of one nanosecond holds one value.
                result[next] = floor as f64 + (width - 1) as f64 * within.clamp(0.0, 1.0);
                next += 1;
            }
            below += count;
        }
        (total > 0).then_some(result)
    }

    /// Non-empty buckets as (floor, width, count), ascending; exact samples come one by one with width 0.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let histogram = self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let bucket = self.first_bucket + index as u32;
            (bucket_floor(bucket), bucket_floor(bucket + 1) - bucket_floor(bucket), u64::from(count))
        });
        self.exact.iter().map(|&value| (value, 0, 1)).chain(histogram)
    }

    /// Median and number of the samples above `floor_ns` and up to `ceiling_ns`; none if there are none.
    pub fn median_between(&self, floor_ns: u64, ceiling_ns: u64) -> Option<(u64, u64)> {
        let between = |&(floor, _, _): &(u64, u64, u64)| floor > floor_ns && floor <= ceiling_ns;
        let total: u64 = self.buckets().filter(between).map(|(_, _, count)| count).sum();
        let mut seen = 0;
        let median = self.buckets().filter(between).find_map(|(floor, width, count)| {
            seen += count;
            (2 * seen >= total).then_some(floor + width / 2)
        })?;
        Some((median, total))
    }

    /// Median absolute deviation from `centre_ns`, nanoseconds (to bucket resolution); none without samples.
    pub fn median_absolute_deviation(&self, centre_ns: f64) -> Option<f64> {
        let mut deviations = Vec::with_capacity(self.exact.len() + self.counts.len());
        deviations.extend(
            self.buckets().map(|(floor, width, count)| ((floor as f64 + width as f64 / 2.0 - centre_ns).abs(), count)),
        );
        deviations.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: u64 = deviations.iter().map(|(_, count)| count).sum();
        let mut seen = 0;
        deviations.into_iter().find_map(|(deviation, count)| {
            seen += count;
            (2 * seen >= total).then_some(deviation)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value in 0u64..1 << 60) {
            let bucket = bucket_of(value);
            prop_assert!(bucket_floor(bucket) <= value && value < bucket_floor(bucket + 1));
        }

        #[test]
        fn quantiles_are_within_one_percent(mut values in proptest::collection::vec(1_000u64..10_000_000_000, 200..2000)) {
            let mut sketch = DurationSketch::default();
            values.iter().for_each(|&value| sketch.add(value));
            sketch.settle();
            values.sort_unstable();
            let [median, p99] = sketch.quantiles([0.5, 0.99]).expect("samples");
            for (rank, estimate) in [(0.5, median), (0.99, p99)] {
                let position = (rank * values.len() as f64) as usize;
                let low = values[position.saturating_sub(1)] as f64 * 0.98;
                let high = values[(position + 1).min(values.len() - 1)] as f64 * 1.02;
                prop_assert!(low <= estimate && estimate <= high, "{low} {estimate} {high}");
            }
        }
    }

    #[test]
    fn merged_sketches_are_as_one() {
        let sketch = |from: u64, to: u64| {
            let mut sketch = DurationSketch::default();
            (from..to).for_each(|value| sketch.add(1000 * value));
            sketch
        };
        for (middle, end) in [(3, 9), (3, 300), (150, 160), (150, 300)] {
            let (mut merged, mut all) = (sketch(1, middle), sketch(1, end));
            merged.merge(&sketch(middle, end));
            merged.settle();
            all.settle();
            assert_eq!(merged.quantiles([0.1, 0.5, 0.9]), all.quantiles([0.1, 0.5, 0.9]));
        }
    }

    #[test]
    fn few_samples_give_exact_quantiles() {
        let mut sketch = DurationSketch::default();
        [4, 1, 3, 2].into_iter().for_each(|value| sketch.add(value));
        sketch.settle();
        assert_eq!(sketch.quantiles([0.5, 1.0]), Some([2.5, 4.0]));
    }

    #[test]
    fn no_samples_give_no_quantile() {
        assert_eq!(DurationSketch::default().quantiles([0.5]), None);
    }
}
