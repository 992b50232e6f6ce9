//! Data that passes the capture point for the first time and was yet sent before: a tail that was lost between the sender
//! and the capture point leaves no hole in the stream, only in the sender's numbering of its packets (docs/methods.md,
//! section 5).
//!
//! Rule: docs/methods.md, "A lost tail without a hole".

use crate::packet::{option_bits, tcp_flags};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::placed::Placed;
use crate::tcp::direction::{on_old_data, passed_over};
use crate::tcp::events::context::Context;
use crate::tcp::events::retransmission::{Retransmission, Trigger};
use crate::tcp::events::segment::state;
use crate::tcp::events::sent::{Arrived, Delivered, SentKind};
use crate::tcp::kernel::{FASTEST_ANSWER, FEWEST_OF_A_FLIGHT, RECORDING_DISORDER_NS, SMALLEST_TIMEOUT_NS};
use crate::tcp::loss::ip_id::numbers_connections_apart;
use crate::tcp::stats::sequence::serial_difference;

/// By so much timers of common stacks may be early, in ticks of theirs.
const TIMER_SLACK_NS: i64 = 20_000_000;

/// Where the loop between capture point and sender is not known, it is not longer than this.
const LONGEST_LOOP_NS: i64 = 1_000_000_000;

/// Data the capture point has not seen, though it crossed the sender's network card before: a tail that was lost
/// upstream leaves no hole, but its identifications are missing right after those of the highest data seen. Holds
/// only while the side sends nothing else that could have taken the numbers (no open hole, no data to acknowledge).
#[inline]
pub(crate) fn was_sent_unseen(direction: &mut Direction, placed: &Placed<'_>) -> bool {
    if placed.context.beside_sender || placed.packet.ip_version != 4 || !numbers_connections_apart(placed.packet.ttl) {
        return false;
    }
    let &Placed { packet, start, end, segment_size, context, peer, .. } = placed;
    let Some(live) = direction.live.as_deref_mut() else { return false };
    // A number that was passed over before is the original's own, overtaken by what was sent after it.
    let Some(missing) = live.loss.identifications.missing_before(packet.ip_id) else { return false };
    if missing == 0 {
        // A sender that has heard that all of this arrived sends the rest of what it takes for lost at once. What it heard may be
        // the acknowledgement of a repeat, where the first one got lost.
        let is_all_acknowledgement = live.peer_max_then == peer.max();
        let heard_ns =
            if is_all_acknowledgement { live.acks.last_acknowledgement_ns } else { live.acks.last_advance_ns };
        let heard_ns = heard_ns.filter(|_| direction.una >= direction.max);
        let longest_ns = loop_or_longest(context) + SMALLEST_TIMEOUT_NS;
        if heard_ns.is_some_and(|heard_ns| packet.time_ns.saturating_sub(heard_ns) > longest_ns) {
            live.loss.sent_unseen = 0;
        }
    }
    if end <= live.loss.sent_unseen {
        return true;
    }
    let leaves_hole = start > direction.max;
    let passed_over = (start - direction.max).div_ceil(u64::from(segment_size.max(1)));
    // A probe repeats the last of the tail: its original's number is missing, too, and no other. Where more are, the capture
    // has missed short segments.
    let is_more = if leaves_hole { missing == passed_over + 1 } else { missing > 0 };
    if !is_more || !live.holes.is_empty() || !highest_is_newest(live, placed) {
        return false;
    }
    // The sender has heard of what the capture has not: it is the capture that missed packets.
    if packet.options & option_bits::TIMESTAMPS != 0
        && peer.tsval().is_some_and(|newest| serial_difference(packet.tsecr, newest) > 0)
    {
        return false;
    }
    let round_trip_ns = context.handshake_rtt_ns.unwrap_or(context.sender_loop_ns());
    let is_probe = leaves_hole || context.sack && missing == 1 && packet.flags & (tcp_flags::PSH | tcp_flags::FIN) != 0;
    if placed.silence_ns() < shortest_silence_ns(leaves_hole, is_probe, round_trip_ns) {
        live.loss.shares_numbers = true;
        return false;
    }
    !live.loss.shares_numbers && live.loss.identifications.missing().is_some()
}

#[cold]
pub(crate) fn unseen_again(direction: &mut Direction, placed: &Placed<'_>, delivered: &mut Delivered) -> Arrived {
    let &Placed { packet, start, end, segment_size, context, .. } = placed;
    let before = direction.max;
    let live = Live::of(&mut direction.live);
    let copies = lost_copies(placed.silence_ns(), context);
    let missing = live.loss.identifications.missing_before(packet.ip_id).unwrap_or(0).saturating_sub(copies);
    // One number is the original's of this very segment.
    let more = if missing > 1 { before + missing * u64::from(segment_size) } else { end };
    live.loss.sent_unseen = live.loss.sent_unseen.max(end).max(more);
    if start > before {
        passed_over::pass_over(direction, packet, start, context.beside_sender);
    }
    direction.append(placed.record(start, end, state::RETRANSMITTED));
    direction.unique_payload_bytes += end - start;
    let trigger = on_old_data::count_retransmission(direction, placed, end, None, false);
    delivered.add(start, end, true);
    Arrived { kind: SentKind::Retransmission, trigger: Some(trigger), ..Arrived::default() }
}

/// The first data of all. A sender begins with its first byte: if that passes only after others of its packets were lost, a timer
/// has repeated it (a black hole of large packets, RFC 4821, which take their first flight and some repeats).
#[cold]
pub(crate) fn note_wait_before_first(direction: &mut Direction, placed: &Placed<'_>) {
    let &Placed { packet, start, .. } = placed;
    let tells = packet.ip_version == 4 && numbers_connections_apart(packet.ttl);
    if !tells || !direction.opening_seen || start != direction.base {
        return;
    }
    let Some(live) = direction.live.as_deref_mut() else { return };
    let missing = live.loss.identifications.missing_before(packet.ip_id);
    live.loss.begins_with_repeat = missing.is_some_and(|missing| missing >= u64::from(FEWEST_OF_A_FLIGHT));
}

/// For what the time before the first data went, if that began so long before it: to a timer, if the sender counts its packets.
pub(crate) fn waited_for_timer(live: &Live, waited_ns: i64) -> bool {
    let is_long = || waited_ns >= SMALLEST_TIMEOUT_NS - TIMER_SLACK_NS;
    live.loss.begins_with_repeat
        && !live.loss.shares_numbers
        && is_long()
        && live.loss.identifications.missing().is_some()
}

/// `placed` leaves a hole behind all that was seen: nothing, or one packet, to whose number its own is the next. What is missing
/// was sent before both. A sender begins with its first byte, so that the packet with that has repeated it.
#[cold]
pub(crate) fn note_first_flight_lost(direction: &mut Direction, placed: &Placed<'_>) {
    let &Placed { packet, start, segment_size, context, peer, .. } = placed;
    if context.beside_sender || packet.ip_version != 4 || !numbers_connections_apart(packet.ttl) {
        return;
    }
    let Some(live) = direction.live.as_deref_mut().filter(|_| direction.opening_seen) else { return };
    let missing = (start - direction.max).div_ceil(u64::from(segment_size.max(1)));
    if direction.data_packets == 1 && live.loss.identifications.next_position() == 0 {
        live.loss.identifications.sent_before(missing);
    }
    if direction.data_packets != 2 || live.loss.identifications.missing_before(packet.ip_id) != Some(0) {
        return;
    }
    // A timeout ran before it, from when the other side had last said something.
    let waited = |sent_ns: i64| {
        let spoke_ns = peer.spoke_ns().unwrap_or(i64::MAX);
        sent_ns.saturating_sub(spoke_ns) >= SMALLEST_TIMEOUT_NS - TIMER_SLACK_NS
    };
    if !direction.first_data_ns.is_some_and(waited) {
        return;
    }
    let Some(first) = live.segments.repeat_only(direction.base, direction.max) else { return };
    let segments = first.wire_segments();
    live.loss.identifications.sent_before(missing + u64::from(segments));
    live.loss.retransmissions.push(Retransmission {
        start: first.start,
        end: first.end(),
        time_ns: first.time_ns,
        seen_up_to: direction.max,
        tsval: first.tsval,
        ..Retransmission::default()
    });
    direction.loss.retransmitted += segments;
    direction.loss.retransmitted_bytes += u64::from(first.length);
    direction.loss.by_trigger[Trigger::Rto as usize] += segments;
    direction.ledger.repeats_payload(first.length);
}

/// The newest identification is that of the highest data, and the side had nothing to acknowledge since: neither has the
/// other side sent more, nor can what it sent before have reached the sender after that data went out.
fn highest_is_newest(live: &Live, placed: &Placed<'_>) -> bool {
    let &Placed { context, peer, .. } = placed;
    let highest_left_ns = placed.last_data_ns.map(|time_ns| time_ns.saturating_sub(loop_or_longest(context)));
    live.loss.highest_identification == live.loss.identifications.next_position()
        && live.peer_max_then == peer.max()
        && peer.spoke_ns().is_none_or(|spoke_ns| highest_left_ns.is_some_and(|left_ns| spoke_ns <= left_ns))
}

/// The first retransmission of a recovery whose identification leaves a gap right after that of the highest data: what was
/// sent in between lies above and was lost, but for earlier copies of this one, and for those of what is not acknowledged
/// below it: the lowest is retransmitted first (RFC 6675 `NextSeg`).
pub(crate) fn note_unseen_tail(live: &mut Live, placed: &Placed<'_>, una: u64, max: u64) {
    let &Placed { packet, segment_size, context, .. } = placed;
    if !context.beside_sender
        && numbers_connections_apart(packet.ttl)
        && highest_is_newest(live, placed)
        && live.loss.identifications.missing().is_some()
        && let Some(missing @ 1..) = live.loss.identifications.missing_before(packet.ip_id)
    {
        let from = una.min(placed.start);
        let below = placed.start - from - live.acks.scoreboard.total_within(from, placed.start);
        let below = below.div_ceil(u64::from(segment_size.max(1)));
        let above = missing.saturating_sub(lost_copies(placed.silence_ns(), context) + below);
        live.loss.sent_unseen = live.loss.sent_unseen.max(max + above * u64::from(segment_size));
    }
}

/// How long no data passes before the first of a lost tail is retransmitted, at least. What passed last has to be acknowledged before, and the
/// timeout, a round trip and [`SMALLEST_TIMEOUT_NS`], begins anew with that acknowledgement (RFC 6298 rule 5.3). Only a tail
/// loss probe comes sooner: of several segments it repeats the last (RFC 8985 section 7.3), and leaves a hole where others of them
/// were lost, too.
fn shortest_silence_ns(leaves_hole: bool, is_probe: bool, round_trip_ns: i64) -> i64 {
    let round_trips = if leaves_hole { 1.0 } else { 2.0 };
    let timeout_ns = if is_probe { 0 } else { SMALLEST_TIMEOUT_NS - TIMER_SLACK_NS };
    ((round_trips * FASTEST_ANSWER * round_trip_ns as f64) as i64 + timeout_ns).max(RECORDING_DISORDER_NS)
}

/// The round trip between capture point and sender.
fn loop_or_longest(context: &Context) -> i64 {
    if context.sender_loop_ns() > 0 { context.sender_loop_ns() } else { LONGEST_LOOP_NS }
}

/// How many of the packets lost in a silence repeat others: a tail loss probe, and the timeouts before the one that got
/// through (each waits twice as long as the one before, RFC 6298 section 5.5).
fn lost_copies(silence_ns: i64, context: &Context) -> u64 {
    let timeout = (context.sender_loop_ns() + SMALLEST_TIMEOUT_NS).max(1);
    if silence_ns < timeout {
        return 0;
    }
    let timeouts = u64::from((silence_ns / timeout + 1).ilog2());
    timeouts - 1 + u64::from(context.sack)
}
