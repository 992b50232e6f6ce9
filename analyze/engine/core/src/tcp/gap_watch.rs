//! Watches a direction's data for gaps, and has each judged ([`super::gap_cause`]) by what is known of it when it ends
//! ([`super::gap_known`]) and by what follows.
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
//! What the receiver says after a silence is gathered in [`super::gap_answer`], a gap that waits to be judged is one of
//! [`super::gap_pending`].
//!
//! Packets of other connections could show that the capture's host ran. They are not asked: a connection sees its own packets
//! alone, so that the result does not hang on the number of threads.

use super::arrival::{Arrived, Kind};
use super::connection::Connection;
use super::gap_answer::Heard;
use super::gap_backlog::{Path, rate_at_receiver};
use super::gap_cause::cause;
use super::gap_evidence::{EARLIEST_TIMER, Ending, GapEvidence, Place};
use super::gap_pending::{Pending, is_plain};
use super::gap_unsettled::{Settled, Told, Unsettled};
use super::gaps::{ClassifiedGap, Gap};
use super::half::{Live, half_and_peer};
use super::lengthened_trips::CoveringTrips;
use super::loss::Trigger;
use super::spacing::SHORTEST_ANOMALY_NS;
use crate::packet::{Packet, tcp_flags};

/// Data this long after other data, with nothing in between, may be a timer's.
pub(super) const PAUSE_NS: i64 = 2_000_000;
/// So long without any packet of the connection is a silence of its own.
pub(super) const SILENCE_NS: i64 = 8_000_000;
/// Gaps of one direction that wait to be judged.
const MOST_PENDING: usize = 8;

/// The last data packet of a direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastData {
    pub(super) length: u32,
    flags: u16,
    /// Position after the highest data seen.
    pub(super) max: u64,
    /// Position after the last segment that was sent short (Linux `snd_sml`).
    pub(super) short_end: u64,
}

impl LastData {
    /// Takes a data packet; `short_end` is where it ends if its last segment is short.
    #[inline(always)]
    pub fn set(&mut self, packet: &Packet, max: u64, short_end: Option<u64>) {
        let short_end = short_end.unwrap_or(self.short_end);
        *self = Self { length: packet.payload_length, flags: packet.flags, max, short_end };
    }

    /// What begins there is what its sender sent next; so is the first data of all.
    pub fn is_followed_by(&self, start: u64) -> bool {
        self.max == start || self.length == 0
    }

    /// With it ended what its sender had been given (RFC 9293 section 3.9.1.2), or a frame that was cut into segments: Linux sets PSH
    /// on each of these.
    pub fn has_push(&self) -> bool {
        self.flags & tcp_flags::PSH != 0
    }
}

/// The receiver's packets since the last data packet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inside {
    /// Time of that data packet.
    pub(super) since_ns: i64,
    pub(super) answers: u32,
    /// Longest time without any packet, until now; and what was outstanding then.
    pub(super) silence_ns: i64,
    pub(super) silence_start_ns: i64,
    pub(super) outstanding_bytes: u64,
    pub(super) oldest_age_ns: Option<i64>,
    /// Window-limited time counted when the pause began.
    pub(super) limited_base_ns: i64,
    pub(super) unseen: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct GapWatch {
    pub(super) inside: Inside,
    pub(super) heard: Option<Heard>,
    pub(super) pending: Vec<Pending>,
    /// Timers of the sender that fired since the receiver was last heard, and the last of them.
    pub(super) timers: u32,
    pub(super) timer_ns: i64,
    pub(super) timer_tsval: Option<u32>,
    /// The last of them passed a capture between the hosts, where [`Self::timers`] counts those between two gaps alone.
    pub(super) timer_passed: bool,
    /// First sequence number that it sent.
    pub(super) timer_sequence: u32,
    pub(super) last_gap_ns: i64,
    pub(super) last_gap_end_ns: i64,
    /// Highest position sent by then.
    pub(super) last_gap_max: u64,
    pub(super) similar: u32,
    /// Gaps to which the rest of the connection may give another cause.
    pub(super) unsettled: Vec<Unsettled>,
    /// The time that it moved from one factor to another.
    pub(super) settled: Vec<Settled>,
    /// What all gaps told.
    pub(super) told: Told,
    /// Round trips that cover a silence.
    pub(super) covering: CoveringTrips,
}

/// The shortest gap that is judged; `limit_ns` is the user's limit.
#[inline]
pub(super) fn shortest_gap_ns(limit_ns: Option<u64>) -> i64 {
    limit_ns.map_or(SHORTEST_ANOMALY_NS, |limit| limit.min(SHORTEST_ANOMALY_NS)) as i64
}

impl Connection {
    /// The packet may belong to a gap in the data of either side. `before_ns` is the time of the connection's packet before
    /// it, `shortest_ns` that of the shortest gap.
    #[inline(always)]
    pub(super) fn is_watched(&self, packet: &Packet, side: usize, before_ns: i64, shortest_ns: i64) -> bool {
        let own = &self.halves[side];
        let pause_ns = packet.time_ns - own.last_sent.0;
        self.is_watched_answer(packet, side)
            || (packet.payload_length > 0
                && (pause_ns > shortest_ns || (pause_ns > PAUSE_NS && before_ns <= own.last_sent.0)))
    }

    /// As [`Self::is_watched`] for a packet without data.
    #[inline(always)]
    pub(super) fn is_watched_answer(&self, packet: &Packet, side: usize) -> bool {
        let peer = &self.halves[1 - side];
        self.looking || (packet.time_ns - peer.last_sent.0 > SILENCE_NS && peer.una < peer.max)
    }

    /// Looks at a packet before it changes anything. `before_ns` is the time of the connection's packet before it. Returns what
    /// is known of the gap that the packet ends, if it ends one.
    pub(super) fn watch(
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
    pub(super) fn newest_of_receiver(&self, side: usize) -> Option<u32> {
        self.halves[1 - side].live.as_deref().and_then(|live| live.clock.newest())
    }

    pub(super) fn place(&self, side: usize) -> Place {
        match (self.beside[side], self.beside[1 - side]) {
            (true, _) => Place::Sender,
            (_, true) => Place::Receiver,
            _ => Place::Elsewhere,
        }
    }

    /// The data packet of which [`Self::watch`] gave the evidence has been taken: the gap is over.
    pub(super) fn end_gap(
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
    pub(super) fn judge_all(&mut self, limit_ns: Option<u64>) {
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

impl GapWatch {
    /// A timer of the sender fired.
    fn fired(&mut self, packet: &Packet) {
        self.timers = self.timers.saturating_add(1);
        self.sent_by_timer(packet);
    }

    /// What a timer of the sender sent passed the capture.
    fn passed(&mut self, packet: &Packet) {
        self.timer_passed = true;
        self.sent_by_timer(packet);
    }

    fn sent_by_timer(&mut self, packet: &Packet) {
        self.timer_ns = packet.time_ns;
        self.timer_sequence = packet.sequence;
        self.timer_tsval = packet.timestamp();
    }
}

/// How long before `time_ns` the oldest outstanding segment was sent; none if that happened more than once.
pub(super) fn oldest_age_ns(live: &Live, una: u64, time_ns: i64) -> Option<i64> {
    live.segments.sent_once_ns(una).map(|sent_ns| time_ns.saturating_sub(sent_ns).max(0))
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
