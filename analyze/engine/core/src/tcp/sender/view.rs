//! What the sender of a direction knew, and when: data in flight, the edge of the window, and for how long that edge
//! left no room.
//!
//! Beside the sender, an acknowledgement counts from the moment it is seen. Elsewhere the sender hears of it later, and
//! the data it sends then takes as long again to pass the capture point: seen from there, an acknowledgement takes
//! effect one *sender loop* (the round trip between capture point and sender) after it passed. Acknowledgements wait
//! that long in a delay line, and all bookkeeping is done in the time of the data that passes.
//!
//! With timestamps the data itself says what its sender had heard (RFC 7323: TSecr echoes the newest TSval received), however
//! long the queue on the way is; the loop's length then only serves while no data passes.
//!
//! Rule: docs/methods.md, "Flight".

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::packet::Packet;
use crate::tcp::events::acked::Acked;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Resumption, Sent, Turn};
use crate::tcp::kernel::{NO_ANSWER_NS, SHORTEST_PAUSE_NS, SHORTEST_SILENCE_NS};
use crate::tcp::sender::loop_delay::SenderLoop;
use crate::tcp::sender::pauses::{Pauses, Restarts, Sends};
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
struct Waiting {
    passed_ns: i64,
    tsval: Option<u32>,
    acknowledged: u64,
    edge: Option<u64>,
}

/// See the module.
#[derive(Debug)]
pub struct SenderView {
    sender_loop: SenderLoop,
    begun: bool,
    waiting: VecDeque<Waiting>,
    /// So long after the last data that more of it would end a pause.
    pause_from_ns: i64,
    /// Highest position sent, acknowledged, and allowed by the window.
    sent: u64,
    acknowledged: u64,
    /// [`SenderView::UNKNOWN_EDGE`] as long as it is not known.
    edge: u64,
    /// Bytes of `sent - acknowledged` that are not in flight (RFC 6675: sacked and lost, less what was sent again).
    relief: u64,
    /// A full segment, and the largest frame the sender hands down at once (more than a segment with offload).
    segment_size: u64,
    largest_send: u64,
    /// Bytes that a millisecond's pacing hands down at once.
    paced_send: u64,
    /// What a sender may hand down at once in a window of any size.
    large_send: u64,
    /// [`SenderView::NEVER`] before the first event.
    updated_ns: i64,
    limited: bool,
    limited_ns: u64,
    flight: u64,
    max_flight: u64,
    flight_area: f64,
    busy_ns: u64,
    /// Time nothing was in flight because the window was closed.
    blocked_ns: u64,
    turns: Turns,
    /// The round in progress is over when this is acknowledged; largest flight in it.
    round_target: u64,
    round_max_flight: u64,
    silences: Silences,
    restarts: Restarts,
}

impl Default for SenderView {
    fn default() -> Self {
        Self {
            sender_loop: SenderLoop::default(),
            begun: false,
            waiting: VecDeque::new(),
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

    /// Beside the sender an acknowledgement passes, with a round trip of `far_ns` to the receiver: does a queue stand between the sender
    /// and here, as far as those before have told?
    pub fn look_for_queue(&mut self, passed_ns: i64, tsval: u32, far_ns: i64) -> bool {
        self.sender_loop.mark(passed_ns, tsval, far_ns);
        self.sender_loop.is_behind_queue()
    }

    /// Data `start..end` was sent by a sender that uses segments of `segment_size` and frames of up to `largest_send`;
    /// `resumption` if it [`Self::ends_pause`].
    #[inline(always)]
    pub fn sent(
        &mut self,
        time_ns: i64,
        [start, end]: [u64; 2],
        segment_size: u64,
        largest_send: u64,
        resumption: Option<Resumption>,
    ) {
        self.advance(time_ns);
        if !self.begun {
            self.begun = true;
            self.acknowledged = start;
        }
        if let Some(resumption) = resumption {
            self.restart(time_ns, resumption);
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

    /// What RFC 6675 takes off the flight changed without an acknowledgement (beside the sender).
    pub fn set_relief(&mut self, time_ns: i64, relief: u64) {
        self.advance(time_ns);
        self.relief = relief;
        self.refresh();
    }

    /// An acknowledgement passed. `relief` as in the struct, known beside the sender only.
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
        }
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

    #[inline]
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

    /// The longest of the latest silences that lie within a gap, if any.
    pub fn silence_within(&self, start_ns: i64, end_ns: i64) -> Option<Silence> {
        self.silences.within(start_ns, end_ns)
    }

    /// Since when the sender has had nothing in flight, having heard of what passed here before: none if it has.
    pub fn idle_since_ns(&self) -> Option<i64> {
        self.turns.idle_since_ns(self.busy_ns).filter(|_| self.flight == 0)
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

    /// The pauses of the data so far, and what ended them.
    pub fn pauses(&self) -> Pauses {
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

impl Observer for SenderView {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        let data = &sent.data;
        if let Some(Turn { spoke_ns, by_server }) = sent.turn {
            self.takes_its_turn(data.packet.time_ns, spoke_ns, by_server);
        }
        let (segment_size, largest_send) = (u64::from(data.segment_size), u64::from(sent.largest_payload));
        self.sent(data.packet.time_ns, [data.start, data.end], segment_size, largest_send, sent.resumption);
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
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    #[test]
    fn a_full_window_limits_until_it_is_acknowledged() {
        let mut view = SenderView::default();
        view.acknowledged(0, None, 0, Some(10_000), 0);
        view.sent(0, [0, 10_000], 1000, 1000, None);
        view.acknowledged(40 * MILLISECOND, None, 10_000, Some(20_000), 0);
        view.sent(50 * MILLISECOND, [10_000, 10_500], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 40_000_000);
        assert_eq!(view.flight_statistics(), Some((10_000.0, NonZeroU64::new(10_000).expect("not zero"))));
    }

    #[test]
    fn it_is_the_senders_turn_once_it_has_heard_the_other_side() {
        for (loop_ms, answer_ms) in [(0, 1500), (40, 1460)] {
            let mut view = SenderView::default();
            if loop_ms > 0 {
                view.set_loop(loop_ms * MILLISECOND);
            }
            view.acknowledged(0, None, 0, Some(100_000), 0);
            view.takes_its_turn(1510 * MILLISECOND, 10 * MILLISECOND, true);
            assert_eq!(view.turns().first_asked_ns(), Some((10 + loop_ms) * MILLISECOND));
            view.sent(1510 * MILLISECOND, [0, 1000], 1000, 1000, None);
            view.acknowledged(1600 * MILLISECOND, None, 1000, Some(100_000), 0);
            // The next question comes after a while, and its answer again after 1.5 s.
            view.acknowledged(2000 * MILLISECOND, None, 1000, Some(100_000), 0);
            view.takes_its_turn(3500 * MILLISECOND, 2000 * MILLISECOND, true);
            assert_eq!(view.turns().thought_ns(), answer_ms as u64 * 1_000_000);
        }
    }

    #[test]
    fn away_from_the_sender_acknowledgements_count_one_loop_later() {
        let mut view = SenderView::default();
        view.set_loop(40 * MILLISECOND);
        view.acknowledged(0, None, 0, Some(10_000), 0);
        view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000, None);
        view.acknowledged(40 * MILLISECOND, None, 10_000, Some(20_000), 0);
        view.sent(80 * MILLISECOND, [10_000, 20_000], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 40_000_000);
        assert_eq!(view.flight_bytes(), 10_000);
    }

    #[test]
    fn room_for_one_segment_is_too_little_in_a_large_window() {
        let mut view = SenderView::default();
        view.acknowledged(0, None, 0, Some(10_000), 0);
        view.sent(0, [0, 9000], 1000, 1000, None);
        view.sent(10 * MILLISECOND, [9000, 10_000], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 10_000_000);
        let mut view = SenderView::default();
        view.acknowledged(0, None, 0, Some(10_000), 0);
        view.sent(0, [0, 8000], 1000, 1000, None);
        view.sent(10 * MILLISECOND, [8000, 10_000], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 0);
    }

    #[test]
    fn a_paced_sender_waits_for_room_for_a_millisecond() {
        let mut view = SenderView::default();
        view.acknowledged(0, None, 0, Some(100_000), 0);
        view.sent(0, [0, 96_000], 1000, 1000, None);
        view.set_pace(20e6);
        view.sent(10 * MILLISECOND, [96_000, 97_000], 1000, 1000, None);
        view.sent(20 * MILLISECOND, [97_000, 97_000], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 10_000_000, "5760 bytes are wanted, 4000 then 3000 are free");
    }

    #[test]
    fn the_echo_tells_what_the_sender_had_heard_behind_a_queue() {
        let mut view = SenderView::default();
        view.set_loop(40 * MILLISECOND);
        view.acknowledged(0, Some(1), 0, Some(10_000), 0);
        view.heard(100 * MILLISECOND, 1);
        view.sent(100 * MILLISECOND, [0, 10_000], 1000, 1000, None);
        view.acknowledged(100 * MILLISECOND, Some(101), 10_000, Some(20_000), 0);
        // The queue grows: the answer takes 120 ms, and until then the window was full.
        view.heard(220 * MILLISECOND, 101);
        view.sent(220 * MILLISECOND, [10_000, 12_000], 1000, 1000, None);
        assert_eq!(view.limited_ns(), 120_000_000);
        assert_eq!(view.flight_bytes(), 2000);
    }

    #[test]
    fn what_a_sender_has_not_heard_of_is_outstanding_to_it() {
        let mut view = SenderView::default();
        view.set_loop(40 * MILLISECOND);
        view.acknowledged(0, Some(1), 0, Some(10_000), 0);
        view.heard(40 * MILLISECOND, 1);
        view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000, None);
        view.acknowledged(40 * MILLISECOND, Some(41), 4000, Some(20_000), 0);
        view.acknowledged(42 * MILLISECOND, Some(43), 9000, Some(20_000), 0);
        assert_eq!([1, 41, 42, 43].map(|tsecr| view.outstanding_having_heard(tsecr)), [10_000, 6000, 6000, 1000]);
    }

    #[test]
    fn a_handshake_that_was_held_up_does_not_lengthen_the_loop_for_good() {
        let mut view = SenderView::default();
        view.set_loop(300 * MILLISECOND);
        view.acknowledged(0, Some(1), 0, Some(10_000), 0);
        view.heard(40 * MILLISECOND, 1);
        view.sent(40 * MILLISECOND, [0, 10_000], 1000, 1000, None);
        assert_eq!(view.recent_loop_ns(), 40 * MILLISECOND);
        // A second acknowledgement of the same tick may pass right before the echo of the first: it tells nothing.
        view.acknowledged(50 * MILLISECOND, Some(51), 5000, Some(20_000), 0);
        view.acknowledged(89 * MILLISECOND, Some(51), 6000, Some(20_000), 0);
        view.heard(90 * MILLISECOND, 51);
        assert_eq!(view.recent_loop_ns(), 40 * MILLISECOND);
    }

    /// Data and acknowledgements every 10 ms over a loop of 20 ms, for 100 ms.
    fn with_a_loop_of_20_ms() -> SenderView {
        let mut view = SenderView::default();
        view.set_loop(20 * MILLISECOND);
        (0..10).for_each(|at| exchange(&mut view, at, at - 2, true));
        view
    }

    /// At 10 ms times `at`: data that echoes the acknowledgement of the time `heard`, and perhaps an acknowledgement.
    fn exchange(view: &mut SenderView, at: i64, heard: i64, acknowledges: bool) {
        let (time_ns, position) = (10 * at * MILLISECOND, 1000 * at as u64);
        view.heard(time_ns, (100 + heard) as u32);
        view.sent(time_ns, [position, position + 1000], 1000, 1000, None);
        if acknowledges {
            view.acknowledged(time_ns, Some((100 + at) as u32), position + 1000, None, 0);
        }
    }

    #[test]
    fn a_queue_that_grows_faster_than_acknowledgements_are_waited_for_is_found_again() {
        let mut view = with_a_loop_of_20_ms();
        (10..45).for_each(|at| exchange(&mut view, at, 7.max(at - 30), true));
        assert_eq!(view.recent_loop_ns(), 300 * MILLISECOND);
    }

    #[test]
    fn a_sender_that_paused_before_its_echo_shows_no_queue() {
        let mut view = with_a_loop_of_20_ms();
        (40..45).for_each(|at| exchange(&mut view, at, 9.max(at - 2), true));
        assert_eq!(view.recent_loop_ns(), 20 * MILLISECOND);
    }

    /// Over a loop of 20 microseconds: data every millisecond, acknowledged at once, whose sender had heard of what passed
    /// `behind` milliseconds before.
    fn exchange_on_a_short_path(view: &mut SenderView, times_ms: std::ops::Range<i64>, behind: i64) {
        for at in times_ms {
            view.heard(at * MILLISECOND, (1000 + at - behind) as u32);
            view.sent(at * MILLISECOND, [1000 * at as u64, 1000 * (at + 1) as u64], 1000, 1000, None);
            let passed_ns = at * MILLISECOND + 10_000;
            view.acknowledged(passed_ns, Some((1000 + at) as u32), 1000 * (at + 1) as u64, None, 0);
        }
    }

    #[test]
    fn a_queue_on_a_short_path_shows_by_data_whose_sender_had_not_heard_yet() {
        let mut view = SenderView::default();
        view.set_loop(20_000);
        exchange_on_a_short_path(&mut view, 1..10, 1);
        assert!(view.recent_loop_ns() < MILLISECOND, "{}", view.recent_loop_ns());
        (10..40).for_each(|at| exchange_on_a_short_path(&mut view, at..at + 1, (at - 9).min(20)));
        exchange_on_a_short_path(&mut view, 40..100, 20);
        assert!((19 * MILLISECOND..=20 * MILLISECOND).contains(&view.recent_loop_ns()), "{}", view.recent_loop_ns());
        assert!((19_000..=20_000).contains(&view.flight_bytes()), "{}", view.flight_bytes());
        exchange_on_a_short_path(&mut view, 100..140, 1);
        assert!(view.recent_loop_ns() < MILLISECOND, "{}", view.recent_loop_ns());
    }

    #[test]
    fn a_pause_on_a_short_path_is_no_queue() {
        let mut view = SenderView::default();
        view.set_loop(20_000);
        for burst in 0..10 {
            exchange_on_a_short_path(&mut view, 100 * burst..100 * burst + 10, 1);
        }
        assert_eq!(view.flight_bytes(), 0);
        assert!(view.busy_ns() < 20_000_000, "{}", view.busy_ns());
    }

    #[test]
    fn an_unknown_window_limits_nothing() {
        let mut view = SenderView::default();
        view.sent(0, [0, 10_000], 1000, 1000, None);
        view.acknowledged(40 * MILLISECOND, None, 10_000, None, 0);
        assert_eq!(view.limited_ns(), 0);
    }

    #[test]
    fn what_was_sent_before_the_first_acknowledgement_is_in_flight() {
        let mut view = SenderView::default();
        view.sent(0, [5000, 6000], 1000, 1000, None);
        assert_eq!(view.flight_bytes(), 1000);
    }
}
