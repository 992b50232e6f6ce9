//! A queue between a sender and the capture point right beside it: the handshake says that the way is short, but what the sender
//! sends comes late, as behind the shaper of a virtual machine's host, or a router's uplink.
//!
//! How it works: once in a round an acknowledgement is marked. A sender repeats the newest timestamp it has received (RFC 7323 section
//! 4.3), so that beside it the very next data echoes the mark. Data that keeps coming without it was sent before its sender heard, and
//! has been under way for as long.
//!
//! What to check on a change: a host's own queue is none of these. What TCP hands down at once may wait there, about two of the
//! largest frames or a millisecond (Linux: `tcp_small_queue_check`), for a pacing queueing discipline, too; and a host that was busy
//! sends what it had prepared all at once.
//!
//! Rule: docs/verdict.md, "Queue before the capture point".

/// A shorter one may be the host's own, and hides nothing where it is a smaller part of the round trip (one in so many: from there
/// on a round trip shows a queue).
const SHORTEST_NS: i64 = 5_000_000;

const ROUND_TRIP_DIVISOR: i64 = 4;

/// Data packets in it at least.
const FEWEST_PACKETS: u32 = 8;

/// What a busy host had prepared comes all at once, behind a pause of nearly all of the time: a pause may be so much of it, one in so
/// many. Others' bursts in the same queue make pauses, too.
const PAUSE_DIVISOR: i64 = 2;

/// Marks one after another that show it.
const MARKS: u8 = 3;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueBefore {
    /// How long the echo of the mark must take at least.
    least_ns: i64,
    /// Data since the mark, and the longest time without any.
    packets: u32,
    longest_pause_ns: i64,
    /// Marks that showed a queue.
    marks: u8,
}

impl QueueBefore {
    /// An acknowledgement is marked, with a round trip of `far_ns` to the receiver.
    pub(crate) fn mark(&mut self, far_ns: i64) {
        let least_ns = SHORTEST_NS.max(far_ns / ROUND_TRIP_DIVISOR);
        *self = Self { least_ns, marks: self.marks, ..Self::default() };
    }

    /// Data passes so long after the data before it.
    pub(crate) fn data(&mut self, pause_ns: i64) {
        self.packets = self.packets.saturating_add(1);
        self.longest_pause_ns = self.longest_pause_ns.max(pause_ns);
    }

    /// That data echoes the mark, so long after it.
    pub(crate) fn echoed(&mut self, taken_ns: i64) {
        let late = taken_ns >= self.least_ns && self.packets >= FEWEST_PACKETS;
        let shows = late && self.longest_pause_ns <= taken_ns / PAUSE_DIVISOR;
        self.marks = if shows { self.marks.saturating_add(1) } else { 0 };
    }

    /// It was there all the time lately.
    pub(crate) fn stands(&self) -> bool {
        self.marks >= MARKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Five marks, each echoed after so many packets, one each `step_ms`.
    fn stands(packets: i64, step_ms: i64, far_ms: i64) -> bool {
        let mut queue = QueueBefore::default();
        for _ in 0..5 {
            queue.mark(far_ms * MS);
            (0..packets).for_each(|_| queue.data(step_ms * MS));
            queue.echoed(packets * step_ms * MS);
        }
        queue.stands()
    }

    #[test]
    fn data_that_keeps_coming_without_the_echo_shows_a_queue() {
        assert!(stands(20, 1, 40));
    }

    #[test]
    fn a_queue_that_hides_nothing_is_none() {
        assert!(!stands(20, 1, 100));
        assert!(!stands(4, 1, 1));
    }

    #[test]
    fn what_a_host_hands_down_at_once_is_none() {
        assert!(!stands(5, 10, 40));
    }

    #[test]
    fn what_comes_all_at_once_after_a_pause_is_none() {
        let mut queue = QueueBefore::default();
        for _ in 0..5 {
            queue.mark(20 * MS);
            queue.data(50 * MS);
            (0..20).for_each(|_| queue.data(0));
            queue.echoed(50 * MS);
        }
        assert!(!queue.stands());
    }

    #[test]
    fn one_echo_that_comes_at_once_begins_it_anew() {
        let mut queue = QueueBefore::default();
        for mark in 0..5 {
            queue.mark(20 * MS);
            (0..20).for_each(|_| queue.data(MS));
            queue.echoed(if mark == 2 { MS / 10 } else { 20 * MS });
            assert!(!queue.stands());
        }
    }
}
