//! Losses that came all at once while no queue stood: more was sent than a place on the path takes, and that does not delay.
//!
//! Chance loses a few here and there, whatever is sent. A queue that overflows makes round trips long before. What is lost by the
//! quarter in a few round trips, with round trips as short as ever, was dropped by a policer, or before a queue of next to no length.
//!
//! Rule: docs/verdict.md, "Losses that came all at once".

use crate::tcp::limits::background::QUEUE_RATIO;
use crate::tcp::rates::series::{Bin, Series};

/// Cells are a round trip, or so long.
const SHORTEST_CELL_NS: f64 = 50_000_000.0;

/// Such a cell sends so many segments at least.
const FEWEST_SENT: f64 = 20.0;

/// It loses between these shares of them: by chance not so many, and an outage of the path loses all.
const LOST: std::ops::RangeInclusive<f64> = 0.2..=0.8;

/// Such cells have this share of all that is lost, which is so many segments at least.
const LEAST_SHARE: f64 = 0.6;

const FEWEST_LOST: f64 = 20.0;

/// What is less than this share of the shortest is a part of a round trip.
const COMPLETE: f64 = 0.75;

/// Shorter ones are what a host takes at the capture point.
const SHORTEST_TRIP_NS: f64 = 1e6;

/// Did they? `delivered` takes what passed of a bin, in payload.
pub(crate) fn came_at_once(
    series: &Series,
    delivered: fn(&Bin) -> u32,
    segment_bytes: f64,
    round_trip_ns: f64,
) -> bool {
    let cell_ns = round_trip_ns.max(SHORTEST_CELL_NS);
    let cell = ((cell_ns / series.bin_ns.max(1) as f64).ceil().min(1e6) as usize).max(1);
    let sums = |bytes: fn(&Bin) -> u32| series.bins.chunks(cell).map(move |bins| sum(bins, bytes));
    let lost: Vec<f64> = sums(|bin| bin.lost_bytes).collect();
    let all: f64 = lost.iter().sum();
    if all < FEWEST_LOST * segment_bytes {
        return false;
    }
    let is_overload = |passed: f64, lost: f64| {
        passed + lost >= FEWEST_SENT * segment_bytes && LOST.contains(&(lost / (passed + lost)))
    };
    let cells = sums(delivered).zip(&lost).enumerate();
    let overloads: Vec<usize> =
        cells.filter(|(_, (passed, lost))| is_overload(*passed, **lost)).map(|(at, _)| at).collect();
    let in_overloads: f64 = overloads.iter().map(|at| lost[*at]).sum();
    in_overloads >= LEAST_SHARE * all
        && !overloads.is_empty()
        && no_queue_stands(series, cell, &overloads, round_trip_ns)
}

fn sum(bins: &[Bin], bytes: fn(&Bin) -> u32) -> f64 {
    bins.iter().map(|bin| f64::from(bytes(bin))).sum()
}

/// The median of the cells' shortest round trips is next to the shortest of all. Between the hosts only a part of each may be known.
fn no_queue_stands(series: &Series, cell: usize, cells: &[usize], round_trip_ns: f64) -> bool {
    let trips_ns = |bins: &[Bin]| -> Vec<f64> {
        bins.iter().map(trip_ns).filter(|trip_ns| *trip_ns >= SHORTEST_TRIP_NS).collect()
    };
    let is_complete = |trip_ns: &f64| *trip_ns >= COMPLETE * round_trip_ns;
    let every = trips_ns(&series.bins);
    let complete = 2 * every.iter().filter(|trip_ns| is_complete(trip_ns)).count() > every.len();
    let shortest_ns = if complete { round_trip_ns } else { every.iter().copied().fold(f64::INFINITY, f64::min) };
    let shortest_of = |at: &usize| {
        let bins = &series.bins[at.saturating_sub(1) * cell..series.bins.len().min((at + 1) * cell)];
        trips_ns(bins).into_iter().filter(|trip_ns| !complete || is_complete(trip_ns)).min_by(f64::total_cmp)
    };
    let mut found_ns: Vec<f64> = cells.iter().filter_map(shortest_of).collect();
    found_ns.sort_unstable_by(f64::total_cmp);
    found_ns.get(found_ns.len() / 2).is_some_and(|trip_ns| *trip_ns <= QUEUE_RATIO * shortest_ns)
}

fn trip_ns(bin: &Bin) -> f64 {
    f64::from(bin.receiver_loop_us.saturating_add(bin.sender_loop_us)) * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: u32 = 1448;

    /// Bins of 10 ms, five to a round trip: so many with so many segments that pass, so many that are lost, and a round trip (ms).
    fn at_once(parts: &[(usize, u32, u32, u32)]) -> bool {
        let mut bins = Vec::new();
        for &(count, passed, lost, trip_ms) in parts {
            let (acknowledged_bytes, lost_bytes) = (passed * SEGMENT, lost * SEGMENT);
            let bin = Bin { acknowledged_bytes, lost_bytes, receiver_loop_us: trip_ms * 1000, ..Bin::default() };
            bins.extend(std::iter::repeat_n(bin, count));
        }
        let series = Series { start_ns: 0, bin_ns: 10_000_000, bins };
        came_at_once(&series, |bin| bin.acknowledged_bytes, f64::from(SEGMENT), 50e6)
    }

    proptest! {
        #[test]
        fn a_policer_drops_by_the_quarter_with_short_round_trips(rounds in 1usize..20, lost in 4u32..20, clean in 20usize..400) {
            prop_assert!(at_once(&[(20, 8, 0, 50), (5 * rounds, 8, lost, 50), (clean, 6, 0, 50)]));
        }

        #[test]
        fn a_queue_that_overflows_makes_round_trips_long(trip_ms in 70u32..200, lost in 4u32..20) {
            prop_assert!(!at_once(&[(20, 8, 0, 50), (10, 8, 0, trip_ms), (20, 8, lost, trip_ms), (300, 6, 0, trip_ms)]));
        }

        #[test]
        fn what_is_lost_here_and_there_is_lost_by_chance(apart in 5usize..40) {
            let parts: Vec<(usize, u32, u32, u32)> = (0..40).flat_map(|_| [(1, 8, 1, 50), (apart, 8, 0, 50)]).collect();
            prop_assert!(!at_once(&parts));
        }
    }

    #[test]
    fn an_outage_and_a_short_tail_are_none() {
        assert!(!at_once(&[(40, 8, 0, 50), (20, 0, 8, 50), (40, 8, 0, 50)]), "all is lost");
        assert!(!at_once(&[(1, 8, 2, 50)]), "ten segments");
        assert!(!at_once(&[]));
    }
}
