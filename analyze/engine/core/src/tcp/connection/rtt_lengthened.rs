//! Round trips that a host lengthened and not the path (docs/methods.md, section 4): they are clean samples, and marked.
//!
//! * A receiver may hold back the acknowledgement of a single segment (RFC 1122 section 4.2.3.2). Taken for that: nothing else
//!   is outstanding, nothing was acknowledged just before, and it took 20 ms more than the shortest round trip.
//! * A host that stalled answers when it runs again. What paused data is often known later than the samples that came
//!   with its end ([`crate::tcp::gaps::undecided`]): those that cover a silence are kept until the connection is over.
//!
//! Rule: docs/methods.md, "Samples that a host lengthened".

use std::collections::HashSet;

use crate::tcp::connection::connection::Connection;

/// Packets, by time and frame, that completed a round trip which a host's stall lengthened.
pub(crate) fn stalled_trips(connection: &Connection) -> HashSet<(i64, u32)> {
    let pauses = connection.watch.watchers.iter().filter_map(|watchers| watchers.pauses.as_deref());
    let known = pauses.filter_map(|pauses| Some((pauses.totals.stall_spans()?, &pauses.watch.covering)));
    known
        .flat_map(|(stalls, covering)| covering.overlapping(stalls))
        .map(|trip| (trip.completed_ns, trip.frame))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::tcp::rtt::covering::{Covering, CoveringTrips, WithoutStalls};
    use crate::tcp::rtt::samples::RoundTrips;
    use crate::tcp::stats::buckets::Span;

    const MILLISECOND: u64 = 1_000_000;

    fn covering(trips_ms: &[(u64, u64)]) -> CoveringTrips {
        let mut covering = CoveringTrips::default();
        trips_ms.iter().for_each(|&(completed_ms, rtt_ms)| {
            covering.keep(Covering {
                completed_ns: (completed_ms * MILLISECOND) as i64,
                rtt_ns: rtt_ms * MILLISECOND,
                frame: 1,
            });
        });
        covering
    }

    fn span(start_ms: u64, end_ms: u64) -> Span {
        [start_ms, end_ms].map(|ms| (ms * MILLISECOND) as i64)
    }

    #[test]
    fn what_a_stall_lengthened_is_left_out_of_mean_and_quantiles() {
        let mut trips = RoundTrips::default();
        (0..100).for_each(|_| trips.add(20 * MILLISECOND));
        trips.add(170 * MILLISECOND);
        trips.sketch.settle();
        let covering = covering(&[(1_160, 170)]);
        let without = WithoutStalls::of(&trips, &covering, &[span(1_000, 1_155)]).expect("one overlaps");
        assert_eq!((without.left_out, without.samples), (1, 100));
        assert_eq!(without.mean_ns, Some(20e6));
        let [median_ns, _, p99_ns] = without.quantiles_ns.expect("samples are left");
        assert!((median_ns / 20e6 - 1.0).abs() < 0.01 && (p99_ns / 20e6 - 1.0).abs() < 0.02, "{median_ns} {p99_ns}");
        assert_eq!(WithoutStalls::of(&trips, &covering, &[span(2_000, 2_155)]), None);
    }

    #[test]
    fn few_samples_are_left_out_exactly() {
        let mut trips = RoundTrips::default();
        [10, 30, 170, 50].into_iter().for_each(|rtt_ms| trips.add(rtt_ms * MILLISECOND));
        trips.sketch.settle();
        let without = WithoutStalls::of(&trips, &covering(&[(1_160, 170)]), &[span(1_000, 1_155)]);
        assert_eq!(without.and_then(|without| without.quantiles_ns).map(|quantiles_ns| quantiles_ns[0]), Some(30e6));
    }

    #[test]
    fn with_nothing_else_there_are_no_quantiles() {
        let mut trips = RoundTrips::default();
        trips.add(170 * MILLISECOND);
        trips.sketch.settle();
        let without = WithoutStalls::of(&trips, &covering(&[(1_160, 170)]), &[span(1_000, 1_155)]).expect("one");
        assert_eq!((without.samples, without.mean_ns, without.quantiles_ns), (0, None, None));
    }

    #[test]
    fn a_pause_that_was_no_stall_is_forgotten() {
        let mut covering = covering(&[(1_160, 170), (1_500, 100)]);
        covering.forget(span(1_000, 1_170));
        assert_eq!(covering.kept.len(), 1);
    }
}
