//! Losses and marks that a full link makes: congestion control answers each, and fills the link again.
//!
//! A queue that is managed (RFC 7567) drops or marks early and rarely. The window that it leaves is a little too small for the path, for as
//! long as it takes to grow again; what a larger one would bring is less than what a wider link would.
//!
//! Rule: docs/verdict.md, "Losses of a full link".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves;
use crate::tcp::limits::share::Share;
use crate::tcp::limits::summary::LimitsSummary;

/// Reductions of the window, at least, and share of them right before which a queue stood.
const FEWEST_REDUCTIONS: u64 = 3;

const QUEUED_SHARE: f64 = 0.9;

/// What congestion control let pass, and the time in which the link was seen to be full.
const LEAST_USE: f64 = 0.75;

const LEAST_FULL: f64 = 0.1;

/// What congestion control and repairs took was the link's.
pub(crate) fn take_full_link(summary: &mut LimitsSummary) {
    let Some(reference_bytes_s) = summary.reference_bytes_s else { return };
    let mut answered = Share::default();
    let is_answer = |factor: Factor| matches!(factor, Factor::CongestionWindow | Factor::LossRecovery);
    for factor in Factor::ALL.into_iter().filter(|factor| is_answer(*factor)) {
        answered.add(summary.shares[factor as usize]);
    }
    let full_ns = summary.shares[Factor::BottleneckBandwidth as usize].time_ns;
    let reductions = summary.reduced_rounds;
    let is_of_queue =
        reductions.all >= FEWEST_REDUCTIONS && reductions.queued as f64 >= QUEUED_SHARE * reductions.all as f64;
    let is_used = answered.bytes as f64 * 1e9 >= LEAST_USE * reference_bytes_s * answered.time_ns as f64;
    if is_of_queue && is_used && full_ns as f64 >= LEAST_FULL * summary.time_ns() as f64 {
        let runs = summary.runs.iter().filter(|run| is_answer(run.factor));
        let spans: Vec<[i64; 2]> = runs.map(|run| [run.start_ns, run.end_ns]).collect();
        let taken = moves::move_to(summary, Factor::BottleneckBandwidth, is_answer, &spans);
        let mut wanted = Share::default();
        taken.iter().for_each(|share| wanted.add(*share));
        // Beneath repairs the window was the limit.
        let moved = summary.underlying[Factor::CongestionWindow as usize].take(wanted);
        summary.underlying[Factor::BottleneckBandwidth as usize].add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::Run;
    use crate::tcp::limits::tally::ReducedRounds;

    const SECOND: i64 = 1_000_000_000;

    /// Seconds of the link and of the congestion window, where a link of 1 MB/s was full for two seconds and the window let pass so many
    /// kilobytes in each of four.
    fn limited_s(all: u64, queued: u64, kilobytes_s: u64) -> [u64; 2] {
        let mut summary = LimitsSummary { reference_bytes_s: Some(1e6), ..LimitsSummary::default() };
        summary.reduced_rounds = ReducedRounds { all, queued };
        let list = [(Factor::BottleneckBandwidth, 0, 2, 1000), (Factor::CongestionWindow, 2, 6, kilobytes_s)];
        for (factor, start, end, kilobytes_s) in list {
            let bytes = kilobytes_s * 1000 * (end - start) as u64;
            let run = Run { start_ns: start * SECOND, end_ns: end * SECOND, factor, bytes, frames: [1, 2] };
            let share = Share { time_ns: run.duration_ns(), bytes };
            (summary.shares[factor as usize], summary.underlying[factor as usize]) = (share, share);
            summary.runs.push(run);
        }
        take_full_link(&mut summary);
        let seconds = |factor: Factor| summary.shares[factor as usize].time_ns / SECOND as u64;
        let of = |factor: Factor| summary.underlying[factor as usize].time_ns / SECOND as u64;
        let [link, window] = [Factor::BottleneckBandwidth, Factor::CongestionWindow];
        assert_eq!([seconds(link), seconds(window)], [of(link), of(window)]);
        [seconds(link), seconds(window)]
    }

    #[test]
    fn a_window_that_shrinks_only_when_a_queue_stands_leaves_the_link_to_be_the_limit() {
        assert_eq!(limited_s(5, 5, 850), [6, 0]);
    }

    #[test]
    fn losses_by_chance_few_of_them_and_a_link_that_stays_half_empty_are_losses() {
        assert_eq!(limited_s(5, 3, 850), [2, 4]);
        assert_eq!(limited_s(2, 2, 850), [2, 4]);
        assert_eq!(limited_s(5, 5, 600), [2, 4]);
    }
}
