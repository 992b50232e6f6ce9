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

/// Share of the reductions of the window right before which a queue stood.
const QUEUED_SHARE: f64 = 0.9;

/// What congestion control let pass. What was left without a loss would have saved less than a link of twice the width.
const LEAST_USE: f64 = 0.6;

/// The time in which the link was seen to be full, and reductions.
const LEAST_FULL: f64 = 0.1;

const FEWEST_REDUCTIONS: u64 = 3;

/// Or so unlikely is a queue before as many reductions by chance, as often as one stood at other times.
const BY_CHANCE: f64 = 0.05;

/// Or so much of the link was used behind fewer of them, with a queue in one of so many rounds at other times, of which there are many.
const NEARLY_FULL: f64 = 0.8;

const FEWEST_OF_NEARLY_FULL: u64 = 2;

const QUEUED_DIVISOR: u64 = 3;

const FEWEST_QUIET: u64 = 32;

/// Or so much, behind any number of them, if the link was seen to be full: without them a tenth of the time would have been saved at most.
const KEPT_UP: f64 = 0.9;

/// What congestion control and repairs took was the link's.
pub(crate) fn take_full_link(summary: &mut LimitsSummary) {
    let Some(reference_bytes_s) = summary.reference_bytes_s else { return };
    let mut answered = Share::default();
    let is_answer = |factor: Factor| matches!(factor, Factor::CongestionWindow | Factor::LossRecovery);
    for factor in Factor::ALL.into_iter().filter(|factor| is_answer(*factor)) {
        answered.add(summary.shares[factor]);
    }
    let full_ns = summary.shares[Factor::BottleneckBandwidth].time_ns;
    let reductions = summary.reduced_rounds;
    let is_of_queue = reductions.queued as f64 >= QUEUED_SHARE * reductions.all as f64;
    let is_used = answered.bytes as f64 * 1e9 >= LEAST_USE * reference_bytes_s * answered.time_ns as f64;
    let is_full = reductions.chance() <= BY_CHANCE
        || reductions.all >= FEWEST_REDUCTIONS && full_ns as f64 >= LEAST_FULL * summary.time_ns() as f64;
    let is_nearly_full = !is_full
        && reductions.all >= FEWEST_OF_NEARLY_FULL
        && reductions.quiet >= FEWEST_QUIET
        && reductions.quiet_queued * QUEUED_DIVISOR >= reductions.quiet
        && answered.bytes as f64 * 1e9 >= NEARLY_FULL * reference_bytes_s * answered.time_ns as f64;
    let is_kept_up = reductions.all > 0
        && full_ns > 0
        && answered.bytes as f64 * 1e9 >= KEPT_UP * reference_bytes_s * answered.time_ns as f64;
    if is_of_queue && is_used && (is_full || is_nearly_full || is_kept_up) {
        summary.nearly_full = (is_nearly_full || is_kept_up) && answered.time_ns > full_ns;
        let runs = summary.runs.iter().filter(|run| is_answer(run.factor));
        let spans: Vec<[i64; 2]> = runs.map(|run| [run.start_ns, run.end_ns]).collect();
        let taken = moves::move_to(summary, Factor::BottleneckBandwidth, is_answer, &spans);
        let mut wanted = Share::default();
        taken.iter().for_each(|(_, share)| wanted.add(share));
        // Beneath repairs the window was the limit.
        let moved = summary.underlying[Factor::CongestionWindow].take(wanted);
        summary.underlying[Factor::BottleneckBandwidth].add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::tally::ReducedRounds;

    const SECOND: i64 = 1_000_000_000;

    /// Seconds of the link and of the congestion window, where a link of 1 MB/s was full for so many seconds and the window let pass so
    /// many kilobytes in each of forty.
    fn limited_s(reduced_rounds: ReducedRounds, full_s: i64, kilobytes_s: u64) -> [u64; 2] {
        let mut summary = LimitsSummary { reference_bytes_s: Some(1e6), reduced_rounds, ..LimitsSummary::default() };
        let [link, window] = [Factor::BottleneckBandwidth, Factor::CongestionWindow];
        for (factor, start, end, kilobytes_s) in [(link, 0, full_s, 1000), (window, full_s, full_s + 40, kilobytes_s)] {
            let bytes = kilobytes_s * 1000 * (end - start) as u64;
            let run = FactorRun { start_ns: start * SECOND, end_ns: end * SECOND, factor, bytes, frames: [1, 2] };
            let share = Share { time_ns: run.duration_ns(), bytes };
            (summary.shares[factor], summary.underlying[factor]) = (share, share);
            summary.runs.push(run);
        }
        take_full_link(&mut summary);
        let seconds = |factor: Factor| summary.shares[factor].time_ns / SECOND as u64;
        let of = |factor: Factor| summary.underlying[factor].time_ns / SECOND as u64;
        assert_eq!([seconds(link), seconds(window)], [of(link), of(window)]);
        [seconds(link), seconds(window)]
    }

    /// A queue stood before so many of all reductions, and in so many of a hundred rounds at other times.
    fn reduced(all: u64, queued: u64, quiet_queued: u64) -> ReducedRounds {
        ReducedRounds { all, queued, quiet: 100, quiet_queued }
    }

    #[test]
    fn a_window_that_shrinks_only_when_a_queue_stands_leaves_the_link_to_be_the_limit() {
        assert_eq!(limited_s(reduced(5, 5, 90), 20, 850), [60, 0]);
    }

    #[test]
    fn a_queue_that_stands_before_reductions_alone_shows_a_link_that_is_hardly_ever_full() {
        assert_eq!(limited_s(reduced(5, 5, 20), 1, 700), [41, 0], "Reno's window is three quarters of it on average");
        assert_eq!(limited_s(reduced(5, 5, 70), 1, 700), [1, 40], "a queue of others' stands all the time");
        assert_eq!(limited_s(reduced(3, 3, 40), 1, 700), [1, 40], "that may be chance");
        assert_eq!(limited_s(reduced(1, 1, 2), 1, 700), [41, 0], "that is none");
    }

    #[test]
    fn a_link_that_is_used_nearly_all_of_the_time_is_the_limit_behind_two_reductions() {
        assert_eq!(limited_s(reduced(2, 2, 40), 1, 850), [41, 0]);
        assert_eq!(limited_s(reduced(2, 2, 40), 1, 750), [1, 40], "less of it is used");
        assert_eq!(limited_s(reduced(2, 2, 30), 1, 850), [1, 40], "a queue stands more rarely");
        assert_eq!(limited_s(reduced(1, 1, 40), 1, 850), [1, 40], "one may be chance");
        assert_eq!(limited_s(reduced(1, 1, 40), 1, 950), [41, 0], "it cost next to nothing");
        assert_eq!(
            limited_s(reduced(2, 1, 40), 1, 950),
            [1, 40],
            "no queue stood before half of them: a policer may hold it"
        );
    }

    #[test]
    fn losses_by_chance_few_of_them_and_a_link_that_stays_half_empty_are_losses() {
        assert_eq!(limited_s(reduced(5, 3, 90), 20, 850), [20, 40]);
        assert_eq!(limited_s(reduced(2, 2, 30), 20, 850), [20, 40]);
        assert_eq!(limited_s(reduced(5, 5, 10), 20, 500), [20, 40]);
    }
}
