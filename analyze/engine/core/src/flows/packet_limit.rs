//! Requests that are answered only as fast as a token bucket lets them: at a flat rate, whatever is asked.
//!
//! Rule: docs/methods.md, "Rates of responses".

/// Fewer of either kind show no rate.
const FEWEST: usize = 20;

/// The bucket's course differs from what was seen by this part, on average, of what losses by chance would make.
const MOST_OF_CHANCE: f64 = 0.22;

/// Requests that a bucket drops or lets pass one sooner or later differ by so many.
const GRAIN: f64 = 0.65;

/// Losses by chance have to differ by at least so many, or they may look like a bucket's.
const LEAST_OF_CHANCE: f64 = 2.0;

/// Rates tried, in steps of a part in a hundred of the first guess.
const STEPS: std::ops::RangeInclusive<i32> = -40..=20;

/// Requests looked at: of more, the first.
const MOST_REQUESTS: usize = 1 << 16;

/// A limit on packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketLimit {
    /// Packets a second.
    pub rate_per_s: f64,
    /// Packets that pass at once after a pause.
    pub burst: f64,
    /// 0 to 1.
    pub confidence: f64,
    /// From when until when requests were lost to it.
    pub between_ns: [i64; 2],
}

/// Finds the limit by which requests (when each passed, and whether it had a response) were answered; none where chance may have
/// done it.
pub fn find(requests: &[(i64, bool)]) -> Option<PacketLimit> {
    let requests = requests.get(..MOST_REQUESTS).unwrap_or(requests);
    let (start_ns, _) = *requests.first()?;
    let seconds = |time_ns: i64| time_ns.saturating_sub(start_ns) as f64 / 1e9;
    let lost = || requests.iter().filter(|(_, passed)| !passed).map(|(time_ns, _)| *time_ns);
    let (first_ns, last_ns) = (lost().min()?, lost().max()?);
    let passed = requests.iter().filter(|(_, passed)| *passed).count();
    let lost_count = requests.len() - passed;
    let before = requests.iter().take_while(|(time_ns, _)| *time_ns < first_ns).count();
    let during = requests.iter().filter(|(time_ns, passed)| *passed && (first_ns..last_ns).contains(time_ns)).count();
    if passed < FEWEST || lost_count < FEWEST || last_ns <= first_ns || during == 0 {
        return None;
    }
    let guess = during as f64 / (seconds(last_ns) - seconds(first_ns));
    let tried = STEPS.map(|step| {
        let rate = guess * (1.0 + f64::from(step) / 100.0);
        // The bucket was empty when the first one was lost.
        let burst = (before as f64 - rate * seconds(first_ns)).max(1.0);
        let mean_square = course(requests, rate, burst, seconds);
        (mean_square, rate, burst)
    });
    let (mean_square, rate, burst) = tried.min_by(|(one, ..), (other, ..)| one.total_cmp(other))?;
    let share = passed as f64 / requests.len() as f64;
    // Mean square of a random walk that is tied down at both ends.
    let by_chance = requests.len() as f64 * share * (1.0 - share) / 6.0;
    let deviation = mean_square.sqrt();
    let allowed = (MOST_OF_CHANCE * by_chance.sqrt()).max(GRAIN);
    let confidence = (1.0 - 0.5 * deviation / by_chance.sqrt()).clamp(0.0, 0.98);
    let between_ns = [first_ns, last_ns];
    let is_found = by_chance.sqrt() >= LEAST_OF_CHANCE && deviation <= allowed;
    is_found.then_some(PacketLimit { rate_per_s: rate, burst, confidence, between_ns })
}

/// How far the sum of what passed is from what a bucket would have let pass: mean square.
fn course(requests: &[(i64, bool)], rate: f64, burst: f64, seconds: impl Fn(i64) -> f64) -> f64 {
    let (mut tokens, mut last_s) = (burst, 0.0);
    let (mut difference, mut sum) = (0.0f64, 0.0);
    for &(time_ns, passed) in requests {
        let now_s = seconds(time_ns);
        tokens = (tokens + rate * (now_s - last_s)).min(burst);
        last_s = now_s;
        if tokens >= 1.0 {
            tokens -= 1.0;
            difference += 1.0;
        }
        difference -= f64::from(u8::from(passed));
        sum += difference * difference;
    }
    sum / requests.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policed(rate: f64, burst: f64, gaps_ns: impl Iterator<Item = i64>) -> Vec<(i64, bool)> {
        let (mut tokens, mut time_ns) = (burst, 0);
        let pass = |gap_ns| {
            time_ns += gap_ns;
            tokens = f64::min(tokens + rate * gap_ns as f64 / 1e9, burst);
            let passed = tokens >= 1.0;
            tokens -= f64::from(u8::from(passed));
            (time_ns, passed)
        };
        gaps_ns.map(pass).collect()
    }

    /// Numbers without a pattern, 0 to 1.
    fn random() -> impl Iterator<Item = f64> {
        let next =
            |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        std::iter::successors(Some(7u64), next).map(|state| (state >> 11) as f64 / (1u64 << 53) as f64)
    }

    #[test]
    fn a_bucket_is_found_with_its_rate_and_burst() {
        for (rate, burst, gap_ns) in [(100.0, 20.0, 3_333_333), (5.0, 3.0, 50_000_000), (1024.0, 50.0, 500_000)] {
            let limit = find(&policed(rate, burst, std::iter::repeat_n(gap_ns, 900))).expect("a limit");
            assert!((limit.rate_per_s / rate - 1.0).abs() < 0.05, "{limit:?}");
            assert!((limit.burst - burst).abs() <= 5.0, "{limit:?}");
        }
    }

    #[test]
    fn requests_at_random_times_show_it_as_well() {
        let gaps = random().take(2000).map(|one| (one * 8e6) as i64);
        let limit = find(&policed(100.0, 10.0, gaps)).expect("a limit");
        assert!((limit.rate_per_s / 100.0 - 1.0).abs() < 0.05, "{limit:?}");
    }

    #[test]
    fn losses_by_chance_are_no_limit() {
        let mut numbers = random();
        let limits = (0..200).filter_map(|_| {
            let passes = (&mut numbers).take(600).zip(0..).map(|(one, place)| (place * 3_000_000, one < 0.4));
            find(&passes.collect::<Vec<_>>())
        });
        assert_eq!(limits.count(), 0);
    }

    #[test]
    fn an_outage_is_no_limit() {
        let requests: Vec<_> = (0..600).map(|place| (place * 3_000_000, !(200..400).contains(&place))).collect();
        assert_eq!(find(&requests), None);
    }
}
