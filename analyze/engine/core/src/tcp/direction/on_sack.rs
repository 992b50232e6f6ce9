//! What acknowledgements report selectively (RFC 2018): what came behind a hole, and what came twice (RFC 2883).

use crate::decode::options::SackBlocks;
use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::{acknowledged_unseen, before_capture, foreign_blocks, paws_refused, spurious_by_acks};
use crate::tcp::events::context::Context;
use crate::tcp::stats::sequence::unwrap;

/// Segments that must have been reported above a hole before it counts as lost (RFC 6675 `DupThresh`).
const DUPLICATE_THRESHOLD: u64 = 3;

/// What the blocks of one packet brought.
struct Told {
    /// Nothing was reported before.
    was_in_order: bool,
    /// Something that was not reported before.
    brings_news: bool,
    /// Position after the highest of that, and when the latest of it was sent.
    newest: u64,
    latest_time_ns: i64,
    /// Something that came twice.
    duplicates: bool,
}

/// Rule: docs/methods.md, "Reordered data".
#[cold]
pub(crate) fn selective(direction: &mut Direction, packet: &Packet, bytes: &[u8], position: u64, context: &Context) {
    let sack = SackBlocks::of_packet(packet, bytes);
    let blocks = sack.as_slice();
    if blocks.is_empty() {
        cut_report(direction, packet, bytes, position, context);
        return;
    }
    if let Some(highest) = blocks.iter().map(|&(_, right)| unwrap(position, right)).max()
        && before_capture::is_reported_before(direction, highest)
    {
        acknowledged_unseen::acknowledge_unseen(direction, packet, highest);
    }
    // Copies that the network made are refused in the same way, of what the receiver has.
    let may_tell_refusals = !context.beside_receiver && direction.loss.network_duplicates == 0;
    let says_nothing_else = may_tell_refusals && position == direction.una && direction.window.is_unchanged(packet);
    let told = take_blocks(direction, packet, blocks, position, context);
    let una = direction.una;
    let live = Live::of(&mut direction.live);
    if let Some(unanswered) = live.loss.unanswered.as_deref_mut().filter(|_| told.duplicates) {
        unanswered.duplicates_are_reported();
    }
    if told.was_in_order {
        paws_refused::end_refusals(live);
    }
    paws_refused::note_blocks(live, packet, blocks, says_nothing_else && !told.brings_news && !told.duplicates);
    let has_timestamps = packet.options & option_bits::TIMESTAMPS != 0;
    live.acks.disorder_tsecr = has_timestamps.then_some(packet.tsecr);
    if told.brings_news {
        take_news(live, packet, &told, position == una);
    }
}

/// Takes each block, the most recent first.
fn take_blocks(
    direction: &mut Direction,
    packet: &Packet,
    blocks: &[(u32, u32)],
    position: u64,
    context: &Context,
) -> Told {
    let (max, base, una, seen_data, fin) =
        (direction.max, direction.base, direction.una, direction.data_packets > 0, direction.fin);
    let foreign = foreign_blocks::foreign_blocks(direction);
    let loss = &mut direction.loss;
    let live = Live::of(&mut direction.live);
    let highest_before = live.acks.scoreboard.highest().unwrap_or(0);
    // Of what was sent before the capture began nothing is on record.
    let lowest = if una < base { base } else { 0 };
    let ranges = |&(left, right): &(u32, u32)| (unwrap(position, left).max(lowest), unwrap(position, right));
    let was_in_order = live.acks.scoreboard.is_empty();
    let mut told = Told { was_in_order, brings_news: false, newest: 0, latest_time_ns: i64::MIN, duplicates: false };
    let soonest_ns = if live.loss.unanswered.is_some() { spurious_by_acks::soonest_answer_ns(live) } else { 0 };
    let mut unanswered = live.loss.unanswered.as_deref_mut().filter(|unanswered| unanswered.is_waited_for());
    let retransmissions = &mut live.loss.retransmissions;
    // What has just come stands first, then what was reported before (RFC 2018 section 4): news behind what is none shows
    // reports that were lost, and not of what came late.
    let mut comes_first = true;
    live.acks.reports_are_cut = (live.acks.reports_are_cut && !was_in_order) || packet.options & option_bits::CUT != 0;
    // What seems to come late may have been reported where the snap length cut the blocks off.
    let tells_order = !live.acks.reports_are_cut;
    for (index, (start, end)) in blocks.iter().map(ranges).enumerate() {
        if foreign.has(position, blocks[index]) {
            loss.sacked_beyond_sent = loss.sacked_beyond_sent.saturating_add(1);
            continue;
        }
        live.acks.blocks = live.acks.blocks.saturating_add(1);
        if start >= end || end > max || start < base.saturating_sub(1) {
            continue;
        }
        // What was held behind the last hole, reported once more: a kernel that has sent its own FIN answers the other one
        // before it forgets what it held (Linux, `tcp_fin`). Nothing came twice.
        let was_held = || {
            let with_fin = una < start && end == position && fin.is_some_and(|fin| fin < end);
            with_fin && live.acks.scoreboard.contains(start, start + 1)
        };
        if index == 0 && is_duplicate_report(start, end, position, blocks.get(1).map(ranges)) && !was_held() {
            // A FIN takes a position and is no data.
            let end = fin.map_or(end, |fin| end.min(fin));
            // Of data that the capture has not seen it is not known who made the second copy.
            let is_seen = seen_data && start < end && live.holes.missing(start, end).0 == 0;
            if is_seen && !live.loss.probes.are_reported(start, end) {
                retransmissions.duplicate_reported(start, end, live.size.segment_size.max(1), context, loss);
            }
            told.duplicates = true;
        } else if end > position {
            let segments = &mut live.segments;
            let mut brings_news = false;
            live.acks.scoreboard.insert(start.max(position), end, |from, to| {
                brings_news = true;
                told.newest = to.max(told.newest);
                let known = segments.sack(from, to, highest_before);
                told.latest_time_ns = told.latest_time_ns.max(known.latest_time_ns);
                loss.reordered += if comes_first && tells_order { known.late_originals } else { 0 };
                if let Some(unanswered) = unanswered.as_deref_mut() {
                    unanswered.reported(packet.time_ns, [from, to], soonest_ns, |repeat| {
                        retransmissions.mark_needless(repeat.start, repeat.time_ns, context, loss);
                    });
                }
            });
            told.brings_news |= brings_news;
            comes_first &= brings_news;
        }
    }
    told
}

/// Of the block that reports duplicate data (RFC 2883) a snap length may leave the left edge only (96 bytes of IPv6 over
/// Ethernet do): then it is about the segment that begins there.
fn cut_report(direction: &mut Direction, packet: &Packet, bytes: &[u8], position: u64, context: &Context) {
    let Some(left) = SackBlocks::left_edge_of_cut(packet, bytes) else { return };
    let start = unwrap(position, left);
    let Some(live) = direction.live.as_deref_mut().filter(|_| direction.data_packets > 0) else { return };
    let segment_size = live.size.segment_size.max(1);
    let end = position.min(start + u64::from(segment_size));
    let is_seen = start >= direction.base && start < end && live.holes.missing(start, end).0 == 0;
    if is_seen && !live.loss.probes.are_reported(start, end) {
        live.loss.retransmissions.duplicate_reported(start, end, segment_size, context, &mut direction.loss);
    }
}

/// Something was reported for the first time. What comes behind a hole is reported at once: the only round trips there are while
/// data is lost. `advances_not`: nothing more is acknowledged beside it.
fn take_news(live: &mut Live, packet: &Packet, told: &Told, advances_not: bool) {
    if told.was_in_order {
        live.acks.disorder_tsval = packet.timestamp();
    }
    if let Some(sampled) = told.newest.checked_sub(1).and_then(|last| live.segments.sent_once(last)) {
        if live.rates.series.wants_receiver_loop() {
            let loop_ns = packet.time_ns.saturating_sub(sampled.time_ns);
            live.rates.series.receiver_loop(u64::try_from(loop_ns).unwrap_or(0));
        }
        if advances_not {
            live.round_trips.reported(packet, sampled, told.latest_time_ns);
        }
    }
    live.rates.answers.interrupt();
    live.acks.last_loss_sign_ns = Some(packet.time_ns);
    live.acks.last_acknowledgement_ns = Some(packet.time_ns);
    let highest = live.acks.scoreboard.highest().unwrap_or(0);
    let threshold = DUPLICATE_THRESHOLD * u64::from(live.size.segment_size.max(1));
    live.segments.mark_lost_below(highest.saturating_sub(threshold));
}

/// The first block reports duplicate data if it lies below the acknowledgement or within the second (RFC 2883 section 4).
fn is_duplicate_report(start: u64, end: u64, acknowledged: u64, second: Option<(u64, u64)>) -> bool {
    end <= acknowledged || second.is_some_and(|(outer_start, outer_end)| outer_start <= start && end <= outer_end)
}
