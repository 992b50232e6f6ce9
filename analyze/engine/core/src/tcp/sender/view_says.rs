//! What the sender's view ([`crate::tcp::sender::view`]) says to those who ask: flight, window, pauses, loops.

use std::num::NonZeroU64;

use crate::tcp::sender::pauses::SenderPauses;
use crate::tcp::sender::silences::Silence;
use crate::tcp::sender::turns::Turns;
use crate::tcp::sender::view::{SenderView, Waiting};
use crate::tcp::stats::sequence::serial_difference;

impl SenderView {
    /// The longest of the latest silences that lie within a gap, if any.
    pub fn silence_within(&self, start_ns: i64, end_ns: i64) -> Option<Silence> {
        self.silences.within(start_ns, end_ns)
    }

    /// Since when the sender has had nothing in flight, having heard of what passed here before: none if it has.
    pub fn idle_since_ns(&self) -> Option<i64> {
        self.turns.idle_since_ns(self.busy_ns).filter(|_| self.flight == 0)
    }

    /// Acknowledgements are on their way to the sender.
    pub(crate) fn has_unheard(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The pauses of the data so far, and what ended them.
    pub fn pauses(&self) -> SenderPauses {
        self.restarts.pauses()
    }

    /// Largest flight in the round in progress.
    pub fn round_max_flight(&self) -> u64 {
        self.round_max_flight
    }

    /// The shortest loop between the capture point and the sender that echoes showed in the round in progress, nanoseconds.
    pub fn round_loop_ns(&self) -> Option<u64> {
        self.sender_loop.round_least_ns()
    }

    /// Payload of the largest frame that passed, bytes.
    pub fn largest_send(&self) -> u64 {
        self.largest_send
    }

    /// Bytes in flight summed over time, and that time.
    pub fn flight_area(&self) -> (f64, u64) {
        (self.flight_area, self.busy_ns)
    }

    /// Time nothing was in flight because the window was closed, nanoseconds.
    pub fn blocked_ns(&self) -> u64 {
        self.blocked_ns
    }

    /// Whose turn it was, as far as [`Self::takes_its_turn`] was told.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Bytes sent and not acknowledged, as a sender knows it that has heard everything up to the timestamp `tsecr`.
    pub fn outstanding_having_heard(&self, tsecr: u32) -> u64 {
        let heard = |waiting: &&Waiting| waiting.tsval.is_some_and(|tsval| serial_difference(tsecr, tsval) >= 0);
        let acknowledged = self.waiting.iter().filter(heard).map(|waiting| waiting.acknowledged).max();
        self.sent.saturating_sub(acknowledged.unwrap_or(0).max(self.acknowledged))
    }

    /// Bytes in flight now.
    #[inline]
    pub fn flight_bytes(&self) -> u64 {
        self.flight
    }

    /// Mean over the time in which data was in flight, and largest; none if nothing ever was.
    pub fn flight_statistics(&self) -> Option<(f64, NonZeroU64)> {
        let max_flight = NonZeroU64::new(self.max_flight.max(self.round_max_flight))?;
        let mean = if self.busy_ns > 0 { self.flight_area / self.busy_ns as f64 } else { max_flight.get() as f64 };
        Some((mean, max_flight))
    }

    /// Time in which the advertised window left no room for a segment, nanoseconds.
    pub fn limited_ns(&self) -> u64 {
        self.limited_ns
    }

    /// The same up to `time_ns`, if nothing changes before.
    pub fn limited_until_ns(&self, time_ns: i64) -> i64 {
        let open = if self.limited { time_ns.saturating_sub(self.updated_ns).max(0) } else { 0 };
        self.limited_ns as i64 + open
    }

    /// The advertised window leaves no room now.
    pub fn is_limited_now(&self) -> bool {
        self.limited
    }

    /// The round trip between capture point and sender as data showed it last, queues included.
    pub fn recent_loop_ns(&self) -> i64 {
        self.sender_loop.recent_ns()
    }

    /// By how much longer it was in this round or the one before: the sender's own measurements may be as old.
    pub fn queue_before_ns(&self) -> i64 {
        self.sender_loop.queue_before_ns()
    }

    /// Time in which data was in flight, nanoseconds.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}
