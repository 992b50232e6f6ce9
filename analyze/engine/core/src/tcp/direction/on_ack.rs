//! What the receiver of a direction says: cumulative and selective acknowledgement, duplicates, window.
//!
//! Order matters: SACK first (it tells what was delivered out of order), then what is acknowledged cumulatively (it may
//! give a round trip), then the window. Sources: RFC 9293 section 3.4, RFC 2018, RFC 2883, RFC 6675, RFC 3522.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::observers::AckWindow;
use crate::tcp::direction::{
    acknowledged_unseen, before_capture, loss_trigger, observers, on_sack, sampling, spurious_by_acks, spurious_timeout,
};
use crate::tcp::events::acked::{AckProgress, Rejected, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::segment::{Acknowledged, Segment};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::loss::retransmissions::LossCounters;
use crate::tcp::stats::sequence::{serial_difference, unwrap};

/// Takes an acknowledgement of this direction's data. `window_shift` is none if the scale is not known.
#[inline]
pub fn acknowledgement(
    direction: &mut Direction,
    packet: &Packet,
    bytes: &[u8],
    window_shift: Option<u8>,
    context: &Context,
) -> AckProgress {
    if !direction.begun {
        direction.begin(packet.acknowledgement);
    }
    if direction.unheard {
        before_capture::hear_first(direction, packet);
    }
    if repeated_while_idle(direction, packet, window_shift) {
        answers_repeat(direction, packet, context);
        let window = u64::from(packet.window) << window_shift.unwrap_or(0);
        return AckProgress { round_trip: None, window_bytes: window_shift.map(|_| window) };
    }
    let position = unwrap(direction.una, packet.acknowledgement);
    sampling::keep_rates(direction, packet.time_ns);
    let mut unseen = false;
    if position > direction.max {
        if position - direction.max > FARTHEST_JUMP {
            return AckProgress::default();
        }
        unseen = true;
        acknowledged_unseen::acknowledge_unseen(direction, packet, position);
    }
    if position > direction.una && packet.options & option_bits::OTHERS != 0 {
        check_echo(direction, packet, position, context);
    }
    let reported_before = direction.live.as_ref().and_then(|live| live.acks.scoreboard.highest()).unwrap_or(0);
    if packet.options & (option_bits::OTHERS | option_bits::CUT) != 0 {
        on_sack::selective(direction, packet, bytes, position, context);
    }
    let mut advances = None;
    if position > direction.una {
        advances = match advance_in_order(direction, packet, position, context) {
            None => advance(direction, packet, position, unseen, reported_before, context),
            in_order => in_order,
        };
    } else if position == direction.una {
        repeated(direction, packet, context);
    }
    observers::show_acked(direction, packet, position, advances, AckWindow::of(packet, window_shift), context)
}

/// Bytes of this direction that were seen, and that `packet` is the first to acknowledge.
pub fn newly_acknowledged_by(direction: &Direction, packet: &Packet) -> u64 {
    let known = direction.begun && packet.has(tcp_flags::ACK);
    let position = if known { unwrap(direction.una, packet.acknowledgement) } else { direction.una };
    position.min(direction.max).saturating_sub(direction.una)
}

/// Takes the acknowledgement that every data packet of the other direction carries while this one is idle. False if it is
/// another; then nothing has changed.
#[inline(always)]
pub fn repeated_while_idle(direction: &mut Direction, packet: &Packet, window_shift: Option<u8>) -> bool {
    let is_repeated = packet.acknowledgement == direction.una as u32
        && direction.all_acknowledged()
        && direction.begun
        && direction.window.is_repeated(packet);
    if is_repeated {
        direction.window.add_repeated(u64::from(packet.window) << window_shift.unwrap_or(0));
    }
    is_repeated
}

/// Takes an acknowledgement of data up to `position`, more than was acknowledged before: as [`acknowledgement`], by
/// a short way if nothing else is to be said of it. None if there is; then nothing has changed.
#[inline(always)]
pub fn more_acknowledged(
    direction: &mut Direction,
    packet: &Packet,
    position: u64,
    window_shift: Option<u8>,
    context: &Context,
) -> Option<AckProgress> {
    if packet.options & (option_bits::OTHERS | option_bits::CUT) != 0 || position > direction.max {
        return None;
    }
    sampling::keep_rates(direction, packet.time_ns);
    let trip = advance_in_order(direction, packet, position, context)?;
    let window = AckWindow { shift: window_shift, is_told: true };
    Some(observers::show_acked(direction, packet, position, Some(trip), window, context))
}

/// Most often nothing is missing and nothing was sent twice: the same as [`advance`], whose rules need not be asked
/// then. None if it is otherwise, or may be; then nothing has changed.
#[inline(always)]
fn advance_in_order(direction: &mut Direction, packet: &Packet, position: u64, context: &Context) -> Option<RoundTrip> {
    if direction.una < direction.base {
        return None;
    }
    let live =
        direction.live.as_deref_mut().filter(|live| is_in_order(live, context)).filter(|_| direction.fin.is_none())?;
    live.segments.acknowledge_unmarked(position).map(|covered| RoundTrip::of(&covered, packet))
}

#[inline(never)]
fn advance(
    direction: &mut Direction,
    packet: &Packet,
    position: u64,
    unseen: bool,
    reported_before: u64,
    context: &Context,
) -> Option<RoundTrip> {
    let before = direction.una;
    if let Some(fin) = direction.fin
        && position > fin
    {
        direction.fin_acknowledged_ns.get_or_insert(packet.time_ns);
    }
    let later_fin_ns = direction.fin_ns.filter(|_| direction.fin.is_some_and(|fin| position > fin));
    let live = direction.live.as_deref_mut()?;
    let mut acknowledged = live.segments.acknowledge(position, reported_before);
    if let Some(fin_ns) = later_fin_ns {
        acknowledged.covered.latest_time_ns = acknowledged.covered.latest_time_ns.max(fin_ns);
    }
    direction.loss.reordered += if live.acks.reports_are_cut { 0 } else { acknowledged.late_originals };
    let mut original_ns = None;
    if let Some(record) = acknowledged.first_retransmitted {
        let answers_original = check_spurious(live, packet, &record, context, &mut direction.loss);
        original_ns = answers_original.then_some(record.time_ns);
    }
    if live.loss.unanswered.is_some() {
        spurious_by_acks::answered_by_more(live, packet, [before, position], original_ns, context, &mut direction.loss);
    }
    if live.loss.recovery.is_some() {
        spurious_timeout::check_timeout(live, packet, position, &mut direction.loss);
    }
    let all_seen = live.holes.is_empty() && before >= direction.base;
    let not_all_seen = unseen || (!all_seen && before_capture::missing(live, before, position).0 > 0);
    let trip = round_trip(live, packet, &acknowledged, not_all_seen);
    if !live.acks.scoreboard.is_empty() {
        live.acks.scoreboard.remove_below(position);
    }
    if live.loss.asked.is_some() {
        take_asked(live, packet.time_ns, position);
    }
    if live.loss.recovering.is_running() {
        loss_trigger::check_recovery(live, position, direction.max, packet.time_ns);
    }
    Some(trip)
}

#[inline]
fn repeated(direction: &mut Direction, packet: &Packet, context: &Context) {
    let outstanding = direction.max > direction.una;
    // With another window it is an update of that (RFC 5681 section 2).
    let is_duplicate =
        direction.window.is_unchanged(packet) && packet.payload_length == 0 && !packet.has(tcp_flags::FIN);
    if is_duplicate {
        answers_repeat(direction, packet, context);
    }
    let Some(live) = direction.live.as_deref_mut() else { return };
    live.acks.last_acknowledgement_ns = Some(packet.time_ns);
    // Where the snap length cut what SACK reports, only that it repeats the last one is left.
    if outstanding && is_duplicate && (!context.sack || packet.options & option_bits::CUT != 0) {
        live.acks.duplicate_acknowledgements += 1;
        live.acks.last_loss_sign_ns = Some(packet.time_ns);
    }
}

/// What a report of duplicates (RFC 2883) is about has to be known before it is taken: the repeat which the echo of the same
/// packet shows to be needless.
#[cold]
fn check_echo(direction: &mut Direction, packet: &Packet, position: u64, context: &Context) {
    let Some(live) = direction.live.as_deref_mut() else { return };
    if let Some(record) = live.segments.first_repeated_below(position) {
        check_spurious(live, packet, &record, context, &mut direction.loss);
    }
}

/// An acknowledgement of nothing more may answer a repeat of old data.
fn answers_repeat(direction: &mut Direction, packet: &Packet, context: &Context) {
    if let Some(live) = direction.live.as_deref_mut()
        && (live.loss.unanswered.is_some() || live.loss.asked.is_some())
        && is_plain(packet)
    {
        if let Some(asked) = &mut live.loss.asked {
            asked.answered(packet.time_ns, direction.una);
        }
        spurious_by_acks::answered_by_nothing_more(live, packet.time_ns, direction.una, context, &mut direction.loss);
    }
}

/// It acknowledges, and says nothing else.
pub(crate) fn is_plain(packet: &Packet) -> bool {
    packet.payload_length == 0
        && !packet.has(tcp_flags::FIN)
        && packet.options & (option_bits::OTHERS | option_bits::CUT) == 0
}

/// Everything up to `position` is acknowledged: what waits for an acknowledgement of nothing more?
#[inline]
fn take_asked(live: &mut Live, time_ns: i64, position: u64) {
    let soonest_ns = spurious_by_acks::soonest_answer_ns(live);
    if let Some(asked) = &mut live.loss.asked {
        asked.advanced(time_ns, position, soonest_ns);
        if asked.is_empty() {
            live.loss.asked = None;
        }
    }
}

/// The round trip that an acknowledgement gives, if it is clean, or why it is not.
#[inline]
fn round_trip(live: &mut Live, packet: &Packet, acknowledged: &Acknowledged, not_all_seen: bool) -> RoundTrip {
    let covered = &acknowledged.covered;
    if covered.newest.is_none() {
        return RoundTrip::None;
    }
    let held_back = acknowledged.any_sacked || live.acks.duplicate_acknowledgements > 0;
    let reason = if not_all_seen || acknowledged.partial {
        Rejected::NotAllSeen
    } else if acknowledged.any_retransmitted {
        live.round_trips.repaired(packet, acknowledged);
        Rejected::Retransmitted
    } else if held_back {
        Rejected::HeldBack
    } else {
        return RoundTrip::of(covered, packet);
    };
    RoundTrip::Rejected(reason, covered.wire_segments)
}

/// Nothing is missing and no acknowledgement says so, as far as records tell that are kept beside the segments.
#[inline(always)]
fn is_in_order(live: &Live, context: &Context) -> bool {
    live.holes.is_empty()
        && live.acks.scoreboard.is_empty()
        && !live.loss.recovering.is_running()
        && live.loss.asked.is_none()
        && (context.sack || live.acks.duplicate_acknowledgements == 0)
}

/// An acknowledgement of retransmitted data that echoes an older timestamp answers the original (Eifel, RFC 3522).
/// Without timestamps, or where both have the same, one that comes sooner than any round trip does (at the sender). True
/// if it does.
///
/// Rule: docs/methods.md, "Spurious by report, echo or time".
fn check_spurious(
    live: &mut Live,
    packet: &Packet,
    repeat: &Segment,
    context: &Context,
    counters: &mut LossCounters,
) -> bool {
    let timestamps = packet.options & option_bits::TIMESTAMPS != 0;
    let (start, end) = (repeat.start, repeat.end());
    if timestamps && packet.tsecr != repeat.tsval {
        let echoes_older = repeat.tsval != 0
            && packet.tsecr != 0
            && serial_difference(packet.tsecr, repeat.tsval) < 0
            && live.capture.clock.may_have_sent(packet.tsecr);
        if echoes_older {
            counters.spurious += live.loss.retransmissions.mark_stamped_after(start, end, packet.tsecr);
        }
        return echoes_older;
    }
    let answers_original = context.beside_sender
        && packet.time_ns.saturating_sub(repeat.time_ns) < spurious_by_acks::soonest_answer_ns(live);
    if answers_original
        && let Some(known) = live.loss.retransmissions.newest_over(start, end)
        && !known.spurious
    {
        known.spurious = true;
        counters.spurious += 1;
    }
    answers_original
}
