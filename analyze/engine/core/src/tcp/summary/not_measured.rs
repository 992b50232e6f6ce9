//! Why a direction is without a number, and what makes its loss numbers less than sure: keys, and what they mean.

use crate::tcp::gaps::period::NoPeriod;
use crate::tcp::summary::shown::Flights;
use crate::tcp::summary::summary::DirectionSummary;

/// Key of [`REASONS`] where reports are of other numbers.
const FOREIGN_REPORTS: &str = "sack_blocks_beyond_sent";

/// What the reasons of [`DirectionSummary::not_measured`] and [`DirectionSummary::caveat`] mean.
pub const REASONS: [(&str, &str); 19] = [
    ("no_data", "no data was seen in this direction"),
    ("not_captured", "nothing of this direction is in the capture, though the other side replies to it"),
    ("no_acknowledgement", "no ACK of the data was seen"),
    ("no_clean_sample", "no ACK gives a clean sample, see rtt.rejected"),
    ("beside_sender", "the capture point is at the sender: packets lost on the path still show here"),
    (
        "identification_unproven",
        "the sender's IP IDs do not count the packets of this connection alone, or too few were seen, or the capture point is unknown",
    ),
    ("scale_unknown", "the options of the handshake were not captured, so the window scale is unknown"),
    ("no_advertisement", "the receiver advertised no window within the capture"),
    ("no_time", "the file gives its packets no time"),
    ("one_moment", "all data passed at one moment"),
    ("never_acknowledged", "no data was acknowledged within the capture: nothing shows that it arrived"),
    ("one_flight", "all data was sent before any of it was acknowledged: a rate takes more than one flight"),
    ("one_data_packet", "fewer than two data packets"),
    ("acknowledged_first", "all data was recorded after its ACK"),
    ("few_stalls", "fewer than six stalls show no period"),
    ("no_period", "the stalls come at irregular intervals"),
    ("capture_loss", "the capture itself missed packets: loss numbers are upper bounds"),
    (
        FOREIGN_REPORTS,
        "the receiver's SACK blocks name sequence numbers that were never sent (a device on the path rewrites them): losses and duplicates are unknown",
    ),
    (
        "no_duplicate_reports",
        "without SACK the receiver does not report duplicates: fewer segments may be lost, and more retransmissions unnecessary",
    ),
];

/// What a direction may be without.
#[derive(Clone, Copy)]
enum Missing {
    AnyData,
    RoundTrip,
    Goodput,
    LostByIdentification,
    Spurious,
    LostInferred,
    LossRate,
    Spacing,
    StallPeriod,
    Window,
    Flight,
}

impl Missing {
    /// In the order in which they are reported, by number.
    const ALL: [Self; 11] = [
        Self::AnyData,
        Self::RoundTrip,
        Self::Goodput,
        Self::LostByIdentification,
        Self::Spurious,
        Self::LostInferred,
        Self::LossRate,
        Self::Spacing,
        Self::StallPeriod,
        Self::Window,
        Self::Flight,
    ];
}

impl DirectionSummary {
    /// Reasons for what is none, field by field, as keys of [`REASONS`]. Without data `*` stands for all but the window.
    pub fn not_measured(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let data = self.data_packets > 0;
        let missing = [
            (Missing::AnyData, !data),
            (Missing::RoundTrip, data && self.round_trips.is_none()),
            (Missing::Goodput, data && self.goodput_bps().is_none()),
            (Missing::LostByIdentification, data && self.lost_by_identification.get().is_none()),
            (Missing::Spurious, data && !self.knows_losses()),
            (Missing::LostInferred, data && !self.knows_losses()),
            (Missing::LossRate, data && self.loss_rate().is_none()),
            (Missing::Spacing, data && self.spacing.durations.is_none()),
            (Missing::StallPeriod, self.stalls().is_some_and(|stalls| stalls.period_ns.is_err())),
            (Missing::Window, self.window.extremes.is_none()),
            (Missing::Flight, data && self.flight.is_none()),
        ];
        // Most directions miss little: only that is asked for its reason.
        let mut left = missing.iter().fold(0u32, |bits, &(what, missing)| bits | u32::from(missing) << what as u32);
        std::iter::from_fn(move || {
            let what = *Missing::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(self.reason(what))
        })
    }

    fn why_no_goodput(&self) -> &'static str {
        match self.shown.flights() {
            Flights::NoneAcknowledged => "never_acknowledged",
            Flights::One => "one_flight",
            Flights::Several => "one_moment",
        }
    }

    /// The field that is none, and why.
    fn reason(&self, what: Missing) -> (&'static str, &'static str) {
        match what {
            Missing::AnyData if self.is_unseen() => ("*", "not_captured"),
            Missing::AnyData => ("*", "no_data"),
            Missing::RoundTrip if self.timeless => ("rtt", "no_time"),
            Missing::Goodput if self.timeless => ("goodput_bps", "no_time"),
            Missing::Spacing if self.timeless => ("spacing", "no_time"),
            Missing::Flight if self.timeless => ("flight", "no_time"),
            Missing::RoundTrip if self.rejected.iter().any(|count| *count > 0) => ("rtt", "no_clean_sample"),
            Missing::RoundTrip => ("rtt", "no_acknowledgement"),
            Missing::Goodput => ("goodput_bps", self.why_no_goodput()),
            Missing::LostByIdentification if self.beside_sender => ("loss.lost_segments_ipid", "beside_sender"),
            Missing::LostByIdentification => ("loss.lost_segments_ipid", "identification_unproven"),
            Missing::Spurious => ("loss.spurious_segments", FOREIGN_REPORTS),
            Missing::LostInferred => ("loss.lost_segments_inferred", FOREIGN_REPORTS),
            Missing::LossRate => ("loss.loss_rate", FOREIGN_REPORTS),
            Missing::Spacing => ("spacing", "one_data_packet"),
            Missing::StallPeriod => {
                let no_period = self.stalls().and_then(|stalls| stalls.period_ns.err());
                ("spacing.stall_period_s", no_period.map_or("", NoPeriod::reason))
            }
            Missing::Window if self.window.scale.is_none() => ("window", "scale_unknown"),
            Missing::Window => ("window", "no_advertisement"),
            Missing::Flight => ("flight", "acknowledged_first"),
        }
    }

    /// What makes the loss numbers less than sure, a key of [`REASONS`]: the capture's own losses, or needless retransmissions of which only
    /// acknowledgements that say nothing new tell (docs/methods.md, section 5).
    pub fn caveat(&self) -> Option<&'static str> {
        let untold = !self.sack && !self.beside_receiver && self.loss.spurious > 0;
        let foreign = (!self.knows_losses()).then_some(FOREIGN_REPORTS);
        self.loss_caveat().or(foreign).or(untold.then_some("no_duplicate_reports"))
    }

    /// A warning that belongs to the loss numbers: the capture missed more than a thousandth of the bytes, or more than a tenth
    /// of what was lost.
    pub fn loss_caveat(&self) -> Option<&'static str> {
        let unseen = self.unseen_acknowledged_bytes;
        let lost_bytes = self.lost_inferred() * u64::from(self.segment_size);
        let is_much = unseen * 1000 > self.unique_payload_bytes || lost_bytes > 0 && unseen * 10 > lost_bytes;
        (unseen > 0 && is_much).then_some("capture_loss")
    }
}
