//! Timeouts that were needless, shown by what is acknowledged after them where no timestamp says which transmission that answers
//! (F-RTO, RFC 5682 section 2.1).
//!
//! Data arrives in the order in which it was sent, so that all of it that arrives at all is there before the repeat that the timeout
//! makes. If the original was lost, the repeat closes the hole, and its acknowledgement covers all up to the next one: there it
//! stays, with duplicates, until more is retransmitted. Two acknowledgements that each cover more, where nothing else was retransmitted,
//! are of originals that had only been held up.
//!
//! Rule: docs/methods.md, "Spurious timeout".

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::Live;
use crate::tcp::direction::loss_trigger;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::loss::retransmissions::LossCounters;

/// More was lost: no acknowledgement that comes later proves anything.
const NOTHING_TOLD: u64 = u64::MAX;

/// Everything up to `position` is acknowledged, more than before, while a loss is repaired.
#[cold]
pub(crate) fn check_timeout(live: &mut Live, packet: &Packet, position: u64, counters: &mut LossCounters) {
    let something_is_missing = live.acks.duplicate_acknowledgements > 0 || !live.acks.scoreboard.is_empty();
    let Some(recovery) = live.loss.recovery.as_mut() else { return };
    if recovery.trigger != Trigger::Rto || recovery.went_on || packet.options & option_bits::TIMESTAMPS != 0 {
        return;
    }
    if something_is_missing {
        recovery.answered = Some(NOTHING_TOLD);
    }
    match recovery.answered {
        None => recovery.answered = Some(position),
        // Beyond the point lies what was sent after the timeout.
        Some(answered) if answered < recovery.point => {
            let start = recovery.start;
            counters.spurious += live.loss.retransmissions.mark_timed_out(start, answered);
            loss_trigger::end_recovery(live, packet.time_ns);
        }
        Some(_) => {}
    }
}
