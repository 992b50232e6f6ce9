//! Retransmissions of what the receiver had already, shown by its acknowledgements where it reports none of them (no D-SACK, RFC 2883).
//!
//! A segment that brings nothing new is answered at once, by an acknowledgement of nothing more (RFC 9293 section 3.10.7.4,
//! RFC 5681 section 4.2), and so is one that fills a hole, by one of all up to the next hole. Packets arrive in the order in which
//! they were sent, so that each repeat has its answer before what was sent later has: answers are given to repeats in turn. What
//! is not answered in its turn got lost, or its answer did. So this finds no more than there are, and may find fewer.
//!
//! Rule: docs/methods.md, "Spurious by acknowledgements in turn".

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::Live;
use crate::tcp::events::context::Context;
use crate::tcp::kernel::FASTEST_ANSWER;
use crate::tcp::loss::awaited::AwaitedAck;
use crate::tcp::loss::retransmissions::LossCounters;

/// Round trips below this are those of hosts, and of clocks.
const LEAST_TELLING_NS: i64 = 1_000_000;

/// Everything from `before` to `position` is acknowledged. `original_ns`: it answers what was sent before this repeat of its
/// first segment.
#[cold]
pub(crate) fn answered_by_more(
    live: &mut Live,
    packet: &Packet,
    [before, position]: [u64; 2],
    original_ns: Option<i64>,
    context: &Context,
    counters: &mut LossCounters,
) {
    let has_echo = packet.options & option_bits::TIMESTAMPS != 0 && packet.tsecr != 0;
    let answer = AwaitedAck {
        time_ns: packet.time_ns,
        before,
        position,
        soonest_ns: soonest_answer_ns(live),
        original_ns,
        echoed: (has_echo && live.capture.clock.may_have_sent(packet.tsecr)).then_some(packet.tsecr),
        // With reports some answers are of another form.
        in_turn: !context.sack,
        was_reported: live.acks.scoreboard.contains(before, before + 1),
    };
    let last_sent_once_ns = sent_once_before(live, position);
    let retransmissions = &mut live.loss.retransmissions;
    let Some(unanswered) = live.loss.unanswered.as_deref_mut() else { return };
    unanswered.more(&answer, |repeat| retransmissions.mark_needless(repeat.start, repeat.time_ns, context, counters));
    if let Some(sent_ns) = last_sent_once_ns {
        unanswered.close_before(sent_ns);
    }
}

/// Everything below `position` is acknowledged once more, at `time_ns`, and nothing else.
#[cold]
pub(crate) fn answered_by_nothing_more(
    live: &mut Live,
    time_ns: i64,
    position: u64,
    context: &Context,
    counters: &mut LossCounters,
) {
    let soonest_ns = soonest_answer_ns(live);
    let last_sent_once_ns = sent_once_before(live, position);
    let Some(unanswered) = live.loss.unanswered.as_deref_mut() else { return };
    if let Some(sent_ns) = last_sent_once_ns {
        unanswered.close_before(sent_ns);
    }
    if let Some(repeat) = unanswered.nothing_more(time_ns, position, soonest_ns) {
        live.loss.retransmissions.mark_needless(repeat.start, repeat.time_ns, context, counters);
    }
}

/// No answer comes sooner after what it answers; 0 if that tells nothing.
pub(crate) fn soonest_answer_ns(live: &Live) -> i64 {
    let shortest_ns = (FASTEST_ANSWER * live.round_trips.moments.min().unwrap_or(0) as f64) as i64;
    if shortest_ns >= LEAST_TELLING_NS { shortest_ns } else { 0 }
}

/// When the byte before `position` was sent, if that was once.
fn sent_once_before(live: &Live, position: u64) -> Option<i64> {
    let record = live.segments.recent(position.checked_sub(1)?)?;
    record.was_sent_once().then_some(record.time_ns)
}
