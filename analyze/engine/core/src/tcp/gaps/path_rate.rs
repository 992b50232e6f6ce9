//! What the path carries where no queue stands, over short and long windows: the state behind `rate_of`.
//!
//! Rule: docs/methods.md, "Beyond the path".

use crate::tcp::rates::series::Bin;

/// Windows in which the rate is measured that a path has kept up.
const LONG_NS: i64 = 100_000_000;

/// Windows in which it is measured what a burst may have.
const SHORT_NS: i64 = 10_000_000;

/// A stretch without bytes that is a silence: what follows it is left out.
const EMPTY_STRETCH_NS: i64 = 30_000_000;

/// Most windows of 10 ms carry no more than this rank: shorter stalls and what follows them are among the others.
const USUAL_RANK: f64 = 0.8;

/// Interrupt coalescing and link aggregation bring packets together: so much more than that in 10 ms is beyond the path.
const MORE_THAN_USUAL: f64 = 1.25;

/// And so much time ahead of the path. Aggregation of common links holds packets for less (802.11: 5.5 ms, DOCSIS: 6 ms).
const HEAD_START_NS: i64 = 10_000_000;

/// A queue stands when even the shortest round trip of a stretch is so many times the shortest of all, and longer by so much
/// (docs/verdict.md, `bottleneck_bandwidth`; RFC 8289 section 3).
const QUEUE_RATIO: f64 = 1.25;

const LEAST_QUEUE_US: f64 = 500.0;

/// What counts as the fastest.
const SAME_RATE: f64 = 0.85;

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
    /// From bins of equal length, what is counted of them, and the shortest round trip in them (0 for none). None if the
    /// direction never ran for 100 ms without a silence, or no queue ever stood while it carried its most.
    pub fn of(bins: &[Bin], bin_ns: i64, bytes: impl Fn(&Bin) -> u32, loop_us: impl Fn(&Bin) -> u32) -> Option<Self> {
        let bins_in = |window_ns: i64| usize::try_from((window_ns + bin_ns - 1) / bin_ns.max(1)).unwrap_or(1).max(1);
        let (short_bins, long_bins) = (bins_in(SHORT_NS), bins_in(LONG_NS));
        let long = windows(bins, bin_ns, long_bins, &bytes);
        let longest = long.iter().map(|window| window.bytes).max().filter(|&longest| longest > 0)?;
        let shortest_us = bins.iter().map(&loop_us).filter(|&time_us| time_us > 0).min()?;
        let queue_us = (QUEUE_RATIO * f64::from(shortest_us)).max(f64::from(shortest_us) + LEAST_QUEUE_US);
        let queued = |window: &BinWindow| {
            let loops =
                bins[window.first..window.first + long_bins].iter().map(&loop_us).filter(|&time_us| time_us > 0);
            loops.min().is_some_and(|least| f64::from(least) >= queue_us)
        };
        let mut fastest = long.iter().filter(|window| window.bytes as f64 >= SAME_RATE * longest as f64);
        if !fastest.any(queued) {
            return None;
        }
        let mut short: Vec<u64> = windows(bins, bin_ns, short_bins, &bytes).iter().map(|window| window.bytes).collect();
        let rank = (short.len().saturating_sub(1) as f64 * USUAL_RANK) as usize;
        let usual = *short.select_nth_unstable(rank).1;
        Some(Self {
            short_bytes: usual as f64 * SHORT_NS as f64 / (short_bins as i64 * bin_ns) as f64,
            bytes_per_ns: longest as f64 / (long_bins as i64 * bin_ns) as f64,
        })
    }

    /// From trains of packets that the path drew out to so many bytes in a nanosecond ([`crate::tcp::rates::packet_trains`]).
    pub(crate) fn of_trains(bytes_per_ns: f64) -> Self {
        Self { short_bytes: bytes_per_ns * SHORT_NS as f64, bytes_per_ns }
    }

    /// The path cannot have carried so many bytes within this time.
    pub fn cannot_carry(&self, bytes: u64, time_ns: i64) -> bool {
        let time_ns = time_ns.max(0);
        let short = MORE_THAN_USUAL * self.short_bytes * time_ns.max(SHORT_NS) as f64 / SHORT_NS as f64;
        let long = self.bytes_per_ns * (time_ns + HEAD_START_NS) as f64;
        bytes >= LEAST_BYTES && bytes as f64 > short.max(long)
    }
}

/// What the path carries, where that decides of a backlog.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathCarries {
    /// It decides nothing.
    NotAsked,
    Unknown,
    Carries(PathRate),
}

impl PathCarries {
    pub(crate) fn asked(matters: bool, rate: impl FnOnce() -> Option<PathRate>) -> Self {
        if !matters {
            return Self::NotAsked;
        }
        rate().map_or(Self::Unknown, Self::Carries)
    }

    /// Whether any of these (bytes, and the time they came in) is more than it can carry; where that is not known, the most
    /// that it would have to, bytes in a second.
    pub(crate) fn judge(&self, backlogs: [(u64, i64); 2]) -> (bool, u64) {
        match self {
            Self::NotAsked => (false, 0),
            Self::Unknown => {
                let [whole, burst] = backlogs.map(|(bytes, time_ns)| needed_bytes_per_s(bytes, time_ns));
                (false, whole.max(burst))
            }
            Self::Carries(path) => (backlogs.iter().any(|&(bytes, time_ns)| path.cannot_carry(bytes, time_ns)), 0),
        }
    }
}

/// What a path must carry at least, in bytes a second, so that [`PathRate::cannot_carry`] is not true of so many bytes within
/// this time; 0 if they are no backlog.
pub(crate) fn needed_bytes_per_s(bytes: u64, time_ns: i64) -> u64 {
    if bytes < LEAST_BYTES {
        return 0;
    }
    let time_ns = time_ns.max(0);
    let longest_ns = (MORE_THAN_USUAL * time_ns.max(SHORT_NS) as f64).max(time_ns.saturating_add(HEAD_START_NS) as f64);
    (bytes as f64 * 1e9 / longest_ns) as u64
}

/// Bins in a row: the first of them, and the bytes in all.
struct BinWindow {
    first: usize,
    bytes: u64,
}

/// All windows of so many bins in a row, of which none lies right after a silence.
fn windows(bins: &[Bin], bin_ns: i64, window: usize, bytes: impl Fn(&Bin) -> u32) -> Vec<BinWindow> {
    let (mut found, mut sum, mut begin, mut silent) = (Vec::new(), 0u64, 0, 0i64);
    for (index, bin) in bins.iter().enumerate() {
        if bytes(bin) == 0 {
            silent += 1;
        } else {
            if silent * bin_ns >= EMPTY_STRETCH_NS || index == 0 {
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
            found.push(BinWindow { first: index + 1 - window, bytes: sum });
        }
    }
    found
}
