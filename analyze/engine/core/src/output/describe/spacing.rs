//! Time between the data packets of a direction, why some of it was unusually long, and host stalls.

use crate::output::describe::visitor::Visitor;
use crate::output::key::{Key, key};
use crate::tcp::gaps::cause::{Cause, with_causes};
use crate::tcp::stats::moments::Statistics;
use crate::tcp::summary::summary::{DirectionSummary, GapCauses, SpacingSummary};

macro_rules! keys {
    ($($variant:ident => $name:ident, $blames:expr, $says:literal;)+) => {
        [$([key!(stringify!($name), IfSet), key!(concat!(stringify!($name), "_s"), IfSet)]),+]
    };
}

/// Keys of [`Cause::ALL`], by number: of how many, and of their time.
const CAUSE_KEYS: [[Key; 2]; Cause::ALL.len()] = with_causes!(keys);

pub(super) fn spacing(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let summary = &direction.spacing;
    let moments = summary.durations.as_ref().map(|durations| &durations.moments);
    let quantile = |index: usize| summary.durations.as_ref().map(|durations| durations.quantiles_ns[index]);
    visitor.object(key!("spacing"), true);
    visitor.integer(key!("samples"), Some(moments.map_or(0, |moments| moments.count())));
    visitor.seconds(key!("mean_s"), moments.map(Statistics::mean_ns));
    visitor.seconds(key!("median_s"), quantile(0));
    visitor.seconds(key!("stddev_s"), moments.and_then(Statistics::stddev_ns));
    visitor.seconds(key!("p99_s"), quantile(1));
    visitor.exact_seconds(key!("max_s"), moments.and_then(|moments| i64::try_from(moments.max_ns).ok()));
    visitor.integer(key!("oversize"), moments.map(|_| summary.oversize().count));
    visitor.exact_seconds(key!("oversize_time_s"), moments.map(|_| summary.oversize().time_ns as i64));
    visitor.exact_seconds(key!("oversize_threshold_s", IfKnown), moments.map(|_| summary.oversize_threshold_ns as i64));
    visitor.word(
        key!("oversize_rule", IfKnown),
        moments.map(|_| if direction.oversize_limit_is_fixed { "fixed" } else { "adaptive" }),
    );
    visitor.in_document_only(|visitor| anomalies(moments.map(|_| summary), visitor));
    gap_causes(summary.causes.as_deref(), visitor);
    visitor.seldom(direction.stalls().is_some(), |visitor| stalls(direction, visitor));
    visitor.end();
}

fn anomalies(spacing: Option<&SpacingSummary>, visitor: &mut impl Visitor) {
    let gaps = spacing.map_or(&[][..], SpacingSummary::gaps);
    visitor.records(key!("anomalies"), Some(gaps.iter()), |gap, visitor| {
        visitor.known_instant(key!("start_ns"), gap.map(|gap| gap.start_ns));
        visitor.exact_seconds(key!("gap_s"), gap.and_then(|gap| i64::try_from(gap.gap_ns).ok()));
        visitor.word(key!("cause"), gap.map(|gap| gap.cause.name()));
        visitor.number(key!("confidence"), gap.map(|gap| gap.confidence));
        visitor.integers(key!("frames"), gap.into_iter().flat_map(|gap| gap.frames).map(u64::from));
    });
    let listed = gaps.len() as u64;
    let not_listed = spacing.map(|spacing| spacing.oversize().count.saturating_sub(listed));
    visitor.integer(key!("anomalies_not_listed", IfSet), not_listed);
}

/// Oversize spacings by cause: number and total.
fn gap_causes(causes: Option<&GapCauses>, visitor: &mut impl Visitor) {
    visitor.object(key!("by_cause"), true);
    visitor.seldom(causes.is_some(), |visitor| {
        for (index, &[count, time]) in CAUSE_KEYS.iter().enumerate() {
            let total = causes.map(|causes| causes.oversize[index]).unwrap_or_default();
            visitor.integer(count, Some(total.count));
            visitor.exact_seconds(time, Some(total.time_ns as i64));
        }
    });
    visitor.end();
}

fn stalls(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let stalls = direction.stalls();
    let seconds = |value: Option<u64>| value.map(|time| time as i64);
    visitor.integer(key!("stalls", IfSet), stalls.map(|stalls| stalls.count));
    visitor.number(key!("stalls_per_minute", IfKnown), direction.stalls_per_minute());
    visitor.exact_seconds(key!("stalled_time_s", IfKnown), seconds(stalls.map(|stalls| stalls.time_ns)));
    visitor.exact_seconds(key!("longest_stall_s", IfKnown), seconds(stalls.map(|stalls| stalls.longest_ns)));
    let period = stalls.and_then(|stalls| stalls.period_ns.ok());
    visitor.exact_seconds(key!("stall_period_s", IfKnown), seconds(period));
    visitor.integer(key!("stall_lost_bytes", IfKnown), direction.stall_lost_bytes());
}
