//! Data that passes the capture point for the first time and was yet sent before: a tail that was lost between the sender and
//! the capture point leaves no hole in the stream, only in the sender's numbering of its packets (methods, section 6.4).

use super::arrival::{Arrived, Delivered, FASTEST_ANSWER, Kind, Placed, RECORDING_DISORDER_NS, Surroundings};
use super::half::{Half, Live};
use super::holes::{Exposure, Hole};
use super::segments::state;
use super::sequence::serial_difference;
use crate::packet::option_bits;

/// The least a retransmission timeout waits beyond the round trip in common stacks.
const SMALLEST_TIMEOUT_NS: i64 = 200_000_000;

/// Where the loop between capture point and sender is not known, it is not longer than this.
const LONGEST_LOOP_NS: i64 = 1_000_000_000;

impl Half {
    /// Data the capture point has not seen, though it crossed the sender's network card before: a tail that was lost
    /// upstream leaves no hole, but its identifications are missing right after those of the highest data seen. Holds
    /// only while the side sends nothing else that could have taken the numbers (no open hole, no data to acknowledge).
    #[inline]
    pub(super) fn was_sent_unseen(&mut self, placed: &Placed<'_>) -> bool {
        if placed.around.beside_sender || placed.packet.ip_version != 4 {
            return false;
        }
        let &Placed { packet, start, end, segment_size, around, .. } = placed;
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
        if missing <= passed_over || !live.holes.is_empty() || !live.highest_is_newest(placed) {
            return false;
        }
        // The sender has heard of what the capture has not: it is the capture that missed packets.
        if packet.options & option_bits::TIMESTAMPS != 0
            && around.peer_tsval.is_some_and(|newest| serial_difference(packet.tsecr, newest) > 0)
        {
            return false;
        }
        // Nothing is sent again sooner than a round trip after what was lost, and that came after the highest data.
        let silence_ns = placed.silence_ns();
        let round_trip_ns = around.handshake_rtt_ns.unwrap_or(around.sender_loop_ns);
        if (silence_ns as f64) < (FASTEST_ANSWER * round_trip_ns as f64).max(RECORDING_DISORDER_NS as f64) {
            live.shares_numbers = true;
            return false;
        }
        !live.shares_numbers && live.identifications.missing().is_some()
    }

    #[cold]
    pub(super) fn unseen_again(&mut self, placed: &Placed<'_>, delivered: &mut Delivered) -> Arrived {
        let &Placed { packet, start, end, segment_size, around, .. } = placed;
        let before = self.max;
        let live = Live::of(&mut self.live);
        let copies = lost_copies(placed.silence_ns(), around);
        let missing = live.identifications.missing_before(packet.ip_id).unwrap_or(0).saturating_sub(copies);
        live.sent_unseen = live.sent_unseen.max(end).max(before + missing * u64::from(segment_size));
        if start > before {
            let exposure =
                Exposure { time_ns: packet.time_ns, tsval: None, ip_id: packet.ip_id, by_acknowledgement: true };
            live.holes.push(Hole { start: before, end: start, exposure });
        }
        live.segments.push(placed.record(start, end, state::RETRANSMITTED));
        self.unique_payload_bytes += end - start;
        self.max = end;
        let trigger = self.count_retransmission(placed, end, None, false);
        delivered.add(start, end, true);
        Arrived { kind: Kind::Retransmission, trigger: Some(trigger), ..Arrived::default() }
    }
}

impl Live {
    /// The newest identification is that of the highest data, and the side had nothing to acknowledge since: neither has the
    /// other side sent more, nor can what it sent before have reached the sender after that data went out.
    fn highest_is_newest(&self, placed: &Placed<'_>) -> bool {
        let around = placed.around;
        let loop_ns = if around.sender_loop_ns > 0 { around.sender_loop_ns } else { LONGEST_LOOP_NS };
        let highest_left_ns = placed.last_data_ns.map(|time_ns| time_ns.saturating_sub(loop_ns));
        self.highest_identification == self.identifications.next_position()
            && self.peer_max_then == around.peer_max
            && around.peer_spoke_ns.is_none_or(|spoke_ns| highest_left_ns.is_some_and(|left_ns| spoke_ns <= left_ns))
    }

    /// The first retransmission of a recovery, of the lowest hole, whose identification leaves a gap right after that of
    /// the highest data: what was sent in between lies above and was lost, but for earlier copies of this one.
    pub(super) fn note_unseen_tail(&mut self, placed: &Placed<'_>, max: u64) {
        let &Placed { packet, segment_size, around, .. } = placed;
        if !around.beside_sender
            && self.highest_is_newest(placed)
            && self.identifications.missing().is_some()
            && let Some(missing @ 1..) = self.identifications.missing_before(packet.ip_id)
        {
            let above = missing.saturating_sub(lost_copies(placed.silence_ns(), around));
            self.sent_unseen = self.sent_unseen.max(max + above * u64::from(segment_size));
        }
    }
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
