//! Packets that the capture shows twice: which of those that look alike are one, and not retransmitted (docs/methods.md,
//! section 2 rule 3).
//!
//! [`crate::tcp::capture::recent_packets`] finds what was seen with the same headers; here is decided whether the sender can have sent it again.
//!
//! A host with receive offload joins a copy to the data that comes directly behind it: then the head of a frame is a copy, and
//! the rest is new.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::offers_are_known;
use crate::tcp::connection::groups::{Doubts, Terms};
use crate::tcp::connection::{at_two_taps, loops};
use crate::tcp::direction::direction::{Direction, Live, direction_and_peer};
use crate::tcp::direction::on_ack::is_plain;
use crate::tcp::direction::{before_capture, segment_size};
use crate::tcp::events::copy::{Copied, CopySeen};
use crate::tcp::kernel::{
    FASTEST_ANSWER, FLAGS_OF_ONE, LONGEST_DISTANCE_NS, LONGEST_NUMBERED_NS, LONGEST_WAY_NS, LONGEST_WITHOUT_NUMBERS_NS,
    SMALLEST_TIMEOUT_NS,
};
use crate::tcp::loss::asked::Asked;
use crate::tcp::stats::sequence::{serial_difference, unwrap};

/// The same packet within milliseconds, or a part of it. Only what begins with nothing new is compared.
#[inline]
pub(crate) fn copied(
    doubts: &mut Doubts,
    directions: &mut [Direction; 2],
    terms: &Terms,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> Copied {
    let [direction, peer] = direction_and_peer(directions, side);
    if doubts.two_points.is_some()
        && let Some(seen) = at_two_taps::has_passed_other_point(doubts, direction, &terms.loops, packet, bytes, side)
    {
        leave_out(direction, packet, seen);
        return Copied::All;
    }
    let nothing_new = if packet.sequence_length() > 0 {
        unwrap(direction.max, packet.sequence) < direction.max
    } else {
        !peer.begun || unwrap(peer.una, packet.acknowledgement) <= peer.una
    };
    let copied = match nothing_new {
        true => seen_before(directions, terms, at_two_taps::has_two_points(doubts), packet, bytes, side),
        false => Copied::Nothing,
    };
    if !matches!(copied, Copied::All) {
        directions[side].live().capture.recent.remember(packet, bytes);
    }
    copied
}

#[inline(never)]
fn seen_before(
    directions: &mut [Direction; 2],
    terms: &Terms,
    two_points: bool,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> Copied {
    if let Some(seen) = copy(directions, terms, two_points, packet, bytes, side) {
        leave_out(&mut directions[side], packet, seen);
        return Copied::All;
    }
    if packet.payload_length == 0 {
        return Copied::Nothing;
    }
    let Some(head) = head_seen(&directions[side], packet) else { return Copied::Nothing };
    let Some(seen) = copy(directions, terms, two_points, &head, bytes, side) else { return Copied::Nothing };
    count_copy(&mut directions[side], &head, seen);
    Copied::Head(behind(&directions[side], packet, &head))
}

#[inline(never)]
fn copy(
    directions: &[Direction; 2],
    terms: &Terms,
    two_points: bool,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> Option<CopySeen> {
    let [direction, peer] = [&directions[side], &directions[1 - side]];
    let live = direction.live.as_deref()?;
    let numbered = packet.ip_id != 0 && (packet.ttl != direction.ttl || live.loss.identifications.looks_rising());
    let longest_ns = if numbered { LONGEST_NUMBERED_NS } else { LONGEST_DISTANCE_NS };
    let start = unwrap(direction.max, packet.sequence);
    let again = Again {
        packet,
        live,
        peer,
        start,
        shortest_rtt_ns: loops::shortest_rtt_ns(&terms.loops),
        // Most use SACK, and then an acknowledgement like the last is none for another segment (RFC 2018).
        sack: terms.agreed.sack || !offers_are_known(directions),
        two_points,
    };
    let same = live.capture.recent.age_ns(packet, bytes, longest_ns).filter(|age_ns| again.is_copy_of_same(*age_ns));
    if let Some(age_ns) = same {
        return Some(CopySeen::after(age_ns));
    }
    let beside = Beside { sender: terms.loops.beside[side], receiver: terms.loops.beside[1 - side] };
    let end = start + u64::from(packet.payload_length);
    // Of what came first only in part there may be a head that is a copy, no more.
    if start == end || end > direction.max || before_capture::missing(live, start, end).0 > 0 {
        return None;
    }
    let parts = live.capture.recent.age_of_whole_or_parts_ns(
        packet,
        bytes,
        longest_ns,
        segment_size::full_segments(direction, packet),
    );
    if let Some(age_ns) = parts.filter(|age_ns| again.is_copy_of_parts(*age_ns)) {
        return Some(CopySeen::after(age_ns));
    }
    let seen = if again.two_points { CopySeen::AtOnce } else { CopySeen::Late };
    again.comes_late(beside, end == direction.max).then_some(seen)
}

#[cold]
fn leave_out(direction: &mut Direction, packet: &Packet, copy: CopySeen) {
    if packet.payload_length > 0 {
        segment_size::learn_size_from_head(direction, packet);
    }
    count_copy(direction, packet, copy);
}

#[cold]
fn count_copy(direction: &mut Direction, packet: &Packet, copy: CopySeen) {
    direction.loss.capture_duplicates += 1;
    direction.live().capture.late_copies += u32::from(copy == CopySeen::Late);
    if packet.payload_length > 0 {
        let start = unwrap(direction.max, packet.sequence);
        let (segments, _) = segment_size::wire_segments_of(direction, packet);
        direction.live().loss.retransmissions.push_duplicate(start, start + u64::from(packet.payload_length), segments);
    }
}

/// The packet acknowledges nothing more of this data, which its receiver was asked to do.
fn is_asked_for(direction: &Direction, packet: &Packet) -> bool {
    let Some(live) = direction.live.as_deref() else { return false };
    let is_asked = |asked: &Asked| asked.may_be_answered(packet.time_ns, direction.una);
    packet.acknowledgement == direction.una as u32
        && is_plain(packet)
        && live.loss.asked.as_deref().is_some_and(is_asked)
}

/// What of a frame that also brings what has not passed before has. Only whole segments are joined, and the flags that end a
/// write stand in the last.
fn head_seen(direction: &Direction, packet: &Packet) -> Option<Packet> {
    let full = u32::from(segment_size::segment_size(direction, packet).max(1));
    if packet.payload_length <= full {
        return None;
    }
    let start = unwrap(direction.max, packet.sequence);
    let missing = direction.live.as_ref().and_then(|live| before_capture::next_missing(live, start));
    let payload_length =
        u32::try_from(missing.unwrap_or(direction.max).min(direction.max).saturating_sub(start)).ok()?;
    let is_head = (1..packet.payload_length).contains(&payload_length) && payload_length.is_multiple_of(full);
    is_head.then_some(Packet { payload_length, flags: packet.flags & !FLAGS_OF_ONE, ..*packet })
}

/// The packet without its `head`. Its first segment has the number that its sender counted for it.
fn behind(direction: &Direction, packet: &Packet, head: &Packet) -> Packet {
    let captured = packet.payload_captured.min(head.payload_length);
    let counts = direction.live.as_ref().is_some_and(|live| live.loss.identifications.looks_rising());
    let (segments, _) = segment_size::wire_segments_of(direction, head);
    Packet {
        sequence: packet.sequence.wrapping_add(head.payload_length),
        payload_length: packet.payload_length - head.payload_length,
        payload_offset: packet.payload_offset.wrapping_add(captured),
        payload_captured: packet.payload_captured - captured,
        wire_length: packet.wire_length.saturating_sub(head.payload_length),
        ip_id: if counts { packet.ip_id.wrapping_add(segments as u16) } else { packet.ip_id },
        ..*packet
    }
}

/// Whom the capture point is known to be beside.
#[derive(Clone, Copy)]
struct Beside {
    sender: bool,
    receiver: bool,
}

/// A packet that looks like one seen before, `age_ns` ago.
struct Again<'a> {
    packet: &'a Packet,
    live: &'a Live,
    peer: &'a Direction,
    /// Position of its first byte.
    start: u64,
    /// The shortest round trip of the connection so far, if its handshake was measured.
    shortest_rtt_ns: Option<i64>,
    /// Both sides use SACK.
    sack: bool,
    /// Everything passes two capture points, far apart, in frames that may be cut or joined between them.
    two_points: bool,
}

impl Again<'_> {
    /// All of it is the same.
    fn is_copy_of_same(&self, age_ns: i64) -> bool {
        match self.packet {
            _ if self.is_numbered() => true,
            Packet { payload_length: 1.., .. } => {
                (self.no_loss_shown_since(age_ns) || self.comes_before_answers(age_ns))
                    && (age_ns <= LONGEST_WITHOUT_NUMBERS_NS || !self.may_be_on_its_way_again())
            }
            // Of reports that were cut it is not known whether they say the same.
            packet => {
                let says_all = self.sack && packet.options & option_bits::CUT == 0;
                // What was asked for is an acknowledgement of its own, though it says the same.
                (says_all && !is_asked_for(self.peer, packet)) || packet.has(tcp_flags::FIN)
            }
        }
    }

    /// Its IP ID tells it from others.
    fn is_numbered(&self) -> bool {
        self.packet.ip_id != 0 && !self.live.capture.recent.shares_number(self.packet)
    }

    /// What filled a hole may have been retransmitted before it came, and look alike if it has no timestamps.
    fn may_be_on_its_way_again(&self) -> bool {
        self.packet.options & option_bits::TIMESTAMPS == 0
            && self.live.segments.recent(self.start).is_none_or(|record| record.state != 0)
    }

    /// It is a part of what was seen, or has that as a part.
    fn is_copy_of_parts(&self, age_ns: i64) -> bool {
        // Also what was acknowledged since: at the receiver that is at once.
        let then_ns = self.packet.time_ns - age_ns;
        let recent = self.live.segments.recent(self.start);
        let sent_once = recent.is_some_and(|record| record.time_ns == then_ns && record.was_sent_once());
        self.packet.ip_id != 0
            || (sent_once && self.no_loss_shown_since(age_ns))
            || ((sent_once || self.is_like_last_repeat()) && self.comes_before_answers(age_ns))
    }

    /// The sender has numbered or stamped other packets since, or would have: it can only have been sent when the packet was
    /// that it looks like.
    ///
    /// Rule: docs/methods.md, "Late copies".
    fn comes_late(&self, beside: Beside, is_last: bool) -> bool {
        let packet = self.packet;
        let Some(sent) = self.live.segments.stamped(self.start) else { return false };
        let age_ns = packet.time_ns.saturating_sub(sent.time_ns);
        let comes_before_answers = self.is_before_answers(age_ns);
        let longest_ns = if self.two_points { LONGEST_WAY_NS } else { SMALLEST_TIMEOUT_NS };
        if age_ns >= longest_ns || !(self.two_points || comes_before_answers || age_ns <= LONGEST_NUMBERED_NS) {
            return false;
        }
        // A sender that counts its packets gives each a new number, whatever is lost.
        let numbers = &self.live.loss.identifications;
        let is_number_known =
            self.packet.ip_id != 0 && numbers.looks_consecutive() && numbers.is_known(self.packet.ip_id);
        // What loss explains may have been retransmitted by a sender that stamps as it likes.
        let no_loss_shown = self.no_loss_shown_since(age_ns);
        let unexplained = is_number_known || no_loss_shown || beside.receiver || self.two_points;
        // At its sender nothing but the capture makes copies. What filled a hole may itself be on its way again.
        let in_order = || {
            let record =
                self.live.segments.recent(self.start).filter(|record| record.was_sent_once() && !beside.sender);
            record.is_some_and(|record| record.has_segments_at(self.start, packet.payload_length))
        };
        let comes_of_nothing = || packet.ip_id == 0 && in_order() && no_loss_shown && comes_before_answers && !is_last;
        if packet.options & option_bits::TIMESTAMPS == 0 {
            return is_number_known || comes_of_nothing();
        }
        let clock = &self.live.capture.clock;
        let others_stamped = clock.newest().is_some_and(|newest| serial_difference(packet.tsval, newest) < 0);
        // No answer comes within a step of the sender's clock.
        let would_stamp = || in_order() && clock.tick_ns().is_some_and(|tick_ns| 2.0 * tick_ns < self.round_trip_ns());
        let is_stamped_alike = || sent.tsval == packet.tsval || self.is_like_last_repeat();
        let joined_on_the_way = self.two_points && comes_before_answers;
        let is_old = is_number_known || others_stamped || joined_on_the_way || would_stamp() || comes_of_nothing();
        unexplained && is_old && is_stamped_alike()
    }

    /// Without identifications, a repeat that loss explains is a retransmission.
    fn no_loss_shown_since(&self, age_ns: i64) -> bool {
        self.live.acks.last_loss_sign_ns.is_none_or(|sign_ns| sign_ns < self.packet.time_ns - age_ns)
    }

    /// No answer to what was sent then can have come that would have it retransmitted.
    fn comes_before_answers(&self, age_ns: i64) -> bool {
        let last_ns = self.live.segments.recent(self.start).map(|sent| sent.time_ns);
        self.is_before_answers(age_ns) && last_ns == Some(self.packet.time_ns - age_ns)
    }

    /// What was sent `age_ns` ago cannot have been answered.
    fn is_before_answers(&self, age_ns: i64) -> bool {
        (age_ns as f64) < FASTEST_ANSWER * self.round_trip_ns()
    }

    fn round_trip_ns(&self) -> f64 {
        let smoothed_ns = || self.live.round_trips.srtt_ns().unwrap_or(0.0);
        self.shortest_rtt_ns.map_or_else(smoothed_ns, |rtt_ns| rtt_ns as f64)
    }

    /// Since the last time it was retransmitted the sender has heard nothing.
    fn is_like_last_repeat(&self) -> bool {
        let &Packet { tsval, tsecr, options, .. } = self.packet;
        options & option_bits::TIMESTAMPS != 0
            && self.live.loss.retransmissions.has_timestamps_of_last(self.start, tsval, tsecr)
    }
}
