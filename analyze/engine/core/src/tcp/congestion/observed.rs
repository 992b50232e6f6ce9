//! What the rounds of a direction show of its sender's congestion control, one after the other.

use crate::tcp::congestion::after_losses::AfterLosses;
use crate::tcp::congestion::evidence::{Evidence, Named};
use crate::tcp::congestion::probes::{Probes, is_small};
use crate::tcp::congestion::recent::Recent;
use crate::tcp::congestion::round_trip::RoundTrip;

/// See the module. Of the same size however long the transfer is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observed {
    recent: Recent,
    after_losses: AfterLosses,
    probes: Probes,
    evidence: Evidence,
}

impl Observed {
    /// Another round is over.
    pub fn take(&mut self, round: &RoundTrip) {
        if round.timed_out {
            // What follows is slow start.
            self.recent = Recent::default();
        }
        let usual = self.recent.usual();
        self.after_losses.take(round, usual, &mut self.evidence);
        self.probes.take(round, usual, &mut self.evidence);
        if !round.is_bound && !is_small(round) {
            self.recent.push(round.mean);
        }
    }

    /// There are no more rounds. None if nothing was seen that tells one congestion control from another.
    pub fn finish(mut self) -> Option<Named> {
        self.after_losses.close(&mut self.evidence);
        self.evidence.named()
    }
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
