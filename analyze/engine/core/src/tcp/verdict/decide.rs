//! Which factor it was. Where a disturbance lost a good part of what the transfer could have carried, the one that lost most;
//! else the one that set the rate.
//!
//! Rule: docs/verdict.md, "The factor that cost most".

use crate::tcp::connection::vantage::Side;
use crate::tcp::events::factor::Factor;
use crate::tcp::limits::tally::BufferRounds;
use crate::tcp::sender::pauses::Pauses;
use crate::tcp::summary::decision::Decision;
use crate::tcp::token_bucket::bucket::Kind;
use crate::tcp::verdict::by_time;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::{
    ENOUGH_ROUNDS, HIGHEST_CONFIDENCE, NO_LOSS, OPEN_CONFIDENCE, nothing_reduced_it,
};
use crate::tcp::verdict::factors::timeout_wait::outage_ns;
use crate::tcp::verdict::factors::token_bucket::may_have_dropped;

use crate::tcp::verdict::savings::Savings;
use crate::tcp::verdict::shared::sharing;

/// Where a transfer has too few rounds to say enough about itself.
const FEW_ROUNDS_CONFIDENCE: f64 = 0.78;

/// Where losses cost little of what the path carried, they set the rate at most: it may have been about what something allows.
const SET_THE_RATE_CONFIDENCE: f64 = 0.75;

/// Where the vantage point is not known.
const UNKNOWN_VANTAGE_CONFIDENCE: f64 = 0.7;

/// Where the window is not known, it may be what limits.
const UNKNOWN_WINDOW_CONFIDENCE: f64 = 0.55;

/// Where no round trip was seen (away from the sender, without timestamps), a queue does not show.
const UNTIMED_CONFIDENCE: f64 = 0.75;

/// Hosts nearer to each other than this are far nearer than queues are long: without a round trip nothing says how much is in
/// flight.
const NEARBY_NS: i64 = 1_000_000;

/// Packets are spaced evenly where one of a hundred is no further from the one before than so many times the mean, and half of
/// them no nearer than this share of it: a path does that, and an application that is paced.
const EVEN_SPACING: f64 = 3.0;

const EVEN_MEDIAN: f64 = 0.5;

/// Pauses tell something where they take such a part of the time, one in so many.
const TELLING_PAUSES: u64 = 10;

/// Where the capture missed packets, no loss can be blamed.
const CAPTURE_LOSS_CONFIDENCE: f64 = 0.5;

/// Nor is a policer sure there, which shows by what it drops.
const POLICER_OF_CAPTURE_LOSS_CONFIDENCE: f64 = 0.7;

/// None if nothing can be said.
pub fn decide(case: &Case) -> Option<Decision> {
    let limits = case.limits;
    let turn_ns = limits.shares[Factor::Idle as usize].time_ns;
    let Some(savings) = Savings::of(case) else { return by_time::decide(case) };
    let time_ns = limits.time_ns().saturating_sub(turn_ns) as f64;
    if time_ns <= 0.0 {
        return None;
    }
    let losses = Losses::of(case, |factor| savings.ns(factor));
    let weight = |factor: Factor| losses.weight(factor).unwrap_or_else(|| savings.ns(factor));
    let disturbances = ranking(weight, |factor| rule(*factor).least_share.is_finite());
    let is_blamed = |&(factor, weight): &(Factor, f64)| weight >= rule(factor).least_share * time_ns;
    // Nothing took much: what set the rate?
    let limiting =
        ranking(|factor| limits.underlying[factor as usize].bytes as f64, |factor| rule(*factor).sets_the_rate);
    let worst = disturbances.first().copied();
    let limit_ns = limiting.first().map_or(0.0, |(factor, _)| savings.of_limit_ns(*factor));
    let by_lost_bytes = disturbances.iter().any(is_blamed) || worst.is_some_and(|(_, worst_ns)| worst_ns > limit_ns);
    let ranked = if by_lost_bytes { disturbances } else { limiting };
    let &(factor, most) = ranked.first()?;
    let all: f64 = if by_lost_bytes {
        Factor::ALL.iter().filter(|factor| **factor != Factor::Idle).map(|factor| weight(*factor)).sum()
    } else {
        ranked.iter().map(|(_, weight)| weight).sum()
    };
    let second = if by_lost_bytes {
        ranking(weight, |other| *other != factor && *other != Factor::Idle).first().copied()
    } else {
        ranked.get(1).copied()
    };
    let second = second.filter(|(_, weight)| *weight >= 0.05 * all);
    let margin = second.map_or(1.0, |(_, weight)| 1.0 - (weight / most).min(1.0));
    let instead = may_be_instead(case, factor);
    let (confidence, needed) = confidence(case, factor, margin, instead, by_lost_bytes);
    Some(Decision {
        factor,
        side: case.side as u8,
        share: most / all.max(f64::MIN_POSITIVE),
        by_lost_bytes,
        saves_ns: Some(if by_lost_bytes { most } else { limit_ns } as u64),
        runner_up: instead.or(second.map(|(other, _)| other)),
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

/// What else the same packets may come from.
fn may_be_instead(case: &Case, factor: Factor) -> Option<Factor> {
    let is_of_path = may_be_the_path(case, factor) || may_be_the_hosts_own_queue(case, factor);
    if is_of_path || may_be_a_queue_that_fills_it(case, factor) {
        Some(Factor::BottleneckBandwidth)
    } else if rule(factor).blames_loss && may_have_dropped(case) && outage_ns(case).is_none() {
        Some(Factor::TokenBucket)
    } else {
        may_be_the_application(case, factor).then_some(Factor::Application)
    }
}

/// The least of what the evidence, the capture and its place allow (docs/verdict.md, "The verdict").
///
/// Rule: docs/verdict.md, "Confidence".
fn confidence(
    case: &Case,
    factor: Factor,
    margin: f64,
    instead: Option<Factor>,
    is_blamed: bool,
) -> (f64, Option<&'static str>) {
    let by_vantage = match case.connection.vantage.side {
        Side::Unknown => UNKNOWN_VANTAGE_CONFIDENCE,
        Side::Middle if case.connection.vantage.confidence > PLACED_BY_ANSWERS => BETWEEN_HOSTS_CONFIDENCE,
        Side::Client | Side::Server | Side::Middle => case.connection.vantage.confidence.max(LEAST_BY_VANTAGE),
    };
    let window_unknown = case.direction.window.scale.is_none() && case.limits.inferred_window.is_none();
    let bounds = [
        (HIGHEST_CONFIDENCE, true, None),
        (by_vantage, true, Some("a capture at the sender, with the handshake")),
        (0.5 + 0.45 * margin, true, Some("a longer transfer")),
        (
            sharing(case, factor).map_or(HIGHEST_CONFIDENCE, |sharing| sharing.confidence),
            true,
            Some("a longer capture of all connections that share it"),
        ),
        (FEW_ROUNDS_CONFIDENCE, case.limits.rounds < ENOUGH_ROUNDS, Some("a longer transfer")),
        (
            UNKNOWN_WINDOW_CONFIDENCE,
            window_unknown && may_be_the_window(case, factor),
            Some("a capture with the handshake, which shows the window scale"),
        ),
        (
            UNTIMED_CONFIDENCE,
            2 * case.limits.timed_rounds < case.limits.rounds
                && (factor.shows_capacity() || factor == Factor::LossRecovery),
            Some("a capture at the sender, or one with timestamps"),
        ),
        (
            OPEN_CONFIDENCE,
            may_be_the_hosts_own_queue(case, factor),
            Some("the queueing discipline of the sender's host"),
        ),
        (
            SET_THE_RATE_CONFIDENCE,
            !is_blamed && factor == Factor::CongestionWindow && !nothing_reduced_it(case),
            Some("a longer transfer"),
        ),
        (
            OPEN_CONFIDENCE,
            instead == Some(Factor::TokenBucket),
            Some("the same transfer after an idle time, which fills a bucket again"),
        ),
        (
            OPEN_CONFIDENCE,
            instead == Some(Factor::BottleneckBandwidth),
            Some("a capture at the sender, or one with timestamps"),
        ),
    ];
    let after_its_own = [
        (OPEN_CONFIDENCE, instead == Some(Factor::Application), Some("TCP_INFO of the sender")),
        (
            POLICER_OF_CAPTURE_LOSS_CONFIDENCE,
            case.direction.loss_caveat().is_some() && factor == Factor::TokenBucket && is_policed(case),
            Some("a capture that misses no packets"),
        ),
        (
            CAPTURE_LOSS_CONFIDENCE,
            case.direction.loss_caveat().is_some() && rule(factor).blames_loss,
            Some("a capture that misses no packets"),
        ),
    ];
    let of_factor = (rule(factor).bounds)(case).into_iter().map(|bound| (bound.confidence, true, Some(bound.needed)));
    // Of equal bounds the first one says what is needed.
    let applying = bounds.into_iter().chain(of_factor).chain(after_its_own).filter(|(_, applies, _)| *applies);
    let least = applying.min_by(|one, other| one.0.total_cmp(&other.0));
    least.map_or((0.0, None), |(confidence, _, needed)| (confidence, needed))
}

fn is_policed(case: &Case) -> bool {
    case.direction.token_bucket.as_deref().is_some_and(|bucket| bucket.kind == Kind::Policer)
}

/// A window that is not known may be what limits: not where a queue or a bucket shows a path that is full, nor where losses have
/// made the congestion window small.
fn may_be_the_window(case: &Case, factor: Factor) -> bool {
    let timed = 2 * case.limits.timed_rounds >= case.limits.rounds;
    match factor {
        Factor::TokenBucket => false,
        Factor::BottleneckBandwidth => !timed,
        Factor::CongestionWindow => nothing_reduced_it(case),
        factor => factor.shows_capacity() || factor == Factor::Application,
    }
}

/// Data comes as an answer to no acknowledgement, but the round trips are long: behind a queue of others' what a window sends comes
/// as late, and what an application sends when it pleases makes round trips that long, away from it. Or the flight is as even as a
/// send buffer makes it, but nothing fills one.
fn may_be_the_application(case: &Case, factor: Factor) -> bool {
    let rounds = &case.limits.window_rounds;
    match factor {
        Factor::CongestionWindow => nothing_reduced_it(case) && 2 * rounds.at_own_pace > rounds.all,
        Factor::SendBuffer => fills_no_buffer(case),
        _ => false,
    }
}

/// Acknowledgements fill a send buffer, and pacing spaces packets evenly: data that does neither, at the sender where that shows, is
/// not kept back by the kernel. Nor was there anything to keep back where a lone segment ended what was written before the pauses.
///
/// Rule: docs/verdict.md, "Confidence of the send buffer".
fn fills_no_buffer(case: &Case) -> bool {
    let BufferRounds { time_ns, pauses: Pauses { paused_ns, answered_ns, all_sent_ns, .. } } =
        case.limits.buffer_rounds;
    let answers = answered_ns >= paused_ns / 2;
    let begin_with_nothing_left = all_sent_ns > paused_ns / 10 * 9 || all_sent_ns > paused_ns / 2 && !answers;
    let answers_none = || is_beside_sender(case) && !answers && is_unevenly_spaced(case);
    paused_ns >= time_ns / TELLING_PAUSES && (begin_with_nothing_left || answers_none())
}

fn is_beside_sender(case: &Case) -> bool {
    case.connection.vantage.side == [Side::Client, Side::Server][case.side & 1]
}

/// A path spaces packets so, pacing does, and an application that is paced.
fn is_evenly_spaced(case: &Case) -> bool {
    latest_spacing(case).is_some_and(|latest| latest <= EVEN_SPACING)
}

/// One by one, but neither by a path nor by pacing.
fn is_unevenly_spaced(case: &Case) -> bool {
    latest_spacing(case).is_some_and(|latest| latest > EVEN_SPACING)
}

/// What one of a hundred packets is further from the one before than, in times of the mean; none where they come in bursts.
fn latest_spacing(case: &Case) -> Option<f64> {
    let durations = case.direction.spacing.durations.as_ref()?;
    let ([median_ns, late_ns], mean_ns) = (durations.quantiles_ns, durations.moments.mean_ns());
    (mean_ns > 0.0 && median_ns >= EVEN_MEDIAN * mean_ns).then(|| late_ns / mean_ns)
}

/// No round trip was seen between hosts nearby: what looks like a sender's pauses, or its window, may be a queue before the path.
fn may_be_the_path(case: &Case, factor: Factor) -> bool {
    let nearby = case.connection.handshake_rtt_ns().is_some_and(|rtt_ns| rtt_ns < NEARBY_NS);
    nearby
        && 2 * case.limits.timed_rounds < case.limits.rounds
        && match factor {
            Factor::CongestionWindow | Factor::SendBuffer => true,
            Factor::Application => is_evenly_spaced(case),
            _ => false,
        }
}

/// The window is full, and packets are spread over the complete round trip, of which nobody knows how long it is without a queue, since
/// the handshake is not in the capture. A window leaves a pause in each round trip; a path that is full leaves none.
///
/// Rule: docs/verdict.md, "A window that may be full because the path is".
fn may_be_a_queue_that_fills_it(case: &Case, factor: Factor) -> bool {
    let spread = || {
        let durations = case.direction.spacing.durations.as_ref()?;
        let ([_, late_ns], mean_ns) = (durations.quantiles_ns, durations.moments.mean_ns());
        (mean_ns > 0.0).then(|| late_ns / mean_ns)
    };
    factor == Factor::ReceiverWindow
        && case.connection.handshake_rtt_ns().is_none()
        && spread().is_some_and(|late| (1.0..=EVEN_SPACING).contains(&late))
}

/// At the sender most pauses end with what its kernel had handed down before: a queueing discipline of its own kept that back, which
/// paces, or shapes what leaves the host, as a narrow path would. So does one that lets packets leave at a fixed clock, whatever
/// acknowledgements do: those come in bursts, and a send buffer lets go what they make room for.
fn may_be_the_hosts_own_queue(case: &Case, factor: Factor) -> bool {
    let BufferRounds { time_ns, pauses: Pauses { paused_ns, waited_ns, .. } } = case.limits.buffer_rounds;
    let has_waited = paused_ns >= time_ns / TELLING_PAUSES && waited_ns > paused_ns / 2;
    factor == Factor::SendBuffer && is_beside_sender(case) && (has_waited || case.direction.spacing.is_clocked())
}

/// A vantage point that is known at all costs no more confidence than this.
const LEAST_BY_VANTAGE: f64 = 0.78;

/// The handshake places a capture more surely than this, and what else there is less so.
const PLACED_BY_ANSWERS: f64 = 0.75;

/// Where the handshake shows that the capture stands between the hosts: verdicts from there are right nearly as often as those at
/// a host (docs/accuracy.md), though nothing shows what waits before and behind it.
const BETWEEN_HOSTS_CONFIDENCE: f64 = 0.9;
