//! What is known of a gap in a direction's data, and the measures that the rules of [`crate::tcp::gaps::causes`] go by. Pure.
//!
//! Three measures carry most of the rules. *Waited* is by how much longer a packet was under way than the one before it, by
//! its own sender's timestamps (RFC 7323): what waited was held back, somewhere between that sender and the capture.
//! *Overdue* are acknowledgements that should have come by now. And a sender whose timer was due and sent nothing did not
//! run.
//!
//! Rule: docs/methods.md, "Held back, overdue, beyond a timer".

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::Half;
use crate::tcp::events::context::Context;
use crate::tcp::kernel::{
    BACKLOG_PACKETS, DELAYED_ACKNOWLEDGEMENT_NS, EARLIEST_TIMER, FASTEST_ANSWER, JITTER_NS, PROBE_TICKS_NS,
    SMALLEST_TIMEOUT_NS,
};

/// By how much older than the timestamp `heard` of the receiver the one is that this packet of the sender echoes. None without,
/// and while the sender misses data of the receiver's: then it echoes what came before that (RFC 7323 section 4.3).
pub(crate) fn echo_behind_ns(receiver: &Half, packet: &Packet, heard: u32) -> Option<i64> {
    let clock = &receiver.live.as_deref()?.capture.clock;
    let echoes = packet.options & option_bits::TIMESTAMPS != 0 && clock.may_have_sent(packet.tsecr);
    let misses_nothing = receiver.una >= receiver.max;
    if echoes && misses_nothing { clock.between_ns(packet.tsecr, heard) } else { None }
}

/// Where the capture stands, seen from the direction whose data paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// Beside the sender of the data.
    Sender,
    /// Beside its receiver.
    Receiver,
    /// In between, or unknown.
    #[default]
    Elsewhere,
}

impl Place {
    /// Where the capture point is, seen from the data that pauses.
    pub(crate) fn of(context: &Context) -> Self {
        match (context.beside_sender, context.beside_receiver) {
            (true, _) => Self::Sender,
            (_, true) => Self::Receiver,
            _ => Self::Elsewhere,
        }
    }
}

/// What the data packet that ended the gap was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// Sent for the first time.
    #[default]
    NewData,
    /// A retransmission timeout.
    Timeout,
    /// A tail loss probe.
    TailProbe,
    /// Sent again on signs of loss (fast retransmission, RACK).
    LossSigns,
    /// Sent again, one cannot tell why.
    Repeat,
    /// A probe of a closed window.
    WindowProbe,
    /// A keep-alive.
    KeepAlive,
}

/// Packets of one side that passed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burst {
    /// How many passed: of the receiver within 2 ms, of data within 5 ms.
    pub packets: u32,
    /// From the first to the last of them by the capture's clock.
    pub span_ns: i64,
    /// And by their sender's timestamps; none without.
    pub timestamps_ns: Option<i64>,
}

/// The receiver's first packet after it was silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Return {
    /// Time since the receiver's packet before it.
    pub silence_ns: i64,
    /// The same by the receiver's timestamps; none if these tell no time.
    pub timestamps_ns: Option<i64>,
    /// What passed together with it.
    pub burst: Burst,
    /// Not acknowledged before it, neither cumulatively nor selectively.
    pub outstanding_bytes: u64,
    /// How much of that it acknowledged in either way, with what came within 40 ms after it, until that was most of it.
    pub acknowledged_bytes: u64,
    /// And that was more than the path can have carried since the first of it, or since the last pause in it.
    pub beyond_path: bool,
    /// Where it was not known what the path can carry, so much it would have to, bytes in a second; 0 if that was not asked.
    pub needed_bytes_per_s: u64,
    /// It echoes a timestamp that the capture has not seen the sender send: it missed packets of it.
    pub echoes_unseen: bool,
    /// How many packets within 2 ms acknowledged more than the one before.
    pub advances: u32,
    /// The packet before it acknowledged a single segment, as late as a delayed acknowledgement, and nothing for a while: the
    /// receiver ran while no more reached it.
    pub after_delayed: bool,
    /// It echoes a timestamp older than the sender's last probe or timeout: what it answers was sent before. None without
    /// timestamps or probe.
    pub older_than_probe: Option<bool>,
    /// It reports what the probe or timeout has sent as received, twice or beyond a hole (RFC 2883, RFC 2018): it answers that.
    pub reports_disorder: bool,
    /// How long after the sender's last probe or timeout it came.
    pub after_probe_ns: Option<i64>,
}

/// What is known of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GapEvidence {
    /// From data packet to data packet.
    pub gap_ns: i64,
    /// Where the capture stands.
    pub place: Place,
    /// What ended it.
    pub ending: Ending,
    /// Longest time in it without any packet of the connection.
    pub silence_ns: i64,
    /// From the beginning of the gap to that silence.
    pub before_silence_ns: i64,
    /// Packets of the receiver that passed inside the gap while data was outstanding (counted up to a bound).
    pub answers_inside: u32,
    /// From the receiver's last packet to the end of the gap, if that packet passed within the gap.
    pub since_answer_ns: Option<i64>,
    /// From the receiver's last data to the end of the gap, if that passed within the gap and nothing is left outstanding.
    pub since_request_ns: Option<i64>,
    /// Not acknowledged during the silence, bytes.
    pub outstanding_bytes: u64,
    /// Beside the sender: how long before the silence the oldest segment of that was sent. None if it was sent more than once.
    pub oldest_age_ns: Option<i64>,
    /// Payload of a full segment.
    pub segment_bytes: u64,
    /// Loss recovery is going on, or losses are reported.
    pub recovering: bool,
    /// Away from the sender: it had not heard of that before the gap's end, so that its timer was a probe.
    pub unaware: bool,
    /// The last packet before the gap was as full as they get, and so was the last segment in it.
    pub last_full: bool,
    /// That packet had PSH.
    pub last_push: bool,
    /// A segment that was sent short is not acknowledged: the next short one waits for that (Nagle; RFC 9293 section 3.7.4, in
    /// Minshall's form, Linux `tcp_minshall_check`).
    pub short_outstanding: bool,
    /// Time in the gap for which the receiver's window left no room.
    pub window_full_ns: i64,
    /// The sender's smoothed round trip, as well as it is known from here.
    pub round_trip_ns: Option<i64>,
    /// Its mean deviation (RFC 6298 `RTTVAR`).
    pub deviation_ns: i64,
    /// Away from the sender: by so much longer it was lately. What the sender knows of it lags a round trip behind.
    pub queue_before_ns: i64,
    /// The sender uses SACK, and with it tail loss probes.
    pub sack: bool,
    /// Probes and timeouts of the sender since the receiver was last heard, this gap's ending not among them.
    pub timers_before: u32,
    /// The gap by the sender's timestamps; none if these tell no time.
    pub sender_clock_ns: Option<i64>,
    /// When the receiver was heard again; none if it never was.
    pub answer: Option<Return>,
    /// Data packets that passed together with the one that ended the gap.
    pub data_burst: Burst,
    /// Payload bytes for each 2 ms of the transfer so far.
    pub usual_bytes_in_2_ms: u64,
    /// Data passed in the gap, or right before its end, that the capture missed.
    pub capture_missed: bool,
    /// Bytes sent since the gap before this one.
    pub bytes_since_gap: u64,
    /// So many gaps in a row before this one were about as long.
    pub similar_before: u32,
    /// Away from the sender: by its echo, the sender had so much outstanding when it sent the data that ended the gap. None
    /// without timestamps.
    pub outstanding_to_sender_bytes: Option<u64>,
    /// Away from the sender: the data that ended the gap echoes a timestamp by so much older than the receiver's last before
    /// the gap. None without timestamps.
    pub echo_behind_ns: Option<i64>,
    /// Beside the receiver: what came with the end of the gap is more than the path can have carried since.
    pub data_beyond_path: bool,
    /// Away from the sender: with the packet that ended the gap it sent others, which echo newer timestamps than that one, though
    /// none that the receiver made since.
    pub echoes_move_on: bool,
}

/// Nothing is held back that waited less than this.
const SHORTEST_WAIT_NS: i64 = 15_000_000;

/// Or less than this share of the silence.
const WAIT_SHARE: f64 = 0.3;

/// Ticks in a second of the kernels in use (Linux `CONFIG_HZ`).
const TICK_RATES: [i64; 4] = [100, 250, 300, 1000];

/// Linux' timer wheel keeps so many ticks to the tick. Eight times as many it keeps to eight, and so on
/// (`kernel/time/timer.c`, `LVL_START` and `LVL_GRAN`).
const EXACT_TICKS: i64 = 63;

const WHEEL_LEVELS: u32 = 8;

/// A tick of a slow clock and the time to act on it.
const TIMER_TICKS_NS: i64 = 12_000_000;

/// Share of what was outstanding that is nearly all of it.
const NEARLY_ALL: f64 = 0.8;

/// A slower sender than one with this time for a segment measures its round trip some other way.
const LONGEST_SEGMENT_NS: i64 = 25_000_000;

/// Longest delayed acknowledgement of any segment in common stacks (Linux `TCP_DELACK_MAX`; RFC 9293 allows 500 ms).
const LONGEST_DELAYED_ACKNOWLEDGEMENT_NS: i64 = 200_000_000;

/// A sender that takes in what it gets echoes it but for the packets on the way; ticks of a slow clock do not count.
const STALE_ECHO_NS: i64 = 5_000_000;

/// Who sent so many segments without a pause has more than one outstanding: an initial window (RFC 6928).
const FLOW_SEGMENTS: u64 = 10;

/// A backlog was made over so many times the span in which it passed.
const BACKLOG_SPREAD: i64 = 5;

impl GapEvidence {
    pub(crate) fn beside_sender(&self) -> bool {
        self.place == Place::Sender
    }

    /// By how much longer than the packet before it the data that ended the gap was under way.
    fn data_waited_ns(&self) -> Option<i64> {
        self.sender_clock_ns.map(|elapsed| self.gap_ns - elapsed)
    }

    /// The data that ended the gap was under way for much longer than what came before it.
    pub fn data_was_held(&self) -> bool {
        self.data_waited_ns().is_some_and(|waited| is_held(waited, self.gap_ns))
    }

    /// Beside the receiver: it spoke when the data that ended the gap was due already, so that it was not for its sake that the
    /// data waited.
    pub(crate) fn receiver_ran_meanwhile(&self) -> bool {
        let due_ns = self.sender_clock_ns.unwrap_or(self.gap_ns).max(0);
        self.before_silence_ns.saturating_mul(2) >= self.gap_ns
            || self.before_silence_ns > due_ns.saturating_add(SHORTEST_WAIT_NS)
    }

    /// Beside the receiver: it had not acknowledged what came before the silence, and no kernel delays that for so long.
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.outstanding_bytes > 0
            && !self.recovering
            && self.silence_ns > LONGEST_DELAYED_ACKNOWLEDGEMENT_NS + TIMER_TICKS_NS
    }

    /// Away from the sender: when it sent the data that ended the gap, the sender had not taken in acknowledgements that it
    /// must have got long before. None without timestamps.
    ///
    /// Rule: docs/methods.md, "Stale echo".
    pub(crate) fn echo_is_stale(&self) -> Option<bool> {
        // Not to have heard one that the receiver delayed is not to have heard anything late.
        self.echo_behind_ns.map(|behind| behind.saturating_sub(self.before_silence_ns) >= STALE_ECHO_NS)
    }

    /// Away from the sender: it had more than a segment outstanding, took in no acknowledgements, and let its timer pass.
    pub(crate) fn was_deaf(&self) -> bool {
        self.ignores_echoes() && self.sender_clock_ns.is_some_and(|clock| self.is_past_timer(clock))
    }

    /// Away from the sender: it had more than a segment outstanding, and had taken in no acknowledgements.
    fn ignores_echoes(&self) -> bool {
        // Of a single segment the acknowledgement may be delayed: the probe waits longer (RFC 8985 section 7.2).
        let several = self.outstanding_to_sender_bytes.is_some_and(|bytes| bytes >= 2 * self.segment_bytes.max(1));
        // What is long without an echo counts as heard once the receiver speaks again: then the flow before tells.
        let spoke_late = self.before_silence_ns > PROBE_TICKS_NS;
        (several || (spoke_late && self.is_in_a_flow())) && self.echo_is_stale() == Some(true)
    }

    /// The sender had sent ten full segments without a pause: it was in the middle of something.
    pub(crate) fn is_in_a_flow(&self) -> bool {
        self.last_full && self.bytes_since_gap >= FLOW_SEGMENTS * self.segment_bytes
    }

    /// Beside the sender: the end of what was written may wait, so that its PSH has not passed.
    pub(crate) fn tail_may_wait(&self) -> bool {
        self.beside_sender() && self.short_outstanding && self.ending == Ending::NewData
    }

    pub(crate) fn two_segments_outstanding(&self) -> bool {
        self.outstanding_bytes >= 2 * self.segment_bytes.max(1)
    }

    /// When the sender's next timer is due, from the last packet on; none if that is not known.
    ///
    /// Rule: docs/methods.md, "When a timer is due".
    pub fn timer_due_ns(&self) -> Option<i64> {
        // Acknowledgements that it has not taken in were on the way when it last sent: that, too, is a round trip, with all
        // queues.
        let on_the_way = self.echo_behind_ns.map_or(0, |behind| behind.saturating_sub(self.before_silence_ns));
        let round_trip = self.round_trip_ns?.saturating_add(self.queue_before_ns).max(on_the_way);
        let timeout = self.timeout_after_ns(round_trip);
        if !self.sack || (self.recovering && !self.unaware) || self.timers_before > 0 {
            // Each timeout waits twice as long as the one before (RFC 6298 section 5.5); the first timer is a probe.
            let doublings = self.timers_before.saturating_sub(u32::from(self.sack)).min(16);
            return Some(timeout.saturating_mul(1 << doublings));
        }
        Some(self.probe_after_ns(round_trip).min(timeout))
    }

    /// When that timer is due at the earliest. A probe waits no longer than the timeout, which runs from when the oldest
    /// segment was sent (RFC 8985 section 7.2 `TCP_RTO_expiration`, Linux `tcp_rto_delta_us`).
    pub(crate) fn timer_earliest_ns(&self) -> Option<i64> {
        let due = self.timer_due_ns()?;
        let timeout = self.timeout_after_ns(self.round_trip_ns?);
        let is_probe = self.beside_sender() && self.sack && !self.recovering && self.timers_before == 0;
        let left = self.oldest_age_ns.filter(|_| is_probe).map(|age| timeout.saturating_sub(age));
        // If that has passed already, the kernel knows another timeout.
        Some(left.filter(|&left| left > PROBE_TICKS_NS).map_or(due, |left| due.min(left)))
    }

    /// The silence lasted long enough for that timer.
    pub(crate) fn timer_may_have_fired(&self) -> bool {
        self.silence_ns as f64 >= EARLIEST_TIMER * self.timer_earliest_ns().unwrap_or(i64::MAX) as f64
    }

    /// How long the timeout is at that round trip (RFC 6298 section 2.3, with Linux' least variance term).
    fn timeout_after_ns(&self, round_trip_ns: i64) -> i64 {
        round_trip_ns.saturating_add(SMALLEST_TIMEOUT_NS.max(self.deviation_ns.saturating_mul(4)))
    }

    /// When a probe is due that is not kept from being one by loss recovery (RFC 8985 section 7.2).
    fn probe_after_ns(&self, round_trip_ns: i64) -> i64 {
        let single = self.beside_sender() && self.outstanding_bytes <= self.segment_bytes;
        let delayed = if single { SMALLEST_TIMEOUT_NS } else { PROBE_TICKS_NS };
        2 * (round_trip_ns + self.segment_time_ns()) + delayed
    }

    /// Beside the sender: the silence lasted longer than the time of a probe, whether one was due or not: a receiver owes its
    /// answer in loss recovery, too.
    pub(crate) fn outlasts_probe(&self) -> bool {
        self.round_trip_ns.is_some_and(|round_trip| self.silence_ns > self.probe_after_ns(round_trip))
    }

    /// The silence lasted longer than two round trips, the least time of a probe: the sender's by its own clock, which
    /// what was still under way when it stopped does not make shorter.
    pub(crate) fn outlasts_two_round_trips(&self) -> bool {
        let senders_ns = self.sender_clock_ns.filter(|_| !self.beside_sender()).unwrap_or(0);
        self.round_trip_ns.is_some_and(|round_trip| self.silence_ns.max(senders_ns) > 2 * round_trip)
    }

    /// How long a segment takes at the usual rate: the kernel measures its round trip from the first segment that an
    /// acknowledgement covers, we from the last.
    fn segment_time_ns(&self) -> i64 {
        let segments = self.segment_bytes as f64 / self.usual_bytes_in_2_ms.max(1) as f64;
        ((segments * 2e6) as i64).min(LONGEST_SEGMENT_NS)
    }

    /// No timer of the sender would have let this much time pass.
    pub fn timer_is_overdue(&self) -> bool {
        self.outstanding_bytes > 0 && self.is_past_timer(self.silence_ns)
    }

    /// Nor would its timeout have, which is later than its probe: not even a kernel without probes ran.
    pub(crate) fn outlasts_timeout(&self) -> bool {
        self.outstanding_bytes > 0
            && self.round_trip_ns.is_some_and(|rtt| self.is_past(self.silence_ns, self.timeout_after_ns(rtt)))
    }

    pub(crate) fn is_past_timer(&self, time_ns: i64) -> bool {
        self.timer_due_ns().is_some_and(|due| self.is_past(time_ns, due))
    }

    /// A timer that was due then would have fired by this time.
    fn is_past(&self, time_ns: i64, due_ns: i64) -> bool {
        // The kernel's smoothed round trip is not ours, the less so the more it varies.
        let is_past =
            |wheel_ns: i64| time_ns > due_ns.saturating_add(wheel_ns + 2 * self.deviation_ns + TIMER_TICKS_NS);
        // Most often not even an exact timer is past: then no wheel need be asked how late it is.
        is_past(0) && is_past(wheel_lateness_ns(due_ns))
    }

    /// Acknowledgements should have come by now, if they were delayed no longer than this.
    pub(crate) fn is_overdue_by(&self, delayed_ns: i64) -> bool {
        let Some(round_trip) = self.round_trip_ns else { return false };
        if self.is_probed() || self.timer_is_overdue() {
            return true;
        }
        let delay = if self.two_segments_outstanding() { delayed_ns } else { SMALLEST_TIMEOUT_NS };
        let usual = round_trip + round_trip / 4 + 4 * self.deviation_ns.min(round_trip);
        self.outstanding_bytes > 0 && self.silence_ns > usual + delay
    }

    /// Acknowledgements should be on the way by now.
    pub fn answer_is_overdue(&self) -> bool {
        self.is_overdue_by(DELAYED_ACKNOWLEDGEMENT_NS / 4)
    }

    /// The sender's kernel ran while it waited for an answer.
    pub(crate) fn sender_ran(&self) -> bool {
        let on_time = self.is_timer() && !self.timer_is_overdue();
        self.timers_before > 0 || (on_time && !self.woke_with_answer())
    }

    /// The timer that ends the gap and the answer came together: what woke the one may have woken the other.
    pub(crate) fn woke_with_answer(&self) -> bool {
        self.answer.and_then(|answer| answer.after_probe_ns).is_some_and(|after| after <= 2 * JITTER_NS)
    }

    /// A timer that fired later than it was due, though no later than that of a coarse clock, and right with it the sender took
    /// in what had waited. That a path gives out what it held at the very moment of the timer would be a chance of one
    /// millisecond; who wakes does both at once.
    ///
    /// Rule: docs/methods.md, "A host that wakes".
    pub(crate) fn timer_woke_with_answer(&self) -> bool {
        let at_once = self.answer.and_then(|answer| answer.after_probe_ns).is_some_and(|after| after <= JITTER_NS);
        at_once
            && self.timers_before == 0
            && (self.is_timer() || self.is_probe_with_new_data())
            && self.is_later_than_due(self.silence_ns)
    }

    /// The same away from the sender, by what it echoes: it had not heard anything for long when its timer fired, and had right
    /// after it, before the receiver could answer.
    pub(crate) fn deaf_timer_woke(&self) -> bool {
        self.is_timer()
            && self.timers_before == 0
            && self.echoes_move_on
            && self.ignores_echoes()
            && self.sender_clock_ns.is_some_and(|clock| self.is_later_than_due(clock))
    }

    fn is_later_than_due(&self, time_ns: i64) -> bool {
        self.timer_due_ns().is_some_and(|due| time_ns > due.saturating_add(TIMER_TICKS_NS))
    }

    /// A timer of the sender ended the gap.
    pub(crate) fn is_timer(&self) -> bool {
        matches!(self.ending, Ending::Timeout | Ending::TailProbe)
    }

    /// The sender's timers fired because no answer came.
    pub(crate) fn is_probed(&self) -> bool {
        self.timers_before > 0 || self.is_timer() || self.is_probe_with_new_data()
    }

    /// New data, alone, when a probe was due: that is what a probe looks like while there is data to send (RFC 8985
    /// section 7.3).
    pub(crate) fn is_probe_with_new_data(&self) -> bool {
        self.beside_sender() && self.looks_like_probe_with_new_data()
    }

    /// The same wherever it is seen: away from the sender the time alone does not make it one.
    pub(crate) fn looks_like_probe_with_new_data(&self) -> bool {
        self.ending == Ending::NewData
            && self.sack
            && self.timers_before == 0
            && self.outstanding_bytes > 0
            && self.since_answer_ns.is_none_or(|since| since > 2 * JITTER_NS)
            && self.data_burst.packets <= 1
            && self.timer_may_have_fired()
            && !self.timer_is_overdue()
    }

    /// The burst is a backlog: it was made over a longer time than it took to pass.
    pub(crate) fn is_backlog(burst: &Burst) -> bool {
        burst.packets >= BACKLOG_PACKETS
            && burst.timestamps_ns.is_none_or(|made| made >= BACKLOG_SPREAD * burst.span_ns.max(JITTER_NS))
    }
}

impl Return {
    fn waited_ns(&self) -> Option<i64> {
        self.timestamps_ns.map(|elapsed| self.silence_ns - elapsed)
    }

    /// Nearly all that was outstanding has been acknowledged.
    pub fn acknowledges_most(&self) -> bool {
        self.acknowledged_bytes as f64 >= NEARLY_ALL * self.outstanding_bytes as f64
    }

    /// It was made earlier, and held back.
    pub fn was_held(&self) -> Option<bool> {
        self.waited_ns().map(|waited| is_held(waited, self.silence_ns))
    }

    /// It answers the sender's probe or timeout. Without timestamps only the time tells: an answer takes a round trip.
    ///
    /// Rule: docs/methods.md, "The response to a probe".
    pub(crate) fn answers_probe(&self, round_trip_ns: i64) -> bool {
        match (self.older_than_probe, self.after_probe_ns) {
            _ if self.reports_disorder => true,
            (Some(older), _) => !older,
            (None, Some(after)) => after as f64 >= FASTEST_ANSWER * round_trip_ns as f64,
            (None, None) => true,
        }
    }
}

/// By how much a timer of this length may fire late, a tick or so aside, on the coarsest wheel in use.
fn wheel_lateness_ns(timer_ns: i64) -> i64 {
    let late = |rate: i64| {
        let tick_ns = 1_000_000_000 / rate;
        let ticks = timer_ns / tick_ns;
        let level = (0..WHEEL_LEVELS).find(|level| ticks < EXACT_TICKS << (3 * level)).unwrap_or(WHEEL_LEVELS);
        if level == 0 { 0 } else { tick_ns << (3 * level) }
    };
    TICK_RATES.into_iter().map(late).max().unwrap_or(0)
}

fn is_held(waited_ns: i64, silence_ns: i64) -> bool {
    waited_ns >= SHORTEST_WAIT_NS && waited_ns as f64 >= WAIT_SHARE * silence_ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_as_late_as_the_coarsest_timer_wheel_makes_it() {
        let late_ms = |timer_ms: i64| wheel_lateness_ns(timer_ms * 1_000_000) / 1_000_000;
        // Eight ticks instead of one from 63 ms on (1000 a second), 210 ms (300), 252 ms (250), 630 ms (100).
        assert_eq!([0, 60, 100, 215, 260, 500, 560, 640, 1600].map(late_ms), [0, 0, 8, 26, 32, 32, 64, 80, 80]);
        assert!((1..100_000).all(|timer_ms| late_ms(timer_ms) <= timer_ms / 7));
        assert!(wheel_lateness_ns(i64::MAX) > 0 && wheel_lateness_ns(-1) == 0);
    }
}
