//! Data or acknowledgements that had been made earlier came late: a path held them, or a host did not take them in.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{CapturePlace, GapEnding, GapEvidence};
use crate::tcp::kernel::BACKLOG_PACKETS;

/// Away from the sender: the data had been sent earlier. If the receiver's host spoke meanwhile, it ran. If it did not
/// even send the acknowledgement that it had delayed, it did not. Beyond that only the speed tells at which the data comes in
/// the end: a path releases what it held at its own rate, a host that wakes takes in what has come before its door.
///
/// Rule: docs/methods.md, "Data was held back".
pub(crate) fn held_back_data(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if evidence.beside_sender() || !evidence.data_was_held() {
        return None;
    }
    if evidence.place != CapturePlace::Receiver {
        return Some((Cause::HostOrPath, 0.6));
    }
    // A shorter one no timer of either side would have shown.
    let beyond_path = evidence.data_beyond_path && evidence.outlasts_two_round_trips();
    Some(match (evidence.owes_acknowledgement(), beyond_path) {
        _ if evidence.receiver_ran_meanwhile() => (Cause::PathHold, 0.8),
        (true, true) => (Cause::LocalHostStall, 0.9),
        // Only if new data waited: a host that sleeps beside the capture owes an answer, too. At the end of a transfer that may be
        // a single packet.
        (true, false) if evidence.ending == GapEnding::NewData => {
            (Cause::LocalHostStall, if evidence.data_burst.packets >= 3 { 0.75 } else { 0.65 })
        }
        (false, true) => (Cause::LocalHostStall, 0.65),
        _ => (Cause::HostOrPath, 0.6),
    })
}

/// At the sender: acknowledgements are overdue, and when they come they are old. Either the way back held them, or this
/// host did not take them in. Its timers tell: a probe on time shows that it ran; one that was due and did not come, that it
/// did not.
///
/// Rule: docs/methods.md, "Acknowledgements were held back".
pub(crate) fn held_back_answer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let answer = evidence.answer.filter(|_| evidence.beside_sender())?;
    let held = match answer.was_held() {
        Some(held) => held,
        None => answer.advances >= BACKLOG_PACKETS && !evidence.sender_ran(),
    };
    if !held || !evidence.answer_is_overdue() {
        return None;
    }
    Some(if evidence.sender_ran() || (evidence.is_probe_with_new_data() && !evidence.woke_with_answer()) {
        (Cause::PathHold, 0.9)
    } else if evidence.timer_woke_with_answer()
        && !evidence.timer_is_overdue()
        && GapEvidence::is_backlog(&answer.burst)
    {
        (Cause::LocalHostStall, if answer.timestamps_ns.is_some() { 0.7 } else { 0.6 })
    } else if !evidence.timer_is_overdue() || answer.timestamps_ns.is_none() {
        // Without timestamps it may be the answers to one burst.
        (Cause::HostOrPath, 0.6)
    } else if GapEvidence::is_backlog(&answer.burst) {
        (Cause::LocalHostStall, 0.95)
    } else {
        (Cause::LocalHostStall, 0.75)
    })
}
