//! What a direction delivered over time, kept beyond its end in as few bins as its bytes are worth: connections that
//! share a limit are found by their sum.
//!
//! Rule: docs/verdict.md, "What is kept of a transfer".

use crate::tcp::rates::series::{Bin, Series};

/// Transfers of less are not kept.
const LEAST_BYTES: f64 = 128e3;

/// Nor those that took less time.
const SHORTEST_NS: i64 = 300_000_000;

/// A bin for so many bytes delivered, so that what is kept is less than a hundredth of what was captured.
const BYTES_FOR_EACH_BIN: f64 = 8192.0;

/// A short transfer has so many bins at least.
const FEWEST_BINS: usize = 64;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveredSeries {
    /// Bytes of IP packets: `arrived_bytes` is what was delivered, `acknowledged_bytes` is not used.
    pub series: Series,
    /// A full segment with its headers.
    pub segment_bytes: f64,
    /// IP bytes for each byte of payload.
    pub overhead: f64,
    /// Round trips of the bins are of the complete path.
    pub beside_sender: bool,
}

impl DeliveredSeries {
    /// Keeps what `count` takes for delivered; none if that is too little.
    pub fn of(
        series: &Series,
        count: impl Fn(&Bin) -> u32,
        segment_bytes: f64,
        overhead: f64,
        beside_sender: bool,
    ) -> Option<Self> {
        let bytes: f64 = series.bins.iter().map(|bin| f64::from(count(bin))).sum();
        let lasts_ns = (series.bins.len() as i64).saturating_mul(series.bin_ns);
        if bytes < LEAST_BYTES || lasts_ns < SHORTEST_NS || !overhead.is_finite() {
            return None;
        }
        let scaled = |bytes: u32| (f64::from(bytes) * overhead) as u32;
        let bin = |bin: &Bin| Bin {
            arrived_bytes: scaled(count(bin)),
            acknowledged_bytes: 0,
            lost_bytes: scaled(bin.lost_bytes),
            ..*bin
        };
        let mut kept = Series { bins: series.bins.iter().map(bin).collect(), ..*series };
        let most = ((bytes / BYTES_FOR_EACH_BIN) as usize).max(FEWEST_BINS);
        while kept.bins.len() > most {
            kept = kept.halved();
        }
        kept.bins.shrink_to_fit();
        Some(Self { series: kept, segment_bytes: segment_bytes * overhead, overhead, beside_sender })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn series(bins: usize, bytes: u32) -> Series {
        let bin = Bin { arrived_bytes: bytes, lost_bytes: 10, receiver_loop_us: 40, ..Bin::default() };
        Series { start_ns: 7, bin_ns: 5_000_000, bins: vec![bin; bins] }
    }

    fn kept(series: &Series) -> Option<DeliveredSeries> {
        DeliveredSeries::of(series, |bin| bin.arrived_bytes, 1448.0, 1.04, true)
    }

    #[test]
    fn what_is_kept_of_a_transfer_has_all_its_bytes_and_few_bins() {
        let kept = kept(&series(1000, 1000)).unwrap();
        assert_eq!(kept.series.bins.len(), 63);
        let sum: u32 = kept.series.bins.iter().map(|bin| bin.arrived_bytes).sum();
        assert_eq!(sum, 1_040_000);
        assert_eq!(kept.series.start_ns, 7);
        assert_eq!(kept.series.bin_ns * kept.series.bins.len() as i64, 5_040_000_000);
        assert_eq!(kept.series.bins[0].receiver_loop_us, 40);
    }

    #[test]
    fn little_data_and_short_transfers_are_not_kept() {
        assert_eq!(kept(&series(1000, 100)), None);
        assert_eq!(kept(&series(20, 100_000)), None);
    }
}
