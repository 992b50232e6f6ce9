//! Watches a direction's data for gaps, and has each judged ([`crate::tcp::gaps::causes`]) by what is known of it when it ends
//! ([`crate::tcp::gaps::gather`]) and by what follows.
//!
//! Costs next to nothing while data flows: [`Connection::is_watched`] is a few compares, and true only when the packet comes
//! 8 ms or more after data that is still outstanding, ends a gap, or follows one within the look-ahead. Such packets go the
//! general way through [`Connection::packet`], which calls [`Connection::watch`] before anything else changes.
//!
//! ```text
//! data ─ silence ─ first answer ("return") and what comes with it ─ data that ends the gap ─ look-ahead ─> cause
//!            └──── or first the data (a timer), and the return much later
//! ```
//! A gap is judged 5 ms after it ended; one that a timer ended, when the receiver is heard again: whether that answers the
//! timer or comes late tells what the timer was about.
//!
//! What the receiver says after a silence is gathered in [`crate::tcp::gaps::receiver_return`], a gap that waits to be judged is one of
//! [`crate::tcp::gaps::pending_rules`].
//!
//! Packets of other connections could show that the capture's host ran. They are not asked: a connection sees its own packets
//! alone, so that the result does not hang on the number of threads.

use crate::packet::Packet;
use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::half_and_peer;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::events::sent::{Arrived, Kind};
use crate::tcp::gaps::causes::cause;
use crate::tcp::gaps::evidence::{Ending, GapEvidence, Place};
use crate::tcp::gaps::path_rate::Path;
use crate::tcp::gaps::pending::{Pending, is_plain};
use crate::tcp::gaps::rate_of::rate_at_receiver;
use crate::tcp::gaps::state::shortest_gap_ns;
use crate::tcp::gaps::totals::{ClassifiedGap, Gap};
use crate::tcp::kernel::{EARLIEST_TIMER, PAUSE_NS, SHORTEST_ANOMALY_NS, SILENCE_NS};

/// Gaps of one direction that wait to be judged.
const MOST_PENDING: usize = 8;

impl Connection {
    /// The packet may belong to a gap in the data of either side. `before_ns` is the time of the connection's packet before
    /// it, `shortest_ns` that of the shortest gap.
    #[inline(always)]
    pub(crate) fn is_watched(&self, packet: &Packet, side: usize, before_ns: i64, shortest_ns: i64) -> bool {
        let own = &self.halves[side];
        let pause_ns = packet.time_ns - own.last_sent.0;
        self.is_watched_answer(packet, side)
            || (packet.payload_length > 0
                && (pause_ns > shortest_ns || (pause_ns > PAUSE_NS && before_ns <= own.last_sent.0)))
    }

    /// As [`Self::is_watched`] for a packet without data.
    #[inline(always)]
    pub(crate) fn is_watched_answer(&self, packet: &Packet, side: usize) -> bool {
        let peer = &self.halves[1 - side];
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
        self.see_data(packet, side, before_ns);
        let gap_ns = packet.time_ns.saturating_sub(self.halves[side].last_sent.0);
        (gap_ns > shortest_ns).then(|| self.evidence(packet, side, before_ns, gap_ns))
    }

    /// The packet is data: it may be a timer's, or follow the end of a gap.
    fn see_data(&mut self, packet: &Packet, side: usize, before_ns: i64) {
        let place = self.place(side);
        let [half, receiver] = half_and_peer(&mut self.halves, side);
        let outstanding = half.una < half.max;
        let last_ns = half.last_sent.0;
        let Some(live) = half.live.as_deref_mut() else { return };
        let Some(watch) = live.watch.as_deref_mut() else { return };
        for pending in &mut watch.pending {
            let belongs = pending.see_data(packet, receiver, &live.clock, &live.view);
            // Several at once are no probe.
            if belongs && pending.evidence.ending == Ending::NewData {
                (watch.timers, watch.timer_passed) = (0, false);
            }
        }
        if place == Place::Sender && live.last_acknowledgement_ns.is_some_and(|heard| heard >= watch.timer_ns) {
            watch.timers = 0;
        }
        // A probe sooner after the data than any gap is long.
        let alone = before_ns <= last_ns && packet.time_ns.saturating_sub(last_ns) <= SHORTEST_ANOMALY_NS as i64;
        if place == Place::Sender && alone && outstanding && watch.timers == 0 && watch.pending.is_empty() {
            let silence_ns = packet.time_ns.saturating_sub(last_ns) as f64;
            let due = live.round_trips.srtt_ns().map(|srtt| 2.0 * srtt + PAUSE_NS as f64);
            if due.is_some_and(|due| silence_ns >= EARLIEST_TIMER * due) {
                watch.fired(packet);
            }
        }
    }

    /// The last timestamp of the receiver of a side's data.
    pub(crate) fn newest_of_receiver(&self, side: usize) -> Option<u32> {
        self.halves[1 - side].live.as_deref().and_then(|live| live.clock.newest())
    }

    pub(crate) fn place(&self, side: usize) -> Place {
        match (self.beside[side], self.beside[1 - side]) {
            (true, _) => Place::Sender,
            (_, true) => Place::Receiver,
            _ => Place::Elsewhere,
        }
    }

    /// The data packet of which [`Self::watch`] gave the evidence has been taken: the gap is over.
    pub(crate) fn end_gap(
        &mut self,
        mut evidence: GapEvidence,
        packet: &Packet,
        side: usize,
        before: (i64, u32),
        arrived: &Arrived,
        limit_ns: Option<u64>,
    ) {
        evidence.ending = ending(arrived);
        let gap = Gap {
            start_ns: before.0,
            gap_ns: u64::try_from(evidence.gap_ns).unwrap_or(0),
            frames: [before.1, packet.frame],
            cause: Default::default(),
            confidence: 0.0,
        };
        let may_be_probe = evidence.ending == Ending::NewData
            && evidence.since_answer_ns.is_none_or(|since| since > PAUSE_NS)
            && evidence.timer_may_have_fired();
        let by_timer = evidence.is_timer() || (may_be_probe && evidence.outstanding_bytes > 0);
        let heard_tsval = self.newest_of_receiver(side);
        let Some(live) = self.halves[side].live.as_deref_mut() else { return };
        // Of the burst that begins here nothing is in the bins that are over.
        let path_matters = evidence.place == Place::Receiver && evidence.data_was_held();
        let path = Path::asked(path_matters, || rate_at_receiver(live));
        let left_out = live.holes.exposed_at(packet.time_ns).unwrap_or_default();
        let Some(watch) = live.watch.as_deref_mut() else { return };
        match evidence.place {
            Place::Sender if by_timer => watch.fired(packet),
            Place::Elsewhere if by_timer => watch.passed(packet),
            _ => {}
        }
        let pending = Pending {
            path,
            needed_bytes_per_s: 0,
            data_bytes: u64::from(packet.payload_length),
            last_data_ns: packet.time_ns,
            burst_start_ns: packet.time_ns,
            bytes_before_burst: 0,
            gap,
            end_ns: packet.time_ns,
            end_tsval: packet.tsval,
            end_tsecr: packet.tsecr,
            left_out,
            heard_tsval,
            awaits_answer: by_timer && evidence.place != Place::Receiver,
            evidence,
        };
        if is_plain(&evidence) {
            return self.judge(side, &pending, limit_ns);
        }
        let oldest = (watch.pending.len() >= MOST_PENDING).then(|| watch.pending.remove(0));
        watch.pending.push(pending);
        self.looking = true;
        if let Some(oldest) = oldest {
            self.judge(side, &oldest, limit_ns);
        }
    }

    /// Judges the gaps whose look-ahead is over.
    fn judge_what_is_due(&mut self, time_ns: i64, limit_ns: Option<u64>) {
        self.looking = false;
        for side in 0..2 {
            let mut due = Vec::new();
            if let Some(watch) = self.halves[side].live.as_deref_mut().and_then(|live| live.watch.as_deref_mut()) {
                let heard_ns = watch.heard.map_or(i64::MAX, |heard| heard.time_ns);
                watch.pending.retain(|pending| {
                    let is_due = pending.is_due(time_ns, heard_ns);
                    if is_due {
                        due.push(*pending);
                    }
                    !is_due
                });
                self.looking |= !watch.pending.is_empty();
            }
            due.iter().for_each(|pending| self.judge(side, pending, limit_ns));
        }
    }

    /// The connection is over: what waits is judged as it stands.
    pub(crate) fn judge_all(&mut self, limit_ns: Option<u64>) {
        self.looking = false;
        for side in 0..2 {
            let live = self.halves[side].live.as_deref_mut();
            let waiting =
                live.and_then(|live| live.watch.as_deref_mut()).map(|watch| std::mem::take(&mut watch.pending));
            waiting.unwrap_or_default().iter().for_each(|pending| self.judge(side, pending, limit_ns));
            self.settle_gaps(side, limit_ns);
        }
    }

    /// The receiver has acknowledged some of these positions, and they never passed here.
    fn arrived_unseen(&self, side: usize, [start, end]: [u64; 2]) -> bool {
        let half = &self.halves[side];
        half.live.as_deref().is_some_and(|live| live.holes.missing(start, end.min(half.una)).0 > 0)
    }

    fn judge(&mut self, side: usize, pending: &Pending, limit_ns: Option<u64>) {
        let (cause, confidence) = cause(&GapEvidence {
            capture_missed: pending.evidence.capture_missed || self.arrived_unseen(side, pending.left_out),
            ..pending.evidence
        });
        let gap = Gap { cause, confidence, ..pending.gap };
        let Gap { start_ns, frames, .. } = gap;
        let end_ns = pending.end_ns;
        if let Some(live) = self.halves[side].live.as_deref_mut() {
            live.take_gap(pending, gap, limit_ns);
        }
        let ended_by_timer = pending.evidence.is_timer();
        let side = side as u8;
        self.gap_classified(&ClassifiedGap { side, start_ns, end_ns, cause, confidence, ended_by_timer, frames });
    }
}

fn ending(arrived: &Arrived) -> Ending {
    match (arrived.kind, arrived.trigger) {
        (Kind::WindowProbe, _) => Ending::WindowProbe,
        (Kind::KeepAlive, _) => Ending::KeepAlive,
        (_, Some(Trigger::Rto)) => Ending::Timeout,
        (_, Some(Trigger::Tlp)) => Ending::TailProbe,
        (_, Some(Trigger::Fast | Trigger::Rack)) => Ending::LossSigns,
        (Kind::Data, _) => Ending::NewData,
        _ => Ending::Repeat,
    }
}
