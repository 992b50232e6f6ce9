//! Could the path have carried so much so fast? What a path held comes at the path's own rate; what waited before a host
//! that stalled is taken in, or acknowledged, as fast as that host can. The path's rate is the fastest that it has shown
//! so far over 100 ms, or does as a rule over 10 ms, in the bins of [`crate::tcp::rates::series`].
//!
//! That only tells where the path is what limits: then a queue stands before it while it carries its most, and the round trip is
//! longer for it. On a path without a queue, what it held comes as fast as what waited before a host, and its rate is only that
//! of the window.
//!
//! What follows a silence is left out: it may be a backlog itself, or the burst of a sender that the path does not limit.
//! Where nothing remains, nothing is said.

use crate::tcp::direction::direction::Live;
use crate::tcp::gaps::path_rate::PathRate;
use crate::tcp::rates::series::Bin;

/// What the path carried so far of a direction's data, seen at its sender: by what was acknowledged.
pub(crate) fn rate_at_sender(live: &Live) -> Option<PathRate> {
    let (bins, bin_ns) = live.rates.series.so_far()?;
    PathRate::of(bins, bin_ns, |bin| bin.acknowledged_bytes, |bin| bin.receiver_loop_us)
        .or_else(|| live.rates.answers.bytes_per_ns().map(PathRate::of_trains))
}

/// The same between the hosts, where the queue may stand on either side of the capture.
pub(crate) fn rate_in_between(live: &Live) -> Option<PathRate> {
    let (bins, bin_ns) = live.rates.series.so_far()?;
    let by = |loop_us: fn(&Bin) -> u32| PathRate::of(bins, bin_ns, |bin| bin.acknowledged_bytes, loop_us);
    by(|bin| bin.sender_loop_us).or_else(|| by(|bin| bin.receiver_loop_us)).or_else(|| {
        live.rates.answers.bytes_per_ns().or_else(|| live.rates.arrivals.bytes_per_ns()).map(PathRate::of_trains)
    })
}

/// The same at its receiver: by what arrived.
pub(crate) fn rate_at_receiver(live: &Live) -> Option<PathRate> {
    let (bins, bin_ns) = live.rates.series.so_far()?;
    PathRate::of(bins, bin_ns, |bin| bin.arrived_bytes, |bin| bin.sender_loop_us)
        .or_else(|| live.rates.arrivals.bytes_per_ns().map(PathRate::of_trains))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::gaps::path_rate::needed_bytes_per_s;

    /// A queue stands in the middle of it.
    fn rate(bytes: &[u32]) -> Option<PathRate> {
        rate_with(bytes, |bin| if bin < 2 { 20_000 } else { 26_000 })
    }

    fn rate_with(bytes: &[u32], loop_us: impl Fn(usize) -> u32) -> Option<PathRate> {
        let bin = |(at, &arrived_bytes)| Bin { arrived_bytes, sender_loop_us: loop_us(at), ..Bin::default() };
        let bins: Vec<Bin> = bytes.iter().enumerate().map(bin).collect();
        PathRate::of(&bins, 5_000_000, |bin| bin.arrived_bytes, |bin| bin.sender_loop_us)
    }

    #[test]
    fn a_path_before_which_no_queue_stands_is_not_what_limits() {
        let steady = [10_000; 60];
        assert!(rate(&steady).is_some());
        assert_eq!(rate_with(&steady, |_| 20_000), None);
        // A burst of the sender's is a queue for moments: the shortest round trip of 100 ms knows none.
        assert_eq!(rate_with(&steady, |bin| if bin % 10 == 0 { 20_000 } else { 40_000 }), None);
        assert_eq!(rate_with(&steady, |_| 0), None);
    }

    #[test]
    fn a_queue_while_the_path_carries_less_than_its_most_is_of_another_kind() {
        let bytes: Vec<u32> = (0..90).map(|bin| if bin < 45 { 10_000 } else { 5000 }).collect();
        assert_eq!(rate_with(&bytes, |bin| if bin < 45 { 20_000 } else { 30_000 }), None);
        assert!(rate_with(&bytes, |bin| if (2..45).contains(&bin) { 30_000 } else { 20_000 }).is_some());
    }

    #[test]
    fn what_comes_faster_than_usual_and_well_ahead_of_the_path_was_not_carried_then() {
        let steady = rate(&[10_000; 40]);
        let cannot_carry = |bytes, time_ns| steady.is_some_and(|steady| steady.cannot_carry(bytes, time_ns));
        assert!(!cannot_carry(24_000, 0));
        assert!(cannot_carry(26_000, 0));
        // At the path's own rate nothing is ahead, however much it is.
        assert!(!cannot_carry(200_000, 100_000_000));
        assert!(cannot_carry(260_000, 100_000_000));
    }

    #[test]
    fn what_a_path_must_carry_for_a_backlog_is_what_it_is_asked_for_later() {
        for bytes_per_ns in [0.0005, 0.003, 0.02] {
            let path = PathRate::of_trains(bytes_per_ns);
            for (bytes, time_ns) in
                [(14_000, 0), (15_000, 0), (40_000, 1_400_000), (101_000, 1_400_000), (300_000, 60_000_000)]
            {
                let later = bytes_per_ns * 1e9 < needed_bytes_per_s(bytes, time_ns) as f64;
                assert_eq!(path.cannot_carry(bytes, time_ns), later, "{bytes} bytes in {time_ns} ns, {bytes_per_ns}");
            }
        }
    }

    #[test]
    fn an_initial_window_is_no_backlog_however_slow_the_flow_was() {
        let slow = rate(&[100; 40]);
        assert!(slow.is_some_and(|slow| !slow.cannot_carry(14_000, 0) && slow.cannot_carry(15_000, 0)));
    }

    #[test]
    fn a_backlog_after_a_silence_does_not_make_the_path_fast() {
        let mut bytes = vec![1000; 40];
        bytes.extend([0; 20]);
        bytes.extend([50_000, 9000]);
        bytes.extend([1000; 40]);
        assert_eq!(rate(&bytes), rate(&[1000; 40]));
    }

    #[test]
    fn a_path_that_carries_bursts_has_carried_them() {
        let bursts: Vec<u32> = (0..60).map(|bin| if bin % 4 == 0 { 20_000 } else { 0 }).collect();
        assert!(rate(&bursts).is_some_and(|path| !path.cannot_carry(24_000, 0)));
    }

    #[test]
    fn a_path_that_never_ran_without_a_silence_is_not_known() {
        let rounds: Vec<u32> = (0..200).map(|bin| if bin % 10 == 0 { 20_000 } else { 0 }).collect();
        assert_eq!(rate(&rounds), None);
        assert_eq!(rate(&[1000; 10]), None);
        assert_eq!(rate(&[]), None);
    }
}
