//! What a direction delivered over time, when its connection ends: what held its rate, and what is kept of it for limits that
//! several connections share.

use crate::tcp::direction::direction::Direction;
use crate::tcp::limits::bucket::{full_shares, network_shares, resting_shares};
use crate::tcp::limits::even_losses::{come_after_few, is_saved_up};
use crate::tcp::limits::late_losses::came_late;
use crate::tcp::limits::losses_at_once::came_at_once;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::loss::reductions::Reductions;
use crate::tcp::rates::delivered::DeliveredSeries;
use crate::tcp::rates::series::{Bin, Series};
use crate::tcp::rates::steady::steady_bps;
use crate::tcp::token_bucket::bucket::{BucketTerms, CountedBytes, LimiterKind, TokenBucket};
use crate::tcp::token_bucket::{self, Found};

/// Times in which a bucket was empty that must agree about its rate, how nearly, and of how many bins each.
const FEWEST_TIMES: usize = 3;

const SAME_RATE: f64 = 0.03;

const FEWEST_BINS: usize = 20;

/// What held the rate of a direction, and when.
pub(super) enum HeldRate {
    ByBucket(TokenBucket, Vec<[i64; 2]>),
    ByLink([i64; 2]),
}

impl HeldRate {
    pub(super) fn policer(&self) -> Option<(&TokenBucket, &[[i64; 2]])> {
        match self {
            Self::ByBucket(bucket, empty_ns) => {
                Some((bucket, empty_ns.as_slice())).filter(|(bucket, _)| bucket.kind == LimiterKind::Policer)
            }
            Self::ByLink(_) => None,
        }
    }
}

/// See the module.
pub(super) struct OverTime<'a> {
    series: &'a Series,
    delivered: CountedBytes,
    /// Payload of a segment as a rule.
    segment_bytes: f64,
    overhead: f64,
    min_rtt_ns: Option<f64>,
    beside_sender: bool,
}

impl<'a> OverTime<'a> {
    pub(super) fn of(
        series: &'a Series,
        direction: &Direction,
        min_rtt_ns: Option<u64>,
        [beside_sender, beside_receiver]: [bool; 2],
    ) -> Self {
        let segment_bytes = direction.payload_bytes as f64 / direction.data_segments.max(1) as f64;
        // What is retransmitted and never passed before was lost before it came here: what arrives here has passed the narrow place.
        let repeated_here = direction.payload_bytes.saturating_sub(direction.unique_payload_bytes);
        let lost_before = !beside_sender && 2 * repeated_here < direction.loss.retransmitted_bytes;
        let arrives = beside_receiver || lost_before;
        Self {
            series,
            delivered: if arrives { CountedBytes::Arrived } else { CountedBytes::Acknowledged },
            segment_bytes,
            overhead: direction.ledger.ip_bytes_for_each(segment_bytes),
            min_rtt_ns: min_rtt_ns.map(|rtt_ns| rtt_ns as f64),
            beside_sender,
        }
    }

    /// Looks for a token bucket in it, and when that was empty; and for a link that held its rate.
    pub(super) fn held_rate(&self, direction: &Direction, runs: &[FactorRun]) -> Option<HeldRate> {
        let series = self.series;
        let live = direction.live.as_deref();
        let buckets = live.into_iter().flat_map(|live| live.rates.spacing.sketch.buckets());
        let spacing: Vec<(u64, u64)> = buckets.map(|(from_ns, _, count)| (from_ns, count)).collect();
        let frame_bytes = live.map_or(0, |live| live.view.largest_send());
        let (path_full, resting) = (full_shares(series, runs), resting_shares(series, runs));
        let terms = BucketTerms {
            delivered: self.delivered,
            beside_sender: self.beside_sender,
            overhead: self.overhead,
            segment_bytes: self.segment_bytes,
            min_rtt_ns: self.min_rtt_ns,
            path_full: &path_full,
            resting: &resting,
            spacing: &spacing,
            frame_bytes: frame_bytes as f64,
        };
        let usable = network_shares(series, runs);
        Some(match token_bucket::search(series, &usable, &terms)? {
            Found::Bucket(bucket) => {
                let empty_ns = token_bucket::empty_times(series, &usable, &terms, &bucket);
                HeldRate::ByBucket(bucket, empty_ns)
            }
            Found::Link(between_ns) => HeldRate::ByLink(between_ns),
        })
    }

    /// What is kept of it, if that is enough, and the rate if that was steady.
    pub(super) fn keep(&self, limits: &mut LimitsSummary) {
        let kept =
            DeliveredSeries::of(self.series, self.count(), self.segment_bytes, self.overhead, self.beside_sender);
        limits.steady_bps = kept.as_ref().and_then(steady_bps);
        limits.delivered = kept.map(Box::new);
    }

    /// Nothing was lost while the transfer was fast, and much when it was slow.
    pub(super) fn losses_came_late(&self) -> bool {
        came_late(self.series, self.count(), self.segment_bytes, self.min_rtt_ns.unwrap_or(0.0))
    }

    /// Much was lost at once, and no queue stood.
    pub(super) fn losses_came_at_once(&self) -> bool {
        let of_round_trip = |round_trip_ns| came_at_once(self.series, self.count(), self.segment_bytes, round_trip_ns);
        self.min_rtt_ns.is_some_and(of_round_trip)
    }

    /// Losses come at even distances, after few segments each, and no burst was saved up before.
    pub(super) fn losses_come_after_few(&self, reductions: &Reductions, bucket: &TokenBucket) -> bool {
        let more_bps = bucket.rate_before_bps - bucket.sustained_bps;
        let saved = |min_rtt_ns| is_saved_up(bucket.burst_bytes, more_bps, self.segment_bytes, min_rtt_ns);
        !self.min_rtt_ns.is_some_and(saved) && come_after_few(reductions.list(), self.segment_bytes)
    }

    /// Each of several times in which the bucket was empty, with rests between them, passed at its rate: what few packets in each round trip
    /// come to differs from one to the next.
    pub(super) fn passes_the_same(&self, bucket: &TokenBucket, empty_ns: &[[i64; 2]]) -> bool {
        let delivered_bytes = self.delivered_bytes();
        let at_bin = |at_ns: i64| {
            let bin = at_ns.saturating_sub(self.series.start_ns).max(0) / self.series.bin_ns.max(1);
            usize::try_from(bin).map_or(delivered_bytes.len(), |bin| bin.min(delivered_bytes.len()))
        };
        let rates_bps = empty_ns.iter().filter_map(|times_ns| {
            let [from, to] = times_ns.map(at_bin);
            let bins = delivered_bytes.get(from + 1..to.saturating_sub(1)).filter(|bins| bins.len() >= FEWEST_BINS)?;
            let bytes: u64 = bins.iter().map(|&bytes| u64::from(bytes)).sum();
            Some(bytes as f64 * self.overhead * 8e9 / (bins.len() as f64 * self.series.bin_ns as f64))
        });
        let alike: Vec<bool> =
            rates_bps.map(|rate_bps| (rate_bps / bucket.sustained_bps - 1.0).abs() <= SAME_RATE).collect();
        alike.len() >= FEWEST_TIMES && alike.iter().all(|&is_alike| is_alike)
    }

    /// Payload delivered, bin by bin.
    pub(super) fn delivered_bytes(&self) -> Vec<u32> {
        self.series.bins.iter().map(self.count()).collect()
    }

    fn count(&self) -> fn(&Bin) -> u32 {
        match self.delivered {
            CountedBytes::Arrived => |bin| bin.arrived_bytes,
            CountedBytes::Acknowledged => |bin| bin.acknowledged_bytes,
        }
    }
}
