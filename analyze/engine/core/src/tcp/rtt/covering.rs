//! Round trips that cover a pause: kept until it is known what the pause was, then counted as lengthened or clean.
//!
//! [`crate::tcp::connection::rtt_lengthened`] decides which of them a pause has lengthened.

use crate::tcp::kernel::SILENCE_NS;
use crate::tcp::rtt::samples::RoundTrips;
use crate::tcp::stats::buckets::Span;

/// Samples of one direction that are kept; with more nothing is said of them.
const MOST_KEPT: usize = 8192;

/// Why a round trip says less of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengthened {
    /// The receiver waited for more data, or for something to send.
    DelayedAcknowledgement,
    /// A host stalled.
    HostStall,
}

impl Lengthened {
    /// Names in tables, by number.
    pub const NAMES: [&str; 2] = ["delayed_acknowledgement", "host_stall"];
}

/// A clean sample that covers a silence, and the packet that completed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covering {
    pub(crate) completed_ns: i64,
    pub(crate) rtt_ns: u64,
    pub(crate) frame: u32,
}

impl Covering {
    /// The data was under way in a stall, and acknowledged after most of that or all of it.
    fn overlaps(&self, [start_ns, end_ns]: Span) -> bool {
        let sent_ns = self.completed_ns.saturating_sub_unsigned(self.rtt_ns);
        sent_ns < end_ns && self.completed_ns.saturating_sub(start_ns) > SILENCE_NS
    }
}

/// The samples of a direction that cover a silence, until it is known what that was.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoveringTrips {
    /// In order of their completion: most pauses are no stalls, and what they cover is found without a look at all others.
    pub(crate) kept: Vec<Covering>,
    overflowed: bool,
}

impl CoveringTrips {
    pub(crate) fn keep(&mut self, trip: Covering) {
        if self.kept.len() < MOST_KEPT {
            let is_last = self.kept.last().is_none_or(|last| last.completed_ns <= trip.completed_ns);
            if is_last {
                return self.kept.push(trip);
            }
            let place = self.kept.partition_point(|kept| kept.completed_ns <= trip.completed_ns);
            self.kept.insert(place, trip);
        } else {
            self.overflowed = true;
        }
    }

    /// A pause was no stall.
    pub(crate) fn forget(&mut self, [start_ns, end_ns]: Span) {
        let first = self.kept.partition_point(|trip| trip.completed_ns < start_ns);
        let covered = self.kept[first..].partition_point(|trip| trip.completed_ns <= end_ns);
        self.kept.drain(first..first + covered);
    }

    /// Those that overlap one of the stalls.
    pub(crate) fn overlapping<'a>(&'a self, stalls: &'a [Span]) -> impl Iterator<Item = &'a Covering> {
        self.kept.iter().filter(move |trip| stalls.iter().any(|span| trip.overlaps(*span)))
    }
}

/// The clean samples of a direction without those that a host's stall lengthened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithoutStalls {
    /// Samples that were left out, at least one.
    pub left_out: u64,
    /// Those that were not.
    pub samples: u64,
    /// Their mean, nanoseconds; none without samples.
    pub mean_ns: Option<f64>,
    /// Their median, 95th and 99th percentile.
    pub quantiles_ns: Option<[f64; 3]>,
}

impl WithoutStalls {
    /// None if no stall overlaps a sample, or more did than are kept.
    pub(crate) fn of(trips: &RoundTrips, covering: &CoveringTrips, stalls: &[Span]) -> Option<Self> {
        let stalled_ns: Vec<u64> = covering.overlapping(stalls).map(|trip| trip.rtt_ns).collect();
        if stalled_ns.is_empty() || covering.overflowed {
            return None;
        }
        let samples = trips.moments.count.checked_sub(stalled_ns.len() as u64)?;
        let sum_ns = trips.moments.sum_ns.saturating_sub(stalled_ns.iter().sum());
        Some(Self {
            left_out: stalled_ns.len() as u64,
            samples,
            mean_ns: (samples > 0).then(|| sum_ns as f64 / samples as f64),
            quantiles_ns: trips.sketch.without(&stalled_ns).quantiles([0.5, 0.95, 0.99]),
        })
    }
}
