//! The account of a connection of which limits are known: those of the direction with more payload. While that had nothing to send
//! because it was the other side's turn, the limits of the other direction say more, where there are any.

use crate::tcp::account::entry::Ledger;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::events::owner::Owner;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::token_bucket::blame;
use crate::tcp::verdict::savings::Savings;

/// The direction that is accounted for, and the other one if that was judged, too. None without any limits.
pub(super) fn sides(summary: &ConnectionSummary) -> Option<(usize, Option<usize>)> {
    let [client, server] = &summary.directions;
    let main = usize::from(server.unique_payload_bytes > client.unique_payload_bytes);
    let is_judged = |side: usize| summary.limits(side).is_some();
    match [is_judged(main), is_judged(1 - main)] {
        [true, other] => Some((main, other.then_some(1 - main))),
        [false, true] => Some((1 - main, None)),
        [false, false] => None,
    }
}

/// Puts all that was judged into the ledger.
pub(super) fn fill(ledger: &mut Ledger, summary: &ConnectionSummary, (side, other): (usize, Option<usize>)) {
    let Some(limits) = summary.limits(side) else { return };
    let case = summary.case(side);
    let savings = case.as_ref().and_then(Savings::of);
    // What a limit that was the end of the story would save is known where it is the verdict.
    let limit = summary.decision().filter(|decision| usize::from(decision.side) == side && !decision.by_lost_bytes);
    let saves_ns = |factor: Factor| match limit {
        Some(decision) if decision.factor == factor => decision.saves_ns,
        _ if rule(factor).least_share.is_infinite() => None,
        _ => savings.as_ref().map(|savings| savings.ns(factor) as u64),
    };
    let shares = case.as_ref().map_or_else(|| limits.shares.clone(), blame);
    let idle = Factor::Idle;
    let idle_ns = shares[idle].time_ns;
    let mut left_ns = idle_ns - limits.after_data_ns.min(idle_ns);
    // Whoever opened the connection has no more to ask.
    ledger.add(Owner::ClientApplication, idle, idle_ns - left_ns, Some(0));
    let of_other = other.and_then(|other| summary.limits(other)).map(|of_other| in_idle_time(limits, of_other));
    for (factor, time_ns) in Factor::ALL.into_iter().zip(of_other.unwrap_or_default()) {
        let time_ns = time_ns.min(left_ns);
        left_ns -= time_ns;
        ledger.add(owner(summary, factor, 1 - side), factor, time_ns, None);
    }
    let mut ways_ns = summary.requests().map_or(0, RequestSummary::ways_ns);
    let mut add = |factor: Factor, time_ns: u64, saves_ns: Option<u64>| {
        // Messages on their way between turns are nobody's wait.
        let is_turn = matches!(factor.holder(), Holder::Turn | Holder::Application);
        let path_ns = if is_turn { ways_ns.min(time_ns) } else { 0 };
        ways_ns -= path_ns;
        ledger.add(Owner::Path, factor, path_ns, Some(0));
        ledger.add(owner(summary, factor, side), factor, time_ns - path_ns, saves_ns);
    };
    add(idle, left_ns, Some(0));
    for (factor, share) in shares.iter().filter(|(factor, _)| *factor != idle) {
        add(factor, share.time_ns, saves_ns(factor));
    }
}

/// What limited the other direction while it was its turn, by factor, nanoseconds.
fn in_idle_time(limits: &LimitsSummary, other: &LimitsSummary) -> [u64; Factor::COUNT] {
    let mut times_ns = [0; Factor::COUNT];
    let mut ahead = other.runs.as_slice();
    for idle in limits.runs.iter().filter(|run| run.factor.holder() == Holder::Turn) {
        let passed = ahead.iter().take_while(|run| run.end_ns <= idle.start_ns).count();
        ahead = &ahead[passed..];
        for run in ahead.iter().take_while(|run| run.start_ns < idle.end_ns).filter(|run| is_more_than_idle(run)) {
            let overlap_ns = run.end_ns.min(idle.end_ns).saturating_sub(run.start_ns.max(idle.start_ns));
            times_ns[run.factor as usize] += u64::try_from(overlap_ns).unwrap_or(0);
        }
    }
    times_ns
}

/// The opening is the same for both directions.
fn is_more_than_idle(run: &FactorRun) -> bool {
    !matches!(run.factor.holder(), Holder::Turn | Holder::Opening)
}

fn owner(summary: &ConnectionSummary, factor: Factor, side: usize) -> Owner {
    (rule(factor).owner)(summary, side).unwrap_or_else(|| factor.whose().of(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(runs: &[(i64, i64, Factor)]) -> LimitsSummary {
        let of = |&(start_ns, end_ns, factor): &(i64, i64, Factor)| FactorRun {
            start_ns,
            end_ns,
            factor,
            bytes: 0,
            frames: [1, 2],
        };
        LimitsSummary { runs: runs.iter().map(of).collect(), ..LimitsSummary::default() }
    }

    #[test]
    fn idle_time_is_what_limited_the_other_direction_meanwhile() {
        let [idle, loss, link] = [Factor::Idle, Factor::LossRecovery, Factor::BottleneckBandwidth];
        let main = limits(&[(0, 10, idle), (10, 20, link), (20, 30, idle)]);
        let other = limits(&[(0, 4, Factor::Setup), (4, 12, loss), (12, 25, idle), (25, 40, link)]);
        let times_ns = in_idle_time(&main, &other);
        assert_eq!([Factor::Setup, loss, idle, link].map(|factor| times_ns[factor as usize]), [0, 6, 0, 5]);
    }
}
