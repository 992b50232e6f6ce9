//! A link that held its rate through losses: repairs and reductions cost nothing then.
//!
//! BBR through a queue of a few packets loses one of ten and is as fast as the link; so is a sender that repairs for most of the
//! transfer. What was delivered over time shows that ([`crate::tcp::token_bucket::held`]).
//!
//! Rule: docs/verdict.md, "A rate held through losses".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;

/// Share of that time which losses and windows seemed to limit.
const LEAST_SHARE: f64 = 0.5;

/// Between two moments what was delivered stayed the same through losses: no window, and no repair, held it back. `clocked` if
/// packets came at a fixed clock: then it was no buffer, either.
pub(crate) fn take_held(summary: &mut LimitsSummary, [start_ns, end_ns]: [i64; 2], clocked: bool) {
    let is_meant = |factor: Factor| is_of_losses(factor) || clocked && factor == Factor::SendBuffer;
    let within = |run: &FactorRun| {
        let [_, rest] = run.split(start_ns);
        rest.split(end_ns)[0].duration_ns()
    };
    let meant = summary.runs.iter().filter(|run| is_meant(run.factor)).map(within).sum::<u64>();
    let full = summary.runs.iter().filter(|run| run.factor == Factor::BottleneckBandwidth).map(within).sum::<u64>();
    let all_ns = u64::try_from(end_ns.saturating_sub(start_ns)).unwrap_or(0);
    if meant == 0 || ((meant + full) as f64) < LEAST_SHARE * all_ns as f64 {
        return;
    }
    let taken = moves::move_to(summary, Factor::BottleneckBandwidth, is_meant, &[[start_ns, end_ns]]);
    let of = |factor: Factor| taken[factor];
    summary.clocked = of(Factor::SendBuffer).time_ns > 0;
    let mut wanted = of(Factor::CongestionWindow);
    wanted.add(of(Factor::LossRecovery));
    for (factor, share) in [(Factor::CongestionWindow, wanted), (Factor::SendBuffer, of(Factor::SendBuffer))] {
        let moved = summary.underlying[factor].take(share);
        summary.underlying[Factor::BottleneckBandwidth].add(moved);
    }
}

fn is_of_losses(factor: Factor) -> bool {
    matches!(factor, Factor::CongestionWindow | Factor::LossRecovery)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;

    const SECOND: i64 = 1_000_000_000;

    /// Seconds that the bottleneck, the window and repairs limited after a rate was held from the first second to the ninth.
    fn limited_s(list: &[(Factor, i64)], clocked: bool) -> [u64; 4] {
        let (mut summary, mut start_ns) = (LimitsSummary::default(), 0);
        for &(factor, seconds) in list {
            let end_ns = start_ns + seconds * SECOND;
            let run = FactorRun { start_ns, end_ns, factor, bytes: 1000 * seconds as u64, frames: [1, 2] };
            summary.shares[factor].add(Share { time_ns: run.duration_ns(), bytes: run.bytes });
            summary.underlying[factor].add(Share { time_ns: run.duration_ns(), bytes: run.bytes });
            summary.runs.push(run);
            start_ns = end_ns;
        }
        take_held(&mut summary, [SECOND, 9 * SECOND], clocked);
        [Factor::BottleneckBandwidth, Factor::CongestionWindow, Factor::LossRecovery, Factor::SendBuffer]
            .map(|factor| summary.shares[factor].time_ns / SECOND as u64)
    }

    #[test]
    fn repairs_and_windows_within_a_held_rate_are_the_links() {
        assert_eq!(limited_s(&[(Factor::CongestionWindow, 5), (Factor::LossRecovery, 5)], false), [8, 1, 1, 0]);
    }

    #[test]
    fn a_send_buffer_that_holds_its_rate_through_few_losses_stays() {
        assert_eq!(limited_s(&[(Factor::SendBuffer, 8), (Factor::CongestionWindow, 2)], false), [0, 2, 0, 8]);
    }

    #[test]
    fn what_leaves_at_a_clock_is_not_let_go_by_a_buffer() {
        assert_eq!(limited_s(&[(Factor::SendBuffer, 10)], true), [8, 0, 0, 2]);
    }
}
