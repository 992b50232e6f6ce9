//! What the capture did itself: it missed packets, or its clock was set.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::causes::application::answers_request;
use crate::tcp::gaps::evidence::{CapturePlace, GapEvidence};

/// Not where a request ended the pause: then the sender waited for that, whatever passed unseen before.
///
/// Rule: docs/methods.md, "Data that the capture missed".
pub(crate) fn capture_missed(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let is_asked = || answers_request(evidence).is_some();
    (evidence.capture_missed && !is_asked()).then_some((Cause::CaptureArtifact, 0.8))
}

/// The capture's clock went on and neither host's did. At the sender its own clock is enough: what it stamps and what
/// is captured there happen at once.
///
/// Rule: docs/methods.md, "A step of the capture's clock".
pub(crate) fn clock_step(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let receiver_stood = evidence.answer.and_then(|answer| answer.was_held());
    // A host that stops between making a packet and capturing it makes the next one by the time it is.
    let went_on = evidence.data_burst.timestamps_ns.is_some_and(|made| made * 2 > evidence.gap_ns);
    let stepped = evidence.data_was_held()
        && !went_on
        && match evidence.place {
            CapturePlace::Sender => receiver_stood.unwrap_or(true),
            _ => receiver_stood == Some(true),
        };
    stepped.then_some((Cause::CaptureArtifact, 0.85))
}
