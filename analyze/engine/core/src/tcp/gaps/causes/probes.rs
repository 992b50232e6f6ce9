//! Probes and timers that say by themselves what they wait for.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{Ending, GapEvidence};

/// Rule: docs/methods.md, "Probe of the receiver".
pub(crate) fn probe_of_the_receiver(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        Ending::WindowProbe => Some((Cause::ReceiverWindow, 0.95)),
        Ending::KeepAlive => Some((Cause::SenderApplication, 0.9)),
        _ => None,
    }
}

/// Rule: docs/methods.md, "A timer ended the pause".
pub(crate) fn timer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        Ending::Timeout => Some((Cause::Timeout, 0.9)),
        Ending::TailProbe => Some((Cause::TailProbe, 0.85)),
        // A segment that is lost and retransmitted waits for no application.
        Ending::Repeat if evidence.outstanding_bytes > 0 && !evidence.recovering => Some((Cause::TailProbe, 0.6)),
        _ if evidence.is_probe_with_new_data() => Some((Cause::TailProbe, 0.7)),
        _ => None,
    }
}
