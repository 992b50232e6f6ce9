//! Bytes of a direction over time, in bins that widen as it lasts, and whether they stand at a rate while datagrams are lost.
//!
//! Rule: docs/methods.md, "Rates that datagrams stand at".

use std::collections::BTreeMap;

/// Bins at most; then two become one.
const MOST_BINS: usize = 512;

/// Width of the first bins, nanoseconds.
const FIRST_WIDTH_NS: i64 = 2_000_000;

/// A rate is looked for in so many stretches of the time with losses.
const STRETCHES: usize = 32;

/// With fewer holes losses may have any cause.
const FEWEST_LOSSES: u64 = 20;

/// What is limited differs from stretch to stretch by less than chance would make it: its variance is below this part of that of
/// losses by chance (of 32 stretches one in thousands is as even).
const MOST_OF_CHANCE: f64 = 0.4;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    /// Bytes and datagrams by number of the bin, counted from the first datagram on.
    bins: BTreeMap<i64, [u64; 2]>,
    width_ns: i64,
    start_ns: i64,
    /// When losses showed first and last, and how often.
    losses_ns: Option<[i64; 2]>,
    holes: u64,
    missing: u64,
}

/// A rate that a direction stands at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldRate {
    /// Bits of whole frames a second.
    pub rate_bps: f64,
    /// From when until when it was measured.
    pub between_ns: [i64; 2],
    /// 0 to 1.
    pub confidence: f64,
}

impl Arrivals {
    /// Takes a datagram, before which so many are `missing`.
    pub fn take(&mut self, time_ns: i64, bytes: u32, missing: u64) {
        if self.width_ns == 0 {
            (self.width_ns, self.start_ns) = (FIRST_WIDTH_NS, time_ns);
        }
        let mut bin = self.bin_of(time_ns);
        if !self.bins.contains_key(&bin) && self.bins.len() >= MOST_BINS {
            self.widen();
            bin = self.bin_of(time_ns);
        }
        let [sum, packets] = self.bins.entry(bin).or_default();
        *sum += u64::from(bytes);
        *packets += 1;
        if missing > 0 {
            self.holes += 1;
            self.missing += missing;
            self.losses_ns.get_or_insert([time_ns; 2])[1] = time_ns;
        }
    }

    fn bin_of(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.start_ns).div_euclid(self.width_ns)
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let mut wider: BTreeMap<i64, [u64; 2]> = BTreeMap::new();
        for (bin, [bytes, packets]) in std::mem::take(&mut self.bins) {
            let sums = wider.entry(bin.div_euclid(2)).or_default();
            sums[0] += bytes;
            sums[1] += packets;
        }
        self.bins = wider;
    }

    /// The rate between the first and the last loss, if it is even.
    pub fn held_rate(&self) -> Option<HeldRate> {
        let between_ns = self.losses_ns?;
        // Whole bins only.
        let [first, end] = [self.bin_of(between_ns[0]) + 1, self.bin_of(between_ns[1])];
        let per_stretch = (end - first) / STRETCHES as i64;
        if self.holes < FEWEST_LOSSES || per_stretch < 1 {
            return None;
        }
        let end = first + per_stretch * STRETCHES as i64;
        let mut counts = [0u64; STRETCHES];
        let mut total_bytes = 0;
        for (&bin, &[bytes, packets]) in self.bins.range(first..end) {
            if let Some(count) = counts.get_mut(((bin - first) / per_stretch) as usize) {
                *count += packets;
                total_bytes += bytes;
            }
        }
        let mean = counts.iter().sum::<u64>() as f64 / STRETCHES as f64;
        let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / (STRETCHES - 1) as f64;
        let sent = mean + self.missing as f64 / STRETCHES as f64;
        let by_chance = mean * (1.0 - mean / sent);
        let evenness = variance / by_chance;
        (evenness < MOST_OF_CHANCE).then(|| HeldRate {
            rate_bps: total_bytes as f64 * 8e9 / ((end - first) as f64 * self.width_ns as f64),
            between_ns,
            confidence: 0.98 - evenness,
        })
    }
}
