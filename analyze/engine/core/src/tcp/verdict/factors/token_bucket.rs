//! `token_bucket`: a token bucket on the path had run empty.
//!
//! Rule: docs/verdict.md, "Token bucket".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::background::QUEUE_NS;
use crate::tcp::limits::bucket::network_sets_the_rate;
use crate::tcp::limits::even_losses::come_evenly;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::replay::change::Change;
use crate::tcp::rtt::samples::RecoveryTrips;
use crate::tcp::summary::summary::DirectionSummary;
use crate::tcp::token_bucket::bucket::LimiterKind;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Labels, Next, Remedy, SharedAs, Tally};

const REMEDY: Remedy = Remedy { words: "no token bucket", change: Change::NoBucket };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::TokenBucket,
    in_words: "a token bucket",
    labels: Labels::list("token bucket"),
    least_share: 0.2,
    sets_the_rate: true,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    shared: Some(SharedAs { is_bucket: true, in_words: "an empty token bucket of" }),
    in_second_stage: &[Reassignment {
        turn: 80,
        heading: "Token bucket",
        apply: |limits, facts| {
            if let Some(empty_ns) = facts.over_time.as_ref().and_then(|series| series.empty_ns) {
                take_time(limits, Factor::TokenBucket, network_sets_the_rate, empty_ns);
            }
        },
    }],
    ..FactorRule::PLAIN
};

/// Losses in a row, times what chance makes of as many, and so many of them.
const LEAST_RATIO: f64 = 1.5;

const FEWEST_BURSTS: u64 = 10;

/// No queue stood before them: half of the round trips, 95 of 100, and those in recovery on average, are so much longer than the shortest
/// at most.
const LONGEST_MEDIAN: f64 = 1.03;

const LONGEST_P95: f64 = 1.13;

const LONGEST_IN_RECOVERY: f64 = 1.05;

/// Share of the segments that is lost where losses by chance would leave no rate steady.
const LEAST_LOST: f64 = 0.1;

/// A policer may have dropped what was lost.
///
/// Rule: docs/verdict.md, "Losses in a row without a queue".
pub(crate) fn may_have_dropped(case: &Case) -> bool {
    let direction = case.direction;
    let in_a_row = bursts_ratio(case).is_some_and(|ratio| ratio >= LEAST_RATIO);
    let at_even_distances = || come_evenly(case.limits.reductions.list(), f64::from(direction.segment_size));
    let trips = Trips::of(direction);
    let meets_no_queue = || trips.as_ref().is_some_and(Trips::meet_no_queue);
    let is_usually_short = || trips.as_ref().is_some_and(Trips::are_usually_short);
    case.limits.policed_losses
        || meets_no_queue() && (in_a_row || at_even_distances())
        || is_usually_short() && is_steady_through_losses(case)
}

/// How many times as long as chance makes them the bursts of losses are; none if there are few.
pub(super) fn bursts_ratio(case: &Case) -> Option<f64> {
    let bursts = case.direction.details.as_deref().and_then(|details| details.bursts.as_ref());
    bursts.filter(|bursts| bursts.count() >= FEWEST_BURSTS)?.ratio(case.direction.loss_rate()?)
}

/// So much is lost that what passes would vary, if not the place that drops it set the rate.
///
/// Rule: docs/verdict.md, "Losses that leave the rate steady".
fn is_steady_through_losses(case: &Case) -> bool {
    case.limits.steady_bps.is_some() && case.direction.loss_rate().is_some_and(|rate| rate >= LEAST_LOST)
}

/// Round trips of a direction, nanoseconds.
struct Trips {
    least_ns: f64,
    median_ns: f64,
    p95_ns: f64,
    /// Mean of those in recovery, if there are enough.
    in_recovery_ns: Option<f64>,
}

impl Trips {
    fn of(direction: &DirectionSummary) -> Option<Self> {
        let trips = direction.round_trips.as_ref()?;
        let in_recovery = direction.details.as_deref().and_then(|details| details.recovery_trips.as_ref());
        let ([median_ns, p95_ns, _], least_ns) = (trips.quantiles_ns, trips.moments.min_ns as f64);
        let in_recovery_ns = in_recovery.filter(|trips| trips.tells()).and_then(RecoveryTrips::mean_ns);
        Some(Self { least_ns, median_ns, p95_ns, in_recovery_ns })
    }

    /// Most are next to the shortest.
    fn are_usually_short(&self) -> bool {
        self.median_ns <= (LONGEST_MEDIAN * self.least_ns).max(self.least_ns + QUEUE_NS)
    }

    /// Nearly all are. Or most are, and those while losses are repaired: a queue that overflows is longest then. A host that is late now
    /// and then, and delayed acknowledgements, make some of the others longer.
    fn meet_no_queue(&self) -> bool {
        let least_ns = self.least_ns;
        let is_short_in_recovery =
            || self.in_recovery_ns.is_some_and(|mean_ns| mean_ns <= LONGEST_IN_RECOVERY * least_ns);
        self.median_ns <= LONGEST_MEDIAN * least_ns && self.p95_ns <= LONGEST_P95 * least_ns
            || self.are_usually_short() && is_short_in_recovery()
    }
}

/// Time and bytes by what is to blame for them. A policer drops what exceeds its rate: once its bucket has run empty, the
/// timeouts waited for what it had dropped.
///
/// Rule: docs/verdict.md, "Timeouts after a policer".
pub(crate) fn blame(case: &Case) -> Shares {
    let mut shares = case.limits.shares.clone();
    let policer = case.direction.extras.token_bucket.as_deref().filter(|bucket| bucket.kind == LimiterKind::Policer);
    if let Some(policer) = policer {
        let waits = |run: &&FactorRun| run.factor == Factor::TimeoutWait && run.end_ns > policer.switch_ns;
        for wait in case.limits.runs.iter().filter(waits) {
            let share = Share { time_ns: wait.duration_ns(), bytes: wait.bytes };
            let policed = shares[Factor::TimeoutWait].take(share);
            shares[Factor::TokenBucket].add(policed);
        }
    }
    shares
}

fn because(_case: &Case, tally: &Tally) -> String {
    format!("A token bucket ran empty and held the transfer at {}", tally.rate())
}

/// A policer shows by what it drops.
fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let is_policed =
        case.direction.extras.token_bucket.as_deref().is_some_and(|bucket| bucket.kind == LimiterKind::Policer);
    let of_capture =
        ConfidenceBound { confidence: WHERE_PACKETS_ARE_MISSING, needed: "a capture that misses no packets" };
    if is_policed && case.direction.loss_caveat().is_some() { vec![of_capture] } else { Vec::new() }
}

/// Where the capture missed packets.
const WHERE_PACKETS_ARE_MISSING: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;

    /// With a shortest round trip of 60 ms: the median and the longest but for a twentieth, milliseconds, and those in recovery.
    fn meet_no_queue(median_ms: f64, p95_ms: f64, in_recovery_ms: Option<f64>) -> bool {
        let in_recovery_ns = in_recovery_ms.map(|ms| ms * 1e6);
        Trips { least_ns: 60e6, median_ns: median_ms * 1e6, p95_ns: p95_ms * 1e6, in_recovery_ns }.meet_no_queue()
    }

    #[test]
    fn round_trips_that_stay_short_meet_no_queue() {
        assert!(meet_no_queue(61.0, 66.0, None));
        assert!(!meet_no_queue(64.0, 66.0, None), "half of them are longer");
    }

    #[test]
    fn delayed_acknowledgements_are_no_queue_where_round_trips_are_short_while_losses_are_repaired() {
        assert!(meet_no_queue(60.6, 103.6, Some(60.98)));
        assert!(!meet_no_queue(60.6, 103.6, Some(75.0)), "a queue that overflows");
        assert!(!meet_no_queue(60.6, 103.6, None), "nothing tells");
    }

    #[test]
    fn half_a_millisecond_is_no_queue_on_a_short_path() {
        let trips = |median_ns| Trips { least_ns: 10.53e6, median_ns, p95_ns: 50e6, in_recovery_ns: None };
        assert_eq!([11.02e6, 11.5e6].map(|median_ns| trips(median_ns).are_usually_short()), [true, false]);
    }
}
