//! Packets that come when their connection has been put away: counted in what is left of it. What no window allows touches
//! nothing else, as before ([`crate::tcp::connection::acceptable`]).

use crate::packet::{Packet, tcp_flags};
use crate::tcp::capture::recent_packets::signature;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::kernel::{LONGEST_DISTANCE_NS, NEAR_BYTES};
use crate::tcp::limits::after_data;
use crate::tcp::stats::sequence::serial_difference;
use crate::tcp::summary::summary::ConnectionSummary;

/// What was sent so many bytes before the end may still be under way, or be retransmitted: four of the largest windows.
const FARTHEST_BEHIND: i32 = 1 << 28;

/// A packet that came after the connection had been put away. True if it was captured twice.
pub fn add_straggler(summary: &mut ConnectionSummary, packet: &Packet, bytes: &[u8], side: usize) -> bool {
    let signature = signature(packet, bytes);
    let repeats_the_last = summary.ended_by == signature
        && packet.time_ns.saturating_sub(summary.ended_by_ns).saturating_abs() <= LONGEST_DISTANCE_NS;
    let repeats_another = summary
        .kept
        .as_ref()
        .and_then(|kept| kept.recent.as_ref())
        .is_some_and(|recent| recent[side].age_ns(packet, bytes, LONGEST_DISTANCE_NS).is_some());
    if repeats_the_last || repeats_another || is_rewritten(summary, packet, side) {
        summary.directions[side].loss.capture_duplicates += 1;
        return true;
    }
    if is_outside(summary, packet, side) {
        summary.directions[side].loss.unacceptable += 1;
        return false;
    }
    (summary.ended_by, summary.ended_by_ns) = (signature, packet.time_ns);
    if let Some(recent) = summary.kept.as_mut().and_then(|kept| kept.recent.as_mut()) {
        recent[side].remember(packet, bytes);
    }
    let direction = &mut summary.directions[side];
    direction.packets += 1;
    direction.wire_bytes += u64::from(packet.wire_length);
    if packet.has(tcp_flags::SYN) && !summary.openings_seen[side] {
        summary.openings_seen[side] = true;
        direction.ledger.add_first_transmission(packet);
    } else if packet.has(tcp_flags::SYN) {
        direction.loss.syn += 1;
        direction.ledger.add_retransmission(packet, 0);
    } else if packet.has(tcp_flags::RST) {
        summary.reset_by.get_or_insert(side as u8);
        direction.ledger.add_first_transmission(packet);
    } else if packet.payload_length == 0 && packet.has(tcp_flags::FIN) {
        direction.loss.fin += 1;
        direction.ledger.add_retransmission(packet, 0);
    } else if packet.payload_length == 0 {
        direction.ledger.add_acknowledgement(packet);
    } else {
        let segments = crate::tcp::events::segment::wire_segments(packet.payload_length, direction.segment_size);
        direction.data_segments += u64::from(segments);
        direction.loss.retransmitted = direction.loss.retransmitted.saturating_add(segments);
        direction.loss.retransmitted_bytes += u64::from(packet.payload_length);
        direction.loss.by_trigger[Trigger::Unknown as usize] =
            direction.loss.by_trigger[Trigger::Unknown as usize].saturating_add(segments);
        direction.loss.spurious = direction.loss.spurious.saturating_add(segments);
        direction.data_packets += 1;
        direction.payload_bytes += u64::from(packet.payload_length);
        direction.ledger.add_retransmission(packet, 0);
    }
    if packet.time_ns > summary.end_ns {
        end_later(summary, packet);
    }
    false
}

/// Everything that ends with the connection ends with this packet.
fn end_later(summary: &mut ConnectionSummary, packet: &Packet) {
    summary.end_ns = packet.time_ns;
    let limits = summary.judgement.iter_mut().flat_map(|judgement| judgement.limits.iter_mut());
    limits.flatten().for_each(|limits| after_data::take_straggler(limits, packet.time_ns, packet.frame));
}

/// The client's number in the packet is that of the other side of a device that rewrites it.
fn is_rewritten(summary: &ConnectionSummary, packet: &Packet, side: usize) -> bool {
    let moved = summary.kept.as_ref().and_then(|kept| kept.rewritten_by).zip(summary.last_number_of_client());
    moved.zip(client_number(packet, side)).is_some_and(|((by, last), number)| {
        let distance = |number: u32| serial_difference(number, last).unsigned_abs();
        distance(number.wrapping_sub(by)) < distance(number)
    })
}

fn client_number(packet: &Packet, side: usize) -> Option<u32> {
    match side {
        0 => Some(packet.sequence),
        _ => packet.has(tcp_flags::ACK).then_some(packet.acknowledgement),
    }
}

/// A number of the packet lies far from all that the client has sent, which alone is known by then. A SYN has one of its own.
fn is_outside(summary: &ConnectionSummary, packet: &Packet, side: usize) -> bool {
    let ahead = client_number(packet, side)
        .zip(summary.last_number_of_client())
        .map(|(number, last)| serial_difference(number, last));
    !packet.has(tcp_flags::SYN) && ahead.is_some_and(|ahead| !(-FARTHEST_BEHIND..=NEAR_BYTES as i32).contains(&ahead))
}
