//! Sizes of frames: how much payload a full segment holds, and which sizes only offload or a tunnel makes.
//!
//! [`crate::tcp::direction::segment_size`] decides with them what a direction's segments are.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::events::retransmission::Trigger;

/// So many frames in a row show the size. Fewer may be what a window left room for.
const FRAMES: usize = 4;

/// Frames longer than a segment are divided into as few as possible only if each is then at least so much of what the peer
/// takes: paths of little less are frequent, those of half as much are not.
const LEAST_SHARE: (u32, u32) = (3, 4);

/// What an Ethernet frame carries, bytes of IP.
const ETHERNET_MTU: u16 = 1500;

/// Jumbo frames as networks are set up for them, bytes of IP: within an EC2 VPC, in most others, across an EC2 transit gateway.
const JUMBO_MTUS: [u16; 3] = [9001, 9000, 8500];

/// What a peer takes that offers no size (RFC 9293 section 3.7.1).
const DEFAULT_SEGMENT_SIZE: u16 = 536;

/// What fits into an Ethernet frame is not cut further.
pub const ETHERNET_PAYLOAD: u32 = 1460;

/// No path takes less (Linux: `net.ipv4.route.min_pmtu` is 552, of which headers take 52).
pub(crate) const LEAST_SIZE: u32 = 500;

/// So many frames that were counted before the size was known are counted anew.
const MOST_EARLY: usize = 64;

/// What is known of frames that hold no multiple of a full segment.
#[derive(Debug, Clone, Default)]
pub struct UnevenFrames {
    pub(crate) row: SizeRow,
    /// Those of which the number of segments depends on the size.
    pub(crate) early: Vec<EarlyFrame>,
    /// A frame of full segments, as they are thought to be, was sent.
    pub(crate) proven: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlyFrame {
    pub(crate) payload: u32,
    /// Why it was retransmitted, if it was.
    pub(crate) repeated: Option<Trigger>,
}

/// Frames in a row that held no multiple of a full segment, though more was to come.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SizeRow {
    count: usize,
    /// Payload of all but the last.
    bytes_before: u32,
    last: u32,
    /// Greatest common divisor of the payloads.
    measure: u32,
    /// Identification of the first and of the last one.
    identifications: [u16; 2],
    /// Position up to which the peer had sent something.
    peer_max: u64,
}

impl UnevenFrames {
    /// A frame of full segments came: those of the row are not made of smaller ones if they have no measure with it.
    pub(crate) fn compare(&mut self, payload: u32) {
        self.proven = true;
        if self.row.count > 0 && greatest_common_divisor(self.row.measure, payload) < LEAST_SIZE {
            self.row.count = 0;
        }
    }

    /// A frame of `payload` may hold more segments than it is thought to.
    #[inline]
    pub(crate) fn may_hold_more(&self, payload: u32) -> bool {
        !self.proven && payload > ETHERNET_PAYLOAD
    }

    #[cold]
    pub(crate) fn remember(&mut self, payload: u32, repeated: Option<Trigger>) {
        if self.early.len() < MOST_EARLY {
            self.early.push(EarlyFrame { payload, repeated });
        }
    }
}

impl SizeRow {
    /// Another one. The row begins anew if it has no measure with the others, or is an answer to something else; then `known`
    /// is the size that was learned before, or 0.
    pub(crate) fn add(&mut self, packet: &Packet, known: u16, peer_max: u64) {
        let payload = packet.payload_length;
        let goes_on = (1..FRAMES).contains(&self.count) && self.peer_max == peer_max;
        let measure = greatest_common_divisor(if goes_on { self.measure } else { u32::from(known) }, payload);
        if !goes_on || measure < LEAST_SIZE {
            *self = Self { peer_max, identifications: [packet.ip_id; 2], ..Self::default() };
        }
        self.measure = if measure < LEAST_SIZE { payload } else { measure };
        self.identifications[1] = packet.ip_id;
        self.bytes_before = self.bytes_before.saturating_add(self.last);
        self.last = payload;
        self.count += 1;
    }

    /// The size of their segments, of which none is larger than `most`. A single frame of that size leaves no doubt.
    pub(crate) fn segment_size(&self, most: u16) -> Option<u16> {
        let is_clear = self.count == FRAMES || self.measure == u32::from(most);
        let size = self.size_by_identifications(most).or_else(|| self.size_by_fewest(most));
        size.filter(|_| is_clear).and_then(|size| u16::try_from(size).ok())
    }

    fn size_by_fewest(&self, most: u16) -> Option<u32> {
        let fewest = self.measure.div_ceil(u32::from(most.max(1))).max(1);
        let size = self.measure / fewest;
        let (share, of) = LEAST_SHARE;
        let least = if fewest > 1 { u32::from(most) * share / of } else { 0 };
        (size >= least.max(LEAST_SIZE) && self.measure.is_multiple_of(size)).then_some(size)
    }

    /// A sender that numbers its packets counts as many as a frame is cut into (Linux: `ip_select_ident_segs`).
    fn size_by_identifications(&self, most: u16) -> Option<u32> {
        if self.measure <= ETHERNET_PAYLOAD {
            return None;
        }
        let [first, last] = self.identifications;
        let numbers = u32::from(last.wrapping_sub(first));
        let size = self.bytes_before.checked_div(numbers)?;
        let fits = self.bytes_before.is_multiple_of(numbers) && self.measure.is_multiple_of(size.max(1));
        (fits && (LEAST_SIZE..=u32::from(most)).contains(&size)).then_some(size)
    }
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// What is known of full segments.
#[derive(Debug, Clone, Copy)]
pub struct FullSegments {
    /// Payload.
    pub bytes: u16,
    /// One of that size was sent.
    pub is_proven: bool,
}

impl FullSegments {
    /// Payload of the segments of a frame of which number `number` (from 0) begins at `offset`; none if that cannot be.
    pub fn of_frame(&self, number: u32, offset: u32) -> Option<u32> {
        let bytes = u32::from(self.bytes);
        let size = if self.is_proven || number == 0 { bytes } else { offset / number };
        (size >= LEAST_SIZE && offset == number * size).then_some(size)
    }
}

/// The most that a segment may hold for a peer that accepts so much; 0 if that is not known.
#[inline]
pub(crate) fn most_payload(accepted_segment_size: u16, packet: &Packet) -> u16 {
    accepted_segment_size.saturating_sub(option_bytes(packet))
}

/// It holds the last of what an application wrote.
pub(crate) fn ends_a_write(packet: &Packet) -> bool {
    packet.has(tcp_flags::PSH) || packet.has(tcp_flags::FIN)
}

#[inline]
pub(crate) fn option_bytes(packet: &Packet) -> u16 {
    u16::from(packet.tcp_header_length).saturating_sub(20)
}

/// The payload of a full packet when no handshake was seen: that of an Ethernet or jumbo packet.
#[cold]
pub(crate) fn assumed_segment_size(packet: &Packet) -> u16 {
    let headers = packet.ip_header_length + u16::from(packet.tcp_header_length);
    let payload = packet.payload_length;
    let jumbo = JUMBO_MTUS.into_iter().map(|mtu| mtu.saturating_sub(headers)).find(|&size| payload == u32::from(size));
    jumbo.unwrap_or_else(|| ETHERNET_MTU.saturating_sub(headers).max(DEFAULT_SEGMENT_SIZE))
}
