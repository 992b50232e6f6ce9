//! The receiver's window was full.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::GapEvidence;
use crate::tcp::kernel::JITTER_NS;

/// Rule: docs/methods.md, "The window was full".
pub(crate) fn window_full(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if evidence.window_full_ns * 2 < evidence.gap_ns {
        return None;
    }
    let opened = evidence.since_answer_ns.is_some_and(|since| since <= 2 * JITTER_NS);
    Some((Cause::ReceiverWindow, if opened && evidence.beside_sender() { 0.9 } else { 0.75 }))
}
