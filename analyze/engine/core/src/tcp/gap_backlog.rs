//! Could the path have carried so much so fast? What a path held comes at the path's own rate; what waited before a host
//! that stood still is taken in, or acknowledged, as fast as that host can. The path's rate is the fastest that it has shown
//! so far over 100 ms, or does as a rule over 10 ms, in the bins of [`super::rate_series`].
//!
//! What follows a silence is left out: it may be a backlog itself, or the burst of a sender that the path does not limit.
//! Where nothing remains, nothing is said.

use super::half::Live;
use super::rate_series::Bin;

const LONG_NS: i64 = 100_000_000;
const SHORT_NS: i64 = 10_000_000;
/// A stretch without bytes that is a silence.
const SILENCE_NS: i64 = 30_000_000;
/// Most windows of 10 ms carry no more than this rank: shorter stalls and what follows them are among the others.
const USUAL_RANK: f64 = 0.8;
/// Interrupt coalescing and link aggregation bring packets together: so much more than that in 10 ms is beyond the path.
const MORE_THAN_USUAL: f64 = 1.25;
/// And so much time ahead of the path. Aggregation of common links holds packets for less (802.11: 5.5 ms, DOCSIS: 6 ms).
const HEAD_START_NS: i64 = 10_000_000;
/// A backlog is no less than what a sender may always send at once: ten segments (RFC 6928).
pub const LEAST_BYTES: u64 = 14_600;

/// The fastest that a path has been seen to carry a direction's data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathRate {
    /// Bytes in 10 ms that a burst of it may well have.
    short_bytes: f64,
    /// Most bytes in any 100 ms, for each nanosecond.
    bytes_per_ns: f64,
}

impl PathRate {
    /// From bins of equal length and what is counted of them; none if the direction never ran for 100 ms without a silence.
    pub fn of(bins: &[Bin], bin_ns: i64, bytes: impl Fn(&Bin) -> u32) -> Option<Self> {
        let windows = |window_ns: i64| {
            let window = usize::try_from((window_ns + bin_ns - 1) / bin_ns.max(1)).unwrap_or(1).max(1);
            (windows(bins, bin_ns, window, &bytes), (window as i64 * bin_ns) as f64)
        };
        let ((mut short, short_ns), (long, long_ns)) = (windows(SHORT_NS), windows(LONG_NS));
        let longest = *long.iter().max()?;
        let rank = ((short.len() - 1) as f64 * USUAL_RANK) as usize;
        let usual = *short.select_nth_unstable(rank).1;
        (longest > 0).then(|| Self {
            short_bytes: usual as f64 * SHORT_NS as f64 / short_ns,
            bytes_per_ns: longest as f64 / long_ns,
        })
    }

    /// The path cannot have carried so many bytes within this time.
    pub fn cannot_carry(&self, bytes: u64, time_ns: i64) -> bool {
        let time_ns = time_ns.max(0);
        let short = MORE_THAN_USUAL * self.short_bytes * time_ns.max(SHORT_NS) as f64 / SHORT_NS as f64;
        let long = self.bytes_per_ns * (time_ns + HEAD_START_NS) as f64;
        bytes >= LEAST_BYTES && bytes as f64 > short.max(long)
    }
}

/// Bytes in all windows of so many bins in a row, of which none lies right after a silence.
fn windows(bins: &[Bin], bin_ns: i64, window: usize, bytes: impl Fn(&Bin) -> u32) -> Vec<u64> {
    let (mut found, mut sum, mut begin, mut silent) = (Vec::new(), 0u64, 0, 0i64);
    for (index, bin) in bins.iter().enumerate() {
        if bytes(bin) == 0 {
            silent += 1;
        } else {
            if silent * bin_ns >= SILENCE_NS || index == 0 {
                // This bin and the next are the burst; a window begins after them.
                (sum, begin) = (0, index + 2);
            }
            silent = 0;
        }
        if index < begin {
            continue;
        }
        sum += u64::from(bytes(bin));
        if index - begin >= window {
            sum = sum.saturating_sub(u64::from(bytes(&bins[index - window])));
        }
        if index + 1 - begin >= window {
            found.push(sum);
        }
    }
    found
}

/// The fastest that a direction's data has been carried so far.
pub(super) fn path_rate(live: &Live, bytes: impl Fn(&Bin) -> u32) -> Option<PathRate> {
    let (bins, bin_ns) = live.rates.so_far()?;
    PathRate::of(bins, bin_ns, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bytes: &[u32]) -> Option<PathRate> {
        let bins: Vec<Bin> = bytes.iter().map(|bytes| Bin { arrived_bytes: *bytes, ..Bin::default() }).collect();
        PathRate::of(&bins, 5_000_000, |bin| bin.arrived_bytes)
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
