//! Watches a direction's data for gaps, and has each judged ([`crate::tcp::gaps::causes`]) by what is known of it when it ends
//! ([`crate::tcp::gaps::gather`]) and by what follows.
//!
//! Costs next to nothing while data flows: `Connection::is_watched` is a few compares, and true only when the packet comes
//! 8 ms or more after data that is still outstanding, ends a gap, or follows one within the look-ahead. Such packets go the
//! general way through `Connection::packet`, which calls `Connection::watch` before anything else changes.
//!
//! ```text
//! data ─ silence ─ first answer ("return") and what comes with it ─ data that ends the gap ─ look-ahead ─> cause
//!            └──── or first the data (a timer), and the return much later
//! ```
//! A gap is judged 5 ms after it ended; one that a timer ended, when the receiver is heard again: whether that answers the
//! timer or comes late tells what the timer was about.
//!
//! What the receiver says after a silence is gathered in [`crate::tcp::gaps::receiver_return`], a gap that waits to be judged is one of
//! [`crate::tcp::gaps::pending`].
//!
//! Packets of other connections could show that the capture's host ran. They are not asked: a connection sees its own packets
//! alone, so that the result does not hang on the number of threads.

use crate::packet::Packet;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::events::sent::{Arrived, SentKind};
use crate::tcp::gaps::causes::cause;
use crate::tcp::gaps::evidence::{CapturePlace, GapEnding, GapEvidence};
use crate::tcp::gaps::path_rate::PathCarries;
use crate::tcp::gaps::pauses::Pauses;
use crate::tcp::gaps::pending::{Pending, is_plain};
use crate::tcp::gaps::rate_of::rate_at_receiver;
use crate::tcp::gaps::state::GapWatch;
use crate::tcp::gaps::totals::{ClassifiedGap, Gap};
use crate::tcp::kernel::{EARLIEST_TIMER, PAUSE_NS, SHORTEST_ANOMALY_NS};

/// Gaps of one direction that wait to be judged.
const MOST_PENDING: usize = 8;

/// The packet is data of `direction`: it may be a timer's, or follow the end of a gap. `before_ns` is the time of the connection's
/// packet before it.
pub(crate) fn see_data(
    watch: &mut GapWatch,
    packet: &Packet,
    direction: &Direction,
    receiver: &Direction,
    place: CapturePlace,
    before_ns: i64,
) {
    let outstanding = direction.una < direction.max;
    let last_ns = direction.last_sent.0;
    let Some(live) = direction.live.as_deref() else { return };
    for pending in &mut watch.pending {
        let belongs = pending.see_data(packet, receiver, &live.capture.clock, &live.view);
        // Several at once are no probe.
        if belongs && pending.evidence.ending == GapEnding::NewData {
            (watch.timers, watch.timer_passed) = (0, false);
        }
    }
    if place == CapturePlace::Sender && live.acks.last_acknowledgement_ns.is_some_and(|heard| heard >= watch.timer_ns) {
        watch.timers = 0;
    }
    // A probe sooner after the data than any gap is long.
    let alone = before_ns <= last_ns && packet.time_ns.saturating_sub(last_ns) <= SHORTEST_ANOMALY_NS as i64;
    if place == CapturePlace::Sender && alone && outstanding && watch.timers == 0 && watch.pending.is_empty() {
        let silence_ns = packet.time_ns.saturating_sub(last_ns) as f64;
        let due = live.round_trips.srtt_ns().map(|srtt| 2.0 * srtt + PAUSE_NS as f64);
        if due.is_some_and(|due| silence_ns >= EARLIEST_TIMER * due) {
            watch.fired(packet);
        }
    }
}

/// The data packet that ends a gap of `direction` has been taken; `before` is the time and frame of the data packet before it. The
/// gap waits for what follows, unless its cause is plain. Returns the one whose cause is to be decided now, if there is one.
pub(crate) fn end(
    watch: &mut GapWatch,
    evidence: &mut GapEvidence,
    packet: &Packet,
    direction: &Direction,
    heard_tsval: Option<u32>,
    before: (i64, u32),
    arrived: &Arrived,
) -> Option<Pending> {
    evidence.ending = ending(arrived);
    let gap = Gap {
        start_ns: before.0,
        gap_ns: u64::try_from(evidence.gap_ns).unwrap_or(0),
        frames: [before.1, packet.frame],
        cause: Default::default(),
        confidence: 0.0,
    };
    let may_be_probe = evidence.ending == GapEnding::NewData
        && evidence.since_answer_ns.is_none_or(|since| since > PAUSE_NS)
        && evidence.timer_may_have_fired();
    let by_timer = evidence.is_timer() || (may_be_probe && evidence.outstanding_bytes > 0);
    let live = direction.live.as_deref()?;
    // Of the burst that begins here nothing is in the bins that are over.
    let path_matters = evidence.place == CapturePlace::Receiver && evidence.data_was_held();
    let path = PathCarries::asked(path_matters, || rate_at_receiver(live));
    let left_out = live.holes.exposed_at(packet.time_ns).unwrap_or_default();
    match evidence.place {
        CapturePlace::Sender if by_timer => watch.fired(packet),
        CapturePlace::Elsewhere if by_timer => watch.passed(packet),
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
        awaits_answer: by_timer && evidence.place != CapturePlace::Receiver,
        evidence: *evidence,
    };
    if is_plain(evidence) {
        return Some(pending);
    }
    let oldest = (watch.pending.len() >= MOST_PENDING).then(|| watch.pending.remove(0));
    watch.is_overfull |= oldest.is_some();
    watch.pending.push(pending);
    oldest
}

/// Takes out the gaps whose look-ahead is over at `time_ns`.
pub(crate) fn due(watch: &mut GapWatch, time_ns: i64) -> Vec<Pending> {
    let mut due = Vec::new();
    let heard_ns = watch.heard.map_or(i64::MAX, |heard| heard.time_ns);
    if !watch.pending.iter().any(|pending| pending.is_due(time_ns, heard_ns)) {
        return due;
    }
    watch.pending.retain(|pending| {
        let is_due = pending.is_due(time_ns, heard_ns);
        if is_due {
            due.push(*pending);
        }
        !is_due
    });
    due
}

impl Pauses {
    /// Decides the cause of a gap in the data of `direction`, which is `side`'s, and counts it.
    pub(crate) fn judge(
        &mut self,
        pending: &mut Pending,
        direction: &Direction,
        limit_ns: Option<u64>,
    ) -> ClassifiedGap {
        pending.evidence.capture_missed |= arrived_unseen(direction, pending.left_out);
        let (cause, confidence) = cause(&pending.evidence);
        let gap = Gap { cause, confidence, ..pending.gap };
        let Gap { start_ns, frames, .. } = gap;
        let end_ns = pending.end_ns;
        self.take_gap(pending, gap, limit_ns);
        let ended_by_timer = pending.evidence.is_timer();
        ClassifiedGap { start_ns, end_ns, cause, confidence, ended_by_timer, frames }
    }
}

/// The receiver has acknowledged some of these positions, and they never passed here.
fn arrived_unseen(direction: &Direction, [start, end]: [u64; 2]) -> bool {
    direction.live.as_deref().is_some_and(|live| live.holes.missing(start, end.min(direction.una)).0 > 0)
}

fn ending(arrived: &Arrived) -> GapEnding {
    match (arrived.kind, arrived.trigger) {
        (SentKind::WindowProbe, _) => GapEnding::WindowProbe,
        (SentKind::KeepAlive, _) => GapEnding::KeepAlive,
        (_, Some(Trigger::Rto)) => GapEnding::Timeout,
        (_, Some(Trigger::Tlp)) => GapEnding::TailProbe,
        (_, Some(Trigger::Fast | Trigger::Rack)) => GapEnding::LossSigns,
        (SentKind::Data, _) => GapEnding::NewData,
        _ => GapEnding::Repeat,
    }
}
