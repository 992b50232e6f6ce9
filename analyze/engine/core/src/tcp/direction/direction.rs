//! One direction of a connection: the data one side sends, and what its peer says of it.
//!
//! [`Direction`] is small and lives from the first packet on (a port scan makes millions of them); [`Live`] holds what only
//! conversations need and is made with the first segment that is not part of opening. The rules are functions of the other files:
//! [`crate::tcp::direction::on_data`] takes data, [`crate::tcp::direction::on_ack`] takes what the peer says, [`crate::tcp::direction::loss_trigger`] tells why
//! something was retransmitted.

use crate::packet::Packet;
use crate::tcp::capture::capture::Capture;
use crate::tcp::capture::checksums::Checksums;
use crate::tcp::direction::ack_signs::AckSigns;
use crate::tcp::direction::advertised_window::AdvertisedWindow;
use crate::tcp::direction::byte_ledger::{ByteLedger, Together};
use crate::tcp::direction::holes::Holes;
use crate::tcp::direction::last_data::LastData;
use crate::tcp::direction::send_queue::SegmentQueue;
use crate::tcp::direction::sent_before::Before;
use crate::tcp::direction::sizes::SegmentSize;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::segment::Segment;
use crate::tcp::loss::loss::Loss;
use crate::tcp::loss::retransmissions::LossCounters;
use crate::tcp::rates::rates::Rates;
use crate::tcp::rtt::samples::RoundTrips;
use crate::tcp::sender::nagle::NagleWatch;
use crate::tcp::sender::view::SenderView;
use crate::tcp::stats::sequence::first_position;

/// One direction of a connection.
#[derive(Debug, Clone, Default)]
pub struct Direction {
    /// Where positions begin is known.
    pub begun: bool,
    /// The SYN or the SYN-ACK of the connection was seen.
    pub opening_seen: bool,
    /// The capture began in mid-stream, and the peer has not acknowledged anything since.
    pub unheard: bool,
    /// Position of the first payload byte (or of the first byte seen).
    pub base: u64,
    /// Position after the highest byte seen or acknowledged.
    pub max: u64,
    /// Position up to which the peer has acknowledged.
    pub una: u64,
    /// The side's SYN.
    pub offer: Offer,
    /// Largest segment that both sides take, without options; 0 if neither has said.
    pub offered_segment_size: u16,
    /// Largest segment that its peer takes, without options; 0 if the peer has not said.
    pub accepted_segment_size: u16,
    /// Payload and options of a full segment as the side sends them; 0 unless that is known to differ from what both take.
    pub sent_segment_size: u16,
    /// A FIN was seen, at this position.
    pub fin: Option<u64>,
    /// When the FIN passed first.
    pub fin_ns: Option<i64>,
    /// That FIN has been acknowledged, at this time.
    pub fin_acknowledged_ns: Option<i64>,
    /// Time to live of the first packet.
    pub ttl: u8,
    /// All packets but those captured twice.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Wire segments with payload.
    pub data_segments: u64,
    /// Payload bytes.
    pub payload_bytes: u64,
    /// Payload bytes, each position once.
    pub unique_payload_bytes: u64,
    /// Largest payload of one frame.
    pub largest_payload: u32,
    /// Frames that held more than one wire segment.
    pub superpackets: u64,
    /// Packets that came in IP fragments.
    pub in_fragments: u32,
    /// Time of the first data packet, and of the last data packet or acknowledgement of data.
    pub first_data_ns: Option<i64>,
    /// See `first_data_ns`.
    pub last_data_ns: i64,
    /// The frame of the first data packet.
    pub first_data_frame: u32,
    /// When its last data packet passed.
    pub last_sent: LastSent,
    /// In-order data that is not in the counters above and in `ledger` yet.
    pub together: Together,
    /// Losses and copies.
    pub loss: LossCounters,
    /// Segments whose checksum was looked at.
    pub checksums: Checksums,
    /// The window its peer advertises.
    pub window: AdvertisedWindow,
    /// Bytes by purpose.
    pub ledger: ByteLedger,
    /// What conversations need.
    pub live: Option<Box<Live>>,
}

/// A time later than that of any packet as long as there was none.
#[derive(Debug, Clone, Copy)]
pub struct LastSent(pub i64);

impl LastSent {
    /// As long as nothing was sent: later than any packet.
    pub const NEVER: Self = Self(Packet::NEVER_NS);
}

impl Default for LastSent {
    fn default() -> Self {
        Self::NEVER
    }
}

/// See [`Direction`].
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// Data outstanding.
    pub segments: SegmentQueue,
    /// Data passed over.
    pub holes: Holes,
    /// What was sent before a capture that begins in mid-stream.
    pub before: Option<Box<Before>>,
    /// Round trips.
    pub round_trips: RoundTrips,
    /// Acknowledgements that were delayed, and what waited for them.
    pub(crate) nagle: Option<Box<NagleWatch>>,
    /// The last data packet, for gaps that may follow.
    pub last_data: LastData,
    /// Flight and window as the sender saw them.
    pub view: SenderView,
    /// Position after the highest byte that the peer had sent by then.
    pub peer_max_then: u64,
    /// How large its segments are.
    pub size: SegmentSize,
    /// What acknowledgements of it showed.
    pub acks: AckSigns,
    /// Its losses and retransmissions.
    pub loss: Loss,
    /// What passed in which time.
    pub rates: Rates,
    /// What the capture did to it.
    pub capture: Capture,
}

/// The direction of a side (0 is the client's) and that of its peer.
#[inline(always)]
pub fn direction_and_peer(directions: &mut [Direction; 2], side: usize) -> [&mut Direction; 2] {
    let [client, server] = directions;
    if side == 0 { [client, server] } else { [server, client] }
}

impl Live {
    /// The conversation state at its place in a [`Direction`], made on first use. It is asked for several times a packet, so that the
    /// question must not be a call.
    #[inline(always)]
    pub fn of(place: &mut Option<Box<Self>>) -> &mut Self {
        match place {
            Some(live) => live,
            nothing => nothing.insert(Self::new()),
        }
    }

    #[cold]
    #[inline(never)]
    fn new() -> Box<Self> {
        Box::default()
    }

    /// Bytes that are outstanding and no more in flight (RFC 6675). After a timeout everything is lost that was not retransmitted,
    /// with or without a report of what arrived.
    #[inline(always)]
    pub(super) fn relief_bytes(&self) -> u64 {
        let (lost, resent) = self.segments.lost_and_resent();
        (self.acks.scoreboard.total() + lost).saturating_sub(resent)
    }

    /// Makes it as new, for another connection: only the room of its lists stays. Each tracker at its place, since all of them made
    /// elsewhere would have to be copied, and each by name, so that the compiler misses none. A test compares it with a new one.
    pub fn renew(&mut self) {
        let Self {
            segments,
            holes,
            before,
            round_trips,
            nagle,
            last_data,
            view,
            peer_max_then,
            size,
            acks,
            loss,
            rates,
            capture,
        } = self;
        *segments = segments.renewed();
        *round_trips = round_trips.renewed();
        *view = view.renewed();
        (*holes, *before, *nagle) = Default::default();
        *last_data = Default::default();
        *peer_max_then = 0;
        *rates = rates.renewed();
        *size = Default::default();
        *acks = Default::default();
        *loss = Default::default();
        *capture = Default::default();
    }
}

impl Direction {
    /// Bookkeeping that every packet gets which is no copy.
    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet) {
        if self.ttl == 0 {
            self.ttl = packet.ttl;
        }
        self.add_packets(1, u64::from(packet.wire_length));
    }

    #[inline(always)]
    fn add_packets(&mut self, packets: u64, wire_bytes: u64) {
        self.packets += packets;
        self.wire_bytes += wire_bytes;
    }

    /// Packets with data, each a segment.
    #[inline(always)]
    pub(super) fn add_data(&mut self, packets: u64, payload_bytes: u64) {
        self.data_packets += packets;
        self.data_segments += packets;
        self.payload_bytes += payload_bytes;
    }

    /// A frame of data is cut into so many segments.
    #[inline(always)]
    pub(super) fn add_cut(&mut self, segments: u32) {
        if segments > 1 {
            self.superpackets += 1;
            self.data_segments += u64::from(segments - 1);
        }
    }

    /// Data behind all that was sent: it is outstanding.
    #[inline(always)]
    pub(super) fn append(&mut self, segment: Segment) -> &mut Live {
        self.max = segment.end();
        let live = Live::of(&mut self.live);
        live.segments.push(segment);
        live
    }

    /// Sets where positions begin: at a SYN, `position` is behind it. What was known of other positions is forgotten.
    pub fn begin(&mut self, first_sequence: u32) {
        let position = first_position(first_sequence);
        self.begun = true;
        self.live = None;
        self.last_sent = LastSent::default();
        (self.base, self.max, self.una) = (position, position, position);
    }

    /// The conversation state, made on first use.
    #[inline]
    pub fn live(&mut self) -> &mut Live {
        Live::of(&mut self.live)
    }

    /// Brings all packets into the counters.
    pub fn settle_counters(&mut self) {
        let together = &self.together;
        let (packets, payload_bytes, wire_bytes) =
            (together.packets(), together.payload_bytes(), together.wire_bytes());
        self.add_packets(packets, wire_bytes);
        self.add_data(packets, payload_bytes);
        self.unique_payload_bytes += payload_bytes;
        self.ledger.add_together(&self.together);
        self.together = Together::default();
    }

    /// Sequence space in flight as the capture knows it: no hole, nothing outstanding.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.max
    }

    /// All packets but those captured twice, those included that are not in the counters yet.
    pub fn packets_so_far(&self) -> u64 {
        self.packets + self.together.packets()
    }

    /// Packets with payload, those included that are not in the counters yet.
    pub fn data_packets_so_far(&self) -> u64 {
        self.data_packets + self.together.packets()
    }

    /// Positions acknowledged, cumulatively or selectively.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.stream_offset(self.una) + self.live.as_ref().map_or(0, |live| live.acks.scoreboard.total())
    }

    /// The newest timestamp of its packets.
    pub(crate) fn newest_tsval(&self) -> Option<u32> {
        self.live.as_deref().and_then(|live| live.capture.clock.newest())
    }

    /// When the last packet with data or FIN passed.
    pub fn spoke_ns(&self) -> Option<i64> {
        self.live.as_ref().and_then(|live| live.rates.spacing.last_time_ns()).max(self.fin_ns)
    }

    /// Payload position counted from the first byte of the direction.
    #[inline]
    pub fn stream_offset(&self, position: u64) -> u64 {
        position.saturating_sub(self.base)
    }

    /// Bytes the peer acknowledged that the capture never saw. A FIN takes a position and is no byte: if the capture has
    /// missed it, it is the last position acknowledged, where the peer has closed or nothing else is missing there.
    pub fn unseen_acknowledged_bytes(&self, peer_closed: bool) -> u64 {
        // Of most nothing is missing.
        let misses = |live: &&Live| live.before.is_some() || !live.holes.is_empty() || live.holes.have_forgotten();
        let Some(live) = self.live.as_deref().filter(misses) else { return 0 };
        let fin = u64::from(self.fin.is_some());
        let unseen = live.holes.bytes_below(self.una.saturating_sub(fin));
        let last = self.una.saturating_sub(1);
        let last_missing = fin == 0 && self.una == self.max && live.holes.missing(last, self.una).0 == 1;
        let trips = &live.round_trips.moments;
        let longest_rtt_ns = (trips.count > 0).then(|| i64::try_from(trips.max_ns).unwrap_or(i64::MAX));
        let before = live.before.as_ref().map_or(0, |before| before.unseen_bytes(self.una, longest_rtt_ns));
        let alone = live.holes.missing(last.saturating_sub(1), last).0 == 0;
        before + unseen.saturating_sub(u64::from(last_missing && (peer_closed || alone)))
    }
}
