//! Data of which something was seen before, or passed over: a retransmission, or the original come late (docs/methods.md,
//! section 5).
//!
//! A byte seen before is a retransmission, wherever the capture stands, unless the packet proves older than the one
//! that brought it. A late segment that fills a hole may be the original, delayed on the way, or a retransmission of one
//! that was lost before the capture point: its timestamp against that of the segment which exposed the hole decides;
//! without timestamps the IP identification; without both, the time that has passed.
//!
//! Rule: docs/methods.md, "Data seen before".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::holes::Exposure;
use crate::tcp::direction::placed::Placed;
use crate::tcp::direction::{before_capture, loss_trigger, paws_refused};
use crate::tcp::events::retransmission::{Retransmission, Trigger};
use crate::tcp::events::segment::{state, wire_segments};
use crate::tcp::events::sent::{Arrived, Delivered, SentKind};
use crate::tcp::kernel::{FASTEST_ANSWER, MOST_RETRANSMISSIONS, RECORDING_DISORDER_NS};
use crate::tcp::loss::awaited::Repeat;
use crate::tcp::loss::ip_id::distance;
use crate::tcp::loss::recovery::RecoveryEvidence;
use crate::tcp::stats::sequence::serial_difference;

/// Duplicate acknowledgements that ask for a segment (RFC 5681 section 3.2).
const ENOUGH_DUPLICATES: u32 = 3;

/// No acknowledgement is delayed for longer (RFC 9293 section 3.8.6.3).
const LONGEST_DELAYED_NS: i64 = 500_000_000;

/// Takes data of which at least the first byte lies below what was seen.
#[cold]
pub(crate) fn late_data(direction: &mut Direction, placed: &Placed<'_>, delivered: &mut Delivered) -> Arrived {
    let &Placed { packet, start, end, segment_size, .. } = placed;
    if let Some(kind) = probe_kind(direction, packet, start) {
        direction.loss.probes += 1;
        let loss = &mut Live::of(&mut direction.live).loss;
        loss.probes.sent(start);
        loss.asked.get_or_insert_default().push(packet.time_ns, end, 1);
        return Arrived { kind, ..Arrived::default() };
    }
    let late_end = end.min(direction.max);
    let live = Live::of(&mut direction.live);
    if live.loss.probed_at == Some(start) && late_end == start + 1 && end > late_end {
        // The byte before was a probe of the closed window; now it goes with the data behind it.
        live.loss.probed_at = None;
        take_late_bytes(direction, placed, true, delivered);
        return Arrived { first_transmission_bytes: (end - late_end) as u32, ..Arrived::default() };
    }
    let (missing, exposure) = before_capture::missing(live, start, late_end);
    let fills_only = missing == late_end - start;
    if let Some(known) = exposure.filter(|known| fills_only && known.by_acknowledgement) {
        live.capture.recorded_behind.add(packet.time_ns.saturating_sub(known.time_ns));
    }
    let original = match exposure.filter(|_| fills_only) {
        Some(exposure) => !is_retransmission(placed, &exposure, live),
        None => is_late_original(placed, late_end, live, &mut direction.loss.spurious),
    };
    let segments = wire_segments((late_end - start) as u32, segment_size);
    let mut arrived =
        Arrived { kind: SentKind::Reordered, first_transmission_bytes: (end - late_end) as u32, ..Arrived::default() };
    if original {
        if let Some(exposure) = exposure.filter(|known| fills_only && !known.by_acknowledgement) {
            live.rates.series.found(exposure.time_ns, missing);
        }
        count_late_original(direction, placed, exposure.filter(|_| fills_only), segments);
        arrived.first_transmission_bytes += missing as u32;
    } else {
        arrived.kind = SentKind::Retransmission;
        arrived.trigger = Some(count_retransmission(direction, placed, late_end, exposure, missing == 0));
    }
    take_late_bytes(direction, placed, original, delivered);
    arrived
}

/// Keep-alives repeat the last byte of a stream that is acknowledged; window probes of some stacks repeat one byte at
/// the edge of a closed window.
fn probe_kind(direction: &Direction, packet: &Packet, start: u64) -> Option<SentKind> {
    if packet.payload_length != 1 || packet.has(tcp_flags::FIN) {
        return None;
    }
    let closed = direction.live.as_ref().is_some_and(|live| live.acks.window_closed);
    if closed && start >= direction.una.saturating_sub(1) {
        return Some(SentKind::WindowProbe);
    }
    (start + 1 == direction.max && direction.all_acknowledged()).then_some(SentKind::KeepAlive)
}

/// Rule: docs/methods.md, "Stored out of order".
fn count_late_original(direction: &mut Direction, placed: &Placed<'_>, exposure: Option<Exposure>, segments: u32) {
    // Nobody acknowledges what has not come: it is the capture that stored it late.
    let behind_acknowledgement = exposure.is_some_and(|known| known.by_acknowledgement);
    if placed.context.beside_sender || behind_acknowledgement {
        direction.loss.capture_reordered += 1;
    } else {
        direction.loss.reordered = direction.loss.reordered.saturating_add(segments);
    }
}

/// Counts the bytes up to `end` as retransmitted, and tells why they were. `repeats_seen`: all of them passed here before.
pub(crate) fn count_retransmission(
    direction: &mut Direction,
    placed: &Placed<'_>,
    end: u64,
    exposure: Option<Exposure>,
    repeats_seen: bool,
) -> Trigger {
    let &Placed { packet, start, segment_size, last_data_ns, context, .. } = placed;
    let tsval = placed.tsval().unwrap_or(0);
    let segments = wire_segments((end - start) as u32, segment_size);
    let live = Live::of(&mut direction.live);
    let never_arrived = reports_missing(live, direction.una, start, end) || is_waited_for(live, placed, direction.una);
    let seen_here = context.beside_receiver && repeats_seen && !never_arrived;
    let recorded_late =
        !context.beside_sender && exposure.is_some() && end <= direction.una && just_acknowledged(live, packet);
    direction.loss.capture_reordered += u32::from(recorded_late);
    let acknowledged = end <= direction.una && !recorded_late && !direction.unheard;
    let reported_received = seen_here || acknowledged || live.acks.scoreboard.contains(start, end);
    let refused = if reported_received { 0 } else { paws_refused::take_refused(live, start, segments) };
    let known = live.segments.retransmit(start, end, packet.time_ns, packet.frame, tsval);
    if !reported_received
        && refused == 0
        && let Some(sent_ns) = known.previous_time_ns.filter(|&sent_ns| sent_ns < packet.time_ns)
    {
        // It was seen here and lost behind: it counts where its acknowledgement would have come.
        let rtt_ns = live.round_trips.srtt_ns().unwrap_or(0.0) as i64;
        live.rates.series.lost(sent_ns.saturating_add(rtt_ns), end - start);
    }
    let trigger = loss_trigger::trigger(
        live,
        &RecoveryEvidence {
            time_ns: packet.time_ns,
            start,
            // The FIN that goes with the last bytes has a position of its own, behind them.
            end: end + u64::from(packet.has(tcp_flags::FIN) && end + 1 == direction.max),
            una: direction.una,
            max: direction.max.max(live.loss.sent_unseen),
            previous_ns: known.previous_time_ns,
            last_data_ns,
            exposed_ns: exposure.map(|exposure| exposure.time_ns),
            sender_loop_ns: if context.beside_sender { 0 } else { context.sender_loop_ns() },
            segment_size,
            sack: context.sack,
        },
    );
    if trigger == Trigger::Rto {
        // The timeout took everything for lost, and this goes out again.
        live.segments.mark_resent(start, end);
    }
    let whole = Retransmission {
        reported_bytes: 0,
        start,
        end,
        time_ns: packet.time_ns,
        seen_up_to: direction.max,
        tsval,
        tsecr: packet.tsecr,
        ip_id: packet.ip_id,
        spurious: reported_received,
        reported: false,
        on_loss_signs: matches!(trigger, Trigger::Fast | Trigger::Rack),
        was_seen: repeats_seen,
    };
    let answers_tell = (!context.beside_receiver).then_some(exposure.is_some());
    remember_retransmission(live, &whole, segment_size, refused, answers_tell);
    live.loss.asked.get_or_insert_default().push(packet.time_ns, end, segments);
    if live.size.uneven.may_hold_more((end - start) as u32) {
        live.size.uneven.remember((end - start) as u32, Some(trigger));
    }
    let needless = if reported_received { segments } else { refused };
    direction.loss.count_retransmission(segments, end - start, trigger, needless);
    if context.beside_sender {
        direction.loss.reordered = direction.loss.reordered.saturating_add(refused);
    }
    trigger
}

/// Acknowledged just before, what was not seen before was recorded behind its acknowledgement.
fn just_acknowledged(live: &Live, packet: &Packet) -> bool {
    let is_just = |time_ns: i64| packet.time_ns.saturating_sub(time_ns) <= RECORDING_DISORDER_NS;
    live.acks.last_advance_ns.is_some_and(is_just)
}

/// Brings the bytes of a late packet that were not seen before into the records.
fn take_late_bytes(direction: &mut Direction, placed: &Placed<'_>, original: bool, delivered: &mut Delivered) {
    let &Placed { packet, start, end, .. } = placed;
    let live = Live::of(&mut direction.live);
    let state = if original { state::LATE } else { state::RETRANSMITTED };
    let (mut unique, una) = (0, direction.una);
    let segments = &mut live.segments;
    let mut fill = |from: u64, to: u64| {
        unique += to - from;
        if to > una {
            segments.insert(placed.record(from.max(una), to, state));
        }
    };
    // The stream begins with the capture.
    if let Some(before) = &mut live.before {
        before.holes.fill(start, end, &mut fill);
    }
    live.holes.fill(start, end.min(direction.max), |from, to| {
        fill(from, to);
        delivered.add(from, to, !original);
    });
    if end > direction.max {
        unique += end - direction.max;
        live.segments.push(placed.record(direction.max, end, 0));
        delivered.add(direction.max, end, false);
        direction.max = end;
    }
    direction.unique_payload_bytes += unique;
    live.view.set_relief(packet.time_ns, live.relief_bytes());
}

/// The receiver has reported data behind it (RFC 2018), and of this nothing: what passed here did not arrive. Beside the
/// receiver that is so where the capture stands before its last hop, and where its host dropped what it had no room for. What
/// was sent before what the receiver echoes is another matter: it refuses that by its timestamp (RFC 7323 section 5.3).
fn reports_missing(live: &Live, una: u64, start: u64, end: u64) -> bool {
    una <= start
        && live.segments.recent(start).is_some_and(|record| {
            live.acks.disorder_tsecr.is_none_or(|echoed| serial_difference(echoed, record.tsval) <= 0)
        })
        && live.acks.scoreboard.highest().is_some_and(|highest| highest > end)
        && live.acks.scoreboard.total_within(start, end) == 0
}

/// The receiver has acknowledged nothing of it, for longer than any acknowledgement is delayed; or it repeats, at each segment
/// behind it, that it waits for this (RFC 5681 section 3.2).
fn is_waited_for(live: &Live, placed: &Placed<'_>, una: u64) -> bool {
    let sent = live.segments.recent(placed.start).filter(|_| una <= placed.start);
    sent.is_some_and(|sent| {
        let is_asked = una == placed.start && live.acks.duplicate_acknowledgements >= ENOUGH_DUPLICATES;
        is_asked || placed.packet.time_ns.saturating_sub(sent.time_ns) >= LONGEST_DELAYED_NS
    })
}

/// Keeps each segment of `whole`, which was retransmitted, for what is still to tell whether it was needed. `refused`: of so many
/// segments the receiver has refused the original. `answers_tell`: acknowledgements may ([`crate::tcp::direction::spurious_by_acks`]), of what
/// filled a hole or did not.
fn remember_retransmission(
    live: &mut Live,
    whole: &Retransmission,
    segment_size: u16,
    mut refused: u32,
    answers_tell: Option<bool>,
) {
    let size = u64::from(segment_size.max(1));
    // More than are kept are not worth making: a forged length can claim millions of segments.
    let kept = MOST_RETRANSMISSIONS as u64;
    let mut start = whole.start + ((whole.end - whole.start) / size).saturating_sub(kept) * size;
    while start < whole.end {
        let mut repeat = Retransmission { start, end: whole.end.min(start + size), ..*whole };
        start = repeat.end;
        if let Some(fills_hole) = answers_tell {
            live.loss.unanswered.get_or_insert_default().push(Repeat::of(&repeat, fills_hole));
        }
        if refused > 0 {
            // Nobody reports what was refused, and its repeat is answered as one that was needed.
            (repeat.spurious, repeat.reported) = (true, true);
            refused -= 1;
        }
        live.loss.retransmissions.push(repeat);
    }
}

/// Decides about a segment that fills a hole: retransmission, or the original come late?
///
/// Rule: docs/methods.md, "Late segments".
fn is_retransmission(placed: &Placed<'_>, exposure: &Exposure, live: &Live) -> bool {
    let &Placed { packet, context, .. } = placed;
    if let (Some(own), Some(exposing)) = (placed.tsval(), exposure.tsval)
        && own != exposing
    {
        return serial_difference(own, exposing) > 0;
    }
    let elapsed = packet.time_ns.saturating_sub(exposure.time_ns);
    if exposure.by_acknowledgement {
        return elapsed > RECORDING_DISORDER_NS && !has_number_of_original(placed, live);
    }
    if packet.ip_version == 4 {
        let is_later = distance(packet.ip_id, exposure.ip_id) > 0;
        // Numbers shared with much else may have gone all the way round since: only that one is later is sure.
        if live.loss.identifications.looks_consecutive() || (is_later && live.loss.identifications.looks_rising()) {
            return is_later;
        }
    }
    // Without the handshake only the loop to the receiver is known, which may be short.
    let answer_ns = match context.handshake_rtt_ns {
        Some(rtt_ns) => FASTEST_ANSWER * rtt_ns as f64,
        None => (FASTEST_ANSWER * live.round_trips.srtt_ns().unwrap_or(0.0)).max(RECORDING_DISORDER_NS as f64),
    };
    elapsed as f64 >= answer_ns
}

/// It has the next number, or the one behind those of what the same hole still misses below it, or one that was passed over: had it
/// been retransmitted, its original would have that. Only the very next number says so of a sender that has yet to prove that it counts.
fn has_number_of_original(placed: &Placed<'_>, live: &Live) -> bool {
    let &Placed { packet, start, end, .. } = placed;
    let numbers = &live.loss.identifications;
    let missing_below = || live.holes.missing_right_below(start).div_ceil((end - start).max(1));
    let is_own = || match numbers.missing_before(packet.ip_id) {
        Some(0) => true,
        Some(missing) => numbers.looks_consecutive() && missing <= missing_below(),
        None => numbers.looks_consecutive() && !numbers.is_known(packet.ip_id),
    };
    packet.ip_version == 4 && packet.ip_id != 0 && is_own()
}

/// Decides about bytes seen before: is this the original, overtaken by its own retransmission? Then the retransmission
/// was not needed.
fn is_late_original(placed: &Placed<'_>, end: u64, live: &mut Live, spurious: &mut u32) -> bool {
    let packet = placed.packet;
    let by_identification = packet.ip_version == 4 && live.loss.identifications.looks_consecutive();
    let Some(known) = live.loss.retransmissions.newest_over(placed.start, end) else { return false };
    let older = match placed.tsval() {
        Some(tsval) if tsval != known.tsval => serial_difference(tsval, known.tsval) < 0,
        _ => by_identification && distance(packet.ip_id, known.ip_id) < 0,
    };
    if older && !known.spurious {
        known.spurious = true;
        *spurious += 1;
    }
    older
}
