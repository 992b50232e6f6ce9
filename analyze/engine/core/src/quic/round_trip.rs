//! Round trips as the endpoint that is acknowledged computes them (RFC 9002 section 5), from what passed at the capture point.

use crate::quic::samples::{Durations, Samples};

/// What a peer may hold an acknowledgement back for, where it said nothing else (RFC 9000 section 18.2).
pub(super) const DEFAULT_MAX_ACK_DELAY_NS: i64 = 25_000_000;

/// No path is longer: the capture's clock was set.
const MAX_ROUND_TRIP_NS: i64 = 3_600_000_000_000;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct QuicRoundTrip {
    latest: Samples,
    smoothed_ns: Option<i64>,
    variation_ns: i64,
    delays: Samples,
}

/// Round trips by acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcknowledgedRtt {
    /// From packet to acknowledgement, with the delay that it holds.
    pub latest: Durations,
    /// The smoothed round trip at the end, ns.
    pub smoothed_ns: i64,
    /// Its variation, ns.
    pub variation_ns: i64,
    /// Delays that the peer declared.
    pub ack_delay: Option<Durations>,
}

impl QuicRoundTrip {
    /// A sample, and the delay that the acknowledgement declares; none where it is not to be heeded.
    pub(super) fn sample(&mut self, latest_ns: i64, delay_ns: Option<i64>, max_delay_ns: i64) {
        if !(0..=MAX_ROUND_TRIP_NS).contains(&latest_ns) {
            return;
        }
        self.latest.add(latest_ns);
        if let Some(delay_ns) = delay_ns {
            self.delays.add(delay_ns);
        }
        let delay_ns = delay_ns.unwrap_or(0).min(max_delay_ns);
        let least_ns = self.latest.min_ns().unwrap_or(latest_ns);
        let adjusted_ns = if latest_ns - least_ns >= delay_ns { latest_ns - delay_ns } else { latest_ns };
        match self.smoothed_ns {
            None => (self.smoothed_ns, self.variation_ns) = (Some(latest_ns), latest_ns / 2),
            Some(smoothed_ns) => {
                self.variation_ns = (3 * self.variation_ns + (smoothed_ns - adjusted_ns).abs()) / 4;
                self.smoothed_ns = Some((7 * smoothed_ns + adjusted_ns) / 8);
            }
        }
    }

    pub(super) fn smoothed_ns(&self) -> Option<i64> {
        self.smoothed_ns
    }

    pub(super) fn summary(&self) -> Option<AcknowledgedRtt> {
        Some(AcknowledgedRtt {
            latest: self.latest.durations()?,
            smoothed_ns: self.smoothed_ns?,
            variation_ns: self.variation_ns,
            ack_delay: self.delays.durations(),
        })
    }
}
