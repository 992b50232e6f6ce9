//! What follows from the numbers of a direction alone: rates, shares, what is known and what is not.

use crate::tcp::gaps::totals::StallSummary;
use crate::tcp::sender::nagle::NagleWaits;
use crate::tcp::stats::compact::Measured;
use crate::tcp::summary::shown::{Flights, Shown};

use crate::tcp::summary::summary::{DirectionSummary, SpacingSummary};

impl DirectionSummary {
    /// Takes back what was concluded from times that the file does not give.
    pub(super) fn forget_times(&mut self) {
        let SpacingSummary { oversize_threshold_ns, .. } = self.spacing;
        self.timeless = true;
        self.data_time_ns = Measured::NONE;
        self.window.limited_ns = Measured::NONE;
        self.spacing = SpacingSummary { oversize_threshold_ns, ..SpacingSummary::default() };
        (self.round_trips, self.delayed_trips, self.flight) = (None, 0, None);
        (self.extras.peaks, self.extras.token_bucket) = (None, None);
        if let Some(details) = &mut self.details {
            (details.recovery_trips, details.without_stalls) = (None, None);
            (details.nagle_waits, details.lag_ns) = (None, None);
        }
    }

    /// Segments that were lost: retransmissions that were needed (docs/methods.md, section 5: `lost_segments_inferred`).
    ///
    /// Rule: docs/methods.md, "Lost segments inferred".
    pub fn lost_inferred(&self) -> u64 {
        u64::from(self.loss.retransmitted.saturating_sub(self.loss.spurious))
    }

    /// Segments that passed the capture point and were lost behind it; none at the sender, or where the place is not known.
    pub fn lost_behind(&self) -> Option<u64> {
        self.shown.has(Shown::BEHIND_SENDER).then_some(u64::from(self.loss.lost_behind))
    }

    /// Which retransmissions were needless can be known, and with that what was lost: the receiver's reports are of what was sent, or
    /// nothing was retransmitted.
    pub fn knows_losses(&self) -> bool {
        !self.shown.has(Shown::FOREIGN_REPORTS) || self.beside_receiver || self.loss.retransmitted == 0
    }

    /// Application throughput: unique payload over the data time, bits per second. One flight has no rate: how long it took says how
    /// long its sender wrote, or how long the path is.
    ///
    /// Rule: docs/methods.md, "Goodput".
    pub fn goodput_bps(&self) -> Option<f64> {
        if self.shown.flights() != Flights::Several {
            return None;
        }
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        Some(self.unique_payload_bytes as f64 * 8e9 / time_ns as f64)
    }

    /// Share of the data time in which the window left no room.
    pub fn limited_fraction(&self) -> Option<f64> {
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        self.window.limited_ns.get().map(|limited| (limited as f64 / time_ns as f64).min(1.0))
    }

    /// Retransmitted share of data segments.
    pub fn retransmission_rate(&self) -> Option<f64> {
        (self.data_segments > 0).then(|| f64::from(self.loss.retransmitted) / self.data_segments as f64)
    }

    /// Lost share of the segments sent: by identification away from the sender where that is proven, else inferred. What the
    /// capture missed is not lost: where it missed much, identifications do not tell the one from the other. Between the hosts
    /// they show what was lost before the capture point, retransmissions of what was lost behind it, too.
    ///
    /// Rule: docs/methods.md, "Loss rate".
    pub fn loss_rate(&self) -> Option<f64> {
        if self.data_segments == 0 {
            return None;
        }
        let behind = self.lost_behind().filter(|_| self.beside_receiver).unwrap_or(0);
        let inferred = self.lost_inferred();
        let is_all = |lost: &u64| self.loss_caveat().is_none() && (self.beside_receiver || *lost >= inferred);
        Some(match self.lost_by_identification.get().filter(is_all) {
            Some(lost) => (lost + behind) as f64 / (lost + self.data_segments) as f64,
            None if !self.knows_losses() => return None,
            None => inferred as f64 / self.data_segments as f64,
        })
    }

    /// See [`DirectionDetails::nagle_waits`].
    pub fn nagle_waits(&self) -> Option<&NagleWaits> {
        self.details.as_ref()?.nagle_waits.as_ref()
    }

    /// The stalls of the hosts; none if there were none.
    pub fn stalls(&self) -> Option<&StallSummary> {
        self.spacing.causes.as_ref()?.stalls.as_ref()
    }

    /// Times at which the receiver reported marks on the data, each with what was in flight then.
    pub fn congestion_events(&self) -> u32 {
        self.details.as_ref().and_then(|details| details.congestion).map_or(0, |(_, echoes)| echoes.events)
    }

    /// Stalls for each minute of the data time.
    pub fn stalls_per_minute(&self) -> Option<f64> {
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        self.stalls().map(|stalls| stalls.count as f64 * 60e9 / time_ns as f64)
    }

    /// What would have crossed during the stalls at the rate outside them, bytes.
    pub fn stall_lost_bytes(&self) -> Option<u64> {
        let stalls = self.stalls()?;
        let running_ns = self.data_time_ns.get()?.checked_sub(stalls.time_ns).filter(|time| *time > 0)?;
        Some((self.unique_payload_bytes as f64 * stalls.time_ns as f64 / running_ns as f64) as u64)
    }
}
