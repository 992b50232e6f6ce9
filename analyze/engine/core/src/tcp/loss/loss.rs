//! Losses and retransmissions of a direction: what was retransmitted, what may still prove it needless, and what its IP identifications show.

use crate::tcp::events::acked::Acked;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Numbering, Sent};
use crate::tcp::loss::asked::Asked;
use crate::tcp::loss::awaited::AwaitedData;
use crate::tcp::loss::ip_id::{IpIdentifications, NeighbouringId};
use crate::tcp::loss::probes::Probes;
use crate::tcp::loss::recovery::Recovery;
use crate::tcp::loss::reductions::Reductions;
use crate::tcp::loss::refusals::Refusals;
use crate::tcp::loss::retransmissions::RecentRetransmissions;
use crate::tcp::stats::stopwatch::Stopwatch;

/// Losses and retransmissions of a direction.
#[derive(Debug, Clone, Default)]
pub struct Loss {
    /// Retransmissions that may prove unnecessary.
    pub retransmissions: RecentRetransmissions,
    /// Of them those that may still be answered.
    pub(crate) unanswered: Option<Box<AwaitedData>>,
    /// Acknowledgements that report data which its receiver refused.
    pub(crate) refusals: Refusals,
    /// Probes that may still be reported as duplicates.
    pub(crate) probes: Probes,
    /// What asks for acknowledgements of nothing more.
    pub(crate) asked: Option<Box<Asked>>,
    /// Loss recovery in progress.
    pub recovery: Option<Recovery>,
    /// For how long losses have been repaired.
    pub recovering: Stopwatch,
    /// Recoveries so far.
    pub reductions: Reductions,
    /// A tail loss probe was sent and nothing new acknowledged since.
    pub probe_outstanding: bool,
    /// Position of a new byte that was sent to probe a closed window.
    pub probed_at: Option<u64>,
    /// The first data that passed is the first there is, and numbers are missing before it: its like was lost on the way to here.
    pub begins_with_repeat: bool,
    /// Everything below was sent before, as missing identifications show, though nothing of it above `Direction::max` came.
    pub sent_unseen: u64,
    /// Identification numbers.
    pub identifications: IpIdentifications,
    /// Identification after that of the packet that set `Direction::max` (unwrapped).
    pub highest_identification: u64,
    /// Other traffic of the side takes identifications between those of this connection.
    pub shares_numbers: bool,
}

impl Observer for Loss {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        let data = &sent.data;
        if data.packet.ip_version != 4 {
            return;
        }
        match sent.numbering {
            None => self.identifications.go_on(data.is_contiguous),
            Some(Numbering { whole, most_bytes }) => {
                let around =
                    NeighbouringId { whole, acknowledges: 0, payload_bytes: data.packet.payload_length, most_bytes };
                self.identifications.add_any(data.packet.ip_id, data.segments, data.is_contiguous, around);
            }
        }
        if data.end == data.highest {
            self.highest_identification = self.identifications.next_position();
        }
    }

    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, _context: &Context) {
        if acked.advances.is_some() {
            self.probe_outstanding = false;
        }
    }
}
