//! Why no data passed for a while: the rules of docs/methods.md, section 7.1, in one place. Pure: what
//! is known of a gap in, a cause and a confidence out. [`crate::tcp::gaps::evidence`] says what is known and what follows from the
//! numbers alone; [`crate::tcp::gaps::watch`] gathers it.
//!
//! Where the rules cannot tell a host that stands still from a path that holds packets, they say so ([`Cause::HostOrPath`]);
//! a host stall is only told where nothing else explains the gap.

use crate::tcp::gaps::evidence::{Ending, GapEvidence, Place};
use crate::tcp::kernel::{BACKLOG_PACKETS, BULK_BYTES, DELAYED_ACKNOWLEDGEMENT_NS, JITTER_NS, PROBE_TICKS_NS};

/// Why no data passed (the words of the JSON contract).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Cause {
    /// The host at which the capture was made stood still.
    LocalHostStall,
    /// The other host stood still.
    RemoteHostStall,
    /// Packets were held or lost on the way while both hosts ran.
    PathHold,
    /// One of the three above; this capture cannot tell which.
    HostOrPath,
    /// The sender had nothing to send.
    SenderApplication,
    /// The receiver's window left no room.
    ReceiverWindow,
    /// Ended by a retransmission timeout.
    Timeout,
    /// Ended by a tail loss probe.
    TailProbe,
    /// The sender waited for acknowledgements, which came when they should.
    AckClock,
    /// Packets come at this distance as a rule.
    PacingOrShaping,
    /// The capture's clock was set, or the capture missed packets.
    CaptureArtifact,
    /// Nothing known explains it.
    #[default]
    Unknown,
}

impl Cause {
    /// All causes, by number.
    pub const ALL: [Self; 12] = [
        Self::LocalHostStall,
        Self::RemoteHostStall,
        Self::PathHold,
        Self::HostOrPath,
        Self::SenderApplication,
        Self::ReceiverWindow,
        Self::Timeout,
        Self::TailProbe,
        Self::AckClock,
        Self::PacingOrShaping,
        Self::CaptureArtifact,
        Self::Unknown,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalHostStall => "local_host_stall",
            Self::RemoteHostStall => "remote_host_stall",
            Self::PathHold => "path_hold",
            Self::HostOrPath => "host_or_path",
            Self::SenderApplication => "sender_application",
            Self::ReceiverWindow => "receiver_window",
            Self::Timeout => "timeout",
            Self::TailProbe => "tail_probe",
            Self::AckClock => "ack_clock",
            Self::PacingOrShaping => "pacing_or_shaping",
            Self::CaptureArtifact => "capture_artifact",
            Self::Unknown => "unknown",
        }
    }

    /// One of the hosts stood still.
    pub fn is_host_stall(self) -> bool {
        matches!(self, Self::LocalHostStall | Self::RemoteHostStall)
    }
}

/// The hosts of a direction's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// It sends the data.
    Sender,
    /// It receives it.
    Receiver,
}

/// Which host it was if the path was not, of [`Cause::HostOrPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicion {
    /// Whose host.
    pub host: Host,
    /// What its stall is called where the capture was made.
    pub stall: Cause,
    /// The silence was longer than the time of a probe.
    pub past_probe: bool,
}

/// Gaps of a like length that make a habit.
const HABIT: u32 = 4;

/// A rule: the cause and the confidence in it, or nothing if it does not apply.
type Rule = fn(&GapEvidence) -> Option<(Cause, f64)>;

/// Tells why no data passed. The first rule that applies decides.
pub fn cause(evidence: &GapEvidence) -> (Cause, f64) {
    const RULES: [Rule; 20] = [
        capture_missed,
        clock_step,
        probe_of_the_receiver,
        held_back_data,
        late_timer,
        deaf_sender,
        held_back_answer,
        silent_timers,
        unanswered,
        unanswered_in_between,
        timer,
        window_full,
        answers_request,
        ack_clock,
        unaware_of_loss,
        loss_signs,
        idle_sender,
        habit,
        silent_sender,
        late_data,
    ];
    RULES.iter().find_map(|rule| rule(evidence)).unwrap_or((Cause::Unknown, 0.2))
}

/// Whom a gap that a host or the path has made speaks against: what waited did so before the host that was to take it in.
pub fn suspicion(evidence: &GapEvidence) -> Option<Suspicion> {
    let past_probe = evidence.outlasts_two_round_trips();
    let local = |host| Some(Suspicion { host, stall: Cause::LocalHostStall, past_probe });
    let remote = |host| Some(Suspicion { host, stall: Cause::RemoteHostStall, past_probe });
    match evidence.place {
        Place::Receiver if evidence.data_was_held() => local(Host::Receiver),
        Place::Receiver if evidence.echo_is_stale() == Some(true) => remote(Host::Sender),
        Place::Sender => match evidence.answer?.was_held()? {
            true => local(Host::Sender),
            false if evidence.answer?.after_delayed || evidence.answer?.echoes_unseen => None,
            false => remote(Host::Receiver),
        },
        _ => None,
    }
}

/// Rule: docs/methods.md, "Data that the capture missed".
fn capture_missed(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    evidence.capture_missed.then_some((Cause::CaptureArtifact, 0.8))
}

/// The capture's clock went on and neither host's did. Beside the sender its own clock is enough: what it stamps and what
/// is captured there happen at once.
///
/// Rule: docs/methods.md, "A step of the capture's clock".
fn clock_step(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let receiver_stood = evidence.answer.and_then(|answer| answer.was_held());
    // A host that stops between making a packet and capturing it makes the next one by the time it is.
    let went_on = evidence.data_burst.timestamps_ns.is_some_and(|made| made * 2 > evidence.gap_ns);
    let stepped = evidence.data_was_held()
        && !went_on
        && match evidence.place {
            Place::Sender => receiver_stood.unwrap_or(true),
            _ => receiver_stood == Some(true),
        };
    stepped.then_some((Cause::CaptureArtifact, 0.85))
}

/// Rule: docs/methods.md, "Probe of the receiver".
fn probe_of_the_receiver(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        Ending::WindowProbe => Some((Cause::ReceiverWindow, 0.95)),
        Ending::KeepAlive => Some((Cause::SenderApplication, 0.9)),
        _ => None,
    }
}

/// Away from the sender: the data had been sent earlier. If the receiver's host spoke meanwhile, it ran. If it did not
/// even send the acknowledgement that it had delayed, it did not. Beyond that only the speed tells at which the data comes in
/// the end: a path releases what it held at its own rate, a host that wakes takes in what has come before its door.
///
/// Rule: docs/methods.md, "Data was held back".
fn held_back_data(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if evidence.beside_sender() || !evidence.data_was_held() {
        return None;
    }
    if evidence.place != Place::Receiver {
        return Some((Cause::HostOrPath, 0.6));
    }
    // A shorter one no timer of either side would have shown.
    let beyond_path = evidence.data_beyond_path && evidence.outlasts_two_round_trips();
    Some(match (evidence.owes_acknowledgement(), beyond_path) {
        _ if evidence.receiver_ran_meanwhile() => (Cause::PathHold, 0.8),
        (true, true) => (Cause::LocalHostStall, 0.9),
        // Only if new data waited: a host that sleeps beside the capture owes an answer, too. At the end of a transfer that may be
        // a single packet.
        (true, false) if evidence.ending == Ending::NewData => {
            (Cause::LocalHostStall, if evidence.data_burst.packets >= 3 { 0.75 } else { 0.65 })
        }
        (false, true) => (Cause::LocalHostStall, 0.65),
        _ => (Cause::HostOrPath, 0.6),
    })
}

/// Away from the sender: a probe of what had been acknowledged long since, sent later than it was due, by a sender that had
/// not taken in any of those acknowledgements and had more to send: its timers did not run on time either. Or a probe or
/// timeout only a little late, right after which the sender has taken them in.
///
/// Rule: docs/methods.md, "Late timer of a stalled sender".
fn late_timer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let late = !evidence.beside_sender()
        && evidence.ending == Ending::TailProbe
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
fn deaf_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    // Two do if the second one answers more of what had waited: a timer sends one.
    let several = evidence.data_burst.packets >= if evidence.echoes_move_on { 2 } else { 3 };
    let went_on = matches!(evidence.ending, Ending::NewData | Ending::LossSigns) && several;
    let deaf = !evidence.beside_sender() && went_on && !evidence.data_was_held() && evidence.was_deaf();
    deaf.then_some((Cause::RemoteHostStall, if evidence.recovering { 0.75 } else { 0.85 }))
}

/// Beside the sender: acknowledgements are overdue, and when they come they are old. Either the way back held them, or this
/// host did not take them in. Its timers tell: a probe on time shows that it ran; one that was due and did not come, that it
/// did not.
///
/// Rule: docs/methods.md, "Acknowledgements were held back".
fn held_back_answer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if !evidence.beside_sender() || !evidence.answer_is_overdue() {
        return None;
    }
    let answer = evidence.answer?;
    let held = match answer.was_held() {
        Some(held) => held,
        None => answer.advances >= BACKLOG_PACKETS && !evidence.sender_ran(),
    };
    if !held {
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

/// Beside the sender, where the capture ends before any answer: what was outstanding was neither acknowledged nor sent again for
/// longer than the timeout, and then one segment went out that was new, in the middle of a flow. A kernel that wakes sends its
/// overdue probe before it takes in what has come.
///
/// Rule: docs/methods.md, "Silent timers".
fn silent_timers(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let woke = evidence.beside_sender()
        && evidence.answer.is_none()
        && evidence.ending == Ending::NewData
        && evidence.data_burst.packets <= 1
        && evidence.is_in_a_flow()
        && evidence.outlasts_timeout();
    woke.then_some((Cause::LocalHostStall, 0.6))
}

/// Beside the sender: acknowledgements are overdue, and when they come they are new, and no answer to a probe. Either the
/// receiver stood still, or the way to it held the data. A delayed acknowledgement in between shows that the receiver ran;
/// without, nothing but how fast the backlog is acknowledged tells the two apart: a path releases what it held at its own rate.
///
/// Rule: docs/methods.md, "New acknowledgements come late".
fn unanswered(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if !evidence.beside_sender() || !evidence.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS) {
        return None;
    }
    let answer = evidence.answer?;
    let round_trip = evidence.round_trip_ns?;
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
fn unanswered_in_between(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let overdue = evidence.place == Place::Elsewhere && evidence.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS);
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

/// Rule: docs/methods.md, "A timer ended the pause".
fn timer(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    match evidence.ending {
        Ending::Timeout => Some((Cause::Timeout, 0.9)),
        Ending::TailProbe => Some((Cause::TailProbe, 0.85)),
        _ if evidence.is_probe_with_new_data() => Some((Cause::TailProbe, 0.7)),
        _ => None,
    }
}

/// Rule: docs/methods.md, "The window was full".
fn window_full(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    if evidence.window_full_ns * 2 < evidence.gap_ns {
        return None;
    }
    let opened = evidence.since_answer_ns.is_some_and(|since| since <= 2 * JITTER_NS);
    Some((Cause::ReceiverWindow, if opened && evidence.beside_sender() { 0.9 } else { 0.75 }))
}

/// All it had sent was acknowledged, and it went on as soon as the other side had sent data: it waited for a request. What was
/// sent last before, a repeat perhaps, says nothing then.
///
/// Rule: docs/methods.md, "A request arrived".
fn answers_request(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let round_trip_ns = if evidence.beside_sender() { 0 } else { evidence.round_trip_ns? };
    let at_once = evidence.since_request_ns? <= round_trip_ns.saturating_add(DELAYED_ACKNOWLEDGEMENT_NS);
    (at_once && evidence.ending == Ending::NewData).then_some((Cause::SenderApplication, 0.9))
}

/// Data follows an acknowledgement at once; elsewhere, within the round trip it takes to see that.
///
/// Rule: docs/methods.md, "Clocked by acknowledgements".
fn ack_clock(evidence: &GapEvidence) -> Option<(Cause, f64)> {
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
fn unaware_of_loss(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    let unaware = !evidence.beside_sender()
        && evidence.recovering
        && evidence.unaware
        && evidence.ending == Ending::NewData
        && evidence.echo_is_stale() == Some(true)
        && evidence.outlasts_two_round_trips();
    unaware.then_some((Cause::HostOrPath, 0.4))
}

/// Rule: docs/methods.md, "Recovery goes on".
fn loss_signs(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    (evidence.ending == Ending::LossSigns || evidence.recovering).then_some((Cause::AckClock, 0.5))
}

/// Nothing to send: what was written before went out to the end, and room was there for more.
///
/// Rule: docs/methods.md, "Nothing left to send".
fn idle_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
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
fn habit(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    (evidence.similar_before >= HABIT && evidence.data_burst.packets <= 2).then_some((Cause::PacingOrShaping, 0.7))
}

/// Away from the sender: everything that arrived was acknowledged, the window was open, the last segment was full (and so
/// hardly the end of what was to be sent), no timer fired, and the data that came in the end was sent then: the sender did
/// not run.
///
/// Rule: docs/methods.md, "A silent sender".
fn silent_sender(evidence: &GapEvidence) -> Option<(Cause, f64)> {
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
    let idle = silent_too_long && went_on_at_once && all_arrived && had_more && evidence.ending == Ending::NewData;
    Some(match (idle, evidence.echo_is_stale()) {
        // It had taken in all of them and sent nothing: its kernel ran, its program gave it nothing.
        (true, Some(false)) if evidence.last_push => (Cause::SenderApplication, 0.5),
        (true, None) => (Cause::RemoteHostStall, if evidence.last_push { 0.65 } else { 0.8 }),
        _ => (Cause::HostOrPath, 0.4),
    })
}

/// Beside the sender: it had more to send, and nothing kept it.
///
/// Rule: docs/methods.md, "Late data".
fn late_data(evidence: &GapEvidence) -> Option<(Cause, f64)> {
    (evidence.last_full && !evidence.last_push).then_some((Cause::HostOrPath, 0.3))
}
