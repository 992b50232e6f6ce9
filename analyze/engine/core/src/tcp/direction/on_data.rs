//! Data passing the capture point (docs/methods.md, section 5): new data here, late data in [`crate::tcp::direction::on_old_data`], data that is
//! seen for the first time and was yet sent before in [`crate::tcp::direction::retransmitted_unseen`]. What nearly all packets are goes by
//! [`crate::tcp::direction::fast_path`].

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::holes::{Exposure, Hole};
use crate::tcp::direction::placed::{Peer, Placed};
use crate::tcp::events::context::Context;
use crate::tcp::events::sent::{Arrived, Data, Delivered, is_short};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// A capture that has the opening of a connection does not miss so many bytes before its first data.
const MOST_MISSED_AT_FIRST: u64 = 1 << 24;

/// Names of [`crate::tcp::events::sent::Kind`] in results, by number.
pub const KIND_NAMES: [&str; 10] =
    ["data", "retransmission", "reordered", "duplicate", "window_probe", "keep_alive", "pure_ack", "syn", "fin", "rst"];

impl Direction {
    /// Takes a data packet (not one captured twice).
    #[inline]
    pub fn data(&mut self, packet: &Packet, context: &Context, peer: Peer<'_>, delivered: &mut Delivered) -> Arrived {
        let first = packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN)));
        if self.data_packets == 0 && unwrap(self.max, first).abs_diff(self.max) > MOST_MISSED_AT_FIRST {
            // It goes on with another answer to the SYN than the one that was taken.
            self.begin(first);
        }
        let start = unwrap(self.max, first);
        let end = start + u64::from(packet.payload_length);
        let contiguous = start == self.max;
        self.take_fewer(packet);
        let (mut segments, mut segment_size) = self.wire_segments_of(packet);
        if contiguous && self.segment_size_changes(packet, segment_size, peer.max()) {
            (segments, segment_size) = self.wire_segments_of(packet);
        }
        self.count_data(packet, segments);
        let live = Live::of(&mut self.live);
        let placed =
            Placed { packet, start, end, segment_size, last_data_ns: live.rates.spacing.last_time_ns(), context, peer };
        let recovering = live.loss.recovery.is_some_and(|recovery| self.una < recovery.point);
        let mut arrived = if start.abs_diff(self.max) > FARTHEST_JUMP {
            return Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() };
        } else if start < self.max {
            self.late_data(&placed, delivered)
        } else if self.was_sent_unseen(&placed) {
            self.unseen_again(&placed, delivered)
        } else {
            self.new_data(&placed, delivered);
            Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() }
        };
        if packet.ip_version == 4 && end < self.max && !recovering {
            Live::of(&mut self.live).note_unseen_tail(&placed, self.una, self.max);
        }
        let is_short = is_short(packet.payload_length, segment_size);
        let (highest, kind) = (self.max, arrived.kind);
        let data =
            Data { packet, start, end, highest, segments, segment_size, is_short, is_contiguous: contiguous, kind };
        let follows = Live::of(&mut self.live).loss.identifications.follows(packet.ip_id);
        arrived.spacing_ns = self.show_sent(data, follows, context, peer);
        arrived
    }

    #[inline]
    fn count_data(&mut self, packet: &Packet, segments: u32) {
        self.data_packets += 1;
        self.data_segments += u64::from(segments);
        self.payload_bytes += u64::from(packet.payload_length);
        self.largest_payload = self.largest_payload.max(packet.payload_length);
        self.superpackets += u64::from(segments > 1);
        if self.first_data_ns.is_none() {
            self.first_data_ns = Some(packet.time_ns);
            self.first_data_frame = packet.frame;
            self.last_data_ns = packet.time_ns;
        }
    }

    #[inline]
    fn new_data(&mut self, placed: &Placed<'_>, delivered: &mut Delivered) {
        let &Placed { packet, start, end, .. } = placed;
        if self.data_packets == 1 {
            self.note_wait_before_first(placed);
        }
        if start > self.max {
            self.note_first_flight_lost(placed);
            self.pass_over(packet, start, placed.context.beside_sender);
        }
        let live = Live::of(&mut self.live);
        live.segments.push(placed.record(start, end, 0));
        if packet.payload_length == 1 && live.acks.window_closed {
            live.loss.probed_at = Some(start);
            self.loss.probes += 1;
        }
        self.unique_payload_bytes += end - start;
        self.max = end;
        delivered.add(start, end, false);
    }

    /// `packet` shows that everything up to `end` has been sent.
    fn pass_over(&mut self, packet: &Packet, end: u64, beside_sender: bool) {
        let tsval = packet.timestamp();
        let exposure = Exposure { time_ns: packet.time_ns, tsval, ip_id: packet.ip_id, by_acknowledgement: false };
        let hole = Hole { start: self.max, end, exposure };
        let nothing_new_seen = self.max == self.base;
        let live = Live::of(&mut self.live);
        if let Some(before) = live.before.as_mut().filter(|_| nothing_new_seen) {
            // What came until now was sent again.
            before.holes.push(hole);
            return;
        }
        live.holes.push(hole);
        if !beside_sender {
            live.loss.recovering.start(packet.time_ns);
            live.rates.series.lost(packet.time_ns, end - self.max);
        }
    }

    /// An acknowledgement's own sequence number is that of the next byte (RFC 9293 section 3.10.7.4): if it lies ahead of all
    /// that was seen, what is between has been sent. A position alone may be that of a FIN.
    #[cold]
    pub(crate) fn shows_sent(&mut self, packet: &Packet, peer: &Direction, beside_sender: bool) {
        let next = unwrap(self.max, packet.sequence);
        let acknowledges = unwrap(peer.una, packet.acknowledgement);
        let believable = peer.begun && (peer.una..=peer.max).contains(&acknowledges);
        if believable && (2..=FARTHEST_JUMP).contains(&next.saturating_sub(self.max)) && self.fin.is_none() {
            self.pass_over(packet, next, beside_sender);
            self.max = next;
        }
    }
}
