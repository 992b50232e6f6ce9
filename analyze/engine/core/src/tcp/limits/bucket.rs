//! Limits and token buckets: in which of its bins the network set the rate (docs/methods.md, section 8).

use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::rates::series::Series;

/// For each bin of a series the share of its time in which the network set the rate, and not a host, the application, a timer
/// or a window.
pub fn network_shares(series: &Series, runs: &[FactorRun]) -> Vec<f32> {
    shares_without(series, runs, |factor| !network_sets_the_rate(factor))
}

/// The share of it in which the bottleneck bandwidth limited, so that the path was full.
pub fn full_shares(series: &Series, runs: &[FactorRun]) -> Vec<f32> {
    shares_without(series, runs, |factor| factor.holder() != Holder::Path)
}

/// The share of it in which the application rested.
pub fn resting_shares(series: &Series, runs: &[FactorRun]) -> Vec<f32> {
    if runs.is_empty() {
        return Vec::new();
    }
    shares_without(series, runs, |factor| !matches!(factor.holder(), Holder::Turn | Holder::Application))
}

/// The share of each bin's time that is left when some factors' is taken away.
fn shares_without(series: &Series, runs: &[FactorRun], taken_away: impl Fn(Factor) -> bool) -> Vec<f32> {
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
    factor.shows_capacity() || factor.holder() == Holder::Losses || factor == Factor::SackNotAgreed
}
