//! The verdict where no rate is known to measure a shortfall by: what took most of the time.
//!
//! A handshake that was retransmitted for seconds, and a transfer of a few round trips behind it, need no rate to be explained.
//!
//! Rule: docs/verdict.md, "Where no rate is known".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule;

/// Of the time in which it was not the other side's turn.
const LEAST_SHARE: f64 = 0.6;

/// So few packets say no more.
const CONFIDENCE: f64 = 0.75;

const WHERE_PACKETS_ARE_MISSING: f64 = 0.5;

/// None if nothing took so much of it.
pub(crate) fn decide(case: &Case) -> Option<Decision> {
    let shares = &case.limits.shares;
    let time_ns = |factor: Factor| shares[factor].time_ns;
    let all_ns = case.limits.time_ns().saturating_sub(case.limits.held_ns(Holder::Turn));
    let factor =
        Factor::ALL.into_iter().filter(|factor| rule(*factor).explains_alone).max_by_key(|factor| time_ns(*factor))?;
    let share = time_ns(factor) as f64 / all_ns.max(1) as f64;
    let is_missing = case.direction.loss_caveat().is_some();
    (all_ns > 0 && share >= LEAST_SHARE).then_some(Decision {
        factor,
        side: case.side as u8,
        share,
        by_lost_bytes: true,
        saves_ns: None,
        runner_up: None,
        confidence: if is_missing { WHERE_PACKETS_ARE_MISSING } else { CONFIDENCE },
        needed: Some("a longer transfer"),
    })
}
