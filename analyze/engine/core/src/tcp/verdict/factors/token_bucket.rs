//! `token_bucket`: a token bucket on the path had run empty.
//!
//! Rule: docs/verdict.md, "Token bucket".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::bucket::network_sets_the_rate;
use crate::tcp::limits::even_losses::come_evenly;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::runs::Run;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::replay::change::Change;
use crate::tcp::token_bucket::bucket::Kind;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{Bound, FactorRule, Labels, Next, Remedy, Tally};

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

/// No queue stood before them: half of the round trips, and 95 of 100, are so much longer than the shortest at most.
const LONGEST_MEDIAN: f64 = 1.03;

const LONGEST_P95: f64 = 1.13;

/// A policer may have dropped what was lost.
///
/// Rule: docs/verdict.md, "Losses in a row without a queue".
pub(crate) fn may_have_dropped(case: &Case) -> bool {
    let direction = case.direction;
    let bursts = direction.details.as_deref().and_then(|details| details.bursts.as_ref());
    let ratio = bursts.filter(|bursts| bursts.count() >= FEWEST_BURSTS).zip(direction.loss_rate());
    let in_a_row =
        ratio.and_then(|(bursts, loss_rate)| bursts.ratio(loss_rate)).is_some_and(|ratio| ratio >= LEAST_RATIO);
    let without_queue = direction.round_trips.as_ref().is_some_and(|trips| {
        let ([median_ns, p95_ns, _], least_ns) = (trips.quantiles_ns, trips.moments.min_ns as f64);
        median_ns <= LONGEST_MEDIAN * least_ns && p95_ns <= LONGEST_P95 * least_ns
    });
    let at_even_distances = || come_evenly(case.limits.reductions.list(), f64::from(direction.segment_size));
    case.limits.policed_losses || without_queue && (in_a_row || at_even_distances())
}

/// Time and bytes by what is to blame for them. A policer drops what exceeds its rate: once its bucket has run empty, the
/// timeouts waited for what it had dropped.
///
/// Rule: docs/verdict.md, "Timeouts after a policer".
pub(crate) fn blame(case: &Case) -> Shares {
    let mut shares = case.limits.shares;
    let policer = case.direction.token_bucket.as_deref().filter(|bucket| bucket.kind == Kind::Policer);
    if let Some(policer) = policer {
        let waits = |run: &&Run| run.factor == Factor::TimeoutWait && run.end_ns > policer.switch_ns;
        for wait in case.limits.runs.iter().filter(waits) {
            let share = Share { time_ns: wait.duration_ns(), bytes: wait.bytes };
            let policed = shares[Factor::TimeoutWait as usize].take(share);
            shares[Factor::TokenBucket as usize].add(policed);
        }
    }
    shares
}

fn because(_case: &Case, tally: &Tally) -> String {
    format!("A token bucket ran empty and held the transfer at {}", tally.rate())
}

/// A policer shows by what it drops.
fn bounds(case: &Case) -> Vec<Bound> {
    let is_policed = case.direction.token_bucket.as_deref().is_some_and(|bucket| bucket.kind == Kind::Policer);
    let of_capture = Bound { confidence: WHERE_PACKETS_ARE_MISSING, needed: "a capture that misses no packets" };
    if is_policed && case.direction.loss_caveat().is_some() { vec![of_capture] } else { Vec::new() }
}

/// Where the capture missed packets.
const WHERE_PACKETS_ARE_MISSING: f64 = 0.7;
