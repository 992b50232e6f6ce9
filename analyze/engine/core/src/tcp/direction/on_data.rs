//! Data passing the capture point (docs/methods.md, section 5): new data here, late data in [`crate::tcp::direction::on_old_data`], data that is
//! seen for the first time and was yet sent before in [`crate::tcp::direction::retransmitted_unseen`]. What nearly all packets are goes by
//! [`crate::tcp::direction::fast_path`].

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::byte_ledger::Together;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::placed::{Peer, Placed};
use crate::tcp::direction::{observers, on_old_data, passed_over, retransmitted_unseen, segment_size};
use crate::tcp::events::context::Context;
use crate::tcp::events::segment::Segment;
use crate::tcp::events::sent::{Arrived, Data, Delivered, SentKind, is_short};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// A capture that has the opening of a connection does not miss so many bytes before its first data.
const MOST_MISSED_AT_FIRST: u64 = 1 << 24;

/// Names of [`crate::tcp::events::sent::SentKind`] in results, by number.
pub const KIND_NAMES: [&str; 10] =
    ["data", "retransmission", "reordered", "duplicate", "window_probe", "keep_alive", "pure_ack", "syn", "fin", "rst"];

/// Takes a data packet (not one captured twice).
#[inline]
pub fn data(
    direction: &mut Direction,
    packet: &Packet,
    context: &Context,
    peer: Peer<'_>,
    delivered: &mut Delivered,
) -> Arrived {
    let first = packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN)));
    if direction.data_packets == 0 {
        begin_with_first(direction, packet, first);
    }
    let start = unwrap(direction.max, first);
    let end = start + u64::from(packet.payload_length);
    let contiguous = start == direction.max;
    segment_size::take_fewer(direction, packet);
    let (mut segments, mut segment_size) = segment_size::wire_segments_of(direction, packet);
    if contiguous && segment_size::segment_size_changes(direction, packet, segment_size, peer.max()) {
        (segments, segment_size) = segment_size::wire_segments_of(direction, packet);
    }
    count_data(direction, packet, segments);
    let live = Live::of(&mut direction.live);
    let placed =
        Placed { packet, start, end, segment_size, last_data_ns: live.rates.spacing.last_time_ns(), context, peer };
    let recovering = live.loss.recovery.is_some_and(|recovery| direction.una < recovery.point);
    let mut arrived = if start.abs_diff(direction.max) > FARTHEST_JUMP {
        return Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() };
    } else if start < direction.max {
        on_old_data::late_data(direction, &placed, delivered)
    } else if retransmitted_unseen::was_sent_unseen(direction, &placed) {
        retransmitted_unseen::unseen_again(direction, &placed, delivered)
    } else {
        new_data(direction, &placed, delivered);
        Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() }
    };
    if packet.ip_version == 4 && end < direction.max && !recovering {
        retransmitted_unseen::note_unseen_tail(Live::of(&mut direction.live), &placed, direction.una, direction.max);
    }
    let is_short = is_short(packet.payload_length, segment_size);
    let (highest, kind) = (direction.max, arrived.kind);
    let data = Data { packet, start, end, highest, segments, segment_size, is_short, is_contiguous: contiguous, kind };
    let follows = Live::of(&mut direction.live).loss.identifications.follows(packet.ip_id);
    arrived.spacing_ns = observers::show_sent(direction, data, follows, context, peer);
    arrived
}

/// The first data of a side, from `first` on, may show that its stream begins elsewhere than its SYN says.
#[inline(never)]
fn begin_with_first(direction: &mut Direction, packet: &Packet, first: u32) {
    if unwrap(direction.max, first).abs_diff(direction.max) > MOST_MISSED_AT_FIRST {
        // It goes on with another answer to the SYN than the one that was taken.
        direction.begin(first);
    }
    // Programs that write packets by hand forget that a SYN takes a number. One byte there is a keep-alive.
    let is_at_syn = direction.opening_seen && unwrap(direction.max, first) + 1 == direction.base;
    if is_at_syn && packet.payload_length > 1 && direction.max == direction.base && direction.una == direction.base {
        let Direction { base, max, una, .. } = direction;
        [base, max, una].into_iter().for_each(|position| *position -= 1);
    }
}

#[inline]
fn count_data(direction: &mut Direction, packet: &Packet, segments: u32) {
    direction.add_data(1, u64::from(packet.payload_length));
    direction.add_cut(segments);
    direction.largest_payload = direction.largest_payload.max(packet.payload_length);
    if direction.first_data_ns.is_none() {
        direction.first_data_ns = Some(packet.time_ns);
        direction.first_data_frame = packet.frame;
        direction.last_data_ns = packet.time_ns;
    }
}

#[inline]
fn new_data(direction: &mut Direction, placed: &Placed<'_>, delivered: &mut Delivered) {
    let &Placed { packet, start, end, .. } = placed;
    if direction.data_packets == 1 {
        retransmitted_unseen::note_wait_before_first(direction, placed);
    }
    if start > direction.max {
        retransmitted_unseen::note_first_flight_lost(direction, placed);
        passed_over::pass_over(direction, packet, start, placed.context.beside_sender);
    }
    let live = direction.append(placed.record(start, end, 0));
    if packet.payload_length == 1 && live.acks.window_closed {
        live.loss.probed_at = Some(start);
        direction.loss.probes += 1;
    }
    direction.unique_payload_bytes += end - start;
    delivered.add(start, end, false);
}

/// Takes the next data in order that [`fast_path`](crate::tcp::direction::fast_path) has proved to be no more than that, and that
/// goes together with what came before; with as much of it as [`observers::show_sent`] wants.
#[inline(always)]
pub fn next_data(direction: &mut Direction, packet: &Packet, follows: bool, context: &Context, peer: Peer<'_>) {
    direction.together.add();
    let Together { segment_size, segments, is_short, .. } = direction.together;
    direction.add_cut(segments);
    let start = direction.max;
    let end = start + u64::from(packet.payload_length);
    direction.append(Segment::of(packet, [start, end], segment_size, 0));
    let (is_contiguous, kind) = (true, SentKind::Data);
    let data = Data { packet, start, end, highest: end, segments, segment_size, is_short, is_contiguous, kind };
    observers::show_sent(direction, data, follows, context, peer);
}
