//! A window of unknown scale that its reader closes: zero is zero at any scale (RFC 7323 section 2.3).
//!
//! Rule: docs/verdict.md, "A closed window of unknown scale".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::{move_time, rename};
use crate::tcp::limits::summary::LimitsSummary;

/// Advertisements of zero that show a reader who does not read.
const FEWEST_ZERO_WINDOWS: u32 = 2;

/// So many show one who stops again and again. Before it is closed, and once it opens a little, the window lets nothing pass either
/// (RFC 9293 section 3.8.6.2), which its unknown scale does not show: for up to so many tenths of the time that it was closed.
const AGAIN_AND_AGAIN: u32 = 8;

const AS_MUCH_AGAIN: u64 = 9;

/// What looked like a sender without data, or whose turn it was not, waited for the window.
pub(crate) fn take_closed(summary: &mut LimitsSummary, zero_windows: u32, closed_ns: u64) {
    if zero_windows < FEWEST_ZERO_WINDOWS {
        return;
    }
    take(summary, &[Factor::Application, Factor::Idle, Factor::HostStall], closed_ns);
    if zero_windows >= AGAIN_AND_AGAIN {
        take(summary, &[Factor::Application, Factor::Unknown, Factor::HostStall], closed_ns / 10 * AS_MUCH_AGAIN);
    }
}

/// Up to so much of these becomes the window's, one after the other.
fn take(summary: &mut LimitsSummary, from: &[Factor], mut left_ns: u64) {
    for &from in from {
        let after_ns = if from == Factor::Idle { summary.after_data_ns } else { 0 };
        let time_ns = summary.shares[from].time_ns.saturating_sub(after_ns).min(left_ns);
        if time_ns > 0 {
            let runs = summary.runs.iter().filter(|run| run.factor == from && run.duration_ns() >= SHORTEST_NS);
            let spans: Vec<[i64; 2]> = runs.map(|run| [run.start_ns, run.end_ns]).collect();
            move_time(summary, (from, Factor::ReceiverWindow), time_ns);
            rename(summary, Factor::ReceiverWindow, from, &spans);
            left_ns -= time_ns;
        }
    }
}

/// A reader that stops does so for longer.
const SHORTEST_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;

    #[test]
    fn time_with_the_window_closed_is_the_windows_and_no_more() {
        let mut summary = LimitsSummary::default();
        summary.shares[Factor::Application] = Share { time_ns: 100, bytes: 7 };
        take_closed(&mut summary, 1, 60);
        assert_eq!(summary.shares[Factor::ReceiverWindow].time_ns, 0, "one proves nothing");
        take_closed(&mut summary, 7, 60);
        let times_ns = |summary: &LimitsSummary| {
            [Factor::Application, Factor::ReceiverWindow].map(|factor| summary.shares[factor].time_ns)
        };
        assert_eq!(times_ns(&summary), [40, 60]);
    }

    #[test]
    fn a_reader_that_stops_again_and_again_also_took_what_the_capture_does_not_explain() {
        let mut summary = LimitsSummary::default();
        summary.shares[Factor::Application] = Share { time_ns: 50, bytes: 0 };
        summary.shares[Factor::Unknown] = Share { time_ns: 100, bytes: 0 };
        take_closed(&mut summary, 8, 60);
        let of = |factor: Factor| summary.shares[factor].time_ns;
        assert_eq!([Factor::Application, Factor::Unknown, Factor::ReceiverWindow].map(of), [0, 46, 104]);
    }
}
