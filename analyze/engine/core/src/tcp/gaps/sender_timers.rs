//! When the timers of a sender that waits are due, whether they have fired, and what that shows. Pure.

use crate::tcp::gaps::evidence::{GapEnding, GapEvidence};
use crate::tcp::kernel::{EARLIEST_TIMER, JITTER_NS, PROBE_TICKS_NS, SMALLEST_TIMEOUT_NS};

/// Ticks in a second of the kernels in use (Linux `CONFIG_HZ`).
const TICK_RATES: [i64; 4] = [100, 250, 300, 1000];

/// Linux' timer wheel keeps so many ticks to the tick. Eight times as many it keeps to eight, and so on
/// (`kernel/time/timer.c`, `LVL_START` and `LVL_GRAN`).
const EXACT_TICKS: i64 = 63;

const WHEEL_LEVELS: u32 = 8;

/// A tick of a slow clock and the time to act on it.
pub(crate) const TIMER_TICKS_NS: i64 = 12_000_000;

/// A slower sender than one with this time for a segment measures its round trip some other way.
const LONGEST_SEGMENT_NS: i64 = 25_000_000;

impl GapEvidence {
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

    /// At the sender: the silence lasted longer than the time of a probe, whether one was due or not: a receiver owes its
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
        matches!(self.ending, GapEnding::Timeout | GapEnding::TailProbe)
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
        self.ending == GapEnding::NewData
            && self.sack
            && self.timers_before == 0
            && self.outstanding_bytes > 0
            && self.since_answer_ns.is_none_or(|since| since > 2 * JITTER_NS)
            && self.data_burst.packets <= 1
            && self.timer_may_have_fired()
            && !self.timer_is_overdue()
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
