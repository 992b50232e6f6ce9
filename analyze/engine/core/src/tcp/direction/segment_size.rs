//! How large the segments of one side are when its application gives enough: the effective send MSS (RFC 9293 section 3.7.1).
//!
//! What both sides offer only bounds it. A path may take less (RFC 1191: tunnels, jumbo frames that end on the way), and some
//! senders keep room for options they do not send. Whoever takes the offer for the size then finds that every segment is
//! short, as if the application had no more to give, and counts too few segments in a frame of many.
//!
//! A segment without PSH is not the last of what the application wrote. Some in a row whose lengths have one measure are made
//! of segments of that size. What was counted by another size before is then counted anew.
//!
//! Rule: docs/methods.md, "Segment size".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::capture::frame_sizes::{
    ETHERNET_PAYLOAD, EarlyFrame, FullSegments, LEAST_SIZE, UnevenFrames, assumed_segment_size, ends_a_write,
    most_payload, option_bytes,
};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::events::segment::wire_segments;
use crate::tcp::events::sent::is_short;
use crate::tcp::loss::ip_id::Fewer;

/// Learns from a packet of new data in order how large the segments are; true if they are not what they were thought to be.
#[inline]
pub(crate) fn segment_size_changes(
    direction: &mut Direction,
    packet: &Packet,
    segment_size: u16,
    peer_max: u64,
) -> bool {
    if is_short(packet.payload_length, segment_size) {
        tells_of_size(direction, packet) && take_uneven(direction, packet, segment_size, peer_max)
    } else {
        Live::of(&mut direction.live).size.uneven.compare(packet.payload_length);
        false
    }
}

/// A packet with less than a full segment at its end tells more than that its application has paused.
pub(crate) fn tells_of_size(direction: &mut Direction, packet: &Packet) -> bool {
    !ends_a_write(packet) || Live::of(&mut direction.live).size.uneven.may_hold_more(packet.payload_length)
}

#[cold]
fn take_uneven(direction: &mut Direction, packet: &Packet, segment_size: u16, peer_max: u64) -> bool {
    // What follows is compared with it.
    direction.settle_counters();
    // A side may send more than it takes itself.
    let most = most_payload(direction.accepted_segment_size, packet).max(offered_size(direction, packet));
    let known = direction.sent_segment_size.saturating_sub(option_bytes(packet));
    let uneven = &mut Live::of(&mut direction.live).size.uneven;
    let learned = if ends_a_write(packet) {
        None
    } else {
        uneven.row.add(packet, known, peer_max);
        uneven.row.segment_size(most).filter(|size| *size != segment_size)
    };
    let Some(size) = learned else {
        uneven.remember(packet.payload_length, None);
        return false;
    };
    set_segment_size(direction, packet, size);
    true
}

/// Some frames stand for fewer segments than they were taken for, by the numbers of what followed them.
#[inline(always)]
pub(crate) fn takes_fewer(direction: &Direction) -> bool {
    direction.live.as_deref().is_some_and(|live| live.loss.identifications.are_fewer)
}

/// Counts those anew; and learns from two in a row that the segments have become larger, as those of a sender do that probes
/// what the path takes (RFC 4821).
#[inline(always)]
pub(crate) fn take_fewer(direction: &mut Direction, packet: &Packet) {
    if takes_fewer(direction) {
        learn_from_fewer(direction, packet);
    }
}

#[cold]
fn learn_from_fewer(direction: &mut Direction, packet: &Packet) {
    if let Some(size) = settle_fewer(direction).filter(|size| *size > segment_size(direction, packet)) {
        direction.settle_counters();
        Live::of(&mut direction.live).size.uneven = UnevenFrames::default();
        send_size(direction, packet, size);
    }
}

/// Counts them anew; gives the size that they tell.
#[cold]
pub(crate) fn settle_fewer(direction: &mut Direction) -> Option<u16> {
    let live = direction.live.as_deref_mut()?;
    let Fewer { segments, frames, full, full_bytes, .. } = live.loss.identifications.take_fewer();
    live.size.short_packets = live.size.short_packets.saturating_sub(full);
    direction.data_segments = direction.data_segments.saturating_sub(u64::from(segments));
    direction.superpackets = direction.superpackets.saturating_sub(u64::from(frames));
    full_bytes.and_then(|bytes| u16::try_from(bytes).ok())
}

/// Learns from a copy between two interfaces: what a frame was cut into is a full segment, as far as more of it follows.
pub(crate) fn learn_size_from_head(direction: &mut Direction, packet: &Packet) {
    let size = packet.payload_length;
    let may_be_full = (LEAST_SIZE..=ETHERNET_PAYLOAD).contains(&size) && !ends_a_write(packet);
    let full = full_segments(direction, packet);
    if !may_be_full || full.is_proven || size == u32::from(full.bytes) {
        return;
    }
    if Live::of(&mut direction.live).capture.recent.is_head_of_frame(packet) {
        direction.settle_counters();
        set_segment_size(direction, packet, size as u16);
    }
}

fn set_segment_size(direction: &mut Direction, packet: &Packet, size: u16) {
    count_anew(direction, segment_size(direction, packet), size);
    send_size(direction, packet, size);
}

fn send_size(direction: &mut Direction, packet: &Packet, size: u16) {
    direction.sent_segment_size = if size == offered_size(direction, packet) { 0 } else { size + option_bytes(packet) };
}

/// Counts by segments of `size` what was counted by segments of another size, unless numbers show that it was as many.
fn count_anew(direction: &mut Direction, other_size: u16, size: u16) {
    let live = Live::of(&mut direction.live);
    let uneven = std::mem::take(&mut live.size.uneven);
    if live.loss.identifications.looks_consecutive() {
        return;
    }
    for EarlyFrame { payload, repeated } in uneven.early {
        let [was, is] = [other_size, size].map(|size| wire_segments(payload, size));
        direction.data_segments = (direction.data_segments + u64::from(is)).saturating_sub(u64::from(was));
        direction.superpackets = (direction.superpackets + u64::from(is > 1)).saturating_sub(u64::from(was > 1));
        live.size.short_packets = live.size.short_packets.saturating_sub(u32::from(!is_short(payload, size)));
        if let Some(trigger) = repeated {
            for count in [&mut direction.loss.retransmitted, &mut direction.loss.by_trigger[trigger as usize]] {
                *count = count.saturating_add(is).saturating_sub(was);
            }
        }
    }
}

/// Payload of a full wire segment with the header of `packet` (RFC 6691: options come out of the segment).
#[inline]
pub fn segment_size(direction: &Direction, packet: &Packet) -> u16 {
    if direction.sent_segment_size > option_bytes(packet) {
        direction.sent_segment_size - option_bytes(packet)
    } else {
        offered_size(direction, packet)
    }
}

/// Payload of a full segment, and whether one was sent.
///
/// Rule: docs/methods.md, "Offloaded segments".
pub(crate) fn full_segments(direction: &Direction, packet: &Packet) -> FullSegments {
    let is_proven = direction.live.as_ref().is_some_and(|live| live.size.uneven.proven);
    FullSegments { bytes: segment_size(direction, packet), is_proven }
}

/// The same by what both sides offer; an Ethernet-size packet is assumed where that is not known.
#[inline]
fn offered_size(direction: &Direction, packet: &Packet) -> u16 {
    let option_bytes = option_bytes(packet);
    if direction.offered_segment_size > option_bytes {
        direction.offered_segment_size - option_bytes
    } else {
        assumed_segment_size(packet)
    }
}

/// Prepares `together` for packets like this one; false if the packet is the first, or its lengths contradict one another.
#[cold]
pub fn begin_together(direction: &mut Direction, packet: &Packet) -> bool {
    if direction.data_packets == 0 {
        return false;
    }
    take_fewer(direction, packet);
    let (segments, segment_size) = wire_segments_of(direction, packet);
    let is_short = is_short(packet.payload_length, segment_size);
    if is_short && tells_of_size(direction, packet) {
        return false;
    }
    if !direction.together.change(packet) {
        direction.settle_counters();
        if !direction.together.change(packet) {
            return false;
        }
    }
    if !is_short {
        direction.live().size.uneven.compare(packet.payload_length);
    }
    direction.together.segment_size = segment_size;
    direction.together.segments = segments;
    direction.together.is_short = is_short;
    direction.together.wanted_flags = if is_short { tcp_flags::PSH } else { 0 };
    direction.largest_payload = direction.largest_payload.max(packet.payload_length);
    true
}

/// Wire segments a data packet stands for.
#[inline]
pub fn wire_segments_of(direction: &Direction, packet: &Packet) -> (u32, u16) {
    let size = segment_size(direction, packet);
    (wire_segments(packet.payload_length, size), size)
}
