//! What the rules of [`crate::tcp::gaps::causes`] ask of the evidence. Pure.
//!
//! Three measures carry most of the rules. *Waited* is by how much longer a packet was under way than the one before it, by
//! its own sender's timestamps (RFC 7323): what waited was held back, somewhere between that sender and the capture.
//! *Overdue* are acknowledgements that should have come by now. And a sender whose timer was due and sent nothing did not
//! run ([`crate::tcp::gaps::sender_timers`]).
//!
//! Rule: docs/methods.md, "Held back, overdue, beyond a timer".

use crate::tcp::gaps::evidence::{BurstSeen, CapturePlace, GapEnding, GapEvidence, Return};
use crate::tcp::gaps::sender_timers::TIMER_TICKS_NS;
use crate::tcp::kernel::{
    BACKLOG_PACKETS, DELAYED_ACKNOWLEDGEMENT_NS, FASTEST_ANSWER, JITTER_NS, PROBE_TICKS_NS, SMALLEST_TIMEOUT_NS,
};

/// Nothing is held back that waited less than this.
const SHORTEST_WAIT_NS: i64 = 15_000_000;

/// Or less than this share of the silence.
const WAIT_SHARE: f64 = 0.3;

/// Share of what was outstanding that is nearly all of it.
const NEARLY_ALL: f64 = 0.8;

/// Longest delayed acknowledgement of any segment in common stacks (Linux `TCP_DELACK_MAX`; RFC 9293 allows 500 ms).
const LONGEST_DELAYED_ACKNOWLEDGEMENT_NS: i64 = 200_000_000;

/// A sender that takes in what it gets echoes it but for the packets on the way; ticks of a slow clock do not count.
const STALE_ECHO_NS: i64 = 5_000_000;

/// Who sent so many segments without a pause has more than one outstanding: an initial window (RFC 6928).
const FLOW_SEGMENTS: u64 = 10;

/// A backlog was made over so many times the span in which it passed.
const BACKLOG_SPREAD: i64 = 5;

impl GapEvidence {
    pub(crate) fn beside_sender(&self) -> bool {
        self.place == CapturePlace::Sender
    }

    /// By how much longer than the packet before it the data that ended the gap was under way.
    fn data_waited_ns(&self) -> Option<i64> {
        self.sender_clock_ns.map(|elapsed| self.gap_ns - elapsed)
    }

    /// The data that ended the gap was under way for much longer than what came before it.
    pub fn data_was_held(&self) -> bool {
        self.data_waited_ns().is_some_and(|waited| is_held(waited, self.gap_ns))
    }

    /// At the receiver: it spoke when the data that ended the gap was due already, so that it was not for its sake that the
    /// data waited.
    pub(crate) fn receiver_ran_meanwhile(&self) -> bool {
        let due_ns = self.sender_clock_ns.unwrap_or(self.gap_ns).max(0);
        self.before_silence_ns.saturating_mul(2) >= self.gap_ns
            || self.before_silence_ns > due_ns.saturating_add(SHORTEST_WAIT_NS)
    }

    /// At the receiver: it had not acknowledged what came before the silence, and no kernel delays that for so long.
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.outstanding_bytes > 0
            && !self.recovering
            && self.silence_ns > LONGEST_DELAYED_ACKNOWLEDGEMENT_NS + TIMER_TICKS_NS
    }

    /// Away from the sender: when it sent the data that ended the gap, the sender had not taken in acknowledgements that it
    /// must have got long before. None without timestamps.
    ///
    /// Rule: docs/methods.md, "Stale echo".
    pub(crate) fn echo_is_stale(&self) -> Option<bool> {
        // Not to have heard one that the receiver delayed is not to have heard anything late.
        self.echo_behind_ns.map(|behind| behind.saturating_sub(self.before_silence_ns) >= STALE_ECHO_NS)
    }

    /// Away from the sender: it had more than a segment outstanding, took in no acknowledgements, and let its timer pass.
    pub(crate) fn was_deaf(&self) -> bool {
        self.ignores_echoes() && self.sender_clock_ns.is_some_and(|clock| self.is_past_timer(clock))
    }

    /// Away from the sender: it had more than a segment outstanding, and had taken in no acknowledgements.
    pub(crate) fn ignores_echoes(&self) -> bool {
        // Of a single segment the acknowledgement may be delayed: the probe waits longer (RFC 8985 section 7.2).
        let several = self.outstanding_to_sender_bytes.is_some_and(|bytes| bytes >= 2 * self.segment_bytes.max(1));
        // What is long without an echo counts as heard once the receiver sends again: then the flow before tells.
        let spoke_late = self.before_silence_ns > PROBE_TICKS_NS;
        (several || (spoke_late && self.is_in_a_flow())) && self.echo_is_stale() == Some(true)
    }

    /// The sender had sent ten full segments without a pause: it was in the middle of something.
    pub(crate) fn is_in_a_flow(&self) -> bool {
        self.last_full && self.bytes_since_gap >= FLOW_SEGMENTS * self.segment_bytes
    }

    /// At the sender: the end of what was written may wait, so that its PSH has not passed.
    pub(crate) fn tail_may_wait(&self) -> bool {
        self.beside_sender() && self.short_outstanding && self.ending == GapEnding::NewData
    }

    pub(crate) fn two_segments_outstanding(&self) -> bool {
        self.outstanding_bytes >= 2 * self.segment_bytes.max(1)
    }

    /// Acknowledgements should have come by now, if they were delayed no longer than this.
    pub(crate) fn is_overdue_by(&self, delayed_ns: i64) -> bool {
        let Some(round_trip) = self.round_trip_ns else { return false };
        let delay = if self.two_segments_outstanding() { delayed_ns } else { SMALLEST_TIMEOUT_NS };
        let usual = round_trip + round_trip / 4 + 4 * self.deviation_ns.min(round_trip);
        let is_late = self.outstanding_bytes > 0 && self.silence_ns > usual + delay;
        is_late || self.is_probed() || self.timer_is_overdue()
    }

    /// Acknowledgements should be on the way by now.
    pub fn answer_is_overdue(&self) -> bool {
        self.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS / 4)
    }

    /// The sender's kernel ran while it waited for an answer.
    pub(crate) fn sender_ran(&self) -> bool {
        let on_time = self.is_timer() && !self.timer_is_overdue();
        self.timers_before > 0 || (on_time && !self.woke_with_answer())
    }

    /// The burst is a backlog: it was made over a longer time than it took to pass.
    pub(crate) fn is_backlog(burst: &BurstSeen) -> bool {
        burst.packets >= BACKLOG_PACKETS
            && burst.timestamps_ns.is_none_or(|made| made >= BACKLOG_SPREAD * burst.span_ns.max(JITTER_NS))
    }
}

impl Return {
    fn waited_ns(&self) -> Option<i64> {
        self.timestamps_ns.map(|elapsed| self.silence_ns - elapsed)
    }

    /// Nearly all that was outstanding has been acknowledged.
    pub fn acknowledges_most(&self) -> bool {
        self.acknowledged_bytes as f64 >= NEARLY_ALL * self.outstanding_bytes as f64
    }

    /// It was made earlier, and held back.
    pub fn was_held(&self) -> Option<bool> {
        self.waited_ns().map(|waited| is_held(waited, self.silence_ns))
    }

    /// It answers the sender's probe or timeout. Without timestamps only the time tells: an answer takes a round trip.
    ///
    /// Rule: docs/methods.md, "The response to a probe".
    pub(crate) fn answers_probe(&self, round_trip_ns: i64) -> bool {
        match (self.older_than_probe, self.after_probe_ns) {
            _ if self.reports_disorder => true,
            (Some(older), _) => !older,
            (None, Some(after)) => after as f64 >= FASTEST_ANSWER * round_trip_ns as f64,
            (None, None) => true,
        }
    }
}

fn is_held(waited_ns: i64, silence_ns: i64) -> bool {
    waited_ns >= SHORTEST_WAIT_NS && waited_ns as f64 >= WAIT_SHARE * silence_ns as f64
}
