//! The round trip between the capture point and the sender of a direction: as the handshake showed it at first, then as
//! echoes show it (RFC 7323: TSecr repeats the newest TSval received), whatever queue is on the way.
//!
//! Rule: docs/methods.md, "Flight on a short path".

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::tcp::sender::queue_before_tap::QueueBefore;
use crate::tcp::stats::sequence::serial_difference;

/// Loops shorter than this are not worth a delay line, as long as no queue makes them longer.
const SHORTEST_LOOP_NS: i64 = 1_000_000;

/// An echo may come this much later than the one before it.
const ECHO_PATIENCE_NS: i64 = 10_000_000;

/// Acknowledgements that counted before an echo came, at most, one for each tick of the timestamps.
const MOST_OVERDUE: usize = 1 << 12;

/// An echo tells how long the way is only where data kept coming: of its delay this part may pass without any, one in so many.
pub(crate) const BREAK_DIVISOR: i64 = 4;

/// Longer than any loop.
const NEVER: i64 = Packet::NEVER_NS;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct SenderLoop {
    /// Without any queue; 0 as long as it is not known, or at the sender.
    shortest_ns: i64,
    /// As the last echo showed it.
    recent_ns: i64,
    /// TSval of the acknowledgement that the sender heard last.
    echoed: Option<u32>,
    /// When acknowledgements passed that counted before their echo, and their TSval: an echo of them still tells the loop.
    overdue: VecDeque<(i64, u32)>,
    /// Shortest in the round in progress, [`NEVER`] without one.
    round_least_ns: i64,
    /// Longest in the round before and in this one: what the sender has measured lags a round trip behind what passes here.
    longest_ns: [i64; 2],
    /// At the sender, where [`Self::overdue`] holds the acknowledgement that is marked.
    queue_before: QueueBefore,
}

impl Default for SenderLoop {
    fn default() -> Self {
        Self {
            shortest_ns: 0,
            recent_ns: 0,
            echoed: None,
            overdue: VecDeque::new(),
            round_least_ns: NEVER,
            longest_ns: [0; 2],
            queue_before: QueueBefore::default(),
        }
    }
}

impl SenderLoop {
    /// The handshake, or the shortest answers, told it.
    pub(crate) fn set(&mut self, loop_ns: i64) {
        self.shortest_ns = loop_ns.max(1);
        self.recent_ns = self.shortest_ns;
    }

    /// The capture point is away from the sender.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.shortest_ns != 0
    }

    /// The sender hears of what passes soon, as far as echoes have shown.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.recent_ns < SHORTEST_LOOP_NS
    }

    /// No echo of what counted already is awaited.
    #[inline]
    pub(crate) fn awaits_nothing(&self) -> bool {
        self.overdue.is_empty()
    }

    /// Without any queue; 0 at the sender.
    #[inline]
    pub(crate) fn shortest_ns(&self) -> i64 {
        self.shortest_ns
    }

    /// As data showed it last, queues included.
    #[inline]
    pub(crate) fn recent_ns(&self) -> i64 {
        self.recent_ns
    }

    /// How long an acknowledgement waits for its echo, a little longer than the last one took; or counts without one.
    pub(crate) fn patience_ns(&self, echoed: bool) -> i64 {
        if echoed {
            self.recent_ns + self.recent_ns / 4 + self.echo_patience_ns()
        } else {
            self.shortest_ns.max(SHORTEST_LOOP_NS)
        }
    }

    /// No queue grows so fast that the next echo takes longer.
    pub(crate) fn longest_ns(&self) -> i64 {
        // Times may lie 2^62 apart.
        let half_as_much_more_ns = self.recent_ns.saturating_mul(3) / 2;
        self.recent_ns.saturating_add(half_as_much_more_ns).saturating_add(self.echo_patience_ns())
    }

    /// How much longer than the last echo took the next one may take. On a short path a wait as long as elsewhere would hide
    /// every pause.
    fn echo_patience_ns(&self) -> i64 {
        if self.shortest_ns < SHORTEST_LOOP_NS {
            ECHO_PATIENCE_NS.min(self.recent_ns.max(SHORTEST_LOOP_NS).saturating_mul(2))
        } else {
            ECHO_PATIENCE_NS
        }
    }

    /// An acknowledgement that waited is echoed after this time.
    pub(crate) fn heard(&mut self, tsval: Option<u32>, taken_ns: i64) {
        if self.echoed != tsval {
            // No echo of a tick comes sooner than a loop after the first acknowledgement that carried it: where the handshake took
            // longer, something held it up.
            self.echoed = tsval;
            self.shortest_ns = self.shortest_ns.min(taken_ns.max(SHORTEST_LOOP_NS));
        }
        self.took(taken_ns);
    }

    fn took(&mut self, taken_ns: i64) {
        self.recent_ns = taken_ns.max(self.shortest_ns);
        self.round_least_ns = self.round_least_ns.min(self.recent_ns);
        self.longest_ns[1] = self.longest_ns[1].max(self.recent_ns);
    }

    /// When the oldest passed of the acknowledgements that counted and that no data has echoed yet.
    pub(crate) fn unheard_ns(&self) -> Option<i64> {
        self.overdue.front().map(|&(passed_ns, _)| passed_ns)
    }

    /// When the oldest of them passed that the echo `tsecr` does not cover either.
    pub(crate) fn overdue_since_ns(&self, tsecr: u32) -> Option<i64> {
        self.overdue.iter().find(|(_, tsval)| serial_difference(*tsval, tsecr) > 0).map(|&(passed_ns, _)| passed_ns)
    }

    /// An acknowledgement was waited for too long.
    pub(crate) fn give_up(&mut self, passed_ns: i64, tsval: Option<u32>) {
        self.echoed = tsval;
        if let Some(tsval) = tsval {
            self.keep(passed_ns, tsval);
        }
    }

    /// An acknowledgement counts before its echo.
    pub(crate) fn keep(&mut self, passed_ns: i64, tsval: u32) {
        if self.overdue.back().is_none_or(|(_, newest)| *newest != tsval) {
            if self.overdue.len() >= MOST_OVERDUE {
                self.overdue.pop_front();
            }
            self.overdue.push_back((passed_ns, tsval));
        }
    }

    /// At the sender, with a round trip of `far_ns` to the receiver: the echo of this acknowledgement is to be looked for.
    pub(crate) fn mark(&mut self, passed_ns: i64, tsval: u32, far_ns: i64) {
        if self.overdue.is_empty() {
            self.overdue.push_back((passed_ns, tsval));
            self.queue_before.mark(far_ns);
        }
    }

    /// Data with the echo `tsecr` passes at the sender, the first since `sent_ns`.
    pub(crate) fn heard_beside(&mut self, time_ns: i64, tsecr: u32, sent_ns: i64) {
        let Some(&(passed_ns, tsval)) = self.overdue.front() else { return };
        self.queue_before.data(time_ns.saturating_sub(sent_ns));
        if serial_difference(tsecr, tsval) >= 0 {
            self.overdue.clear();
            self.queue_before.echoed(time_ns.saturating_sub(passed_ns));
        }
    }

    /// What passes at the sender has come through a queue.
    pub(crate) fn is_behind_queue(&self) -> bool {
        self.queue_before.stands()
    }

    /// Data with the echo `tsecr` passes, the first since `sent_ns`: how long it took, where it tells. A queue may grow faster than
    /// acknowledgements are waited for, as when a token bucket runs empty. Data that kept coming until the echo shows that it was
    /// a queue, and no pause of the sender; on a short path data whose sender had not heard of what passed long ago does.
    pub(crate) fn heard_of_overdue(&mut self, time_ns: i64, tsecr: u32, sent_ns: i64) -> Option<i64> {
        let mut newest_ns = None;
        while let Some(&(passed_ns, tsval)) = self.overdue.front()
            && serial_difference(tsecr, tsval) >= 0
        {
            self.overdue.pop_front();
            newest_ns = Some(passed_ns);
        }
        let echo_ns = newest_ns.map(|passed_ns| time_ns.saturating_sub(passed_ns));
        let taken_ns = if self.is_short() {
            // It was sent before its sender heard of this, so that it has been under way for longer.
            let unheard_ns = self.overdue.front().map_or(0, |&(passed_ns, _)| time_ns.saturating_sub(passed_ns));
            if unheard_ns < SHORTEST_LOOP_NS {
                self.round_least_ns = echo_ns.map_or(self.round_least_ns, |_| self.round_least_ns.min(self.recent_ns));
                return None;
            }
            echo_ns.unwrap_or(unheard_ns)
        } else {
            echo_ns.filter(|taken_ns| time_ns.saturating_sub(sent_ns) <= taken_ns / BREAK_DIVISOR)?
        };
        self.took(taken_ns);
        Some(taken_ns)
    }

    /// A round begins; `afresh`: it is not the one in progress, made longer.
    pub(crate) fn begin_round(&mut self, afresh: bool) {
        self.longest_ns = [self.longest_ns[1], self.recent_ns];
        if afresh {
            self.round_least_ns = NEVER;
        }
    }

    /// The shortest that echoes showed in the round in progress.
    pub(crate) fn round_least_ns(&self) -> Option<u64> {
        u64::try_from(self.round_least_ns).ok().filter(|_| self.round_least_ns != NEVER)
    }

    /// By how much longer it was in this round or the one before: the sender's own measurements may be as old.
    pub(crate) fn queue_before_ns(&self) -> i64 {
        let [before, now] = self.longest_ns;
        before.max(now).saturating_sub(self.recent_ns).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_as_long_as_times_can_lie_apart_is_waited_for() {
        let longest = 1 << 62;
        let mut sender_loop = SenderLoop::default();
        sender_loop.set(SHORTEST_LOOP_NS);
        sender_loop.heard(Some(1), longest);
        assert!(sender_loop.longest_ns() > longest && sender_loop.patience_ns(true) > longest);
    }
}
