//! What acknowledgements of a direction have shown: SACK blocks, duplicates, when the last of each kind came.

use crate::tcp::events::acked::Acked;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::stats::range_set::RangeSet;

/// What the acknowledgements of a direction have shown.
#[derive(Debug, Clone, Default)]
pub struct AckSigns {
    /// What the peer reported by SACK, above `una`.
    pub scoreboard: RangeSet,
    /// Blocks of such reports, but for those of what cannot have been sent.
    pub blocks: u32,
    /// Everything sent when the first of it was acknowledged, and when that was.
    pub when_first_acknowledged: Option<(u64, i64)>,
    /// The snap length has cut off blocks of reports on it.
    pub reports_are_cut: bool,
    /// Timestamp of the packet that reported the first of it; none if it had none.
    pub disorder_tsval: Option<u32>,
    /// What the last packet that reported of it echoed, likewise.
    pub disorder_tsecr: Option<u32>,
    /// Duplicate acknowledgements since the last that advanced.
    pub duplicate_acknowledgements: u32,
    /// Time of the last acknowledgement.
    pub last_acknowledgement_ns: Option<i64>,
    /// Time of the last one that advanced.
    pub last_advance_ns: Option<i64>,
    /// Time of the last acknowledgement that was a duplicate or brought SACK news.
    pub last_loss_sign_ns: Option<i64>,
    /// Last advertised window in bytes was zero.
    pub window_closed: bool,
}

impl Observer for AckSigns {
    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, _context: &Context) {
        if acked.advances.is_some() {
            self.duplicate_acknowledgements = 0;
            self.last_advance_ns = Some(acked.packet.time_ns);
            self.last_acknowledgement_ns = Some(acked.packet.time_ns);
        }
        if let Some(window) = acked.window {
            self.window_closed = window.is_closed;
        }
    }
}
