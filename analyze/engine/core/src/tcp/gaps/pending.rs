//! A pause that waits for what follows before its cause is decided: the record behind `pending_rules`.

use crate::packet::Packet;
use crate::tcp::capture::timestamp_clock::TimestampClock;
use crate::tcp::direction::direction::Direction;
use crate::tcp::gaps::evidence::{BurstSeen, CapturePlace, GapEnding, GapEvidence, echo_behind_ns};
use crate::tcp::gaps::heard::Heard;
use crate::tcp::gaps::path_rate::PathCarries;
use crate::tcp::gaps::totals::Gap;
use crate::tcp::kernel::{ANSWER_NS, BURST_PAUSE_NS, PAUSE_NS, TOGETHER_NS};
use crate::tcp::sender::view::SenderView;
use crate::tcp::stats::sequence::serial_difference;

/// What waited less than this on its way came on time: nothing held it up that a gap's cause could be.
const ON_TIME_NS: i64 = 10_000_000;

/// A gap is judged so long after its end.
pub(crate) const LOOK_AHEAD_NS: i64 = 5_000_000;

/// A gap that is over and not judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) gap: Gap,
    pub(crate) end_ns: i64,
    pub(crate) end_tsval: u32,
    pub(crate) end_tsecr: u32,
    /// The receiver's last timestamp by then.
    pub(crate) heard_tsval: Option<u32>,
    pub(crate) evidence: GapEvidence,
    /// The positions that the packet which ended it left out; the same one twice for none.
    pub(crate) left_out: [u64; 2],
    /// Judged only when the receiver is heard.
    pub(crate) awaits_answer: bool,
    /// What the path has carried before, asked for where the data may have been held back.
    pub(crate) path: PathCarries,
    /// Where that is not known: so much the path would have to carry, bytes in a second.
    pub(crate) needed_bytes_per_s: u64,
    /// Payload of the packet that ended the gap and of those that followed within the look-ahead.
    pub(crate) data_bytes: u64,
    /// The last of them, when those began that followed without a pause, and how many bytes had come before these.
    pub(crate) last_data_ns: i64,
    pub(crate) burst_start_ns: i64,
    pub(crate) bytes_before_burst: u64,
}

impl Pending {
    /// So long after its end data counts for it: a host that wakes with a backlog may take a tick or two until it is at it.
    pub(crate) fn look_ahead_ns(&self) -> i64 {
        if matches!(self.path, PathCarries::Carries(_)) && !self.evidence.data_beyond_path {
            ANSWER_NS
        } else {
            LOOK_AHEAD_NS
        }
    }

    /// The sender's data goes on after the gap's end. `clock` and `view` are the sender's. True if the packet belongs to the burst
    /// that ended the gap.
    pub(crate) fn see_data(
        &mut self,
        packet: &Packet,
        receiver: &Direction,
        clock: &TimestampClock,
        view: &SenderView,
    ) -> bool {
        let within_ns = packet.time_ns.saturating_sub(self.end_ns);
        if within_ns > self.look_ahead_ns() {
            return false;
        }
        self.count_data(packet.time_ns, u64::from(packet.payload_length));
        if within_ns > LOOK_AHEAD_NS {
            return false;
        }
        let since_end_ns = packet.timestamp().and_then(|tsval| clock.between_ns(self.end_tsval, tsval));
        let woken = self.made_on_waking_ns(since_end_ns).map(|clock_ns| GapEvidence {
            sender_clock_ns: Some(clock_ns),
            echo_behind_ns: self.heard_tsval.and_then(|heard| echo_behind_ns(receiver, packet, heard)),
            outstanding_to_sender_bytes: Some(view.outstanding_having_heard(packet.tsecr)),
            ..self.evidence
        });
        if woken.is_some_and(|woken| self.leave_out_held(woken, packet)) {
            return false;
        }
        let burst = &mut self.evidence.data_burst;
        burst.timestamps_ns = since_end_ns;
        let at_once = within_ns.max(burst.timestamps_ns.unwrap_or(i64::MAX)) <= TOGETHER_NS;
        self.evidence.echoes_move_on |= at_once
            && serial_difference(packet.tsecr, self.end_tsecr) > 0
            && self.heard_tsval.is_some_and(|heard| serial_difference(packet.tsecr, heard) <= 0);
        if self.awaits_answer && self.evidence.answer.is_some() {
            return false; // The answer brought it.
        }
        burst.packets = burst.packets.saturating_add(1);
        burst.span_ns = within_ns;
        true
    }

    /// Data came together with the gap's end, or soon after.
    fn count_data(&mut self, time_ns: i64, bytes: u64) {
        if time_ns.saturating_sub(self.last_data_ns) >= BURST_PAUSE_NS {
            (self.burst_start_ns, self.bytes_before_burst) = (time_ns, self.data_bytes);
        }
        self.last_data_ns = time_ns;
        self.data_bytes += bytes;
        let in_burst = self.data_bytes - self.bytes_before_burst;
        let (beyond, needed_bytes_per_s) = self.path.judge([
            (self.data_bytes, time_ns.saturating_sub(self.end_ns)),
            (in_burst, time_ns.saturating_sub(self.burst_start_ns)),
        ]);
        self.evidence.data_beyond_path |= beyond;
        self.needed_bytes_per_s = self.needed_bytes_per_s.max(needed_bytes_per_s);
    }

    /// Away from the sender: how much later than what came before the gap its host made a packet that followed the end at once, if
    /// that end was made before the gap and this one after most of it.
    pub(crate) fn made_on_waking_ns(&self, since_end_ns: Option<i64>) -> Option<i64> {
        let evidence = &self.evidence;
        let since_end_ns = since_end_ns.filter(|&since| since > evidence.gap_ns / 2)?;
        let made_together = evidence.data_burst.timestamps_ns.is_none_or(|made| made <= TOGETHER_NS);
        let held = !evidence.beside_sender() && evidence.ending == GapEnding::NewData && evidence.data_was_held();
        Some(evidence.sender_clock_ns?.saturating_add(since_end_ns)).filter(|_| held && made_together)
    }

    /// A host may stop between making a packet and sending it: on waking, that comes first. What shows the gap is the first
    /// packet made afterwards, if by that its sender had heard nothing and let its timer pass: a path that held the
    /// data would have held a probe as well.
    pub(crate) fn leave_out_held(&mut self, woken: GapEvidence, packet: &Packet) -> bool {
        let woke = woken.was_deaf();
        if woke {
            self.evidence = GapEvidence { data_burst: BurstSeen { packets: 1, ..BurstSeen::default() }, ..woken };
            (self.end_tsval, self.end_tsecr) = (packet.tsval, packet.tsecr);
        }
        woke
    }

    pub(crate) fn answered_by(&self, heard: &Heard) -> bool {
        self.evidence.answer.is_some_and(|answer| {
            answer.silence_ns == heard.answer.silence_ns && answer.outstanding_bytes == heard.answer.outstanding_bytes
        })
    }

    pub(crate) fn is_due(&self, time_ns: i64, heard_ns: i64) -> bool {
        let over = time_ns.saturating_sub(self.end_ns) > self.look_ahead_ns();
        let probe = self.evidence.ending != GapEnding::NewData || self.evidence.data_burst.packets <= 1;
        match self.evidence.answer {
            Some(answer) => {
                // A single old packet may be one that was on its way out when its host stopped.
                let held = answer.was_held() == Some(true) && answer.burst.packets > 1;
                let settled = held || answer.acknowledges_most();
                over && time_ns.saturating_sub(heard_ns) > if settled { LOOK_AHEAD_NS } else { ANSWER_NS }
            }
            None => over && !(self.awaits_answer && probe),
        }
    }
}

/// Nothing that comes later can change what is said of it.
pub(crate) fn is_plain(evidence: &GapEvidence) -> bool {
    let usual =
        || matches!(evidence.ending, GapEnding::NewData | GapEnding::LossSigns) && !evidence.answer_is_overdue();
    let data_on_time = evidence.sender_clock_ns.is_some_and(|clock| evidence.gap_ns - clock < ON_TIME_NS);
    match evidence.place {
        CapturePlace::Sender => {
            data_on_time
                && (evidence.outstanding_bytes == 0 || evidence.since_answer_ns.is_some_and(|s| s < PAUSE_NS))
                && usual()
        }
        _ => {
            data_on_time
                && evidence.round_trip_ns.is_some_and(|round_trip| evidence.gap_ns <= round_trip + round_trip / 4)
        }
    }
}
