//! A receiver that did not run: what it owes comes late, and was made late.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{CapturePlace, GapEvidence};
use crate::tcp::kernel::{DELAYED_ACKNOWLEDGEMENT_NS, JITTER_NS};

/// At the sender: acknowledgements are overdue, and when they come they are new, and no answer to a probe. Either the
/// receiver stalled, or the way to it held the data. A delayed acknowledgement in between shows that the receiver ran;
/// without, nothing but how fast the backlog is acknowledged tells the two apart: a path releases what it held at its own rate.
///
/// Rule: docs/methods.md, "New acknowledgements come late".
pub(crate) fn unanswered(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let answer = evidence.answer.filter(|_| evidence.beside_sender())?;
    let round_trip = evidence.round_trip_ns.filter(|_| evidence.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS))?;
    let probed = evidence.is_probed();
    if probed && answer.answers_probe(round_trip) {
        return None;
    }
    let longest_usual = round_trip + DELAYED_ACKNOWLEDGEMENT_NS + 2 * JITTER_NS;
    let long_enough = answer.silence_ns > longest_usual && evidence.two_segments_outstanding();
    Some(match (long_enough && answer.beyond_path, probed) {
        (true, _) if answer.after_delayed => (Cause::PathHold, 0.6),
        // Where the path does not limit, what it held comes as fast: its rate is not what it can carry.
        (true, true) => (Cause::RemoteHostStall, 0.7),
        (true, false) if evidence.outlasts_probe() && answer.was_held().is_some() && !answer.echoes_unseen => {
            (Cause::RemoteHostStall, 0.65)
        }
        _ => (Cause::HostOrPath, 0.4),
    })
}

/// Between the hosts: the data passed here, is not answered, and what answers it in the end is as in [`unanswered`]. The way to
/// the sender has no part in it: what passed here does not depend on whether the sender heard of it. Where one of the signs is
/// missing, the rules that follow decide.
///
/// Rule: docs/methods.md, "No acknowledgement between the hosts".
pub(crate) fn unanswered_in_between(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let overdue = evidence.place == CapturePlace::Elsewhere && evidence.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS);
    let answer = evidence.answer.filter(|_| overdue)?;
    let round_trip = evidence.round_trip_ns?;
    // Only timestamps tell what was made late from what came late.
    let made_late = answer.was_held() == Some(false) && !answer.after_delayed && !answer.echoes_unseen;
    let long_enough = answer.silence_ns > round_trip + DELAYED_ACKNOWLEDGEMENT_NS + 2 * JITTER_NS;
    if !made_late || !long_enough || !answer.beyond_path || !evidence.two_segments_outstanding() {
        return None;
    }
    if evidence.is_probed() || evidence.looks_like_probe_with_new_data() {
        return (!answer.answers_probe(round_trip)).then_some((Cause::RemoteHostStall, 0.7));
    }
    evidence.outlasts_probe().then_some((Cause::RemoteHostStall, 0.65))
}
