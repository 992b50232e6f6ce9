//! What a time was counted for is known better at the end of a transfer: it goes to another factor.

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::runs::Runs;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::limits::summary::LimitsSummary;

/// Between these times, which follow one another, it was `to` instead of the factors that are meant; says what was taken from
/// whom. What lies beneath recovery stays as it is.
pub(crate) fn move_to(
    summary: &mut LimitsSummary,
    to: Factor,
    is_meant: impl Fn(Factor) -> bool,
    between_ns: &[[i64; 2]],
) -> Shares {
    let taken = rename_meant(summary, to, is_meant, between_ns);
    for (factor, share) in taken.iter() {
        let moved = summary.shares[factor].take(share);
        summary.shares[to].add(moved);
    }
    taken
}

/// The same of runs and marks alone: whose time it was is known more exactly than they are.
pub(crate) fn rename(summary: &mut LimitsSummary, to: Factor, from: Factor, between_ns: &[[i64; 2]]) {
    rename_meant(summary, to, |factor| factor == from, between_ns);
}

fn rename_meant(
    summary: &mut LimitsSummary,
    to: Factor,
    is_meant: impl Fn(Factor) -> bool,
    between_ns: &[[i64; 2]],
) -> Shares {
    let mut runs = Runs::from(std::mem::take(&mut summary.runs));
    let mut taken = Shares::default();
    for &one_ns in between_ns {
        let moved = runs.move_to(to, &is_meant, one_ns);
        moved.iter().for_each(|(factor, share)| taken[factor].add(share));
    }
    summary.runs = runs.into_list();
    let within = |time_ns: i64| between_ns.iter().any(|&[from_ns, to_ns]| from_ns < time_ns && time_ns <= to_ns);
    for mark in summary.marks.iter_mut().filter(|mark| within(mark.time_ns)) {
        if Factor::ALL.into_iter().any(|factor| is_meant(factor) && mark.shows(factor)) {
            mark.add(to);
        }
    }
    taken
}

/// So much of a factor was another one, in which nothing is delivered: what is left of the factor has delivered its bytes.
pub(crate) fn move_time(summary: &mut LimitsSummary, (from, to): (Factor, Factor), time_ns: u64) {
    let bytes = if time_ns == summary.shares[from].time_ns { u64::MAX } else { 0 };
    for shares in [&mut summary.shares, &mut summary.underlying] {
        let moved = shares[from].take(Share { time_ns, bytes });
        shares[to].add(moved);
    }
}

/// Between these times nothing was delivered, and it was `to`: what was delivered around them was so in less time.
pub(crate) fn move_empty_time(
    summary: &mut LimitsSummary,
    to: Factor,
    is_meant: impl Fn(Factor) -> bool,
    between_ns: &[[i64; 2]],
) {
    let taken = rename_meant(summary, to, is_meant, between_ns);
    for (factor, share) in taken.iter() {
        for shares in [&mut summary.shares, &mut summary.underlying] {
            let moved = shares[factor].take(Share { bytes: 0, ..share });
            shares[to].add(moved);
        }
    }
}

/// All of a factor was another one, as the whole connection shows.
pub(crate) fn move_all(summary: &mut LimitsSummary, from: Factor, to: Factor) {
    for shares in [&mut summary.shares, &mut summary.underlying] {
        let moved = std::mem::take(&mut shares[from]);
        shares[to].add(moved);
    }
    let spans: Vec<[i64; 2]> =
        summary.runs.iter().filter(|run| run.factor == from).map(|run| [run.start_ns, run.end_ns]).collect();
    rename(summary, to, from, &spans);
}

/// The same, and what would have limited the transfer beneath recovery is that, too.
pub(crate) fn take_time(
    summary: &mut LimitsSummary,
    factor: Factor,
    is_meant: impl Fn(Factor) -> bool,
    between_ns: &[[i64; 2]],
) {
    let taken = move_to(summary, factor, is_meant, between_ns);
    move_underlying(summary, factor, &taken);
}

fn move_underlying(summary: &mut LimitsSummary, to: Factor, taken: &Shares) {
    let mut wanted = Share::default();
    taken.iter().for_each(|(_, share)| wanted.add(share));
    for factor in Factor::ALL.into_iter().filter(|factor| factor.shows_capacity()) {
        let moved = summary.underlying[factor].take(wanted);
        wanted.take(moved);
        summary.underlying[to].add(moved);
    }
}
