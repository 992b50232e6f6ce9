//! Losses that came late: a path that lost nothing of what it carried fast, and much of what it carried slowly.
//!
//! Neither chance nor a queue explains that. Chance loses from the beginning on, a queue overflows at the highest rate. Something
//! on the path changed: as a rule a token bucket ran empty.
//!
//! Rule: docs/verdict.md, "Losses that came late".

use crate::tcp::rates::series::{Bin, Series};

/// Rates are those of a round trip, or of so long.
const SHORTEST_WINDOW_NS: i64 = 50_000_000;

/// After the first loss the overflow of slow start is repaired for so many of these.
const OVERFLOW_WINDOWS: usize = 4;

/// Segments lost after that, at least.
const FEWEST_LOST: f64 = 10.0;

/// So many times as fast it was without a loss as nearly always later.
const FASTER: f64 = 2.0;

const NEARLY_ALWAYS: f64 = 0.9;

/// Losses that the first part should have had by chance, if as many are lost in it as later: e^7 to one against none.
const FEWEST_EXPECTED: f64 = 7.0;

/// Did they? `delivered` takes what passed of a bin, in payload.
pub(crate) fn came_late(series: &Series, delivered: fn(&Bin) -> u32, segment_bytes: f64, round_trip_ns: f64) -> bool {
    let bytes: Vec<f64> = series.bins.iter().map(|bin| f64::from(delivered(bin))).collect();
    let lost: Vec<f64> = series.bins.iter().map(|bin| f64::from(bin.lost_bytes)).collect();
    let window_ns = round_trip_ns.max(SHORTEST_WINDOW_NS as f64);
    let window = ((window_ns / series.bin_ns.max(1) as f64).ceil().min(1e6) as usize).max(1);
    let Some(first) = lost.iter().position(|lost| *lost > 0.0) else { return false };
    let rest = (first + OVERFLOW_WINDOWS * window).min(bytes.len());
    let lost_later = lost[rest..].iter().sum::<f64>();
    let loss_later = lost_later / (lost_later + bytes[rest..].iter().sum::<f64>()).max(1.0);
    let expected = loss_later * bytes[..first].iter().sum::<f64>() / segment_bytes.max(1.0);
    let fastest = sums(&bytes[..first], window).last().copied().unwrap_or(0.0);
    let later = sums(&bytes[rest..], window);
    let usual = later.get((NEARLY_ALWAYS * later.len() as f64) as usize).copied();
    lost_later >= FEWEST_LOST * segment_bytes
        && expected >= FEWEST_EXPECTED
        && usual.is_some_and(|usual| fastest >= FASTER * usual)
}

/// What passed in windows of so many bins, the least first.
fn sums(bytes: &[f64], window: usize) -> Vec<f64> {
    let mut sums: Vec<f64> = bytes.windows(window).map(|bins| bins.iter().sum()).collect();
    sums.sort_unstable_by(f64::total_cmp);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1448;

    /// Bins of 10 ms: so many with so many segments each, of which one of so many is lost (0: none).
    fn late(parts: &[(usize, u32, usize)]) -> bool {
        let mut bins = Vec::new();
        for &(count, segments, one_in) in parts {
            bins.extend((0..count).map(|at| Bin {
                acknowledged_bytes: segments * SEGMENT,
                lost_bytes: if one_in > 0 && at % one_in == 0 { SEGMENT } else { 0 },
                ..Bin::default()
            }));
        }
        let series = Series { start_ns: 0, bin_ns: 10_000_000, bins };
        came_late(&series, |bin| bin.acknowledged_bytes, f64::from(SEGMENT), 20e6)
    }

    #[test]
    fn nothing_lost_while_it_was_fast_and_much_when_it_was_slow_came_late() {
        assert!(late(&[(60, 20, 0), (600, 4, 4)]));
    }

    #[test]
    fn chance_loses_from_the_beginning_on() {
        assert!(!late(&[(3, 20, 0), (600, 4, 4)]));
    }

    #[test]
    fn a_queue_overflows_at_the_highest_rate() {
        assert!(!late(&[(60, 20, 0), (600, 15, 4)]));
    }

    #[test]
    fn one_overflow_is_none_and_nothing_is_none() {
        assert!(!late(&[(60, 20, 0), (10, 4, 1), (600, 4, 0)]));
        assert!(!late(&[]));
        assert!(!late(&[(2, 20, 1)]));
    }
}
