//! A window whose scale only the flight shows.

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::moves::move_to;
use crate::tcp::limits::summary::LimitsSummary;

/// What seemed the sender's own limit, or its congestion window, was that window: the flight stood at it.
pub(crate) fn take_inferred(summary: &mut LimitsSummary, window: InferredWindow, nothing_lost: bool) {
    summary.inferred_window = Some(window);
    let stood = |factor: Factor| factor == Factor::SendBuffer || (factor == Factor::CongestionWindow && nothing_lost);
    let spans: Vec<[i64; 2]> =
        summary.runs.iter().filter(|run| stood(run.factor)).map(|run| [run.start_ns, run.end_ns]).collect();
    let taken = move_to(summary, Factor::ReceiverWindow, stood, &spans);
    for factor in [Factor::SendBuffer, Factor::CongestionWindow] {
        let moved = summary.underlying[factor].take(taken[factor]);
        summary.underlying[Factor::ReceiverWindow].add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;

    /// A second of the send buffer, then two of the congestion window; the seconds of both and of the window after that.
    fn seconds(nothing_lost: bool) -> [u64; 3] {
        let mut summary = LimitsSummary::default();
        for (factor, start, end) in [(Factor::SendBuffer, 0, 1), (Factor::CongestionWindow, 1, 3)] {
            let [start_ns, end_ns] = [start, end].map(|at: i64| at * 1_000_000_000);
            summary.runs.push(FactorRun { start_ns, end_ns, factor, bytes: 1000, frames: [1, 2] });
            summary.shares[factor].add(Share { time_ns: (end_ns - start_ns) as u64, bytes: 1000 });
        }
        take_inferred(&mut summary, InferredWindow { scale: 3, bytes: 64_000 }, nothing_lost);
        assert_eq!(summary.inferred_window.map(|window| window.scale), Some(3));
        [Factor::SendBuffer, Factor::CongestionWindow, Factor::ReceiverWindow]
            .map(|factor| summary.shares[factor].time_ns / 1_000_000_000)
    }

    #[test]
    fn a_flight_that_stood_at_the_window_is_the_windows_and_losses_keep_what_they_reduced() {
        assert_eq!(seconds(true), [0, 0, 3]);
        assert_eq!(seconds(false), [0, 2, 1]);
    }
}
