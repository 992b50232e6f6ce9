//! Originals that the receiver refuses since it has taken what was sent later (PAWS, RFC 7323 section 5): repeats have overtaken them, or
//! what follows repeats. Each is retransmitted, though the path has lost none.
//!
//! It is answered at once (section 5.3 R1) by an acknowledgement that says nothing new: the same position, the same blocks of what has
//! arrived (RFC 2018), the same window, and no report of a duplicate (RFC 2883), since the receiver does not have the data. What it
//! echoes is the timestamp that the receiver compares with. A hole that is retransmitted for the first time, with an older
//! timestamp than that, may be what it refused. So this finds no more than there are, and may find fewer: acknowledgements get lost, and
//! news may come with one.
//!
//! Rule: docs/methods.md, "Originals that the receiver refuses".

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::Live;
use crate::tcp::direction::spurious_by_acks;
use crate::tcp::events::segment::Segment;
use crate::tcp::loss::refusals::Blocks;

/// Holes that are looked at.
const MOST_HOLES: usize = 1024;

/// Takes the blocks of an acknowledgement. `says_nothing_else`: neither more is acknowledged, nor does the window change.
pub(crate) fn note_blocks(live: &mut Live, packet: &Packet, reported: &[(u32, u32)], says_nothing_else: bool) {
    let mut blocks = Blocks::default();
    blocks.iter_mut().zip(reported).for_each(|(block, reported)| *block = *reported);
    let refusals = &mut live.loss.refusals;
    let is_like_last = std::mem::replace(&mut refusals.blocks, blocks) == blocks;
    let is_stamped = packet.options & option_bits::TIMESTAMPS != 0 && packet.options & option_bits::CUT == 0;
    if is_like_last && says_nothing_else && is_stamped && packet.payload_length == 0 {
        (refusals.last_ns, refusals.echoed) = (packet.time_ns, packet.tsecr);
        count_refusal(live);
    }
}

fn count_refusal(live: &mut Live) {
    let highest = live.acks.scoreboard.highest().unwrap_or(0);
    let soonest_ns = spurious_by_acks::soonest_answer_ns(live);
    let holes = live.segments.unacknowledged_below(highest).take(MOST_HOLES);
    let refusable = holes.filter(|segment| live.loss.refusals.may_be_of(segment, soonest_ns));
    let segments = refusable.map(Segment::wire_segments).sum::<u32>();
    live.loss.refusals.count += u32::from(segments > live.loss.refusals.count);
}

/// Nothing is missing any more.
pub(crate) fn end_refusals(live: &mut Live) {
    live.loss.refusals.count = 0;
}

/// How many of the segments that are retransmitted from `start` on were refused; each is accounted for once.
pub(crate) fn take_refused(live: &mut Live, start: u64, segments: u32) -> u32 {
    if live.loss.refusals.count == 0 {
        return 0;
    }
    let soonest_ns = spurious_by_acks::soonest_answer_ns(live);
    let refused = live.segments.recent(start).is_some_and(|segment| live.loss.refusals.may_be_of(segment, soonest_ns));
    let taken = if refused { segments.min(live.loss.refusals.count) } else { 0 };
    live.loss.refusals.count -= taken;
    taken
}
