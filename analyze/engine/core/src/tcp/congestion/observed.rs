//! What the rounds of a direction show of its sender's congestion control, one after the other.

use crate::tcp::congestion::after_losses::AfterLosses;
use crate::tcp::congestion::evidence::{CongestionEvidence, Named};
use crate::tcp::congestion::probes::{BandwidthProbes, is_small};
use crate::tcp::congestion::recent::Recent;
use crate::tcp::congestion::round_trip::FlightRoundTrip;
use crate::tcp::congestion::without_sack::less_sure;

/// A flight of which one segment more or less is not too much.
const FEWEST_SEGMENTS: u64 = 12;

/// See the module. Of the same size however long the transfer is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observed {
    recent: Recent,
    after_losses: AfterLosses,
    probes: BandwidthProbes,
    evidence: CongestionEvidence,
    has_begun: bool,
}

impl Observed {
    /// Rounds tell something from the first one on with so many segments in flight.
    pub fn begins_with(&mut self, flight_bytes: u64, segment_bytes: u16) -> bool {
        self.has_begun |= flight_bytes >= FEWEST_SEGMENTS * u64::from(segment_bytes);
        self.has_begun
    }

    /// Another round is over.
    pub fn take(&mut self, round: &FlightRoundTrip) {
        if round.timed_out {
            // What follows is slow start.
            self.recent = Recent::default();
        }
        self.after_losses.take(round, &self.recent, &mut self.evidence);
        self.probes.take(round, &self.recent, &mut self.evidence);
        if !round.is_bound && !round.is_blurred && !is_small(round) {
            self.recent.push(round.mean);
        }
    }

    /// There are no more rounds; `sack`: both sides use it. None if nothing was seen that tells one congestion control from another.
    pub fn finish(mut self, sack: bool) -> Option<Named> {
        self.after_losses.close(&mut self.evidence);
        self.evidence.named().map(|named| if sack { named } else { less_sure(named) })
    }
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
