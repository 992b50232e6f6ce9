//! Token buckets on the way: a transfer that runs at one rate until its burst is used up, and at a lower one from then
//! on (docs/methods.md, section 8). Owns the search; the series it reads is of `rates`, what it limited is for
//! `limits`.
//!
//! ```text
//! shaper, policer, ahead  one way each to find a bucket (bucket) in a stretch of bins (fit)
//! held                    a rate that is the same whatever is sent: a bucket's, or a link's
//! overload                what passes while far more is sent
//! level                   when it was empty
//! ```
//!
//! Two kinds are told apart. A *shaper* keeps what exceeds the lower rate in a queue: both rates are even, and the
//! round trip grows when the switch comes. A *policer* drops it: the round trip stays, and whenever something is lost
//! the bucket is empty, which is the test of Flach et al. (SIGCOMM 2016, with the constants of their program). What
//! fits neither is no token bucket: a bottleneck never ran faster, cross traffic that goes lets the rate rise again,
//! an application that sends less makes no queue.
//!
//! A pure function of a series; rates count IP bytes.

pub(crate) mod ahead;
pub mod bucket;
pub(crate) mod fit;
pub(crate) mod held;
pub(crate) mod level;
pub(crate) mod overload;
pub(crate) mod policer;
pub(crate) mod shaper;

use crate::tcp::rates::series::Series;
use crate::tcp::token_bucket::bucket::{BucketTerms, LEAST_ROUND_TRIPS, TokenBucket};
use crate::tcp::token_bucket::fit::{BinSpan, busy_periods, episodes};
use crate::tcp::token_bucket::held::Held;
use crate::tcp::token_bucket::shaper::Lower;

/// What held a rate.
#[derive(Debug)]
pub enum Found {
    /// A token bucket.
    Bucket(TokenBucket),
    /// The narrowest place of the path, through losses, from when to when: no bucket is found.
    Link([i64; 2]),
}

/// Looks for it. `usable[i]` is the share of bin `i` in which the network set the rate (not a stall, the
/// application or a window); bins beyond its end are usable, so that an empty slice means all.
pub fn search(series: &Series, usable: &[f32], terms: &BucketTerms<'_>) -> Option<Found> {
    let whole = BinSpan::of(series, usable, terms)?;
    let parts = lasting_parts(&whole);
    let plain = shaper_in(&whole, &parts, shaper::find).or_else(|| policer::find(&whole, &busy_periods(&whole)));
    if let Some(bucket) = plain {
        return Some(Found::Bucket(bucket));
    }
    match held::find(&whole) {
        Some(Held::Bucket(bucket)) => Some(Found::Bucket(bucket)),
        link => match (without_rule_of_its_own(&whole, &parts), link) {
            (Some(bucket), _) => Some(Found::Bucket(bucket)),
            (None, Some(Held::Link(start, end))) => Some(Found::Link(
                [start, end].map(|bin| series.start_ns.saturating_add((bin as f64 * whole.bin_ns) as i64)),
            )),
            _ => None,
        },
    }
}

/// What shows only indirectly.
fn without_rule_of_its_own(whole: &BinSpan, parts: &[LastingPart]) -> Option<TokenBucket> {
    let shaper_ahead = || shaper_in(whole, parts, ahead::find);
    overload::find(whole).or_else(|| policer::find_behind_link(whole)).or_else(shaper_ahead)
}

/// The token bucket that [`search`] finds.
pub fn find(series: &Series, usable: &[f32], terms: &BucketTerms<'_>) -> Option<TokenBucket> {
    match search(series, usable, terms)? {
        Found::Bucket(bucket) => Some(bucket),
        Found::Link(_) => None,
    }
}

/// From when to when a bucket that was found was empty: up to the end, or to an idle time that filled it again.
pub fn empty_times(series: &Series, usable: &[f32], terms: &BucketTerms<'_>, bucket: &TokenBucket) -> Vec<[i64; 2]> {
    let Some(whole) = BinSpan::of(series, usable, terms) else { return Vec::new() };
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

/// A part between long silences, with the lower of its two rates where it lasts and has them.
struct LastingPart {
    start: usize,
    end: usize,
    lower: Option<(BinSpan, Lower)>,
}

/// No rate is even within less than so many round trips.
fn lasting_parts(whole: &BinSpan) -> Vec<LastingPart> {
    let lower = |start, end| {
        let part = (whole.round_trips(end - start) >= LEAST_ROUND_TRIPS).then(|| whole.part(start, end))?;
        Lower::of(&part).map(|lower| (part, lower))
    };
    episodes(whole).into_iter().map(|(start, end)| LastingPart { start, end, lower: lower(start, end) }).collect()
}

/// The first shaper between long silences, with what later ones say of it.
fn shaper_in(
    whole: &BinSpan,
    parts: &[LastingPart],
    find: fn(&BinSpan, &Lower) -> Option<TokenBucket>,
) -> Option<TokenBucket> {
    let mut found: Option<TokenBucket> = None;
    let mut emptied_until = None;
    for &LastingPart { start, end, ref lower } in parts {
        let bucket = lower.as_ref().and_then(|(part, lower)| find(part, lower));
        if let (Some(first), Some(again), Some(idle_from)) = (&mut found, &bucket, emptied_until) {
            first.learn(again, (start - idle_from) as f64 * whole.bin_ns / 1e9);
        }
        // What an episode without a switch took from the bucket is not known.
        emptied_until = bucket.is_some().then_some(end);
        found = found.or_else(|| bucket.map(|bucket| bucket.later((start as f64 * whole.bin_ns) as i64)));
    }
    found
}
