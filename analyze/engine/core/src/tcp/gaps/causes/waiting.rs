//! The sender waited for acknowledgements, which came when they should.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{GapEnding, GapEvidence};
use crate::tcp::kernel::JITTER_NS;

/// Data follows an acknowledgement at once; elsewhere, within the round trip it takes to see that.
///
/// Rule: docs/methods.md, "Clocked by acknowledgements".
pub(crate) fn ack_clock(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let waiting = evidence.outstanding_bytes > 0 || evidence.answers_inside > 0 || evidence.recovering;
    if evidence.beside_sender() {
        let at_once = evidence.since_answer_ns.is_some_and(|since| since <= JITTER_NS);
        return (waiting && at_once).then_some((Cause::AckClock, 0.9));
    }
    let round_trip = evidence.round_trip_ns?;
    (evidence.last_full && evidence.gap_ns <= round_trip + round_trip / 4 + 2 * JITTER_NS)
        .then_some((Cause::AckClock, 0.7))
}

/// Away from the sender: a loss is reported, of which it has not heard when it goes on, nor of anything else for longer than two
/// round trips. That is no wait for acknowledgements: they were on the way, or there.
///
/// Rule: docs/methods.md, "A sender unaware of a loss".
pub(crate) fn unaware_of_loss(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let unaware = !evidence.beside_sender()
        && evidence.recovering
        && evidence.unaware
        && evidence.ending == GapEnding::NewData
        && evidence.echo_is_stale() == Some(true)
        && evidence.outlasts_two_round_trips();
    unaware.then_some((Cause::HostOrPath, 0.4))
}

/// Rule: docs/methods.md, "Recovery goes on".
pub(crate) fn loss_signs(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    (evidence.ending == GapEnding::LossSigns || evidence.recovering).then_some((Cause::AckClock, 0.5))
}
