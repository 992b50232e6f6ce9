//! Probes and timers that say by themselves what they wait for.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{GapEnding, GapEvidence};

/// Rule: docs/methods.md, "Probe of the receiver".
pub(crate) fn probe_of_the_receiver(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        GapEnding::WindowProbe => Some((Cause::ReceiverWindow, 0.95)),
        GapEnding::KeepAlive => Some((Cause::SenderApplication, 0.9)),
        _ => None,
    }
}

/// Rule: docs/methods.md, "A timer ended the pause".
pub(crate) fn timer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        GapEnding::Timeout => Some((Cause::Timeout, 0.9)),
        GapEnding::TailProbe => Some((Cause::TailProbe, 0.85)),
        // A segment that is lost and retransmitted waits for no application.
        GapEnding::Repeat if evidence.outstanding_bytes > 0 && !evidence.recovering => Some((Cause::TailProbe, 0.6)),
        _ if evidence.is_probe_with_new_data() => Some((Cause::TailProbe, 0.7)),
        _ => None,
    }
}
