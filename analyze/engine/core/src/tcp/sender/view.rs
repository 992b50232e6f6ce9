//! What the sender of a direction knew, and when: data in flight, the edge of the window, and for how long that edge
//! left no room.
//!
//! At the sender, an acknowledgement counts from the moment it is seen. Elsewhere the sender hears of it later, and
//! the data it sends then takes as long again to pass the capture point: seen from there, an acknowledgement takes
//! effect one *sender loop* (the round trip between capture point and sender) after it passed. Acknowledgements wait
//! that long in a delay line, and all bookkeeping is done in the time of the data that passes.
//!
//! With timestamps the data itself says what its sender had heard (RFC 7323: TSecr echoes the newest TSval received), however
//! long the queue on the way is; the loop's length then only serves while no data passes.
//!
//! Rule: docs/methods.md, "Flight".

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::tcp::events::acked::Acked;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Resumption, Sent};
use crate::tcp::kernel::{NO_ANSWER_NS, SHORTEST_PAUSE_NS, SHORTEST_SILENCE_NS};
use crate::tcp::sender::loop_delay::SenderLoop;
use crate::tcp::sender::pauses::{Restarts, Sends};
use crate::tcp::sender::silences::{Silence, Silences};
use crate::tcp::sender::turns::Turns;
use crate::tcp::stats::reuse::room_of_queue;
use crate::tcp::stats::sequence::serial_difference;

/// Segments that a sender with data waiting hands down at once, at least.
const FEWEST_SEGMENTS_AT_ONCE: u64 = 2;

/// Acknowledgements in the delay line, at most.
const MOST_WAITING: usize = 1 << 16;

/// An acknowledgement on its way to the sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) passed_ns: i64,
    pub(super) tsval: Option<u32>,
    pub(super) acknowledged: u64,
    pub(super) edge: Option<u64>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct SenderView {
    pub(super) sender_loop: SenderLoop,
    pub(super) begun: bool,
    pub(super) waiting: VecDeque<Waiting>,
    /// More were on their way than are kept.
    pub(crate) has_forgotten: bool,
    /// So long after the last data that more of it would end a pause.
    pub(super) pause_from_ns: i64,
    /// Highest position sent, acknowledged, and allowed by the window.
    pub(super) sent: u64,
    pub(super) acknowledged: u64,
    /// [`SenderView::UNKNOWN_EDGE`] as long as it is not known.
    pub(super) edge: u64,
    /// Bytes of `sent - acknowledged` that are not in flight (RFC 6675: sacked and lost, less what was retransmitted).
    pub(super) relief: u64,
    /// A full segment, and the largest frame the sender hands down at once (more than a segment with offload).
    pub(super) segment_size: u64,
    pub(super) largest_send: u64,
    /// Bytes that a millisecond's pacing hands down at once.
    pub(super) paced_send: u64,
    /// What a sender may hand down at once in a window of any size.
    pub(super) large_send: u64,
    /// [`SenderView::NEVER`] before the first event.
    pub(super) updated_ns: i64,
    pub(super) limited: bool,
    pub(super) limited_ns: u64,
    pub(super) flight: u64,
    pub(super) max_flight: u64,
    pub(super) flight_area: f64,
    pub(super) busy_ns: u64,
    /// Time nothing was in flight because the window was closed.
    pub(super) blocked_ns: u64,
    pub(super) turns: Turns,
    /// The round in progress is over when this is acknowledged; largest flight in it.
    pub(super) round_target: u64,
    pub(super) round_max_flight: u64,
    pub(super) silences: Silences,
    pub(super) restarts: Restarts,
}

impl Default for SenderView {
    fn default() -> Self {
        Self {
            sender_loop: SenderLoop::default(),
            begun: false,
            waiting: VecDeque::new(),
            has_forgotten: false,
            pause_from_ns: Self::NEVER,
            sent: 0,
            acknowledged: 0,
            edge: Self::UNKNOWN_EDGE,
            relief: 0,
            segment_size: 0,
            largest_send: 0,
            paced_send: 0,
            large_send: 0,
            updated_ns: Self::NEVER,
            limited: false,
            limited_ns: 0,
            flight: 0,
            max_flight: 0,
            flight_area: 0.0,
            busy_ns: 0,
            blocked_ns: 0,
            turns: Turns::default(),
            round_target: 0,
            round_max_flight: 0,
            silences: Silences::default(),
            restarts: Restarts::default(),
        }
    }
}

impl SenderView {
    /// A new one in the room of this one.
    #[inline(always)]
    pub fn renewed(&mut self) -> Self {
        Self { waiting: room_of_queue(&mut self.waiting), ..Self::default() }
    }

    /// So far away that it limits nothing.
    const UNKNOWN_EDGE: u64 = u64::MAX;
    const NEVER: i64 = Packet::NEVER_NS;

    /// Sets the round trip between the capture point and the sender, as soon as it is known.
    pub fn set_loop(&mut self, loop_ns: i64) {
        self.sender_loop.set(loop_ns);
    }

    /// Data passes whose sender had heard everything up to the timestamp `tsecr`.
    /// Returns how long the newest acknowledgement it had not echoed before took to the sender and back to here.
    #[inline]
    pub fn heard(&mut self, time_ns: i64, tsecr: u32) -> Option<i64> {
        let nothing_waits = self.waiting.is_empty() && self.sender_loop.awaits_nothing();
        if nothing_waits { None } else { self.heard_of_waiting(time_ns, tsecr) }
    }

    fn heard_of_waiting(&mut self, time_ns: i64, tsecr: u32) -> Option<i64> {
        if !self.sender_loop.is_known() {
            self.sender_loop.heard_beside(time_ns, tsecr, self.sent_ns());
            return None;
        }
        // A queue does not grow so fast: the sender heard it long ago and paused.
        let longest_ns = self.sender_loop.longest_ns();
        if self.waiting.front().is_some_and(|waiting| time_ns.saturating_sub(waiting.passed_ns) > longest_ns) {
            self.advance_through_waiting(time_ns);
        }
        let mut loop_ns = self.sender_loop.heard_of_overdue(time_ns, tsecr, self.sent_ns());
        if loop_ns.is_some() {
            self.set_pace(self.sender_loop.recent_ns() as f64);
        }
        while let Some(waiting) = self.waiting.front().copied()
            && waiting.tsval.is_some_and(|tsval| serial_difference(tsecr, tsval) >= 0)
        {
            self.waiting.pop_front();
            let taken_ns = time_ns.saturating_sub(waiting.passed_ns);
            self.sender_loop.heard(waiting.tsval, taken_ns);
            // The last of those that carry one tick's timestamp may not have reached the sender.
            if taken_ns >= self.sender_loop.shortest_ns() {
                self.restarts.heard(waiting.passed_ns);
            }
            self.accumulate(time_ns);
            self.apply(waiting.acknowledged, waiting.edge, 0);
            self.set_pace(self.sender_loop.recent_ns() as f64);
            loop_ns = Some(taken_ns);
        }
        loop_ns
    }

    /// At the sender an acknowledgement passes, with a round trip of `far_ns` to the receiver: does a queue stand between the sender
    /// and here, as far as those before have told?
    pub fn look_for_queue(&mut self, passed_ns: i64, tsval: u32, far_ns: i64) -> bool {
        self.sender_loop.mark(passed_ns, tsval, far_ns);
        self.sender_loop.is_behind_queue()
    }

    /// Data `start..end` was sent by a sender that uses segments of `segment_size` and frames of up to `largest_send`.
    #[inline(always)]
    pub fn sent(&mut self, time_ns: i64, [start, end]: [u64; 2], segment_size: u64, largest_send: u64) {
        self.advance(time_ns);
        if !self.begun {
            self.begun = true;
            self.acknowledged = start;
        }
        self.pause_from_ns = time_ns.wrapping_add(SHORTEST_PAUSE_NS);
        self.sent = self.sent.max(end);
        if (self.segment_size, self.largest_send) != (segment_size, largest_send) {
            (self.segment_size, self.largest_send) = (segment_size, largest_send);
            self.set_large_send();
        }
        self.refresh();
    }

    /// Data that passes now ends a pause.
    #[inline(always)]
    pub fn ends_pause(&self, time_ns: i64) -> bool {
        time_ns > self.pause_from_ns
    }

    /// Data is about to pass that ends a pause.
    pub fn resumes(&mut self, time_ns: i64, resumption: Resumption) {
        self.advance(time_ns);
        self.restart(time_ns, resumption);
    }

    /// Data is about to pass, the first since the other side said something, at `spoke_ns`: where nothing was in flight, it was the
    /// sender's turn from when it had heard that.
    #[inline(never)]
    pub fn takes_its_turn(&mut self, time_ns: i64, spoke_ns: i64, by_server: bool) {
        self.advance(time_ns);
        if self.flight > 0 || self.limited {
            return;
        }
        let asked_ns = spoke_ns.saturating_add(self.sender_loop.shortest_ns());
        self.turns.taken(time_ns, asked_ns, self.pause_from_ns == Self::NEVER, by_server);
    }

    fn set_large_send(&mut self) {
        self.large_send = self.largest_send.max(self.paced_send).max(FEWEST_SEGMENTS_AT_ONCE * self.segment_size);
    }

    /// The round trip is now about `rtt_ns`: sets how much the sender hands down at once. Linux makes that what its pacing,
    /// at 1.2 times the rate of the window, lets pass in a millisecond (`tcp_tso_autosize`).
    pub fn set_pace(&mut self, rtt_ns: f64) {
        // A window is far from 2^63 bytes: to a signed number the processor converts in one step.
        self.paced_send = (self.flight as i64 as f64 * 1.2e6 / rtt_ns.max(1e6)) as i64 as u64;
        self.set_large_send();
    }

    /// What RFC 6675 takes off the flight changed without an acknowledgement (at the sender).
    pub fn set_relief(&mut self, time_ns: i64, relief: u64) {
        self.advance(time_ns);
        self.relief = relief;
        self.refresh();
    }

    /// An acknowledgement passed. `relief` as in the struct, known at the sender only.
    #[inline(always)]
    pub fn acknowledged(
        &mut self,
        time_ns: i64,
        tsval: Option<u32>,
        acknowledged: u64,
        edge: Option<u64>,
        relief: u64,
    ) {
        self.restarts.passed(time_ns);
        self.advance(time_ns);
        if !self.sender_loop.is_known() {
            self.apply(acknowledged, edge, relief);
        } else if let Some(tsval) = tsval.filter(|_| self.sender_loop.is_short() && self.waiting.is_empty()) {
            // The sender hears of it soon, as far as echoes have shown.
            self.sender_loop.keep(time_ns, tsval);
            self.restarts.heard(time_ns);
            self.apply(acknowledged, edge, relief);
        } else if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(Waiting { passed_ns: time_ns, tsval, acknowledged, edge });
        } else {
            self.has_forgotten = true;
        }
    }

    /// When the oldest acknowledgement passed of those that an echo `tsecr` shows the sender not to have heard; none beside it.
    pub fn unheard_since(&self, tsecr: u32) -> Option<i64> {
        let is_newer = |tsval: u32| serial_difference(tsval, tsecr) > 0;
        let waits = || self.waiting.iter().find(|waiting| waiting.tsval.is_some_and(is_newer));
        let overdue_ns = self.sender_loop.overdue_since_ns(tsecr);
        overdue_ns.or_else(|| waits().map(|waiting| waiting.passed_ns)).filter(|_| self.sender_loop.is_known())
    }

    /// The round trip between the capture point and the sender without a queue; 0 beside it.
    pub fn sender_loop_ns(&self) -> i64 {
        self.sender_loop.shortest_ns()
    }

    /// When data passed last.
    fn sent_ns(&self) -> i64 {
        self.pause_from_ns.wrapping_sub(SHORTEST_PAUSE_NS)
    }

    #[cold]
    fn restart(&mut self, time_ns: i64, resumption: Resumption) {
        let pause_ns = time_ns.saturating_sub(self.sent_ns());
        // Away from the sender the receiving host may have put together what the path let pass one by one.
        let joined = if self.sender_loop.is_known() { self.largest_send } else { 0 };
        if !self.sender_loop.is_known() {
            self.restarts.heard_all();
        }
        let sends = Sends {
            sent: self.sent,
            segment_size: self.segment_size,
            least_burst: self.paced_send.max(joined),
            nothing_in_flight: !self.sender_loop.is_known() && self.acknowledged >= self.sent,
            pushed: resumption.pushed,
            asked_ns: resumption.asked_ns,
            has_waited: if self.sender_loop.is_known() { self.has_waited(time_ns) } else { resumption.behind_echo },
        };
        self.restarts.paused(time_ns, pause_ns, self.sender_loop.shortest_ns(), sends);
    }

    /// Away from the sender: an acknowledgement that the data does not echo has passed so long ago that the sender must have heard it
    /// before the data came here by the shortest way.
    fn has_waited(&self, time_ns: i64) -> bool {
        let waiting_ns = self.waiting.front().map(|waiting| waiting.passed_ns);
        let unheard_ns = waiting_ns.or(self.sender_loop.unheard_ns());
        let shortest_ns = self.sender_loop.shortest_ns().saturating_add(NO_ANSWER_NS);
        unheard_ns.is_some_and(|passed_ns| time_ns.saturating_sub(passed_ns) > shortest_ns)
    }

    #[inline(always)]
    fn apply(&mut self, acknowledged: u64, edge: Option<u64>, relief: u64) {
        if acknowledged >= self.acknowledged || !self.begun {
            self.begun = true;
            self.acknowledged = acknowledged;
            self.sent = self.sent.max(acknowledged);
            self.relief = relief;
            self.edge = edge.unwrap_or(self.edge);
        }
        self.refresh();
    }

    #[inline(always)]
    fn refresh(&mut self) {
        self.flight = (self.sent - self.acknowledged.min(self.sent)).saturating_sub(self.relief);
        self.round_max_flight = self.round_max_flight.max(self.flight);
        // Most often there is far more room than any sender wants.
        let room = self.edge.saturating_sub(self.sent);
        self.limited = room < self.large_send.max(1) && self.is_limited(room);
    }

    /// Senders wait for room for a large frame, up to a third of the window; even without offload Linux wants two segments
    /// (`tcp_tso_should_defer`, `tcp_min_tso_segs`). A window that was in the way and is less than a segment, and than half of what
    /// was in flight, when all has been acknowledged still is: a sender with more to send waits until it opens, or for long (RFC
    /// 9293 section 3.8.6.2.1).
    #[inline(never)]
    fn is_limited(&self, room: u64) -> bool {
        let is_silly = || room < self.segment_size && room < self.max_flight.max(self.round_max_flight) / 2;
        let closed = self.edge <= self.acknowledged || (self.limited && is_silly());
        let third = self.edge.saturating_sub(self.acknowledged) / 3;
        let room_wanted = self.segment_size.max(self.large_send.min(third)).max(1);
        (self.flight > 0 || closed) && room < room_wanted
    }

    #[inline(always)]
    fn advance(&mut self, time_ns: i64) {
        if !self.waiting.is_empty() {
            self.advance_through_waiting(time_ns);
        }
        self.accumulate(time_ns);
    }

    fn advance_through_waiting(&mut self, time_ns: i64) {
        while let Some(waiting) = self.waiting.front().copied() {
            let due_ns = waiting.passed_ns.saturating_add(self.sender_loop.patience_ns(waiting.tsval.is_some()));
            if due_ns > time_ns {
                return;
            }
            self.waiting.pop_front();
            self.sender_loop.give_up(waiting.passed_ns, waiting.tsval);
            self.restarts.heard(waiting.passed_ns);
            self.accumulate(due_ns);
            self.apply(waiting.acknowledged, waiting.edge, 0);
        }
    }

    #[inline(always)]
    fn accumulate(&mut self, time_ns: i64) {
        // Times lie within 2^62 of zero.
        let elapsed = time_ns.wrapping_sub(self.updated_ns);
        // Packets of one moment are frequent and no exception: nothing is added for them.
        if elapsed < 0 {
            if self.updated_ns == Self::NEVER {
                self.updated_ns = time_ns;
            }
            return;
        }
        self.updated_ns = time_ns;
        if self.flight > 0 {
            self.flight_area += self.flight as i64 as f64 * elapsed as f64;
            self.busy_ns += elapsed as u64;
        } else if !self.limited {
            self.turns.idle(time_ns.saturating_sub(elapsed), self.busy_ns);
        }
        if self.limited {
            self.limited_ns += elapsed as u64;
            self.blocked_ns += if self.flight == 0 { elapsed as u64 } else { 0 };
        }
        if elapsed > SHORTEST_SILENCE_NS {
            self.silences.note(Silence {
                start_ns: time_ns.saturating_sub(elapsed),
                end_ns: time_ns,
                limited: self.limited,
                idle: self.flight == 0 && !self.limited,
            });
        }
    }

    /// What was in flight when the round began is acknowledged.
    #[inline]
    pub fn round_is_over(&self) -> bool {
        self.acknowledged >= self.round_target
    }

    /// The next round lasts until what is in flight now is acknowledged, or the next byte. `afresh`: it is not the round in
    /// progress, made longer.
    pub fn begin_round(&mut self, afresh: bool) {
        self.round_target = self.sent.max(self.acknowledged + 1);
        self.sender_loop.begin_round(afresh);
        if afresh {
            self.restarts.begin_round();
            self.max_flight = self.max_flight.max(self.round_max_flight);
            self.round_max_flight = self.flight;
        }
    }
}

impl Observer for SenderView {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        let data = &sent.data;
        let (segment_size, largest_send) = (u64::from(data.segment_size), u64::from(sent.largest_payload));
        self.sent(data.packet.time_ns, [data.start, data.end], segment_size, largest_send);
    }

    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, _context: &Context) {
        if let Some(rtt_ns) = acked.pace_rtt_ns {
            self.set_pace(rtt_ns);
        }
        let Some(window) = acked.window else { return };
        let edge = window.bytes.map(|bytes| acked.position + bytes);
        self.acknowledged(acked.packet.time_ns, acked.packet.timestamp(), acked.position, edge, window.relief);
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
