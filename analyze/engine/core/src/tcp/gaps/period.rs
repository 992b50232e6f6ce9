//! Do stalls come at regular intervals? A processor quota and credit scheduling make them do so (docs/methods.md, section
//! 7).
//!
//! The autocorrelation of a list of instants: for each interval, the share of stalls after which another one begins that
//! much later. Where most are followed so, and far more than chance would bring about, that is the period.
//!
//! Rule: docs/methods.md, "Period of stalls".

/// Why there is no period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPeriod {
    /// Fewer than [`FEWEST_STALLS`].
    FewStalls,
    /// They come irregularly.
    Irregular,
}

impl NoPeriod {
    /// The reason, as a key of [`crate::tcp::summary::not_measured::REASONS`].
    pub fn reason(self) -> &'static str {
        match self {
            Self::FewStalls => "few_stalls",
            Self::Irregular => "no_period",
        }
    }
}

/// So few intervals are regular by chance.
pub const FEWEST_STALLS: usize = 6;

/// Share of the stalls that must be followed by another one after the period.
const FOLLOWED_SHARE: f64 = 0.6;

/// What chance may bring about at most of that.
const CHANCE_SHARE: f64 = 0.3;

/// Intervals count as equal within this share, or within 5 ms.
const TOLERANCE: f64 = 0.05;

const LEAST_TOLERANCE_NS: f64 = 5e6;

/// The period in which instants (in rising order) come.
///
/// # Errors
/// Why there is none.
pub fn period_ns(starts_ns: &[i64]) -> Result<u64, NoPeriod> {
    let (Some(first), Some(last)) = (starts_ns.first(), starts_ns.last()) else { return Err(NoPeriod::FewStalls) };
    if starts_ns.len() < FEWEST_STALLS {
        return Err(NoPeriod::FewStalls);
    }
    let span_ns = last.saturating_sub(*first) as f64;
    let mut intervals: Vec<f64> = starts_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    intervals.sort_unstable_by(f64::total_cmp);
    let candidates = intervals.iter().copied().filter(|&interval| interval > 0.0);
    let mut best: Option<(f64, f64)> = None;
    for candidate in candidates {
        let (share, mean) = followed(starts_ns, candidate, *last);
        let chance = starts_ns.len() as f64 * 2.0 * tolerance_ns(candidate) / span_ns;
        if share >= FOLLOWED_SHARE && chance <= CHANCE_SHARE && best.is_none_or(|(known, _)| share > known + 0.1) {
            best = Some((share, mean));
        }
    }
    best.map(|(_, mean)| mean as u64).ok_or(NoPeriod::Irregular)
}

fn tolerance_ns(interval_ns: f64) -> f64 {
    (TOLERANCE * interval_ns).max(LEAST_TOLERANCE_NS)
}

/// Share of the instants that are followed by another after about this time, and the mean of these times. Those so late
/// that nothing could follow do not count.
fn followed(starts_ns: &[i64], interval_ns: f64, last_ns: i64) -> (f64, f64) {
    let tolerance = tolerance_ns(interval_ns);
    let (mut asked, mut found, mut sum) = (0u32, 0u32, 0.0);
    for &start in starts_ns.iter().filter(|&&start| (last_ns - start) as f64 >= interval_ns - tolerance) {
        asked += 1;
        let from = start.saturating_add((interval_ns - tolerance) as i64);
        let next = starts_ns.partition_point(|&other| other < from);
        if let Some(distance) = starts_ns.get(next).map(|other| (other - start) as f64)
            && distance <= interval_ns + tolerance
            && distance > 0.0
        {
            found += 1;
            sum += distance;
        }
    }
    (f64::from(found) / f64::from(asked.max(1)), sum / f64::from(found.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    #[test]
    fn stalls_each_hundred_milliseconds_have_that_period_though_one_is_missing() {
        let starts: Vec<i64> = (0..20).filter(|n| *n != 7).map(|n| (n * 100 + n % 3) * MILLISECOND).collect();
        let period = period_ns(&starts).unwrap_or(0) as f64 / 1e6;
        assert!((period - 100.0).abs() < 1.0, "{period} ms");
    }

    #[test]
    fn irregular_stalls_have_none() {
        let mut state = 1u64;
        let mut time = 0i64;
        let starts: Vec<i64> = (0..60)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                time += (20 + (state >> 33) % 900) as i64 * MILLISECOND;
                time
            })
            .collect();
        assert_eq!(period_ns(&starts), Err(NoPeriod::Irregular));
    }

    #[test]
    fn five_stalls_are_too_few() {
        let starts: Vec<i64> = (0..5).map(|n| n * 100 * MILLISECOND).collect();
        assert_eq!(period_ns(&starts), Err(NoPeriod::FewStalls));
        assert_eq!(period_ns(&[]), Err(NoPeriod::FewStalls));
    }
}
