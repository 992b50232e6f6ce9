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
        let moved = summary.underlying[factor as usize].take(taken[factor as usize]);
        summary.underlying[Factor::ReceiverWindow as usize].add(moved);
    }
}
