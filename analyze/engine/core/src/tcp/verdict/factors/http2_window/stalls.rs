//! Times in which frames of HTTP/2 show that the sender stood at a window of its peer's (RFC 9113 section 5.2).
//!
//! Rule: docs/verdict.md, "Stalls at an HTTP/2 window".

use crate::http2::WindowUse;
use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::{move_empty_time, take_time};
use crate::tcp::limits::summary::LimitsSummary;

/// Share of a stretch in which the sender stood from which on the window limited all of it.
const STOOD_SHARE: f64 = 0.5;

/// A stretch of stalls: from the first to the end of the last, and how long the sender stood in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct StallSpan {
    between_ns: [i64; 2],
    stood_ns: i64,
}

/// `used` is the window of this direction's data.
pub(crate) fn take_stalls(summary: &mut LimitsSummary, used: &WindowUse) {
    for stretch in stretches(used) {
        let [from_ns, to_ns] = stretch.between_ns;
        if stretch.stood_ns as f64 >= STOOD_SHARE * to_ns.saturating_sub(from_ns) as f64 {
            take_time(summary, Factor::Http2Window, may_be_a_window, &[stretch.between_ns]);
        } else {
            let within = used.stalls.iter().map(|stall| [stall.from_ns, stall.to_ns]);
            let spans: Vec<[i64; 2]> = within.filter(|&[from, to]| from_ns <= from && to <= to_ns).collect();
            move_empty_time(summary, Factor::Http2Window, may_be_a_window, &spans);
        }
    }
}

/// What a sender that waits for credit looks like as long as frames are not read.
fn may_be_a_window(factor: Factor) -> bool {
    matches!(
        factor,
        Factor::Application
            | Factor::ApplicationWindow
            | Factor::SendBuffer
            | Factor::CongestionWindow
            | Factor::SlowStart
            | Factor::Idle
            | Factor::Unknown
    )
}

/// Stalls that follow one another with no more time between two than they last on average.
fn stretches(used: &WindowUse) -> Vec<StallSpan> {
    let mean_ns = used.limited_ns / i64::try_from(used.times.max(1)).unwrap_or(i64::MAX);
    let mut list: Vec<StallSpan> = Vec::new();
    for stall in &used.stalls {
        let stood_ns = stall.to_ns.saturating_sub(stall.from_ns);
        match list.last_mut() {
            Some(last) if stall.from_ns.saturating_sub(last.between_ns[1]) <= mean_ns => {
                last.between_ns[1] = stall.to_ns;
                last.stood_ns = last.stood_ns.saturating_add(stood_ns);
            }
            _ => list.push(StallSpan { between_ns: [stall.from_ns, stall.to_ns], stood_ns }),
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::Stall;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;

    const MS: i64 = 1_000_000;

    /// A second of an application that seemed to be late, and 100 kB in it; the sender stood at these milliseconds.
    fn limited(stalls_ms: &[[i64; 2]]) -> [Share; 2] {
        let mut summary = LimitsSummary::default();
        let run =
            FactorRun { start_ns: 0, end_ns: 1000 * MS, factor: Factor::Application, bytes: 100_000, frames: [1, 9] };
        let share = Share { time_ns: run.duration_ns(), bytes: run.bytes };
        (summary.shares[run.factor], summary.underlying[run.factor]) = (share, share);
        summary.runs.push(run);
        let stalls: Vec<Stall> =
            stalls_ms.iter().map(|[from, to]| Stall { from_ns: from * MS, to_ns: to * MS }).collect();
        let limited_ns = stalls.iter().map(|stall| stall.to_ns - stall.from_ns).sum();
        take_stalls(
            &mut summary,
            &WindowUse { limited_ns, times: stalls.len() as u64, stalls, ..WindowUse::default() },
        );
        [Factor::Application, Factor::Http2Window].map(|factor| summary.shares[factor])
    }

    #[test]
    fn a_window_that_is_used_up_again_and_again_limits_what_passes_in_between() {
        let [application, window] = limited(&[[100, 180], [200, 280], [300, 400]]);
        assert_eq!(application, Share { time_ns: 700_000_000, bytes: 70_000 });
        assert_eq!(window, Share { time_ns: 300_000_000, bytes: 30_000 });
    }

    #[test]
    fn stalls_that_take_little_of_a_stretch_take_no_bytes() {
        // Each is a stretch of its own, and stood at from end to end.
        let [application, window] = limited(&[[100, 130], [600, 620]]);
        assert_eq!([application.time_ns, window.time_ns], [950_000_000, 50_000_000]);
        assert_eq!(application.bytes + window.bytes, 100_000);
        // One after the other, with a long one that makes them one stretch.
        let [application, window] = limited(&[[0, 300], [540, 545], [795, 800]]);
        assert_eq!([application.time_ns, window.time_ns], [690_000_000, 310_000_000]);
        assert_eq!(limited(&[])[1], Share::default());
    }
}
