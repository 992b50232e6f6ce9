//! What the receiver said after a pause: the record that [`crate::tcp::gaps::receiver_return`] fills.
//!
//! Rule: docs/methods.md, "Old packets that are left out".

use crate::packet::Packet;
use crate::tcp::gaps::evidence::Return;
use crate::tcp::gaps::path_rate::PathCarries;
use crate::tcp::kernel::{ANSWER_NS, BURST_PAUSE_NS, SHORTEST_DELAY_NS, TOGETHER_NS};

/// The receiver's first packet after a silence, and what came with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    pub(crate) time_ns: i64,
    pub(crate) first_tsval: u32,
    pub(crate) answer: Return,
    /// Nothing has come after the first packet.
    pub(crate) alone: bool,
    /// Acknowledged before it in any way, cumulatively or selectively (RFC 2018).
    pub(crate) acknowledged_before: u64,
    /// When it was last heard, and since when without a pause; acknowledged before that.
    pub(crate) last_ns: i64,
    pub(crate) burst_start_ns: i64,
    pub(crate) acknowledged_before_burst: u64,
    /// What the sender knew before it: round trip, deviation, timers that had fired.
    pub(crate) round_trip: (Option<i64>, i64),
    pub(crate) timers: u32,
    /// What the path has carried by then.
    pub(crate) path: PathCarries,
}

impl Heard {
    pub(crate) fn add(&mut self, time_ns: i64, timestamps_ns: Option<i64>) {
        self.leave_out_first(time_ns, timestamps_ns);
        if time_ns.saturating_sub(self.time_ns) <= TOGETHER_NS {
            let burst = &mut self.answer.burst;
            burst.packets = burst.packets.saturating_add(1);
            burst.span_ns = time_ns.saturating_sub(self.time_ns);
            burst.timestamps_ns = timestamps_ns;
        }
    }

    /// A host may stop between making a packet and sending it: on waking that comes first, though it answers nothing that
    /// came meanwhile. It was alone if the next one, the second after the silence, was made after most of that.
    fn leave_out_first(&mut self, time_ns: i64, made_ns: Option<i64>) {
        let answer = &mut self.answer;
        let was_alone = std::mem::replace(&mut self.alone, false);
        if let (true, Some(true), Some(first_ns), Some(made_ns)) =
            (was_alone, answer.was_held(), answer.timestamps_ns, made_ns)
        {
            let jump_ns = made_ns.saturating_sub(time_ns.saturating_sub(self.time_ns));
            if jump_ns > answer.silence_ns / 2 {
                answer.timestamps_ns = Some(first_ns.saturating_add(jump_ns));
            }
        }
    }

    /// It was one delayed acknowledgement, of a segment that had come before others that did not.
    pub(crate) fn is_delayed(&self, segment_bytes: u64) -> bool {
        let single = (1..2 * segment_bytes.max(1)).contains(&self.answer.acknowledged_bytes);
        single && self.answer.silence_ns >= SHORTEST_DELAY_NS && self.answer.outstanding_bytes > 2 * segment_bytes
    }

    /// The packet comes with it, or soon after.
    #[inline]
    pub(crate) fn is_answered_by(&self, packet: &Packet) -> bool {
        // Times lie within 2^62 of zero.
        (0..=ANSWER_NS).contains(&packet.time_ns.wrapping_sub(self.time_ns))
    }

    /// So much is acknowledged in any way once a packet of `time_ns` has been taken.
    pub(crate) fn count(&mut self, time_ns: i64, acknowledged: u64) {
        let answer = &mut self.answer;
        if time_ns.wrapping_sub(self.last_ns) >= BURST_PAUSE_NS {
            self.burst_start_ns = time_ns;
            self.acknowledged_before_burst = self.acknowledged_before + answer.acknowledged_bytes;
        }
        self.last_ns = time_ns;
        let since_silence = acknowledged.saturating_sub(self.acknowledged_before);
        if since_silence <= answer.acknowledged_bytes || answer.acknowledges_most() {
            return;
        }
        answer.advances += u32::from(time_ns.saturating_sub(self.time_ns) <= TOGETHER_NS);
        answer.acknowledged_bytes = since_silence;
        let in_burst = acknowledged.saturating_sub(self.acknowledged_before_burst);
        let (beyond, needed_bytes_per_s) = self.path.judge([
            (since_silence, time_ns.saturating_sub(self.time_ns)),
            (in_burst, time_ns.saturating_sub(self.burst_start_ns)),
        ]);
        answer.beyond_path |= beyond;
        answer.needed_bytes_per_s = answer.needed_bytes_per_s.max(needed_bytes_per_s);
    }
}
