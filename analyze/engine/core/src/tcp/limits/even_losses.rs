//! Losses that come each time the window has grown to the same size, while no queue stands: a place on the path takes no more at once.
//!
//! A bucket of a few packets drops what a burst has too much, however low the rate is. The window grows up to that again and again, so
//! that one loss follows the other after nearly the same number of bytes. Chance knows no such distance, and a queue that overflows shows
//! in round trips.
//!
//! Rule: docs/verdict.md, "Losses at even distances".

use crate::tcp::loss::reductions::Reduction;

/// Distances from one reduction of the window to the next, at least.
const FEWEST: usize = 12;

/// What counts as the same: such a part of the median, or so many segments. Of distances by chance a tenth lies so near.
const SAME_SHARE: f64 = 0.15;

const SAME_SEGMENTS: f64 = 1.5;

/// So many of the distances are the same.
const LEAST_SHARE: f64 = 0.45;

/// Do they?
pub(crate) fn come_evenly(reductions: &[Reduction], segment_bytes: f64) -> bool {
    let positions = reductions.windows(2).map(|pair| pair[1].position.saturating_sub(pair[0].position));
    let mut distances: Vec<f64> = positions.map(|bytes| bytes as f64).collect();
    if distances.len() < FEWEST {
        return false;
    }
    distances.sort_unstable_by(f64::total_cmp);
    let median = distances[distances.len() / 2];
    let slack = (SAME_SHARE * median).max(SAME_SEGMENTS * segment_bytes);
    let same = distances.iter().filter(|distance| (**distance - median).abs() <= slack).count();
    // Where nothing passes in between, timers repair one and the same burst.
    median > 2.0 * slack && same as f64 >= LEAST_SHARE * distances.len() as f64
}

/// Flights before such losses that a bucket of few packets lets pass: a burst of more segments would show what it refills at.
const FEW_SEGMENTS: f64 = 10.0;

/// A bucket of few packets lets no burst of so many pass at once, which is within so many round trips.
const BURST_SEGMENTS: f64 = 40.0;

const BURST_ROUND_TRIPS: f64 = 10.0;

/// Do they, and always after few segments? Then what passes is a few packets in each round trip, and no rate of a bucket.
pub(crate) fn come_after_few(reductions: &[Reduction], segment_bytes: f64) -> bool {
    let mut flights: Vec<u32> = reductions.iter().map(|one| one.flight_bytes).collect();
    flights.sort_unstable();
    let is_few = |flight: &u32| f64::from(*flight) <= FEW_SEGMENTS * segment_bytes;
    flights.get(flights.len() / 2).is_some_and(is_few) && come_evenly(reductions, segment_bytes)
}

/// A burst so large passed at once that a bucket which saved it up is not one of few packets, however few are in flight behind it.
/// `more_bps` is by how much faster it passed.
pub(crate) fn is_saved_up(burst_bytes: f64, more_bps: f64, segment_bytes: f64, min_rtt_ns: f64) -> bool {
    let at_once_bytes = BURST_ROUND_TRIPS * more_bps / 8.0 * min_rtt_ns / 1e9;
    (BURST_SEGMENTS * segment_bytes..=at_once_bytes).contains(&burst_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: u64 = 1448;

    /// Reductions after so many segments each.
    fn reductions(segments: impl IntoIterator<Item = u64>, flight_bytes: u32) -> Vec<Reduction> {
        let after = |position: &mut u64, segments: u64| {
            *position += segments * SEGMENT;
            Some(Reduction { position: *position, flight_bytes, by_timeout: false })
        };
        segments.into_iter().scan(0, after).collect()
    }

    fn evenly(segments: impl IntoIterator<Item = u64>) -> bool {
        come_evenly(&reductions(segments, 9000), SEGMENT as f64)
    }

    proptest! {
        #[test]
        fn a_window_that_grows_to_the_same_size_loses_at_even_distances(
            usual in 10u64..400, others in proptest::collection::vec(1u64..2000, 0..12),
        ) {
            let disturbed = (0..20).map(|_| usual).chain(others);
            prop_assert!(evenly(disturbed));
        }

        #[test]
        fn chance_has_no_distance(seed in 1u64.., mean in 10f64..500.0) {
            let mut dice = seed;
            let mut by_chance = || {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let share = ((dice >> 11) as f64 / (1u64 << 53) as f64).max(1e-9);
                (-share.ln() * mean) as u64 + 1
            };
            let distances: Vec<u64> = (0..60).map(|_| by_chance()).collect();
            prop_assert!(!evenly(distances));
        }
    }

    #[test]
    fn a_bucket_that_lets_pass_more_than_few_shows_its_rate() {
        let after = |flight_bytes| come_after_few(&reductions([20; 30], flight_bytes), SEGMENT as f64);
        assert_eq!([9000, 90_000].map(after), [true, false]);
    }

    #[test]
    fn a_burst_that_passes_at_once_was_saved_up() {
        let is = |burst_bytes, more_bps| is_saved_up(burst_bytes, more_bps, SEGMENT as f64, 100e6);
        // At five times half a megabit: within four round trips. At three times: within 800. And one of few packets.
        assert_eq!(
            [(99e3, 2.1e6), (1e6, 1e6), (15e3, 2.1e6)].map(|(burst, more)| is(burst, more)),
            [true, false, false]
        );
    }

    #[test]
    fn few_losses_and_repeats_of_one_burst_tell_nothing() {
        assert!(!evenly([20; 8]));
        assert!(!evenly([1; 40]));
        assert!(!evenly([]));
    }
}
