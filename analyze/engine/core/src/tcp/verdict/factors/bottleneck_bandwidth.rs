//! `bottleneck_bandwidth`: the path carried no more. It is blamed only where nothing else took much.
//!
//! Rule: docs/verdict.md, "Bottleneck bandwidth".

mod filled;
mod full_link;
mod held;
mod host_queue;

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::bottleneck::{is_behind_long_queue, is_bottleneck_limited, is_full_behind_window};
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, Labels, Next, Remedy, SURE_CONFIDENCE, SharedAs, Tally,
};

const REMEDY: Remedy = Remedy { words: "twice the bottleneck bandwidth", change: Change::TwiceBandwidth };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::BottleneckBandwidth,
    in_words: "the bottleneck bandwidth",
    labels: Labels { column: "link full", ..Labels::list("bottleneck bandwidth") },
    in_rounds: &[
        Condition { turn: 8, holds: is_full_behind_window, beneath_slow_start: false },
        Condition { turn: 9, holds: is_behind_long_queue, beneath_slow_start: false },
        Condition { turn: 30, holds: is_bottleneck_limited, beneath_slow_start: true },
    ],
    least_share: f64::INFINITY,
    sets_the_rate: true,
    next: Next::Reference,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    shared: Some(SharedAs { is_bucket: false, in_words: "a bottleneck of" }),
    in_second_stage: &[
        Reassignment {
            turn: 10,
            heading: "A path filled without a visible queue",
            apply: |limits, facts| {
                if facts.opening.is_some() {
                    let shortest_ns = limits.shortest_ns.unwrap_or(0);
                    filled::take_filled(limits, shortest_ns);
                }
            },
        },
        Reassignment {
            turn: 90,
            heading: "A rate held through losses",
            apply: |limits, facts| {
                let held = facts.over_time.as_ref().and_then(|series| Some((series, series.link_ns?)));
                if let Some((series, link_ns)) = held {
                    held::take_held(limits, link_ns, series.is_clocked);
                }
            },
        },
        Reassignment {
            turn: 100,
            heading: "A queue of the sender's host",
            apply: |limits, facts| {
                if facts.offers.is_some() {
                    host_queue::take_host_queue(limits);
                }
            },
        },
        Reassignment {
            turn: 120,
            heading: "Losses of a full link",
            apply: |limits, facts| {
                let has_bucket = facts.over_time.as_ref().is_some_and(|series| series.empty_ns.is_some());
                if facts.offers.is_some() && !has_bucket && !limits.policed_losses {
                    full_link::take_full_link(limits);
                }
            },
        },
    ],
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    if case.limits.clocked {
        let rate = tally.rate();
        return format!(
            "The bottleneck bandwidth was the limit: packets left at a steady {rate}, as a shaper lets them"
        );
    }
    format!("The bottleneck bandwidth was the limit: the transfer filled it at {}", tally.reference())
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let another_rate =
        ConfidenceBound { confidence: ANOTHER_RATE_CONFIDENCE, needed: "a longer transfer, or one after an idle time" };
    let clocked =
        ConfidenceBound { confidence: CLOCKED_CONFIDENCE, needed: "the queueing discipline of the sender's host" };
    let pausing = ConfidenceBound { confidence: PAUSING_CONFIDENCE, needed: "a capture at the sender" };
    let pauses = 2 * case.limits.full_rounds.pausing > case.limits.full_rounds.all;
    let nearly = ConfidenceBound { confidence: NEARLY_FULL_CONFIDENCE, needed: "a longer transfer" };
    let bounds = [
        (ran_faster(case.limits), another_rate),
        (case.limits.clocked, clocked),
        (pauses, pausing),
        (case.limits.nearly_full, nearly),
    ];
    // A queue shows a path that is full, whatever the window: not where no round trip was seen.
    let unknown_window = doubts::unknown_window(case).filter(|_| !doubts::is_timed(case));
    bounds.into_iter().filter_map(|(applies, bound)| applies.then_some(bound)).chain(unknown_window).collect()
}

/// Where nothing but the path limited it, the transfer had run clearly faster than while the bottleneck bandwidth did.
fn ran_faster(limits: &LimitsSummary) -> bool {
    let share = &limits.shares[Factor::BottleneckBandwidth];
    let rate_bytes_s = share.bytes as f64 * 1e9 / share.time_ns.max(1) as f64;
    limits.reference_bytes_s.is_some_and(|reference| reference >= ANOTHER_RATE * rate_bytes_s)
}

/// The path carried so much more at other times (the level shift of a token bucket, docs/methods.md, section 8): a bandwidth
/// of its own is not sure to be what limits, a token bucket or other traffic may be behind it.
const ANOTHER_RATE: f64 = 1.3;

const ANOTHER_RATE_CONFIDENCE: f64 = 0.79;

/// What leaves at a fixed clock is shaped, or paced by its sender: 21 of 21 labelled ones were shaped.
const CLOCKED_CONFIDENCE: f64 = SURE_CONFIDENCE;

/// Two reductions behind a queue may be chance.
const NEARLY_FULL_CONFIDENCE: f64 = 0.79;

/// Other traffic may fill the path while this data pauses; or its sender stalls, which makes round trips long as well.
const PAUSING_CONFIDENCE: f64 = 0.79;
