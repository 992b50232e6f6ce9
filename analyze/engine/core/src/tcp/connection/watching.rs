//! When the watchers of a direction ([`crate::tcp::connection::watchers`]) are asked: pauses before and after a packet changes
//! anything, rounds when what was in flight is acknowledged.
//!
//! Costs next to nothing while data flows: `Connection::is_watched` is a few compares.

use crate::packet::{Packet, option_bits};
use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::direction_and_peer;
use crate::tcp::events::context::Context;
use crate::tcp::events::sent::Arrived;
use crate::tcp::gaps::evidence::{GapEvidence, Place};
use crate::tcp::gaps::pending::Pending;
use crate::tcp::gaps::state::shortest_gap_ns;
use crate::tcp::gaps::totals::ClassifiedGap;
use crate::tcp::kernel::{ANSWER_NS, PAUSE_NS, SILENCE_NS};
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::setup::Opening;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::watch::{Around, FEWEST_DATA_PACKETS, close_round, cut_gap, finish, heard_of_all_ns};
use crate::tcp::rtt::covering::Covering;

impl Connection {
    /// What the rules for the data of `side` may know of the connection.
    #[inline(always)]
    pub(crate) fn context(&self, side: usize) -> Context {
        Context {
            sack: self.sack,
            beside_sender: self.beside[side],
            beside_receiver: self.beside[1 - side],
            loops_ns: [self.loops_ns[side], self.loops_ns[1 - side]],
            handshake_rtt_ns: self.handshake_rtt_ns,
        }
    }

    /// The packet may belong to a gap in the data of either side. `before_ns` is the time of the connection's packet before
    /// it, `shortest_ns` that of the shortest gap.
    #[inline(always)]
    pub(crate) fn is_watched(&self, packet: &Packet, side: usize, before_ns: i64, shortest_ns: i64) -> bool {
        let own = &self.directions[side];
        let pause_ns = packet.time_ns - own.last_sent.0;
        self.is_watched_answer(packet, side)
            || (packet.payload_length > 0
                && (pause_ns > shortest_ns || (pause_ns > PAUSE_NS && before_ns <= own.last_sent.0)))
    }

    /// As [`Self::is_watched`] for a packet without data.
    #[inline(always)]
    pub(crate) fn is_watched_answer(&self, packet: &Packet, side: usize) -> bool {
        let peer = &self.directions[1 - side];
        self.looking || (packet.time_ns - peer.last_sent.0 > SILENCE_NS && peer.una < peer.max)
    }

    /// Looks at a packet before it changes anything. `before_ns` is the time of the connection's packet before it. Returns what
    /// is known of the gap that the packet ends, if it ends one.
    pub(crate) fn watch(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        side: usize,
        before_ns: i64,
        limit_ns: Option<u64>,
    ) -> Option<GapEvidence> {
        let shortest_ns = shortest_gap_ns(limit_ns);
        if !self.is_watched(packet, side, before_ns, shortest_ns) {
            return None;
        }
        if self.looking {
            self.judge_what_is_due(packet.time_ns, limit_ns);
        }
        self.hear(packet, bytes, side, before_ns);
        if packet.payload_length == 0 {
            return None;
        }
        let context = self.context(side);
        let [direction, receiver] = direction_and_peer(&mut self.directions, side);
        let pauses = &mut self.watchers[side].pauses;
        if let Some(pauses) = pauses {
            pauses.watch.see_data(packet, direction, receiver, Place::of(&context), before_ns);
        }
        let gap_ns = packet.time_ns.saturating_sub(direction.last_sent.0);
        (gap_ns > shortest_ns).then(|| {
            let watch = &mut pauses.get_or_insert_default().watch;
            watch.evidence(packet, direction, receiver, &context, [before_ns, gap_ns])
        })
    }

    /// The packet of `side` is one of the receiver's for the data of the other side.
    fn hear(&mut self, packet: &Packet, bytes: &[u8], side: usize, before_ns: i64) {
        let sender = 1 - side;
        let direction = &self.directions[sender];
        if direction.live.is_none() || packet.time_ns.saturating_sub(direction.last_sent.0) < 0 {
            return;
        }
        let context = self.context(sender);
        let watch = &mut self.watchers[sender].pauses.get_or_insert_default().watch;
        watch.hear(packet, bytes, [&self.directions[sender], &self.directions[side]], &context, before_ns);
        let until_ns = watch.heard.map_or(i64::MIN, |heard| heard.time_ns.saturating_add(ANSWER_NS));
        self.watchers[sender].answer_until_ns = until_ns;
    }

    /// The packet's acknowledgement has been taken: if it belongs to an answer after a silence, that covers so much more, and what was
    /// sent before that took so long.
    #[inline(always)]
    pub(crate) fn answered(&mut self, packet: &Packet, side: usize, rtt_ns: Option<u64>) {
        if packet.time_ns <= self.watchers[1 - side].answer_until_ns {
            self.answered_after_silence(packet, side, rtt_ns);
        }
    }

    #[inline(never)]
    fn answered_after_silence(&mut self, packet: &Packet, side: usize, rtt_ns: Option<u64>) {
        let Some(pauses) = &mut self.watchers[1 - side].pauses else { return };
        pauses.watch.count_answer(packet, &self.directions[1 - side]);
        let (Some(heard), Some(rtt_ns)) = (&pauses.watch.heard, rtt_ns) else { return };
        let sent_ns = packet.time_ns.saturating_sub_unsigned(rtt_ns);
        if heard.is_answered_by(packet) && heard.time_ns.saturating_sub(sent_ns) > SILENCE_NS {
            pauses.watch.covering.keep(Covering { completed_ns: packet.time_ns, rtt_ns, frame: packet.frame });
        }
    }

    /// The data packet of which [`Self::watch`] gave the evidence has been taken: the gap is over.
    pub(crate) fn end_gap(
        &mut self,
        evidence: GapEvidence,
        packet: &Packet,
        side: usize,
        before: (i64, u32),
        arrived: &Arrived,
        limit_ns: Option<u64>,
    ) {
        let heard_tsval = self.directions[1 - side].newest_tsval();
        let watch = &mut self.watchers[side].pauses.get_or_insert_default().watch;
        let due = watch.end(evidence, packet, &self.directions[side], heard_tsval, before, arrived);
        self.looking |= !watch.pending.is_empty();
        if let Some(due) = due {
            self.judge(side, &due, limit_ns);
        }
    }

    /// Judges the gaps whose look-ahead is over.
    fn judge_what_is_due(&mut self, time_ns: i64, limit_ns: Option<u64>) {
        self.looking = false;
        for side in 0..2 {
            let Some(pauses) = &mut self.watchers[side].pauses else { continue };
            let due = pauses.watch.due(time_ns);
            self.looking |= !pauses.watch.pending.is_empty();
            due.iter().for_each(|pending| self.judge(side, pending, limit_ns));
        }
    }

    /// The connection is over: what waits is judged as it stands.
    pub(crate) fn judge_all(&mut self, limit_ns: Option<u64>) {
        self.looking = false;
        for side in 0..2 {
            let waiting = self.watchers[side].pauses.as_mut().map(|pauses| std::mem::take(&mut pauses.watch.pending));
            waiting.unwrap_or_default().iter().for_each(|pending| self.judge(side, pending, limit_ns));
            let place = Place::of(&self.context(side));
            if let (Some(pauses), Some(live)) = (&mut self.watchers[side].pauses, self.directions[side].live.as_deref())
            {
                pauses.settle(live, place, limit_ns);
            }
        }
    }

    fn judge(&mut self, side: usize, pending: &Pending, limit_ns: Option<u64>) {
        let Some(pauses) = &mut self.watchers[side].pauses else { return };
        let gap = pauses.judge(pending, &self.directions[side], limit_ns);
        self.gap_classified(side, &gap);
    }

    /// Every gap longer than 10 ms (or the user's limit, if that is shorter) comes here once its cause is known, soon after
    /// its end; one that a timer ended only when the receiver is heard again. What no round can explain is taken out of the
    /// rounds.
    fn gap_classified(&mut self, side: usize, gap: &ClassifiedGap) {
        let around = self.around(side);
        cut_gap(&mut self.watchers[side].limits, &mut self.directions[side], &around, gap);
    }

    fn around(&self, side: usize) -> Around {
        let peer = &self.directions[1 - side];
        Around {
            peer_bytes: peer.stream_offset(peer.max),
            handshake_rtt_ns: self.handshake_rtt_ns.and_then(|rtt| u64::try_from(rtt).ok()),
            farther_rtt_ns: self.farther_rtt_ns(),
            beside_sender: self.beside[side],
            sack: self.sack,
            congestion_echoes: self.congestion_echoes(side),
        }
    }

    /// What was in flight when the round of `side`'s data began is acknowledged; by a packet of that side, or of the other.
    #[cold]
    pub(crate) fn close_round(&mut self, packet: &Packet, side: usize, from_side: bool, rules: &[RoundRule]) {
        let direction = &mut self.directions[side];
        if direction.data_packets_so_far() < FEWEST_DATA_PACKETS
            && let Some(live) = direction.live.as_deref_mut()
        {
            return live.view.begin_round(false);
        }
        if direction.takes_fewer() {
            // The next packet is counted by what that tells.
            direction.settle_counters();
        }
        if self.beside[side] && !from_side {
            self.look_for_queue(packet, side);
        }
        let around = self.around(side);
        let spoke_ns = self.directions[1 - side].spoke_ns();
        let direction = &mut self.directions[side];
        let limits = &mut self.watchers[side].limits;
        // Away from the sender that may have heard of it all long before the packet that shows it. What follows is a round of its own,
        // and none if neither side says anything more.
        if let Some(heard_ns) = heard_of_all_ns(limits.as_deref(), direction).filter(|_| !from_side) {
            let spoke_since = spoke_ns.is_some_and(|spoke_ns| spoke_ns > heard_ns);
            // The last that the other side has said belongs to what follows.
            let peer_bytes = around.peer_bytes.saturating_sub(u64::from(spoke_since));
            let place = (heard_ns.min(packet.time_ns), packet.frame);
            close_round(limits, direction, place, &Around { peer_bytes, ..around }, rules);
            if !spoke_since {
                return;
            }
        }
        close_round(limits, direction, (packet.time_ns, packet.frame), &around, rules);
    }

    /// An acknowledgement of the data of `side` passes beside it: whether a queue stands in between, so that the capture is not
    /// beside it at all. Behind a hole the timestamp of what arrives is not echoed (RFC 7323 section 4.3).
    fn look_for_queue(&mut self, packet: &Packet, side: usize) {
        let [near_ns, far_ns] = [side, 1 - side].map(|side| self.loops_ns[side]);
        let (Some(near_ns), Some(far_ns)) = (near_ns, far_ns) else { return };
        let peer = &self.directions[1 - side];
        let in_order = packet.sequence.wrapping_add(packet.payload_length) == peer.max as u32
            && !peer.live.as_deref().is_some_and(|live| live.holes.reach_beyond(peer.una));
        if packet.options & option_bits::TIMESTAMPS == 0 || !in_order {
            return;
        }
        let Some(live) = self.directions[side].live.as_deref_mut() else { return };
        if live.view.look_for_queue(packet.time_ns, packet.tsval, far_ns) {
            self.behind_queue[side] = true;
            self.set_loop(side, near_ns);
        }
    }

    /// The window that limits `side`'s data where only the flight shows its scale.
    fn inferred_window(&self, side: usize) -> Option<InferredWindow> {
        let direction = &self.directions[side];
        let (_, mean, largest) = direction.window.extremes()?;
        let live = direction.live.as_deref()?;
        let (_, flight) = live.view.flight_statistics()?;
        InferredWindow::of(mean, largest, flight.get(), u64::from(live.size.segment_size))
    }

    /// Ends the last round of `side`'s data, and says what limited it. None if it was too short to judge, or none of it was
    /// acknowledged within the capture: then no round is ever over, and what the sender waited for cannot be known.
    pub(crate) fn finish_limits(
        &mut self,
        side: usize,
        tls_end_ns: Option<i64>,
        rules: &[RoundRule],
    ) -> Option<LimitsSummary> {
        let direction = &self.directions[side];
        let first_data_ns = direction.first_data_ns.filter(|_| direction.data_packets >= FEWEST_DATA_PACKETS)?;
        if direction.acknowledged_bytes() == 0 {
            return None;
        }
        let peer = &self.directions[1 - side];
        let opening = Opening {
            start_ns: self.start_ns,
            first_data_ns,
            end_ns: self.handshake.completed_ns.max(tls_end_ns).unwrap_or(self.start_ns),
            asked_ns: peer.first_data_ns.filter(|&peer_ns| peer_ns < first_data_ns).map(|_| {
                direction.live.as_deref().and_then(|live| live.view.turns().first_asked_ns()).unwrap_or(first_data_ns)
            }),
            handshake: self.handshake.steps(self.first_frame),
            frame: self.first_frame,
            waited_for_timer: self.handshake.waited_for_timer
                || direction.live.as_deref().is_some_and(|live| {
                    live.waited_for_timer(
                        first_data_ns.saturating_sub(self.handshake.completed_ns.unwrap_or(first_data_ns)),
                    )
                }),
        };
        let around = self.around(side);
        let watchers = &mut self.watchers[side];
        let mut summary =
            finish(&mut watchers.limits, &mut self.directions[side], &around, opening, self.end_ns, rules)?;
        let settled = watchers.pauses.as_deref().map_or(&[][..], |pauses| &pauses.watch.settled);
        settled.iter().for_each(|settled| summary.settle(settled));
        if self.advertised_shift(1 - side).is_none()
            && let Some(window) = self.inferred_window(side)
        {
            summary.take_inferred(window, self.directions[side].loss.retransmitted == 0);
        }
        Some(summary)
    }
}
