//! Data passing the capture point: new, or late, and if late, what it is (methods, section 6.3).
//!
//! A byte seen before is a retransmission, wherever the capture stands, unless the packet proves older than the one
//! that brought it. A late segment that fills a hole may be the original, delayed on the way, or a retransmission of one
//! that was lost before the capture point: its timestamp against that of the segment which exposed the hole decides;
//! without timestamps the IP identification; without both, the time that has passed.

use super::half::{Half, Live};
use super::holes::{Exposure, Hole};
use super::loss::{MOST_RETRANSMISSIONS, Retransmission, Trigger};
use super::segments::{Segment, state, wire_segments};
use super::sequence::{serial_difference, serial_difference_16, unwrap};
use super::trigger::Evidence;
use crate::packet::{Packet, option_bits, tcp_flags};

/// Jumps in the stream longer than this are nonsense, not holes.
pub const FARTHEST_JUMP: u64 = 1 << 30;
/// Data that comes this soon after its acknowledgement, or behind a later segment beside the sender, was recorded out of
/// order (methods, section 6.0 rule 4).
const RECORDING_DISORDER_NS: i64 = 2_000_000;
/// The least a retransmission timeout waits beyond the round trip in common stacks.
const SMALLEST_TIMEOUT_NS: i64 = 200_000_000;
/// A retransmission cannot answer a hole sooner than this share of the round trip.
const FASTEST_ANSWER: f64 = 0.8;

/// What a packet turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// New data.
    #[default]
    Data,
    /// Data sent before.
    Retransmission,
    /// An original that comes late.
    Reordered,
    /// A copy.
    Duplicate,
    /// A byte or an empty segment sent into a closed window (RFC 9293 section 3.8.6.1).
    WindowProbe,
    /// Keep-alive (RFC 9293 section 3.8.4).
    KeepAlive,
    /// Only an acknowledgement.
    PureAck,
    /// Opens.
    Syn,
    /// Closes, without data.
    Fin,
    /// Aborts.
    Rst,
}

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
    /// The newest TSval of the other side.
    pub peer_tsval: Option<u32>,
    /// User's limit of oversize spacing.
    pub fixed_spacing_limit_ns: Option<u64>,
    /// Round trip of the handshake, if it was measured.
    pub handshake_rtt_ns: Option<i64>,
}

/// What became of a data packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrived {
    /// What it is.
    pub kind: Kind,
    /// Why it was sent again.
    pub trigger: Option<Trigger>,
    /// Payload bytes in it that no packet carried before and that are no retransmission.
    pub first_transmission_bytes: u32,
    /// Distance from the data packet before it.
    pub spacing_ns: Option<u64>,
}

/// New stream bytes: from, to, whether they crossed in a retransmission.
pub type NewBytes = (u64, u64, bool);

/// The new stream bytes of one packet: nearly always one range.
#[derive(Debug, Clone, Default)]
pub enum Delivered {
    /// None.
    #[default]
    Nothing,
    /// One range.
    Range(NewBytes),
    /// What several holes were filled with.
    Ranges(Vec<NewBytes>),
}

impl Delivered {
    fn add(&mut self, from: u64, to: u64, by_retransmission: bool) {
        let range = (from, to, by_retransmission);
        match self {
            Self::Nothing => *self = Self::Range(range),
            Self::Range(first) => *self = Self::Ranges(vec![*first, range]),
            Self::Ranges(ranges) => ranges.push(range),
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[NewBytes] {
        match self {
            Self::Nothing => &[],
            Self::Range(range) => std::slice::from_ref(range),
            Self::Ranges(ranges) => ranges,
        }
    }
}

impl Half {
    /// Takes a data packet (not one captured twice).
    #[inline]
    pub fn data(&mut self, packet: &Packet, around: &Surroundings, delivered: &mut Delivered) -> Arrived {
        let first = packet.sequence.wrapping_add(u32::from(packet.has(tcp_flags::SYN)));
        let start = unwrap(self.max, first);
        let end = start + u64::from(packet.payload_length);
        let (segments, segment_size) = self.wire_segments_of(packet);
        let contiguous = start == self.max;
        self.count_data(packet, segments);
        let live = self.live.get_or_insert_default();
        let spacing_ns = live.spacing.last_time_ns();
        let recovering = live.recovery.is_some_and(|recovery| self.una < recovery.point);
        let mut arrived = if start >= self.max {
            if start - self.max > FARTHEST_JUMP {
                return Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() };
            }
            if !around.beside_sender
                && packet.ip_version == 4
                && self.was_sent_unseen(packet, start, end, segment_size, spacing_ns, around)
            {
                self.unseen_again(packet, start, end, segment_size, around, spacing_ns, delivered)
            } else {
                self.new_data(packet, start, end, segment_size, delivered);
                Arrived { first_transmission_bytes: packet.payload_length, ..Arrived::default() }
            }
        } else {
            self.late_data(packet, start, end, segment_size, around, spacing_ns, delivered)
        };
        let live = self.live.get_or_insert_default();
        live.segment_size = segment_size;
        if packet.ip_version == 4 {
            if end < self.max && start <= self.una && !recovering {
                let silence_ns = packet.time_ns.saturating_sub(spacing_ns.unwrap_or(packet.time_ns));
                live.note_unseen_tail(packet, self.max, segment_size, silence_ns, around);
            }
            live.identifications.add(packet.ip_id, segments, contiguous);
            if end == self.max {
                live.highest_identification = live.identifications.next_position();
                live.peer_max_then = around.peer_max;
            }
        }
        arrived.spacing_ns = live.spacing.add(packet.time_ns, packet.frame, around.fixed_spacing_limit_ns);
        if packet.options & option_bits::TIMESTAMPS != 0 {
            live.view.heard(packet.time_ns, packet.tsecr);
        }
        live.view.sent(packet.time_ns, start, end, u64::from(segment_size), u64::from(self.largest_payload));
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        arrived
    }

    /// The next data in order, which proves nothing but that: the most frequent case, and the same result as
    /// [`Self::data`] and what goes with it in [`super::connection`]. None if it is something else; then nothing has
    /// changed. Otherwise by how much the capture clock ran ahead, 0 for not at all.
    #[inline]
    pub fn next_data(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        peer_max: u64,
        beside_sender: bool,
        fixed_spacing_limit_ns: Option<u64>,
    ) -> Option<i64> {
        let segment_size = self.segment_size(packet);
        let start = self.max;
        let end = start + u64::from(packet.payload_length);
        let live = self.live.as_deref()?;
        if packet.sequence != start as u32
            || self.data_packets == 0
            || live.window_closed
            || !(beside_sender || packet.ip_version != 4 || live.numbers_go_on(packet, end))
            || !(self.together.fits(packet) || self.begin_together(packet))
        {
            return None;
        }
        let live = self.live.as_deref_mut()?;
        self.together.add(packet);
        let segments = wire_segments(packet.payload_length, segment_size);
        if segments > 1 {
            self.superpackets += 1;
            self.data_segments += u64::from(segments - 1);
        }
        self.largest_payload = self.largest_payload.max(packet.payload_length);
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        self.max = end;
        live.recent.remember(packet, bytes);
        live.segments.push(record(packet, start, end, segment_size, 0));
        live.segment_size = segment_size;
        if packet.ip_version == 4 {
            live.identifications.add(packet.ip_id, segments, true);
            live.highest_identification = live.identifications.next_position();
            live.peer_max_then = peer_max;
        }
        live.spacing.add(packet.time_ns, packet.frame, fixed_spacing_limit_ns);
        let mut ahead_ns = None;
        if packet.options & option_bits::TIMESTAMPS != 0 {
            ahead_ns = live.clock.add(packet.time_ns, packet.tsval);
            live.view.heard(packet.time_ns, packet.tsecr);
        }
        live.view.sent(packet.time_ns, start, end, u64::from(segment_size), u64::from(self.largest_payload));
        Some(ahead_ns.unwrap_or(0))
    }

    /// A pure acknowledgement that acknowledges more of what `peer` sends; as [`Self::next_data`].
    #[inline]
    pub fn news_for(&mut self, packet: &Packet, bytes: &[u8], peer: &Half) -> Option<i64> {
        let live = self.live.as_deref_mut()?;
        if packet.sequence != self.max as u32
            || self.packets == 0
            || !peer.begun
            || unwrap(peer.una, packet.acknowledgement) <= peer.una
        {
            return None;
        }
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_length);
        self.ledger.add_acknowledgement(packet);
        live.recent.remember(packet, bytes);
        if packet.ip_version == 4 {
            live.identifications.add(packet.ip_id, 1, false);
        }
        let timestamps = packet.options & option_bits::TIMESTAMPS != 0;
        Some(timestamps.then(|| live.clock.add(packet.time_ns, packet.tsval)).flatten().unwrap_or(0))
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
            self.last_data_ns = packet.time_ns;
        }
    }

    #[inline]
    fn new_data(&mut self, packet: &Packet, start: u64, end: u64, segment_size: u16, delivered: &mut Delivered) {
        let live = self.live.get_or_insert_default();
        if start > self.max {
            let exposure = Exposure {
                time_ns: packet.time_ns,
                tsval: tsval_of(packet),
                ip_id: packet.ip_id,
                by_acknowledgement: false,
            };
            live.holes.push(Hole { start: self.max, end: start, exposure });
        }
        live.segments.push(record(packet, start, end, segment_size, 0));
        if packet.payload_length == 1 && live.window_closed {
            live.probed_at = Some(start);
            self.loss.probes += 1;
        }
        self.unique_payload_bytes += end - start;
        self.max = end;
        delivered.add(start, end, false);
    }

    /// Data the capture point has not seen, though it crossed the sender's network card before: a tail that was lost
    /// upstream leaves no hole, but its identifications are missing right after those of the highest data seen. Holds
    /// only while the side sends nothing else that could have taken the numbers (no open hole, no data to acknowledge).
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn was_sent_unseen(
        &mut self,
        packet: &Packet,
        start: u64,
        end: u64,
        segment_size: u16,
        last_data_ns: Option<i64>,
        around: &Surroundings,
    ) -> bool {
        let Some(live) = self.live.as_deref_mut() else { return false };
        // A number that was passed over before is the original's own, overtaken by what was sent after it.
        let Some(missing) = live.identifications.missing_before(packet.ip_id) else { return false };
        if end <= live.sent_unseen {
            return true;
        }
        if missing == 0 {
            return false;
        }
        let passed_over = (start - self.max).div_ceil(u64::from(segment_size.max(1)));
        if missing <= passed_over || !live.holes.is_empty() || !live.highest_is_newest(around) {
            return false;
        }
        // The sender has heard of what the capture has not: it is the capture that missed packets.
        if packet.options & option_bits::TIMESTAMPS != 0
            && around.peer_tsval.is_some_and(|newest| serial_difference(packet.tsecr, newest) > 0)
        {
            return false;
        }
        // Nothing is sent again sooner than a round trip after what was lost, and that came after the highest data.
        let silence_ns = packet.time_ns.saturating_sub(last_data_ns.unwrap_or(packet.time_ns));
        let round_trip_ns = around.handshake_rtt_ns.unwrap_or(around.sender_loop_ns);
        if (silence_ns as f64) < (FASTEST_ANSWER * round_trip_ns as f64).max(RECORDING_DISORDER_NS as f64) {
            live.shares_numbers = true;
            return false;
        }
        !live.shares_numbers && live.identifications.missing().is_some()
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn unseen_again(
        &mut self,
        packet: &Packet,
        start: u64,
        end: u64,
        segment_size: u16,
        around: &Surroundings,
        last_data_ns: Option<i64>,
        delivered: &mut Delivered,
    ) -> Arrived {
        let before = self.max;
        let live = self.live.get_or_insert_default();
        let silence = packet.time_ns.saturating_sub(last_data_ns.unwrap_or(packet.time_ns));
        let copies = lost_copies(silence, around);
        let missing = live.identifications.missing_before(packet.ip_id).unwrap_or(0).saturating_sub(copies);
        live.sent_unseen = live.sent_unseen.max(end).max(before + missing * u64::from(segment_size));
        if start > before {
            let exposure =
                Exposure { time_ns: packet.time_ns, tsval: None, ip_id: packet.ip_id, by_acknowledgement: true };
            live.holes.push(Hole { start: before, end: start, exposure });
        }
        live.segments.push(record(packet, start, end, segment_size, state::RETRANSMITTED));
        self.unique_payload_bytes += end - start;
        self.max = end;
        let trigger = self.count_retransmission(packet, start, end, segment_size, None, false, around, last_data_ns);
        delivered.add(start, end, true);
        Arrived { kind: Kind::Retransmission, trigger: Some(trigger), ..Arrived::default() }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn late_data(
        &mut self,
        packet: &Packet,
        start: u64,
        end: u64,
        segment_size: u16,
        around: &Surroundings,
        last_data_ns: Option<i64>,
        delivered: &mut Delivered,
    ) -> Arrived {
        if let Some(kind) = self.probe_kind(packet, start) {
            self.loss.probes += 1;
            return Arrived { kind, ..Arrived::default() };
        }
        let late_end = end.min(self.max);
        let live = self.live.get_or_insert_default();
        if live.probed_at == Some(start) && late_end == start + 1 && end > late_end {
            // The byte before was a probe of the closed window; now it goes with the data behind it.
            live.probed_at = None;
            self.take_late_bytes(packet, start, end, segment_size, true, delivered);
            return Arrived { first_transmission_bytes: (end - late_end) as u32, ..Arrived::default() };
        }
        let (missing, exposure) = live.holes.missing(start, late_end);
        let fills_only = missing == late_end - start;
        let original = match exposure.filter(|_| fills_only) {
            Some(exposure) => !is_retransmission(packet, &exposure, live, around),
            None => is_late_original(packet, start, late_end, live, &mut self.loss.spurious),
        };
        let segments = wire_segments((late_end - start) as u32, segment_size);
        let mut arrived =
            Arrived { kind: Kind::Reordered, first_transmission_bytes: (end - late_end) as u32, ..Arrived::default() };
        if original {
            self.count_late_original(packet, exposure.filter(|_| fills_only), segments, around);
            arrived.first_transmission_bytes += missing as u32;
        } else {
            arrived.kind = Kind::Retransmission;
            arrived.trigger = Some(self.count_retransmission(
                packet,
                start,
                late_end,
                segment_size,
                exposure,
                missing == 0,
                around,
                last_data_ns,
            ));
        }
        self.take_late_bytes(packet, start, end, segment_size, original, delivered);
        arrived
    }

    /// Keep-alives repeat the last byte of a stream that is acknowledged; window probes of some stacks repeat one byte at
    /// the edge of a closed window.
    fn probe_kind(&self, packet: &Packet, start: u64) -> Option<Kind> {
        if packet.payload_length != 1 || packet.has(tcp_flags::FIN) {
            return None;
        }
        let closed = self.live.as_ref().is_some_and(|live| live.window_closed);
        if closed && start >= self.una.saturating_sub(1) {
            return Some(Kind::WindowProbe);
        }
        (start + 1 == self.max && self.all_acknowledged()).then_some(Kind::KeepAlive)
    }

    fn count_late_original(
        &mut self,
        packet: &Packet,
        exposure: Option<Exposure>,
        segments: u32,
        around: &Surroundings,
    ) {
        let soon = exposure.is_some_and(|known| packet.time_ns.saturating_sub(known.time_ns) <= RECORDING_DISORDER_NS);
        let behind_acknowledgement = exposure.is_some_and(|known| known.by_acknowledgement);
        if around.beside_sender || (behind_acknowledgement && soon) {
            self.loss.capture_reordered += 1;
        } else {
            self.loss.reordered = self.loss.reordered.saturating_add(segments);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn count_retransmission(
        &mut self,
        packet: &Packet,
        start: u64,
        end: u64,
        segment_size: u16,
        exposure: Option<Exposure>,
        repeats_seen: bool,
        around: &Surroundings,
        last_data_ns: Option<i64>,
    ) -> Trigger {
        let segments = wire_segments((end - start) as u32, segment_size);
        let live = self.live.get_or_insert_default();
        let seen_here = around.beside_receiver && repeats_seen;
        // Acknowledged just before, though not seen before: recorded behind its acknowledgement.
        let recorded_late = !around.beside_sender
            && exposure.is_some()
            && end <= self.una
            && live
                .last_advance_ns
                .is_some_and(|time_ns| packet.time_ns.saturating_sub(time_ns) <= RECORDING_DISORDER_NS);
        self.loss.capture_reordered += u32::from(recorded_late);
        let acknowledged = end <= self.una && !recorded_late;
        let reported_received = seen_here || acknowledged || live.scoreboard.contains(start, end);
        let known = live.segments.retransmit(start, end, packet.time_ns, packet.frame, tsval_of(packet).unwrap_or(0));
        let trigger = live.trigger(&Evidence {
            time_ns: packet.time_ns,
            start,
            end,
            una: self.una,
            max: self.max,
            previous_ns: known.previous_time_ns,
            last_data_ns,
            exposed_ns: exposure.map(|exposure| exposure.time_ns),
            sender_loop_ns: if around.beside_sender { 0 } else { around.sender_loop_ns },
            segment_size,
            sack: around.sack,
        });
        if trigger == Trigger::Rto {
            // The timeout took everything for lost, and this goes out again.
            live.segments.mark_resent(start, end);
        }
        let size = u64::from(segment_size.max(1));
        // More than are kept are not worth making: a forged length can claim millions of segments.
        let mut position = start + ((end - start) / size).saturating_sub(MOST_RETRANSMISSIONS as u64) * size;
        while position < end {
            let stop = end.min(position + size);
            live.retransmissions.push(Retransmission {
                start: position,
                end: stop,
                tsval: tsval_of(packet).unwrap_or(0),
                ip_id: packet.ip_id,
                spurious: reported_received,
                reported: false,
                on_loss_signs: matches!(trigger, Trigger::Fast | Trigger::Rack),
            });
            position = stop;
        }
        self.loss.retransmitted = self.loss.retransmitted.saturating_add(segments);
        self.loss.retransmitted_bytes += end - start;
        self.loss.by_trigger[trigger as usize] = self.loss.by_trigger[trigger as usize].saturating_add(segments);
        if reported_received {
            self.loss.spurious = self.loss.spurious.saturating_add(segments);
        }
        trigger
    }

    /// Brings the bytes of a late packet that were not seen before into the records.
    fn take_late_bytes(
        &mut self,
        packet: &Packet,
        start: u64,
        end: u64,
        segment_size: u16,
        original: bool,
        delivered: &mut Delivered,
    ) {
        let live = self.live.get_or_insert_default();
        let state = if original { state::LATE } else { state::RETRANSMITTED };
        let (mut unique, una) = (0, self.una);
        let segments = &mut live.segments;
        live.holes.fill(start, end.min(self.max), |from, to| {
            unique += to - from;
            if to > una {
                segments.insert(record(packet, from.max(una), to, segment_size, state));
            }
            delivered.add(from, to, !original);
        });
        if end > self.max {
            unique += end - self.max;
            live.segments.push(record(packet, self.max, end, segment_size, 0));
            delivered.add(self.max, end, false);
            self.max = end;
        }
        self.unique_payload_bytes += unique;
        let (lost, resent) = live.segments.lost_and_resent();
        live.view.set_relief(packet.time_ns, (live.scoreboard.total() + lost).saturating_sub(resent));
    }
}

#[inline]
fn record(packet: &Packet, start: u64, end: u64, segment_size: u16, state: u8) -> Segment {
    let length = (end - start) as u32;
    Segment { start, time_ns: packet.time_ns, length, frame: packet.frame, tsval: packet.tsval, segment_size, state }
}

#[inline]
fn tsval_of(packet: &Packet) -> Option<u32> {
    (packet.options & option_bits::TIMESTAMPS != 0).then_some(packet.tsval)
}

/// How many of the packets lost in a silence repeat others: a tail loss probe, and the timeouts before the one that got
/// through (each waits twice as long as the one before, RFC 6298 section 5.5).
fn lost_copies(silence_ns: i64, around: &Surroundings) -> u64 {
    let timeout = (around.sender_loop_ns + SMALLEST_TIMEOUT_NS).max(1);
    if silence_ns < timeout {
        return 0;
    }
    let timeouts = u64::from((silence_ns / timeout + 1).ilog2());
    timeouts - 1 + u64::from(around.sack)
}

impl Live {
    /// The packet's identification leaves none out, and no packet up to `end` is known to be missing.
    #[inline]
    fn numbers_go_on(&self, packet: &Packet, end: u64) -> bool {
        end > self.sent_unseen && !matches!(self.identifications.missing_before(packet.ip_id), Some(1..))
    }

    /// The newest identification is that of the highest data, and the other side has sent nothing since.
    fn highest_is_newest(&self, around: &Surroundings) -> bool {
        self.highest_identification == self.identifications.next_position() && self.peer_max_then == around.peer_max
    }

    /// The first retransmission of a recovery, of the lowest hole, whose identification leaves a gap right after that of
    /// the highest data: what was sent in between lies above and was lost, but for earlier copies of this one.
    fn note_unseen_tail(
        &mut self,
        packet: &Packet,
        max: u64,
        segment_size: u16,
        silence_ns: i64,
        around: &Surroundings,
    ) {
        if !around.beside_sender
            && self.highest_is_newest(around)
            && self.identifications.missing().is_some()
            && let Some(missing @ 1..) = self.identifications.missing_before(packet.ip_id)
        {
            let above = missing.saturating_sub(lost_copies(silence_ns, around));
            self.sent_unseen = self.sent_unseen.max(max + above * u64::from(segment_size));
        }
    }
}

/// Decides about a segment that fills a hole: retransmission, or the original come late?
fn is_retransmission(packet: &Packet, exposure: &Exposure, live: &Live, around: &Surroundings) -> bool {
    if let (Some(own), Some(exposing)) = (tsval_of(packet), exposure.tsval)
        && own != exposing
    {
        return serial_difference(own, exposing) > 0;
    }
    let elapsed = packet.time_ns.saturating_sub(exposure.time_ns);
    if exposure.by_acknowledgement {
        return elapsed > RECORDING_DISORDER_NS;
    }
    if packet.ip_version == 4 && live.identifications.looks_consecutive() {
        return serial_difference_16(packet.ip_id, exposure.ip_id) > 0;
    }
    // Without the handshake only the loop to the receiver is known, which may be short.
    let answer_ns = match around.handshake_rtt_ns {
        Some(rtt_ns) => FASTEST_ANSWER * rtt_ns as f64,
        None => (FASTEST_ANSWER * live.round_trips.srtt_ns().unwrap_or(0.0)).max(RECORDING_DISORDER_NS as f64),
    };
    elapsed as f64 >= answer_ns
}

/// Decides about bytes seen before: is this the original, overtaken by its own retransmission? Then the retransmission
/// was not needed.
fn is_late_original(packet: &Packet, start: u64, end: u64, live: &mut Live, spurious: &mut u32) -> bool {
    let by_identification = packet.ip_version == 4 && live.identifications.looks_consecutive();
    let Some(known) = live.retransmissions.newest_over(start, end) else { return false };
    let older = match tsval_of(packet) {
        Some(tsval) if tsval != known.tsval => serial_difference(tsval, known.tsval) < 0,
        _ => by_identification && serial_difference_16(packet.ip_id, known.ip_id) < 0,
    };
    if older && !known.spurious {
        known.spurious = true;
        *spurious += 1;
    }
    older
}
