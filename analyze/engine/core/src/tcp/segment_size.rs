//! How large the segments of one side are when its application gives enough: the effective send MSS (RFC 9293 section 3.7.1).
//!
//! What both sides offer only bounds it. A path may take less (RFC 1191: tunnels, jumbo frames that end on the way), and some
//! senders keep room for options they do not send. Whoever takes the offer for the size then finds that every segment is
//! short, as if the application had no more to give, and counts too few segments in a frame of many.
//!
//! A segment without PSH is not the last of what the application wrote. Some in a row whose lengths have one measure are made
//! of segments of that size. What was counted by another size before is then counted anew.

use super::arrival::is_short;
use super::half::{Half, Live};
use super::ip_id::Fewer;
use super::loss::Trigger;
use super::segments::wire_segments;
use crate::packet::{Packet, tcp_flags};

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
const LEAST_SIZE: u32 = 500;
/// So many frames that were counted before the size was known are counted anew.
const MOST_EARLY: usize = 64;

/// What is known of frames that hold no multiple of a full segment.
#[derive(Debug, Default)]
pub struct UnevenFrames {
    row: Row,
    /// Those of which the number of segments depends on the size.
    early: Vec<EarlyFrame>,
    /// A frame of full segments, as they are thought to be, was sent.
    proven: bool,
}

#[derive(Debug, Clone, Copy)]
struct EarlyFrame {
    payload: u32,
    /// Why it was sent again, if it was.
    repeated: Option<Trigger>,
}

/// Frames in a row that held no multiple of a full segment, though more was to come.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
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
    pub(super) fn compare(&mut self, payload: u32) {
        self.proven = true;
        if self.row.count > 0 && greatest_common_divisor(self.row.measure, payload) < LEAST_SIZE {
            self.row.count = 0;
        }
    }

    /// A frame of `payload` may hold more segments than it is thought to.
    #[inline]
    pub(super) fn may_hold_more(&self, payload: u32) -> bool {
        !self.proven && payload > ETHERNET_PAYLOAD
    }

    #[cold]
    pub(super) fn remember(&mut self, payload: u32, repeated: Option<Trigger>) {
        if self.early.len() < MOST_EARLY {
            self.early.push(EarlyFrame { payload, repeated });
        }
    }
}

impl Row {
    /// Another one. The row begins anew if it has no measure with the others, or is an answer to something else; then `known`
    /// is the size that was learned before, or 0.
    fn add(&mut self, packet: &Packet, known: u16, peer_max: u64) {
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
    fn segment_size(&self, most: u16) -> Option<u16> {
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

impl Half {
    /// Learns from a packet of new data in order how large the segments are; true if they are not what they were thought to be.
    #[inline]
    pub(super) fn segment_size_changes(&mut self, packet: &Packet, segment_size: u16, peer_max: u64) -> bool {
        if is_short(packet.payload_length, segment_size) {
            self.tells_of_size(packet) && self.take_uneven(packet, segment_size, peer_max)
        } else {
            Live::of(&mut self.live).uneven.compare(packet.payload_length);
            false
        }
    }

    /// A packet with less than a full segment at its end tells more than that its application has paused.
    pub(super) fn tells_of_size(&mut self, packet: &Packet) -> bool {
        !ends_a_write(packet) || Live::of(&mut self.live).uneven.may_hold_more(packet.payload_length)
    }

    #[cold]
    fn take_uneven(&mut self, packet: &Packet, segment_size: u16, peer_max: u64) -> bool {
        // What follows is compared with it.
        self.settle_counters();
        // A side may send more than it takes itself.
        let most = most_payload(self.accepted_segment_size, packet).max(self.offered_size(packet));
        let known = self.sent_segment_size.saturating_sub(option_bytes(packet));
        let uneven = &mut Live::of(&mut self.live).uneven;
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
        self.set_segment_size(packet, size);
        true
    }

    /// Some frames stand for fewer segments than they were taken for, by the numbers of what followed them.
    #[inline(always)]
    pub(super) fn takes_fewer(&self) -> bool {
        self.live.as_deref().is_some_and(|live| live.identifications.are_fewer)
    }

    /// Counts those anew; and learns from two in a row that the segments have become larger, as those of a sender do that probes
    /// what the path takes (RFC 4821).
    #[inline(always)]
    pub(super) fn take_fewer(&mut self, packet: &Packet) {
        if self.takes_fewer() {
            self.learn_from_fewer(packet);
        }
    }

    #[cold]
    fn learn_from_fewer(&mut self, packet: &Packet) {
        if let Some(size) = self.settle_fewer().filter(|size| *size > self.segment_size(packet)) {
            self.settle_counters();
            Live::of(&mut self.live).uneven = UnevenFrames::default();
            self.send_size(packet, size);
        }
    }

    /// Counts them anew; gives the size that they tell.
    #[cold]
    pub(super) fn settle_fewer(&mut self) -> Option<u16> {
        let live = self.live.as_deref_mut()?;
        let Fewer { segments, frames, full, full_bytes, .. } = live.identifications.take_fewer();
        live.short_packets = live.short_packets.saturating_sub(full);
        self.data_segments = self.data_segments.saturating_sub(u64::from(segments));
        self.superpackets = self.superpackets.saturating_sub(u64::from(frames));
        full_bytes.and_then(|bytes| u16::try_from(bytes).ok())
    }

    /// Learns from a copy between two interfaces: what a frame was cut into is a full segment, as far as more of it follows.
    pub(super) fn learn_size_from_head(&mut self, packet: &Packet) {
        let size = packet.payload_length;
        let may_be_full = (LEAST_SIZE..=ETHERNET_PAYLOAD).contains(&size) && !ends_a_write(packet);
        let full = self.full_segments(packet);
        if !may_be_full || full.is_proven || size == u32::from(full.bytes) {
            return;
        }
        if Live::of(&mut self.live).recent.is_head_of_frame(packet) {
            self.settle_counters();
            self.set_segment_size(packet, size as u16);
        }
    }

    fn set_segment_size(&mut self, packet: &Packet, size: u16) {
        self.count_anew(self.segment_size(packet), size);
        self.send_size(packet, size);
    }

    fn send_size(&mut self, packet: &Packet, size: u16) {
        self.sent_segment_size = if size == self.offered_size(packet) { 0 } else { size + option_bytes(packet) };
    }

    /// Counts by segments of `size` what was counted by segments of another size, unless numbers show that it was as many.
    fn count_anew(&mut self, other_size: u16, size: u16) {
        let live = Live::of(&mut self.live);
        let uneven = std::mem::take(&mut live.uneven);
        if live.identifications.looks_consecutive() {
            return;
        }
        for EarlyFrame { payload, repeated } in uneven.early {
            let [was, is] = [other_size, size].map(|size| wire_segments(payload, size));
            self.data_segments = (self.data_segments + u64::from(is)).saturating_sub(u64::from(was));
            self.superpackets = (self.superpackets + u64::from(is > 1)).saturating_sub(u64::from(was > 1));
            live.short_packets = live.short_packets.saturating_sub(u32::from(!is_short(payload, size)));
            if let Some(trigger) = repeated {
                for count in [&mut self.loss.retransmitted, &mut self.loss.by_trigger[trigger as usize]] {
                    *count = count.saturating_add(is).saturating_sub(was);
                }
            }
        }
    }

    /// Payload of a full wire segment with the header of `packet` (RFC 6691: options come out of the segment).
    #[inline]
    pub fn segment_size(&self, packet: &Packet) -> u16 {
        if self.sent_segment_size > option_bytes(packet) {
            self.sent_segment_size - option_bytes(packet)
        } else {
            self.offered_size(packet)
        }
    }

    /// Payload of a full segment, and whether one was sent.
    pub(super) fn full_segments(&self, packet: &Packet) -> FullSegments {
        let is_proven = self.live.as_ref().is_some_and(|live| live.uneven.proven);
        FullSegments { bytes: self.segment_size(packet), is_proven }
    }

    /// The same by what both sides offer; an Ethernet-size packet is assumed where that is not known.
    #[inline]
    fn offered_size(&self, packet: &Packet) -> u16 {
        let option_bytes = option_bytes(packet);
        if self.offered_segment_size > option_bytes {
            self.offered_segment_size - option_bytes
        } else {
            assumed_segment_size(packet)
        }
    }
}

/// The most that a segment may hold for a peer that accepts so much; 0 if that is not known.
#[inline]
pub(super) fn most_payload(accepted_segment_size: u16, packet: &Packet) -> u16 {
    accepted_segment_size.saturating_sub(option_bytes(packet))
}

/// It holds the last of what an application wrote.
fn ends_a_write(packet: &Packet) -> bool {
    packet.has(tcp_flags::PSH) || packet.has(tcp_flags::FIN)
}

#[inline]
fn option_bytes(packet: &Packet) -> u16 {
    u16::from(packet.tcp_header_length).saturating_sub(20)
}

/// The payload of a full packet when no handshake was seen: that of an Ethernet or jumbo packet.
#[cold]
fn assumed_segment_size(packet: &Packet) -> u16 {
    let headers = packet.ip_header_length + u16::from(packet.tcp_header_length);
    let payload = packet.payload_length;
    let jumbo = JUMBO_MTUS.into_iter().map(|mtu| mtu.saturating_sub(headers)).find(|&size| payload == u32::from(size));
    jumbo.unwrap_or_else(|| ETHERNET_MTU.saturating_sub(headers).max(DEFAULT_SEGMENT_SIZE))
}
