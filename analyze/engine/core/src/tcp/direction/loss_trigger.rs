//! Why a segment was retransmitted: the rules of docs/methods.md, section 5.2, in one place.
//!
//! At the sender the evidence stands in time order: acknowledgements, silence, retransmission. Elsewhere an
//! acknowledgement reaches the sender later and the retransmission passes later still, together one *sender loop*.
//!
//! Rule: docs/methods.md, "Trigger of a retransmission".

use crate::tcp::direction::direction::Live;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::kernel::SMALLEST_TIMEOUT_NS;
use crate::tcp::loss::recovery::{Recovery, RecoveryEvidence, TIMER_SLACK, is_long_timeout};
use crate::tcp::loss::reductions::Reduction;

/// Acknowledgement and answer are one event within this time (timer and capture jitter).
const SAME_INSTANT_NS: i64 = 2_000_000;

/// How late RACK's timer may be: Linux adds two ticks (`TCP_TIMEOUT_MIN`) and may take another, 12 ms at 250 of them in a
/// second; and [`SAME_INSTANT_NS`].
const RACK_TICKS_NS: i64 = 14_000_000;

/// No stack's retransmission timeout is shorter, whatever its floor.
const SHORTEST_TIMEOUT_NS: i64 = 5_000_000;

/// Away from the sender: what fills a hole answers it if the hole is older than this share of the round trip to the sender.
const LEAST_HOLE_AGE: f64 = 0.5;

/// Sender loops below this count as being at the sender.
const BESIDE_SENDER_NS: i64 = 2_000_000;

/// Tells why the range was retransmitted, and keeps track of recovery.
pub fn trigger(live: &mut Live, evidence: &RecoveryEvidence) -> Trigger {
    if live.loss.recovery.is_some_and(|recovery| evidence.una >= recovery.point) {
        end_recovery(live, evidence.time_ns);
    }
    end_undone_timeout(live, evidence);
    let beside_sender = evidence.sender_loop_ns < BESIDE_SENDER_NS;
    let trigger = if beside_sender { trigger_beside_sender(live, evidence) } else { trigger_elsewhere(live, evidence) };
    match trigger {
        Trigger::Tlp => live.loss.probe_outstanding = true,
        // All has arrived: there is nothing to recover, and no acknowledgement that would end it.
        _ if evidence.una >= evidence.max => {}
        Trigger::Rto if live.loss.recovery.is_none_or(|recovery| recovery.trigger != Trigger::Rto) => {
            begin_recovery(live, trigger, evidence);
            live.segments.mark_all_lost();
        }
        Trigger::Fast | Trigger::Rack if live.loss.recovery.is_none() => {
            begin_recovery(live, Trigger::Fast, evidence);
        }
        // It repairs what was reported missing, whatever made it do so now.
        Trigger::Unknown if beside_sender && live.loss.recovery.is_none() && sees_loss(live) => {
            begin_recovery(live, trigger, evidence);
        }
        _ => {}
    }
    trigger
}

fn begin_recovery(live: &mut Live, trigger: Trigger, evidence: &RecoveryEvidence) {
    live.loss.recovering.start(evidence.time_ns);
    live.loss.recovery = Some(Recovery::begin(trigger, evidence));
    live.loss.reductions.push(Reduction {
        position: evidence.una.saturating_add(live.acks.scoreboard.total()),
        flight_bytes: u32::try_from(live.view.round_max_flight()).unwrap_or(u32::MAX),
        by_timeout: trigger == Trigger::Rto,
    });
}

fn sees_loss(live: &Live) -> bool {
    !live.acks.scoreboard.is_empty() || live.acks.duplicate_acknowledgements > 0
}

pub(crate) fn end_recovery(live: &mut Live, time_ns: i64) {
    live.loss.recovery = None;
    live.loss.recovering.stop(time_ns);
}

/// Everything below `una` is acknowledged: is recovery over, and are the holes filled that showed a loss?
#[cold]
pub fn check_recovery(live: &mut Live, una: u64, max: u64, time_ns: i64) {
    if live.loss.recovery.is_some_and(|recovery| una >= recovery.point) {
        live.loss.recovery = None;
    }
    if live.loss.recovery.is_none() && live.holes.missing(una, max).0 == 0 {
        live.loss.recovering.stop(time_ns);
    }
}

/// A sender that finds its timeout spurious (F-RTO, RFC 5682; Eifel, RFC 4015) goes on with new data, more than the
/// two segments with which F-RTO tests: what it sends again later has another cause.
fn end_undone_timeout(live: &mut Live, evidence: &RecoveryEvidence) {
    let Some(recovery) = live.loss.recovery.as_mut().filter(|recovery| recovery.trigger == Trigger::Rto) else {
        return;
    };
    if recovery.went_on || evidence.start == recovery.start {
        return;
    }
    if evidence.max > recovery.point + 2 * u64::from(evidence.segment_size) {
        end_recovery(live, evidence.time_ns);
    } else {
        recovery.went_on = true;
    }
}

fn trigger_beside_sender(live: &Live, evidence: &RecoveryEvidence) -> Trigger {
    let since = |then: Option<i64>| then.map_or(i64::MAX, |then| evidence.time_ns.saturating_sub(then));
    let answers_acknowledgement = since(live.acks.last_acknowledgement_ns) <= SAME_INSTANT_NS;
    let loss_seen = sees_loss(live);
    let silence = since(live.acks.last_acknowledgement_ns).min(since(evidence.last_data_ns));
    if !loss_seen && is_tail_probe(live, evidence, silence) {
        return Trigger::Tlp;
    }
    let waited = since(evidence.previous_ns).min(since(live.acks.last_advance_ns));
    let timeout = live.round_trips.rto_ns().min(live.round_trips.srtt_ns().unwrap_or(1e9) + SMALLEST_TIMEOUT_NS as f64);
    let timed_out =
        evidence.start <= evidence.una && waited as f64 >= TIMER_SLACK * timeout.max(SMALLEST_TIMEOUT_NS as f64);
    match live.loss.recovery.map(|recovery| recovery.trigger) {
        Some(Trigger::Rto) => Trigger::Rto,
        _ if timed_out && !(answers_acknowledgement && loss_seen) => Trigger::Rto,
        Some(Trigger::Unknown) => Trigger::Unknown,
        Some(_) => Trigger::Fast,
        None if loss_seen => fast_or_rack(live, evidence, answers_acknowledgement, since(live.acks.last_loss_sign_ns)),
        None if evidence.start <= evidence.una && is_short_timeout(live, silence) => Trigger::Rto,
        None => Trigger::Unknown,
    }
}

/// RACK's timer runs min_rtt/4 after the acknowledgement that raised the suspicion, unless three segments' worth of
/// duplicates have come (RFC 8985 section 6.2).
fn fast_or_rack(
    live: &Live,
    evidence: &RecoveryEvidence,
    answers_acknowledgement: bool,
    since_sign_ns: i64,
) -> Trigger {
    // Three separate reports count as much as the bytes of more than two segments (RFC 6675 `IsLost`): segments may be short.
    let threshold = 2 * u64::from(evidence.segment_size);
    let enough = live.acks.scoreboard.total() > threshold
        || live.acks.scoreboard.count() >= 3
        || live.acks.duplicate_acknowledgements >= 3;
    let quarter = live.round_trips.moments.min().unwrap_or(0) as i64 / 4;
    let on_timer = !answers_acknowledgement && since_sign_ns >= quarter / 2 && since_sign_ns <= quarter + RACK_TICKS_NS;
    match (enough, answers_acknowledgement, on_timer) {
        // RACK does without the threshold where an acknowledgement itself shows that the time is over.
        (true, ..) | (_, true, _) => Trigger::Fast,
        (.., true) => Trigger::Rack,
        _ => Trigger::Unknown,
    }
}

/// The last segment again, after about two round trips without news, once (RFC 8985 section 7). Linux sends the probe
/// at the timeout's time if that is earlier.
fn is_tail_probe(live: &Live, evidence: &RecoveryEvidence, silence_ns: i64) -> bool {
    let Some(srtt) = live.round_trips.srtt_ns() else { return false };
    let earliest = (2.0 * srtt).min(live.round_trips.rto_ns());
    let is_timeout = evidence.start <= evidence.una && is_long_timeout(silence_ns as f64, srtt);
    evidence.sack
        && !is_timeout
        && evidence.is_one_segment()
        && evidence.end >= evidence.max
        && !live.loss.probe_outstanding
        && live.loss.recovery.is_none()
        && silence_ns as f64 >= TIMER_SLACK * earliest
}

/// Stacks with a smaller floor than 200 ms: silence of several round trips, no sign of loss, the oldest byte again.
fn is_short_timeout(live: &Live, silence_ns: i64) -> bool {
    live.round_trips.srtt_ns().is_some_and(|srtt| silence_ns as f64 >= 2.0 * srtt && silence_ns >= SHORTEST_TIMEOUT_NS)
}

fn trigger_elsewhere(live: &Live, evidence: &RecoveryEvidence) -> Trigger {
    let gap = evidence.last_data_ns.map_or(0, |last| evidence.time_ns.saturating_sub(last));
    let round_trip = evidence.sender_loop_ns as f64;
    let oldest = evidence.start <= evidence.una;
    let in_timeout = live.loss.recovery.is_some_and(|recovery| recovery.trigger == Trigger::Rto);
    if evidence.sack
        && !(oldest && is_long_timeout(gap as f64, round_trip))
        && evidence.is_one_segment()
        && evidence.exposed_ns.is_none()
        && !live.loss.probe_outstanding
        && live.loss.recovery.is_none()
        && evidence.end >= evidence.max
        && gap as f64 >= TIMER_SLACK * (2.0 * round_trip).min(round_trip + SMALLEST_TIMEOUT_NS as f64)
    {
        return Trigger::Tlp;
    }
    if in_timeout || (oldest && gap as f64 >= TIMER_SLACK * (SMALLEST_TIMEOUT_NS as f64).max(round_trip)) {
        return Trigger::Rto;
    }
    let suspected =
        evidence.exposed_ns.is_some_and(|exposed| (evidence.time_ns - exposed) as f64 >= LEAST_HOLE_AGE * round_trip);
    if suspected || live.loss.recovery.is_some() { Trigger::Fast } else { Trigger::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    fn live() -> Live {
        let mut live = Live::default();
        (0..20).for_each(|_| live.round_trips.add(40_000_000));
        (live.acks.last_acknowledgement_ns, live.acks.last_advance_ns) = (Some(0), Some(0));
        live
    }

    fn evidence(time_ns: i64) -> RecoveryEvidence {
        RecoveryEvidence {
            time_ns,
            start: 0,
            end: 1000,
            una: 0,
            max: 10_000,
            previous_ns: Some(-40 * MILLISECOND),
            last_data_ns: Some(0),
            exposed_ns: None,
            sender_loop_ns: 0,
            segment_size: 1000,
            sack: true,
        }
    }

    #[test]
    fn an_answer_to_sack_is_fast() {
        let mut live = live();
        live.acks.scoreboard.insert(1000, 5000, |_, _| ());
        live.acks.last_acknowledgement_ns = Some(9 * MILLISECOND);
        assert_eq!(trigger(&mut live, &evidence(10 * MILLISECOND)), Trigger::Fast);
        let later = RecoveryEvidence { start: 6000, end: 7000, ..evidence(30 * MILLISECOND) };
        assert_eq!(trigger(&mut live, &later), Trigger::Fast, "within the recovery it began");
    }

    #[test]
    fn one_sack_and_a_quarter_round_trip_is_rack() {
        let mut live = live();
        live.acks.scoreboard.insert(1000, 2000, |_, _| ());
        (live.acks.last_acknowledgement_ns, live.acks.last_loss_sign_ns) = (Some(0), Some(0));
        assert_eq!(trigger(&mut live, &evidence(11 * MILLISECOND)), Trigger::Rack);
    }

    #[test]
    fn silence_and_the_oldest_byte_is_a_timeout() {
        let mut live = live();
        assert_eq!(trigger(&mut live, &evidence(245 * MILLISECOND)), Trigger::Rto);
        let next = RecoveryEvidence { start: 1000, end: 2000, una: 1000, ..evidence(286 * MILLISECOND) };
        assert_eq!(trigger(&mut live, &next), Trigger::Rto, "go-back after a timeout");
    }

    #[test]
    fn new_data_after_a_timeout_says_that_it_was_undone() {
        let mut live = live();
        assert_eq!(trigger(&mut live, &evidence(245 * MILLISECOND)), Trigger::Rto);
        live.acks.scoreboard.insert(12_000, 20_000, |_, _| ());
        live.acks.last_acknowledgement_ns = Some(300 * MILLISECOND);
        let next = RecoveryEvidence { start: 1000, end: 2000, una: 1000, max: 20_000, ..evidence(300 * MILLISECOND) };
        assert_eq!(trigger(&mut live, &next), Trigger::Fast);
    }

    #[test]
    fn the_last_segment_after_two_round_trips_is_a_probe_and_the_next_a_timeout() {
        let mut live = live();
        let tail = RecoveryEvidence { start: 9000, ..evidence(85 * MILLISECOND) };
        assert_eq!(trigger(&mut live, &RecoveryEvidence { end: 10_000, ..tail }), Trigger::Tlp);
        assert_eq!(trigger(&mut live, &evidence(330 * MILLISECOND)), Trigger::Rto);
    }

    #[test]
    fn without_sack_there_is_no_tail_probe() {
        let mut live = live();
        let tail = RecoveryEvidence { end: 10_000, sack: false, ..evidence(245 * MILLISECOND) };
        assert_eq!(trigger(&mut live, &tail), Trigger::Rto);
    }
}
