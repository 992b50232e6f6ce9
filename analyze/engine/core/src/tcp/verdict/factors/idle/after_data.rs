//! The time after the last data, to the end of what was captured of the connection.
//!
//! Rule: docs/verdict.md, "After the last data".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::after_data::SenderEnding;
use crate::tcp::limits::marks::Marks;
use crate::tcp::limits::runs::{FactorRun, Runs};
use crate::tcp::limits::share::Share;
use crate::tcp::limits::summary::LimitsSummary;

/// Counts the time after the last round.
pub(crate) fn take_ending(summary: &mut LimitsSummary, ending: &SenderEnding) {
    let Some(&FactorRun { factor: last, end_ns: mut start_ns, .. }) = summary.runs.last() else { return };
    // The last data is on its way: that is what the path and the windows take, but none of an application's time.
    let is_moving = last.shows_capacity() || matches!(last, Factor::LossRecovery | Factor::ReceiverWindow);
    let before = if is_moving { last } else { Factor::Idle };
    let counted: u64 = summary.shares.iter().map(|(_, share)| share.bytes).sum();
    let mut bytes = ending.delivered_bytes.saturating_sub(counted);
    let (mut runs, mut marks) = (Runs::from(std::mem::take(&mut summary.runs)), Marks::default());
    // The sender hears of the last acknowledgement, and the round is over, with the last packet.
    let end_frame = if ending.is_unheard { ending.end_frame } else { ending.frame };
    for (end_ns, factor) in parts(ending, before) {
        let run = FactorRun { start_ns, end_ns, factor, bytes, frames: [ending.frame, end_frame] };
        if run.duration_ns() > 0 {
            let share = Share { time_ns: run.duration_ns(), bytes: std::mem::take(&mut bytes) };
            summary.shares[factor].add(share);
            summary.underlying[factor].add(share);
            let idle_ns = if factor == Factor::Idle { share.time_ns } else { 0 };
            summary.after_data_ns = summary.after_data_ns.saturating_add(idle_ns);
            marks.push(start_ns, ending.frame, std::iter::once(factor));
            runs.push(run);
            start_ns = end_ns;
        }
    }
    summary.runs = runs.into_list();
    summary.marks.extend(marks.into_list());
}

/// Its parts: up to when, and the factor; `before` is the one of the last round. Where what was sent was not acknowledged and
/// not retransmitted either, nothing says what it waits for.
fn parts(ending: &SenderEnding, before: Factor) -> [(i64, Factor); 2] {
    match ending.idle_since_ns {
        Some(since_ns) => [(since_ns, before), (ending.end_ns, Factor::Idle)],
        None if ending.is_closed => [(ending.end_ns, Factor::ReceiverWindow); 2],
        None if ending.is_unheard => [(ending.end_ns, before); 2],
        None if ending.is_repairing => [(ending.end_ns, Factor::TimeoutWait); 2],
        None => [(ending.end_ns, Factor::Idle); 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// What happened after one second of slow start.
    struct After {
        idle_since_s: Option<f64>,
        is_unheard: bool,
        is_closed: bool,
        is_repairing: bool,
        end_s: f64,
    }

    impl After {
        /// Seconds by factor.
        fn seconds(&self) -> Vec<(Factor, f64)> {
            let at = |seconds: f64| (seconds * SECOND as f64) as i64;
            let run = FactorRun { start_ns: 0, end_ns: SECOND, factor: Factor::SlowStart, bytes: 9, frames: [1, 2] };
            let mut summary = LimitsSummary { runs: vec![run], ..LimitsSummary::default() };
            take_ending(
                &mut summary,
                &SenderEnding {
                    idle_since_ns: self.idle_since_s.map(at),
                    is_unheard: self.is_unheard,
                    is_closed: self.is_closed,
                    is_repairing: self.is_repairing,
                    end_ns: at(self.end_s),
                    frame: 2,
                    end_frame: 3,
                    delivered_bytes: 12,
                },
            );
            let time_s = |factor: Factor| summary.shares[factor].time_ns as f64 / 1e9;
            Factor::ALL.map(|factor| (factor, time_s(factor))).into_iter().filter(|(_, time_s)| *time_s > 0.0).collect()
        }
    }

    const QUIET: After =
        After { idle_since_s: None, is_unheard: false, is_closed: false, is_repairing: false, end_s: 21.0 };

    #[test]
    fn waiting_at_the_end_belongs_to_what_is_waited_for() {
        let acknowledged = After { idle_since_s: Some(1.5), end_s: 3.0, ..QUIET };
        assert_eq!(acknowledged.seconds(), [(Factor::SlowStart, 0.5), (Factor::Idle, 1.5)]);
        assert_eq!(After { is_unheard: true, ..QUIET }.seconds(), [(Factor::SlowStart, 20.0)]);
        assert_eq!(After { is_closed: true, ..QUIET }.seconds(), [(Factor::ReceiverWindow, 20.0)]);
        assert_eq!(After { is_repairing: true, ..QUIET }.seconds(), [(Factor::TimeoutWait, 20.0)]);
        assert_eq!(QUIET.seconds(), [(Factor::Idle, 20.0)]);
        assert_eq!(After { end_s: 1.0, ..QUIET }.seconds(), []);
    }
}
