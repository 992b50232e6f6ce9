//! A sender that did not run: no timer of its fired on time, and it had not taken in what had come.

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{GapEnding, GapEvidence};
use crate::tcp::kernel::{BULK_BYTES, PROBE_TICKS_NS};

/// Away from the sender: a probe of what had been acknowledged long since, sent later than it was due, by a sender that had
/// not taken in any of those acknowledgements and had more to send: its timers did not run on time either. Or a probe or
/// timeout only a little late, right after which the sender has taken them in.
///
/// Rule: docs/methods.md, "Late timer of a stalled sender".
pub(crate) fn late_timer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let late = !evidence.beside_sender()
        && evidence.ending == GapEnding::TailProbe
        && evidence.outstanding_bytes == 0
        && evidence.timers_before == 0
        && evidence.was_deaf();
    let woke = !evidence.beside_sender() && evidence.outstanding_bytes == 0 && evidence.deaf_timer_woke();
    (late || woke).then_some((Cause::RemoteHostStall, 0.7))
}

/// Away from the sender: it goes on with data that answers old acknowledgements, though newer ones must have reached it
/// long before, and no timer of its fired meanwhile. On waking, a kernel takes in what waits for it in order, and sends with
/// the first of it. Acknowledgements that are lost or held on the way cost a live sender a probe or a timeout.
///
/// Rule: docs/methods.md, "A stalled sender resumes".
pub(crate) fn deaf_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    // Two do if the second one answers more of what had waited: a timer sends one.
    let several = evidence.data_burst.packets >= if evidence.echoes_move_on { 2 } else { 3 };
    let went_on = matches!(evidence.ending, GapEnding::NewData | GapEnding::LossSigns) && several;
    let deaf = !evidence.beside_sender() && went_on && !evidence.data_was_held() && evidence.was_deaf();
    deaf.then_some((Cause::RemoteHostStall, if evidence.recovering { 0.75 } else { 0.85 }))
}

/// At the sender, where the capture ends before any answer: what was outstanding was neither acknowledged nor retransmitted for
/// longer than the timeout, and then one segment went out that was new, in the middle of a flow. A kernel that wakes sends its
/// overdue probe before it takes in what has come.
///
/// Rule: docs/methods.md, "Silent timers".
pub(crate) fn silent_timers(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let woke = evidence.beside_sender()
        && evidence.answer.is_none()
        && evidence.ending == GapEnding::NewData
        && evidence.data_burst.packets <= 1
        && evidence.is_in_a_flow()
        && evidence.outlasts_timeout();
    woke.then_some((Cause::LocalHostStall, 0.6))
}

/// Away from the sender: everything that arrived was acknowledged, the window was open, the last segment was full (and so
/// hardly the end of what was to be sent), no timer fired, and the data that came in the end was sent then: the sender did
/// not run.
///
/// Rule: docs/methods.md, "A silent sender".
pub(crate) fn silent_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if evidence.beside_sender() {
        return None;
    }
    let went_on_at_once = evidence.data_burst.packets >= 3;
    // What the receiver acknowledged late may have been the only thing the sender waited for; not in the middle of a flow,
    // where what was acknowledged before it makes room as well.
    let in_the_middle = evidence.bytes_since_gap >= BULK_BYTES;
    let only_late = evidence.before_silence_ns > PROBE_TICKS_NS && !in_the_middle;
    let waited_for = |elapsed: i64| if only_late { evidence.silence_ns } else { elapsed };
    let silent_too_long = evidence.sender_clock_ns.is_some_and(|clock| evidence.is_past_timer(waited_for(clock)));
    let all_arrived = evidence.outstanding_bytes == 0;
    let had_more = !evidence.last_push || in_the_middle;
    let idle = silent_too_long && went_on_at_once && all_arrived && had_more && evidence.ending == GapEnding::NewData;
    Some(match (idle, evidence.echo_is_stale()) {
        // It had taken in all of them and sent nothing: its kernel ran, its program gave it nothing.
        (true, Some(false)) if evidence.last_push => (Cause::SenderApplication, 0.5),
        (true, None) => (Cause::RemoteHostStall, if evidence.last_push { 0.65 } else { 0.8 }),
        _ => (Cause::HostOrPath, 0.4),
    })
}
