//! Token buckets on the way: a transfer that runs at one rate until its burst is used up, and at a lower one from then on
//! (docs/methods.md, section 8).
//!
//! Two kinds are told apart. A *shaper* keeps what exceeds the lower rate in a queue: both rates are even, and the round
//! trip grows when the switch comes. A *policer* drops it: the round trip stays, and whenever something is lost the bucket
//! is empty, which is the test of Flach et al. (SIGCOMM 2016, with the constants of their program). What fits neither is no
//! token bucket: a bottleneck never ran faster, cross traffic that goes lets the rate rise again, an application that sends
//! less makes no queue.
//!
//! A pure function of a series; rates count IP bytes.

mod ahead;
mod fit;
mod level;
mod policer;
mod shaper;

use super::rate_series::Series;
use fit::{Stretch, busy_periods, episodes};

/// Faster before than after by this much, at least (ShaperProbe's level shift; docs/methods.md, section 8).
const LEAST_RATIO: f64 = 1.3;
/// Round trips that either rate must have lasted.
const LEAST_ROUND_TRIPS: f64 = 10.0;
/// How sure a token bucket is at least of which both rates, or losses in many round trips, were seen.
const CONFIDENCE: f64 = 0.6;
/// What each further sign adds.
const SURER: f64 = 0.1;
const MOST_CONFIDENCE: f64 = 0.95;
/// Sustained rates that are one within this share.
const SAME_RATE: f64 = 0.1;
/// A second burst this close to the first says only that the bucket was full again.
const FULL_SHARE: f64 = 0.95;

/// What happens to what exceeds the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It waits.
    Shaper,
    /// It is dropped.
    Policer,
}

impl Kind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shaper => "shaper",
            Self::Policer => "policer",
        }
    }
}

/// A token bucket, as far as the transfer shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenBucket {
    /// See [`Kind`].
    pub kind: Kind,
    /// IP bytes that passed beyond the sustained rate before the switch.
    pub burst_bytes: f64,
    /// Rate before the switch, bits per second.
    pub rate_before_bps: f64,
    /// Rate after it.
    pub sustained_bps: f64,
    /// When the lower rate began to hold, as seen at the capture point.
    pub switch_ns: i64,
    /// Rate at which an idle time filled the bucket again; none without one, or if it filled it to the brim.
    pub refill_bps: Option<f64>,
    /// 0.5 to 0.95.
    pub confidence: f64,
}

/// Which bytes of a bin count as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// What passed the capture point, which is beside the receiver.
    Arrived,
    /// What was acknowledged.
    Acknowledged,
}

/// What else is known of the direction.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// See [`Delivered`].
    pub delivered: Delivered,
    /// IP bytes for each byte of payload.
    pub overhead: f64,
    /// Payload of a full segment.
    pub segment_bytes: f64,
    /// The capture is beside the sender, where each sample is a whole round trip.
    pub beside_sender: bool,
    /// Shortest round trip, nanoseconds; none if the series is to tell.
    pub min_rtt_ns: Option<f64>,
    /// Share of each bin in which the path was full, as far as the rounds tell; of bins beyond its end that is not known.
    pub path_full: &'a [f32],
    /// Share of each bin in which the application rested; of bins beyond its end that is not known.
    pub resting: &'a [f32],
    /// Times between two data packets: from so long on (nanoseconds) and how many; where none are given nothing is known of them.
    pub spacing: &'a [(u64, u64)],
    /// Payload of the largest frame: with segmentation offload one holds many segments.
    pub frame_bytes: f64,
}

/// Looks for a token bucket. `usable[i]` is the share of bin `i` in which the network set the rate (not a stall, the
/// application or a window); bins beyond its end are usable, so that an empty slice means all.
pub fn find(series: &Series, usable: &[f32], terms: &Terms<'_>) -> Option<TokenBucket> {
    let whole = Stretch::of(series, usable, terms)?;
    shaper_in(&whole, shaper::find)
        .or_else(|| policer::find(&whole, &busy_periods(&whole)))
        .or_else(|| shaper_in(&whole, ahead::find))
}

/// From when to when a bucket that was found was empty: up to the end, or to an idle time that filled it again.
pub fn empty_times(series: &Series, usable: &[f32], terms: &Terms<'_>, bucket: &TokenBucket) -> Vec<[i64; 2]> {
    let Some(whole) = Stretch::of(series, usable, terms) else { return Vec::new() };
    let after_start_ns = bucket.switch_ns.saturating_sub(series.start_ns).max(0);
    let switch = usize::try_from(after_start_ns / series.bin_ns.max(1)).unwrap_or(usize::MAX).min(whole.len());
    let at_ns = |bin: usize| series.start_ns.saturating_add((bin as f64 * whole.bin_ns) as i64);
    let bins = level::empty_bins(&whole, bucket, switch);
    let times = bins.into_iter().map(|(from, to)| {
        let to_ns = if to >= whole.len() { i64::MAX } else { at_ns(to) };
        [if from == switch { bucket.switch_ns } else { at_ns(from) }, to_ns]
    });
    times.collect()
}

/// The first shaper between long silences, with what later ones say of it.
fn shaper_in(whole: &Stretch, find: fn(&Stretch) -> Option<TokenBucket>) -> Option<TokenBucket> {
    let mut found: Option<TokenBucket> = None;
    let mut emptied_until = None;
    for (start, end) in episodes(whole) {
        let bucket = find(&whole.part(start, end));
        if let (Some(first), Some(again), Some(idle_from)) = (&mut found, &bucket, emptied_until) {
            first.learn(again, (start - idle_from) as f64 * whole.bin_ns / 1e9);
        }
        // What an episode without a switch took from the bucket is not known.
        emptied_until = bucket.is_some().then_some(end);
        found = found.or_else(|| bucket.map(|bucket| bucket.later((start as f64 * whole.bin_ns) as i64)));
    }
    found
}

/// How sure a bucket is by `least` and those of the three signs that are there.
fn confidence(least: f64, signs: [bool; 3]) -> f64 {
    least + SURER * signs.into_iter().filter(|&sign| sign).count() as f64
}

impl TokenBucket {
    fn later(self, by_ns: i64) -> Self {
        Self { switch_ns: self.switch_ns.saturating_add(by_ns), ..self }
    }

    /// The same bucket was emptied again after an idle time.
    fn learn(&mut self, again: &Self, idle_s: f64) {
        let alike = (again.sustained_bps / self.sustained_bps - 1.0).abs() < SAME_RATE;
        if !alike || idle_s <= 0.0 {
            return;
        }
        self.confidence = (self.confidence + SURER).min(MOST_CONFIDENCE);
        if again.burst_bytes < FULL_SHARE * self.burst_bytes && self.refill_bps.is_none() {
            self.refill_bps = Some(again.burst_bytes * 8.0 / idle_s);
        }
    }
}
