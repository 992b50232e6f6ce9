//! Data passing the capture point (docs/methods.md, section 5): new data here, late data in [`crate::tcp::direction::on_old_data`], data that is
//! seen for the first time and was yet sent before in [`crate::tcp::direction::retransmitted_unseen`]. What nearly all packets are goes by
//! [`crate::tcp::direction::fast_path`].

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::frame_sizes::{ETHERNET_PAYLOAD, most_payload};
use crate::tcp::direction::direction::{Half, Live};
use crate::tcp::direction::holes::{Exposure, Hole};
use crate::tcp::events::segment::Segment;
use crate::tcp::events::sent::{Arrived, Delivered, Kind, is_short};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::loss::ip_id::Around;
use crate::tcp::sender::pauses::Resumption;
use crate::tcp::stats::sequence::unwrap;

/// A capture that has the opening of a connection does not miss so many bytes before its first data.
const MOST_MISSED_AT_FIRST: u64 = 1 << 24;

/// Names of [`Kind`] in results, by number.
pub const KIND_NAMES: [&str; 10] =
    ["data", "retransmission", "reordered", "duplicate", "window_probe", "keep_alive", "pure_ack", "syn", "fin", "rst"];

/// What the rules need to know of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings {
    /// Both sides permit SACK.
    pub sack: bool,
    /// Round trip between capture point and sender; 0 if unknown.
    pub sender_loop_ns: i64,
    /// The capture point is beside the sender.
    pub beside_sender: bool,
    /// The capture point is beside the receiver.
    pub beside_receiver: bool,
    /// Highest position the other side has sent.
    pub peer_max: u64,
    /// When the other side last sent something that wants an acknowledgement.
    pub peer_spoke_ns: Option<i64>,
    /// The server sends it: what it sends answers what it was asked. A client asks when it has something to ask.
    pub by_server: bool,
    /// The newest TSval of the other side.
    pub peer_tsval: Option<u32>,
    /// Round trip of the handshake, if it was measured.
    pub handshake_rtt_ns: Option<i64>,
}

/// A data packet at its place in the stream.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Position of its first byte.
    pub start: u64,
    /// Position after its last byte.
    pub end: u64,
    /// Payload of a full wire segment.
    pub segment_size: u16,
    /// Time of the data packet before it.
    pub last_data_ns: Option<i64>,
    /// What else is known.
    pub around: &'a Surroundings,
}

impl Placed<'_> {
    /// How long no data has passed.
    pub fn silence_ns(&self) -> i64 {
        self.last_data_ns.map_or(0, |last| self.packet.time_ns.saturating_sub(last))
    }

    /// TSval, if it has one.
    #[inline]
    pub fn tsval(&self) -> Option<u32> {
        self.packet.timestamp()
    }

    /// A record of `start..end`, a part of it.
    #[inline]
    pub fn record(&self, start: u64, end: u64, state: u8) -> Segment {
        let &Packet { time_ns, frame, tsval, .. } = self.packet;
        let length = (end - start) as u32;
        Segment { start, time_ns, length, frame, tsval, segment_size: self.segment_size, state }
    }
}

impl Half {
    /// Takes a data packet (not one captured twice).
    #[inline]
    pub fn data(&mut self, packet: &Packet, around: &Surroundings, delivered: &mut Delivered) -> Arrived {
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
        if contiguous && self.segment_size_changes(packet, segment_size, around.peer_max) {
            (segments, segment_size) = self.wire_segments_of(packet);
        }
        self.count_data(packet, segments);
        let live = Live::of(&mut self.live);
        let placed =
            Placed { packet, start, end, segment_size, last_data_ns: live.rates.spacing.last_time_ns(), around };
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
        let live = Live::of(&mut self.live);
        live.size.segment_size = segment_size;
        let is_asked = around.peer_max > live.peer_max_then;
        let is_short = is_short(packet.payload_length, segment_size);
        live.size.short_packets += u32::from(is_short);
        if packet.ip_version == 4 {
            if end < self.max && !recovering {
                live.note_unseen_tail(&placed, self.una, self.max);
            }
            let in_order = contiguous && arrived.kind == Kind::Data;
            let before = live.last_data.length;
            // What was acknowledged before it came took its numbers, too: the capture has missed that.
            let in_order = in_order && live.last_data.is_followed_by(start);
            let whole = in_order && (!live.holes.reach_beyond(self.una) || live.size.uneven.may_hold_more(before));
            let most_bytes = u32::from(most_payload(self.accepted_segment_size, packet));
            live.loss.identifications.most_bytes = most_bytes.min(ETHERNET_PAYLOAD);
            let numbered = Around { whole, acknowledges: 0, payload_bytes: packet.payload_length };
            live.loss.identifications.add(packet.ip_id, segments, contiguous, || numbered);
            if end == self.max {
                live.loss.highest_identification = live.loss.identifications.next_position();
            }
        }
        if end == self.max {
            live.peer_max_then = around.peer_max;
        }
        arrived.spacing_ns = live.rates.spacing.add(packet.time_ns, packet.frame);
        self.last_sent.0 = packet.time_ns;
        if packet.options & option_bits::TIMESTAMPS != 0 {
            live.hear(packet);
        }
        if let Some(spoke_ns) = around.peer_spoke_ns.filter(|_| is_asked) {
            live.view.takes_its_turn(packet.time_ns, spoke_ns, around.by_server);
        }
        let largest_send = u64::from(self.largest_payload);
        let resumption = || Resumption::of(packet, live.last_data.has_push(), around.peer_tsval);
        live.view.sent(packet.time_ns, [start, end], u64::from(segment_size), largest_send, resumption);
        live.last_data.set(packet, self.max, is_short.then_some(end));
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
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
            self.pass_over(packet, start, placed.around.beside_sender);
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
    pub(crate) fn shows_sent(&mut self, packet: &Packet, peer: &Half, beside_sender: bool) {
        let next = unwrap(self.max, packet.sequence);
        let acknowledges = unwrap(peer.una, packet.acknowledgement);
        let believable = peer.begun && (peer.una..=peer.max).contains(&acknowledges);
        if believable && (2..=FARTHEST_JUMP).contains(&next.saturating_sub(self.max)) && self.fin.is_none() {
            self.pass_over(packet, next, beside_sender);
            self.max = next;
        }
    }
}
