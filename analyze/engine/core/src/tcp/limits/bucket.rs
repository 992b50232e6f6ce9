//! Limits and token buckets: in which of its bins the network set the rate, and what an empty bucket limited
//! (docs/methods.md, section 8).

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves;
use crate::tcp::limits::runs::Run;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::rates::series::Series;

/// For each bin of a series the share of its time in which the network set the rate, and not a host, the application, a timer
/// or a window.
pub fn network_shares(series: &Series, runs: &[Run]) -> Vec<f32> {
    shares_without(series, runs, |factor| !network_sets_the_rate(factor))
}

/// The share of it in which the bottleneck bandwidth limited, so that the path was full.
pub fn full_shares(series: &Series, runs: &[Run]) -> Vec<f32> {
    shares_without(series, runs, |factor| factor != Factor::BottleneckBandwidth)
}

/// The share of it in which the application rested.
pub fn resting_shares(series: &Series, runs: &[Run]) -> Vec<f32> {
    if runs.is_empty() {
        return Vec::new();
    }
    shares_without(series, runs, |factor| !matches!(factor, Factor::Idle | Factor::Application))
}

/// The share of each bin's time that is left when some factors' is taken away.
fn shares_without(series: &Series, runs: &[Run], taken_away: impl Fn(Factor) -> bool) -> Vec<f32> {
    let mut shares = vec![1.0; series.bins.len()];
    if series.bin_ns <= 0 {
        return shares;
    }
    for run in runs.iter().filter(|run| taken_away(run.factor)) {
        let first = run.start_ns.saturating_sub(series.start_ns).max(0) / series.bin_ns;
        let last = run.end_ns.saturating_sub(series.start_ns).max(0) / series.bin_ns;
        let bins = usize::try_from(first).unwrap_or(usize::MAX)..=usize::try_from(last).unwrap_or(usize::MAX);
        for bin in bins.take_while(|bin| *bin < series.bins.len()) {
            let start_ns = series.start_ns.saturating_add((bin as i64).saturating_mul(series.bin_ns));
            let end_ns = start_ns.saturating_add(series.bin_ns);
            let overlap_ns = run.end_ns.min(end_ns).saturating_sub(run.start_ns.max(start_ns)).max(0);
            shares[bin] -= overlap_ns as f32 / series.bin_ns as f32;
        }
    }
    shares.iter_mut().for_each(|share| *share = share.max(0.0));
    shares
}

/// A bucket may be behind it: what paces, queues or drops is the network.
pub(crate) fn network_sets_the_rate(factor: Factor) -> bool {
    factor.shows_capacity() || matches!(factor, Factor::LossRecovery | Factor::SackNotAgreed)
}

/// Between these times, which follow one another, an empty bucket was behind what the congestion control did, and behind its
/// losses.
pub fn take_token_bucket(summary: &mut LimitsSummary, empty_ns: &[[i64; 2]]) {
    take_network_time(summary, Factor::TokenBucket, empty_ns);
}

/// Between these times something was behind all that congestion control did.
fn take_network_time(summary: &mut LimitsSummary, factor: Factor, between_ns: &[[i64; 2]]) {
    take_time(summary, factor, network_sets_the_rate, between_ns);
}

/// The same of the factors that are meant.
pub(crate) fn take_time(
    summary: &mut LimitsSummary,
    factor: Factor,
    is_meant: impl Fn(Factor) -> bool,
    between_ns: &[[i64; 2]],
) {
    let taken = moves::move_to(summary, factor, is_meant, between_ns);
    move_underlying(summary, factor, &taken);
}

/// What would have limited the transfer beneath recovery is that, too.
fn move_underlying(summary: &mut LimitsSummary, to: Factor, taken: &Shares) {
    let mut wanted = Share::default();
    taken.iter().for_each(|share| wanted.add(*share));
    for factor in Factor::ALL.into_iter().filter(|factor| factor.shows_capacity()) {
        let moved = summary.underlying[factor as usize].take(wanted);
        wanted.take(moved);
        summary.underlying[to as usize].add(moved);
    }
}
