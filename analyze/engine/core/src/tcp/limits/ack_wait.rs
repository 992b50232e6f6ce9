//! How long acknowledgements wait in queues of their own direction, by the timestamps of both hosts (RFC 7323): what one host stamps and
//! the capture sees later than usual has waited on its way.
//!
//! Rule: docs/verdict.md, "A full direction of the ACKs".

use crate::tcp::limits::background::{Background, neighbours};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::round::{Round, RoundSeen};

/// Clocks of two hosts drift apart by one part in so many: so much of a queue is forgotten.
const DRIFT: i64 = 10_000;

/// A wait that costs: the least of it, and its share of the round trip.
const LEAST_NS: u64 = 20_000_000;

const SHARE_OF_ROUND_TRIP: u64 = 2;

/// By so much more than the round trip has grown, no acknowledgement has waited: a clock was set.
const SLACK: f64 = 1.5;

/// Rounds on either side of which most must wait.
const REACH: usize = 2;

/// The least delays so far of what both hosts sent, which begin with their first packets.
#[derive(Debug, Clone, Default)]
pub(crate) struct AckWait {
    late_ns: [i64; 2],
    seen_ns: Option<i64>,
}

impl AckWait {
    /// What acknowledgements waited for in a round that ends at a time: between the receiver and the capture, and from there to the
    /// sender, whose loop is longer by that and by what data waits. 0 where nothing shows it.
    pub(crate) fn take(&mut self, seen: &RoundSeen, time_ns: i64) -> u64 {
        let passed_ns = time_ns.saturating_sub(self.seen_ns.replace(time_ns).unwrap_or(time_ns)).max(0);
        let forgotten_ns = passed_ns / DRIFT;
        let [data_ns, acks_ns] = &mut self.late_ns;
        let data_ns = seen.late_ns[0].map(|late_ns| above(data_ns, late_ns, forgotten_ns));
        let acks_ns = seen.late_ns[1].map(|late_ns| above(acks_ns, late_ns, forgotten_ns));
        let queued_ns = |near_ns: u64| i64::try_from(near_ns.saturating_sub(seen.shortest_loop_ns)).ok();
        let near_ns = seen.near_loop_ns.and_then(queued_ns);
        let beyond_ns = near_ns.zip(data_ns).map_or(0, |(near_ns, data_ns)| near_ns.saturating_sub(data_ns).max(0));
        let wait_ns = acks_ns.map_or(0, |acks_ns| u64::try_from(acks_ns.saturating_add(beyond_ns)).unwrap_or(0));
        // Less may be the ticks of a clock, and costs nobody much.
        if wait_ns < LEAST_NS { 0 } else { wait_ns }
    }
}

/// How much more than the least so far.
fn above(least_ns: &mut i64, value_ns: i64, forgotten_ns: i64) -> i64 {
    *least_ns = least_ns.saturating_add(forgotten_ns).min(value_ns);
    value_ns.saturating_sub(*least_ns)
}

/// What acknowledgements waited for in a round, as far as its round trip was longer than the path's.
pub(crate) fn waited_ns(round: &Round, round_trip_ns: u64, min_rtt_ns: u64) -> u64 {
    let longer_ns = round_trip_ns.saturating_sub(min_rtt_ns);
    if round.ack_wait_ns as f64 > SLACK * longer_ns as f64 { 0 } else { round.ack_wait_ns.min(longer_ns) }
}

/// Half of the round trip was a wait of the acknowledgements, in most rounds around this one.
pub fn waits_for_acks(rounds: &[KnownRound], index: usize, background: &Background) -> bool {
    // Most connections have no such round.
    if rounds.get(index).is_none_or(|round| round.ack_wait_ns < LEAST_NS) {
        return false;
    }
    let Some(min_rtt_ns) = background.min_rtt_ns else { return false };
    let is_late = |round: &&KnownRound| {
        round.round_trip_ns().is_some_and(|rtt_ns| {
            let waited_ns = waited_ns(round, rtt_ns, min_rtt_ns);
            waited_ns >= LEAST_NS && waited_ns.saturating_mul(SHARE_OF_ROUND_TRIP) >= rtt_ns
        })
    };
    let nearest = neighbours(rounds, index, REACH);
    2 * nearest.iter().filter(is_late).count() > nearest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// How late data and acknowledgements come, and the loop to the sender.
    type InMs = (Option<i64>, Option<i64>, Option<u64>);

    /// Milliseconds that acknowledgements waited in each round, of 100 ms each.
    fn waits_ms(rounds: &[InMs]) -> Vec<u64> {
        let mut wait = AckWait::default();
        let of = |(number, &(data_ms, acks_ms, near_ms)): (usize, &InMs)| {
            let late_ns = [data_ms, acks_ms].map(|late_ms| late_ms.map(|late_ms| late_ms * MS));
            let near_loop_ns = near_ms.map(|near_ms| near_ms * MS as u64);
            let shortest_loop_ns = 20 * MS as u64;
            let seen = RoundSeen { late_ns, near_loop_ns, shortest_loop_ns, ..RoundSeen::default() };
            wait.take(&seen, number as i64 * 100 * MS) / MS as u64
        };
        rounds.iter().enumerate().map(of).collect()
    }

    #[test]
    fn at_the_sender_acknowledgements_come_late_and_data_does_not() {
        let at_sender = |acks_ms| (Some(0), Some(acks_ms), Some(0));
        assert_eq!(waits_ms(&[at_sender(0), at_sender(80), at_sender(-5), at_sender(75)]), [0, 79, 0, 79]);
    }

    #[test]
    fn at_the_receiver_the_loop_to_the_sender_is_longer_than_data_is_late() {
        let at_receiver = |data_ms, near_ms| (Some(data_ms), Some(0), Some(near_ms));
        assert_eq!(waits_ms(&[at_receiver(0, 20), at_receiver(60, 80), at_receiver(60, 180)]), [0, 0, 100]);
    }

    #[test]
    fn without_timestamps_nothing_is_known() {
        assert_eq!(waits_ms(&[(None, None, Some(20)), (None, None, Some(200)), (Some(0), None, Some(200))]), [0; 3]);
    }

    #[test]
    fn clocks_that_drift_apart_are_no_queue() {
        let mut wait = AckWait::default();
        let of = |second: i64| {
            let late_ns = [Some(0), Some(second * 100_000)];
            wait.take(&RoundSeen { late_ns, ..RoundSeen::default() }, second * 1_000_000_000)
        };
        assert!((0..10_000).map(of).all(|wait_ns| wait_ns <= 100_000));
    }

    fn round(ack_wait_ms: u64) -> KnownRound {
        let [end_ns, rtt_ns] = [100 * MS, 100 * MS];
        let (ack_wait_ns, rtt_ns) = (ack_wait_ms * MS as u64, Some(rtt_ns as u64));
        Round { end_ns, rtt_ns, ack_wait_ns, delivered_bytes: 1000, ..Round::default() }.into()
    }

    #[test]
    fn most_of_the_rounds_around_wait_for_half_of_the_round_trip_at_least() {
        let background = Background { min_rtt_ns: Some(20 * MS as u64), ..Background::default() };
        let waits = |waits_ms: [u64; 5]| waits_for_acks(&waits_ms.map(round), 2, &background);
        assert!(waits([50; 5]) && waits([0, 50, 50, 50, 0]));
        assert!(!waits([49; 5]) && !waits([0, 0, 50, 50, 0]) && !waits([50, 50, 0, 50, 50]));
        assert!(!waits([121; 5]), "longer than the round trip has grown: a clock was set");
        let long = Background { min_rtt_ns: Some(90 * MS as u64), ..Background::default() };
        assert!(!waits_for_acks(&[50; 5].map(round), 2, &long));
    }
}
