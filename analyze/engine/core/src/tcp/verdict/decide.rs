//! Which factor it was. Where a disturbance lost a good part of what the transfer could have carried, the one that lost most;
//! else the one that set the rate.
//!
//! Rule: docs/verdict.md, "The factor that cost most".

use crate::tcp::connection::vantage::Side;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::by_time;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts::is_timed;
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::{
    ENOUGH_ROUNDS, HIGHEST_CONFIDENCE, Instead, NO_LOSS, OPEN_CONFIDENCE, UNTIMED_CONFIDENCE,
};

use crate::tcp::verdict::savings::Savings;
use crate::tcp::verdict::shared::sharing;

/// Where a transfer has too few rounds to say enough about itself.
const FEW_ROUNDS_CONFIDENCE: f64 = 0.78;

/// Where the vantage point is not known.
const UNKNOWN_VANTAGE_CONFIDENCE: f64 = 0.7;

/// Where the capture missed packets, no loss can be blamed.
const CAPTURE_LOSS_CONFIDENCE: f64 = 0.5;

/// None if nothing can be said.
pub fn decide(case: &Case) -> Option<Decision> {
    let limits = case.limits;
    let is_turn = |factor: Factor| factor.holder() == Holder::Turn;
    let Some(savings) = Savings::of(case) else { return by_time::decide(case) };
    let time_ns = limits.time_ns().saturating_sub(limits.held_ns(Holder::Turn)) as f64;
    if time_ns <= 0.0 {
        return None;
    }
    let losses = Losses::of(case, |factor| savings.ns(factor));
    let weight = |factor: Factor| losses.weight(factor).unwrap_or_else(|| savings.ns(factor));
    let disturbances = ranking(weight, |factor| rule(*factor).least_share.is_finite());
    let is_blamed = |&(factor, weight): &(Factor, f64)| weight >= rule(factor).least_share * time_ns;
    // Nothing took much: what set the rate?
    let limiting = ranking(|factor| limits.underlying[factor].bytes as f64, |factor| rule(*factor).sets_the_rate);
    let worst = disturbances.first().copied();
    let limit_ns = limiting.first().map_or(0.0, |(factor, _)| savings.of_limit_ns(*factor));
    let by_lost_bytes = disturbances.iter().any(is_blamed) || worst.is_some_and(|(_, worst_ns)| worst_ns > limit_ns);
    let ranked = if by_lost_bytes { disturbances } else { limiting };
    let &(factor, most) = ranked.first()?;
    let all: f64 = if by_lost_bytes {
        Factor::ALL.iter().filter(|factor| !is_turn(**factor)).map(|factor| weight(*factor)).sum()
    } else {
        ranked.iter().map(|(_, weight)| weight).sum()
    };
    let second = if by_lost_bytes {
        ranking(weight, |other| *other != factor && !is_turn(*other)).first().copied()
    } else {
        ranked.get(1).copied()
    };
    let second = second.filter(|(_, weight)| *weight >= 0.05 * all);
    let margin = second.map_or(1.0, |(_, weight)| 1.0 - (weight / most).min(1.0));
    let instead = (rule(factor).instead)(case);
    let (confidence, needed) = confidence(case, factor, margin, instead, by_lost_bytes);
    Some(Decision {
        factor,
        side: case.side as u8,
        share: most / all.max(f64::MIN_POSITIVE),
        by_lost_bytes,
        saves_ns: Some(if by_lost_bytes { most } else { limit_ns } as u64),
        runner_up: instead.map(|instead| instead.factor).or(second.map(|(other, _)| other)),
        confidence,
        needed,
    })
}

/// The factors that have one remedy, no loss, are one cause: repairing losses, waiting for their timers, and the window that
/// they keep small. The heaviest stands for all of them.
///
/// Rule: docs/verdict.md, "Losses are one cause".
struct Losses {
    of_loss: Vec<Factor>,
    heaviest: Option<Factor>,
    weight: f64,
}

impl Losses {
    fn of(case: &Case, weight: impl Fn(Factor) -> f64) -> Self {
        let is_of_loss = |factor: &Factor| (rule(*factor).remedies)(case).contains(&NO_LOSS);
        let of_loss: Vec<Factor> = Factor::ALL.into_iter().filter(is_of_loss).collect();
        let heaviest = of_loss.iter().copied().max_by(|one, other| weight(*one).total_cmp(&weight(*other)));
        let weight = of_loss.iter().map(|factor| weight(*factor)).sum();
        Self { of_loss, heaviest, weight }
    }

    /// Of a factor that comes from losses; none of any other.
    fn weight(&self, factor: Factor) -> Option<f64> {
        let stands_for_all = self.heaviest == Some(factor);
        self.of_loss.contains(&factor).then_some(if stands_for_all { self.weight } else { 0.0 })
    }
}

/// Factors with their weights, the heaviest first.
fn ranking(weight: impl Fn(Factor) -> f64, wanted: impl Fn(&Factor) -> bool) -> Vec<(Factor, f64)> {
    let mut ranked: Vec<(Factor, f64)> =
        Factor::ALL.iter().filter(|factor| wanted(factor)).map(|&factor| (factor, weight(factor))).collect();
    ranked.retain(|(_, weight)| *weight > 0.0);
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked
}

/// The least of what the evidence, the capture and its place allow (docs/verdict.md, "The verdict").
///
/// Rule: docs/verdict.md, "Confidence".
fn confidence(
    case: &Case,
    factor: Factor,
    margin: f64,
    instead: Option<Instead>,
    is_blamed: bool,
) -> (f64, Option<&'static str>) {
    let by_vantage = match case.connection.vantage.side {
        Side::Unknown => UNKNOWN_VANTAGE_CONFIDENCE,
        Side::Middle if case.connection.vantage.confidence > PLACED_BY_ANSWERS => BETWEEN_HOSTS_CONFIDENCE,
        Side::Client | Side::Server | Side::Middle => case.connection.vantage.confidence.max(LEAST_BY_VANTAGE),
    };
    let bounds = [
        (HIGHEST_CONFIDENCE, true, None),
        (by_vantage, true, Some("a capture at the sender, with the handshake")),
        (rule(factor).confidence_by(margin), true, Some("a longer transfer")),
        (
            sharing(case, factor).map_or(HIGHEST_CONFIDENCE, |sharing| sharing.confidence),
            true,
            Some("a longer capture of all connections that share it"),
        ),
        (FEW_ROUNDS_CONFIDENCE, case.limits.rounds < ENOUGH_ROUNDS, Some("a longer transfer")),
        (
            UNTIMED_CONFIDENCE,
            !is_timed(case) && factor.shows_capacity(),
            Some("a capture at the sender, or one with timestamps"),
        ),
        ((rule(factor).unblamed)(case), !is_blamed, Some("a longer transfer")),
        (OPEN_CONFIDENCE, instead.is_some(), instead.map(|instead| instead.needed)),
    ];
    let after_its_own = [(
        CAPTURE_LOSS_CONFIDENCE,
        case.direction.loss_caveat().is_some() && rule(factor).blames_loss,
        Some("a capture that misses no packets"),
    )];
    let of_factor = (rule(factor).bounds)(case).into_iter().map(|bound| (bound.confidence, true, Some(bound.needed)));
    // Of equal bounds the first one says what is needed.
    let applying = bounds.into_iter().chain(of_factor).chain(after_its_own).filter(|(_, applies, _)| *applies);
    let least = applying.min_by(|one, other| one.0.total_cmp(&other.0));
    least.map_or((0.0, None), |(confidence, _, needed)| (confidence, needed))
}

/// A vantage point that is known at all costs no more confidence than this.
const LEAST_BY_VANTAGE: f64 = 0.78;

/// The handshake places a capture more surely than this, and what else there is less so.
const PLACED_BY_ANSWERS: f64 = 0.75;

/// Where the handshake shows that the capture stands between the hosts: verdicts from there are right nearly as often as those at
/// a host (docs/accuracy.md), though nothing shows what waits before and behind it.
const BETWEEN_HOSTS_CONFIDENCE: f64 = 0.9;
