//! The opening of a connection as a limit: time from the first SYN to the first data, and all up to the end of the TLS handshake.

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::marks::Marks;
use crate::tcp::limits::runs::{FactorRun, Runs};
use crate::tcp::limits::setup::SetupTime;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::limits::summary::LimitsSummary;

/// Counts the opening: what came before the first data, and all up to the end of the TLS handshake.
pub(super) fn take_opening(summary: &mut LimitsSummary, opening: SetupTime) {
    let setup_end_ns = opening.end_ns.max(opening.start_ns);
    let mut rest = Vec::new();
    for run in std::mem::take(&mut summary.runs) {
        let [within, after] = run.split(setup_end_ns);
        if within.duration_ns() > 0 {
            let share = Share { time_ns: within.duration_ns(), bytes: within.bytes };
            for shares in [&mut summary.shares, &mut summary.underlying] {
                move_to_setup(shares, share, run.factor);
            }
        }
        rest.extend([FactorRun { factor: Factor::Setup, ..within }, after]);
    }
    let data_ns = opening.first_data_ns;
    let before_data_ns = setup_end_ns.min(data_ns);
    let mut first = Vec::new();
    let mut push = |start_ns: i64, end_ns: i64, factor: Factor| {
        let run = FactorRun { start_ns, end_ns, factor, bytes: 0, frames: [opening.frame; 2] };
        if run.duration_ns() > 0 {
            let share = Share { time_ns: run.duration_ns(), bytes: 0 };
            summary.shares[factor].add(share);
            summary.underlying[factor].add(share);
            first.push(run);
        }
    };
    push(opening.start_ns, before_data_ns, Factor::Setup);
    let asked_ns = opening.asked_ns.unwrap_or(before_data_ns).clamp(before_data_ns, data_ns);
    push(before_data_ns, asked_ns, Factor::Idle);
    push(asked_ns, data_ns, if opening.waited_for_timer { Factor::TimeoutWait } else { Factor::Application });
    let mut marks = Marks::default();
    let [syn, syn_again, ..] = opening.handshake;
    let after_ns = syn.zip(syn_again).map(|(first, again)| again.0.saturating_sub(first.0));
    summary.syn_retransmitted_ns = after_ns.and_then(|after_ns| u64::try_from(after_ns).ok());
    let mut handshake: Vec<(i64, u32)> = opening.handshake.into_iter().flatten().collect();
    handshake.sort_unstable();
    let handshake = handshake.into_iter();
    handshake.for_each(|(time_ns, frame)| marks.push(time_ns, frame, std::iter::once(Factor::Setup)));
    summary.marks.splice(0..0, marks.into_list());
    let mut runs = Runs::default();
    first.into_iter().chain(rest).for_each(|run| runs.push(run));
    summary.runs = runs.into_list();
}

/// A run is named by the longest part of its rounds: what is more than that part comes from what a handshake looks like.
fn move_to_setup(shares: &mut Shares, mut wanted: Share, from: Factor) {
    for factor in [from, Factor::Idle, Factor::Application] {
        let moved = shares[factor].take(wanted);
        wanted.take(moved);
        shares[Factor::Setup].add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_run_across_the_end_of_the_handshake_is_setup_up_to_there() {
        let mut summary = LimitsSummary::default();
        for shares in [&mut summary.shares, &mut summary.underlying] {
            shares[Factor::Idle] = Share { time_ns: 1_000_000_000, bytes: 0 };
            shares[Factor::Application] = Share { time_ns: 1_000_000_000, bytes: 800 };
        }
        summary.runs =
            vec![FactorRun { start_ns: SECOND, end_ns: 3 * SECOND, factor: Factor::Idle, bytes: 800, frames: [4, 9] }];
        let (start_ns, first_data_ns, end_ns) = (0, SECOND, 5 * SECOND / 2);
        let opening = SetupTime {
            start_ns,
            first_data_ns,
            end_ns,
            asked_ns: None,
            handshake: [None; 5],
            frame: 1,
            waited_for_timer: false,
        };
        take_opening(&mut summary, opening);
        let times_ns = |factor: Factor| summary.shares[factor].time_ns;
        let all = [Factor::Setup, Factor::Idle, Factor::Application].map(times_ns);
        assert_eq!(all, [2_500_000_000, 0, 500_000_000], "of 3 s");
        let runs: Vec<_> = summary.runs.iter().map(|run| (run.factor, run.start_ns, run.end_ns)).collect();
        assert_eq!(runs, [(Factor::Setup, 0, end_ns), (Factor::Idle, end_ns, 3 * SECOND)]);
    }
}
