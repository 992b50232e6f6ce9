//! Round trips of a direction: those that count, those that do not and why, those without stalls and in recovery.

use crate::output::describe::visitor::Visitor;
use crate::output::key::{Key, key};
use crate::tcp::rtt::covering::WithoutStalls;
use crate::tcp::rtt::samples::{Answered, RecoveryTrips};
use crate::tcp::stats::moments::Statistics;
use crate::tcp::summary::durations::Durations;
use crate::tcp::summary::summary::DirectionSummary;

/// Names of [`crate::tcp::events::acked::Rejected`], by number.
const REJECTED_KEYS: [Key; 5] = [
    key!("retransmitted", IfSet),
    key!("later_segment_covered", IfSet),
    key!("held_back_by_hole", IfSet),
    key!("not_all_seen", IfSet),
    key!("acknowledged_before_data", IfSet),
];

pub(super) fn round_trips(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let trips = summary.round_trips.as_ref();
    let moments = trips.map(|trips| &trips.moments);
    let quantile = |index: usize| trips.map(|trips: &Durations<3>| trips.quantiles_ns[index]);
    visitor.object(key!("rtt"), true);
    visitor.word(key!("method"), trips.map(|_| "sequence"));
    visitor.integer(key!("samples"), Some(moments.map_or(0, |moments| moments.count())));
    visitor.exact_seconds(key!("min_s"), moments.and_then(|moments| i64::try_from(moments.min_ns).ok()));
    statistics(moments, visitor);
    visitor.seconds(key!("median_s"), quantile(0));
    visitor.seconds(key!("p95_s"), quantile(1));
    visitor.seconds(key!("p99_s"), quantile(2));
    visitor.exact_seconds(key!("max_s"), moments.and_then(|moments| i64::try_from(moments.max_ns).ok()));
    visitor.object(key!("rejected"), true);
    visitor.seldom(summary.rejected != [0; 5], |visitor| {
        for (&key, &count) in REJECTED_KEYS.iter().zip(&summary.rejected) {
            visitor.integer(key, Some(u64::from(count)));
        }
    });
    visitor.end();
    visitor.integer(key!("delayed_acknowledgements", IfSet), Some(u64::from(summary.delayed_trips)));
    let details = summary.details.as_deref();
    visitor.seldom(details.is_some(), |visitor| {
        without_stalls(details.and_then(|details| details.without_stalls.as_ref()), visitor);
        recovery_trips(in_recovery(summary), visitor);
    });
    visitor.end();
}

fn statistics(moments: Option<&Statistics>, visitor: &mut impl Visitor) {
    visitor.seconds(key!("mean_s"), moments.map(Statistics::mean_ns));
    visitor.seconds(key!("stddev_s"), moments.and_then(Statistics::stddev_ns));
}

fn without_stalls(rest: Option<&WithoutStalls>, visitor: &mut impl Visitor) {
    if visitor.optional_object(key!("without_stalls", IfKnown), rest.is_some()) {
        let quantile = |index: usize| rest.and_then(|rest| Some(rest.quantiles_ns?[index]));
        visitor.integer(key!("left_out"), rest.map(|rest| rest.left_out));
        visitor.integer(key!("samples"), rest.map(|rest| rest.samples));
        visitor.seconds(key!("mean_s"), rest.and_then(|rest| rest.mean_ns));
        visitor.seconds(key!("median_s"), quantile(0));
        visitor.seconds(key!("p95_s"), quantile(1));
        visitor.seconds(key!("p99_s"), quantile(2));
        visitor.end();
    }
}

pub(super) fn in_recovery(summary: &DirectionSummary) -> Option<&RecoveryTrips> {
    summary.details.as_ref()?.recovery_trips.as_ref()
}

fn recovery_trips(trips: Option<&RecoveryTrips>, visitor: &mut impl Visitor) {
    if visitor.optional_object(key!("recovery", IfKnown), trips.is_some()) {
        let samples = |answered: Answered| trips.map(|trips| u64::from(trips.samples[answered as usize]));
        let exact = |value: fn(&RecoveryTrips) -> u64| trips.and_then(|trips| i64::try_from(value(trips)).ok());
        visitor.integer(key!("sack_samples"), samples(Answered::BySack));
        visitor.integer(key!("timestamp_samples"), samples(Answered::ByTimestamp));
        visitor.exact_seconds(key!("min_s"), exact(|trips| trips.min_ns));
        visitor.seconds(key!("mean_s"), trips.and_then(RecoveryTrips::mean_ns));
        visitor.exact_seconds(key!("max_s"), exact(|trips| trips.max_ns));
        visitor.end();
    }
}
