//! The sending application had nothing to send, or sends at a pace of its own.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{GapEnding, GapEvidence};
use crate::tcp::kernel::{BACKLOG_PACKETS, DELAYED_ACKNOWLEDGEMENT_NS};

/// Gaps of a like length that make a habit.
const HABIT: u32 = 4;

/// All it had sent was acknowledged, and it went on as soon as the other side had sent data: it waited for a request. What was
/// sent last before, a repeat perhaps, says nothing then.
///
/// Rule: docs/methods.md, "A request arrived".
pub(crate) fn answers_request(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let round_trip_ns = if evidence.beside_sender() { 0 } else { evidence.round_trip_ns? };
    let at_once = evidence.since_request_ns? <= round_trip_ns.saturating_add(DELAYED_ACKNOWLEDGEMENT_NS);
    (at_once && evidence.ending == GapEnding::NewData).then_some((Cause::SenderApplication, 0.9))
}

/// Nothing to send: what was written before went out to the end, and room was there for more.
///
/// Rule: docs/methods.md, "Nothing left to send".
pub(crate) fn idle_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let drained = evidence.outstanding_bytes == 0;
    match (evidence.last_full, evidence.last_push) {
        (false, _) => Some((Cause::SenderApplication, if drained { 0.9 } else { 0.7 })),
        // Offload ends every frame with PSH: away from the sender it says little about a full segment.
        (true, true) if !evidence.beside_sender() => None,
        (true, true) if evidence.answers_inside > 0 && drained => Some((Cause::SenderApplication, 0.8)),
        (true, true) => Some((Cause::SenderApplication, 0.5)),
        // What is left of the last piece is less than a segment, and waits for the end of the one before to be acknowledged.
        (true, false) if evidence.tail_may_wait() => Some((Cause::SenderApplication, 0.5)),
        // It went on answering acknowledgements with nothing: it ran.
        (true, false) => {
            (drained && evidence.answers_inside >= BACKLOG_PACKETS).then_some((Cause::SenderApplication, 0.6))
        }
    }
}

/// Rule: docs/methods.md, "Pauses of one length".
pub(crate) fn habit(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    // Without a known round trip (mid-stream), pauses of one length are most likely just that.
    let follows = evidence.data_burst.packets <= 2 || evidence.round_trip_ns.is_none();
    (evidence.similar_before >= HABIT && follows).then_some((Cause::PacingOrShaping, 0.7))
}

/// At the sender: it had more to send, and nothing kept it.
///
/// Rule: docs/methods.md, "Late data".
pub(crate) fn late_data(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    (evidence.last_full && !evidence.last_push).then_some((Cause::HostOrPath, 0.3))
}
