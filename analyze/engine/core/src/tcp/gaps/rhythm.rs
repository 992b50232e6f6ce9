//! The rhythm of a scheduler: a processor quota and credit schedulers let a host run again at multiples of a period, exactly.
//!
//! How it works: the ends of a host's silences are folded at each period that schedulers have. Where they are all at one place
//! of it (Rayleigh's test, with a correction for the number of periods), that is no chance. Only silences count in which the host
//! owed something that its kernel does at once, so that no application, however regular, is taken for a host.
//!
//! Rule: docs/methods.md, "Rhythm of a scheduler".

use std::f64::consts::TAU;

use crate::tcp::stats::buckets::Span;

/// A silence of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSilence {
    /// When its last packet before it passed.
    pub start_ns: i64,
    /// When its next packet did.
    pub end_ns: i64,
    /// It owed something for long that a kernel that runs does at once.
    pub owed: bool,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    /// Time after which the host runs again.
    pub period_ns: i64,
    /// A moment at which it ran again; any other is so many periods away.
    pub wakes_ns: i64,
    /// Silences in which it owed something count for so many that ended there (Rayleigh's statistic).
    pub weight: f64,
}

/// Periods of schedulers, milliseconds: Linux' bandwidth control (100, or as it is set), credit schedulers of hypervisors (30).
/// Radio frames have 10, 20, 40 and 80 on the path as well, delayed acknowledgements 200, applications a second and its parts.
const PERIODS_MS: [i64; 7] = [25, 30, 50, 60, 75, 100, 150];

/// The longest of them.
pub const LONGEST_NS: i64 = PERIODS_MS[PERIODS_MS.len() - 1] * 1_000_000;

/// By chance one of the periods shows this weight in one of 750 transfers: a period alone in one of e^8.6.
const LEAST_WEIGHT: f64 = 8.6;

/// The weight of so many silences is at most their number: fewer show no period.
const FEWEST_OWED: usize = 9;

/// Where all silences end at one place, this is 1.
const LEAST_CONCENTRATION: f64 = 0.65;

/// Silences of round trips, in which a queue makes it owe something, dilute that; so surely it may be less.
const SURE_WEIGHT: f64 = 20.0;

const LEAST_WHERE_SURE: f64 = 0.4;

/// Of periods that explain about as much the longest is the true one: its parts explain what it does.
const ABOUT_AS_MUCH: f64 = 0.85;

/// Shorter silences, and those shorter than such a share of the period, tell nothing of it.
pub const SHORTEST_NS: i64 = 4_000_000;

const SHORTEST_SHARE: f64 = 0.15;

/// Who runs in each period is not silent for so many of them: something else has ended a longer silence.
const MOST_PERIODS: i64 = 4;

/// Ends are this share of the period around the place, or so far.
const TOLERANCE: f64 = 0.06;

const LEAST_TOLERANCE_NS: f64 = 2e6;

/// Silences in which it owed something are at least one of so many at the place.
const OWED_DIVISOR: usize = 4;

impl Rhythm {
    /// Of silences of one host in time order.
    pub fn of(silences: &[HostSilence]) -> Option<Self> {
        let owed = || silences.iter().filter(|silence| silence.owed).copied();
        if owed().count() < FEWEST_OWED {
            return None;
        }
        let owed: Vec<HostSilence> = owed().collect();
        let folded: Vec<(Fold, i64)> = PERIODS_MS.map(|ms| (Fold::of(&owed, ms * 1_000_000), ms * 1_000_000)).into();
        let most =
            folded.iter().map(|(fold, _)| fold.concentration()).filter(|most| most.is_finite()).fold(0.0, f64::max);
        let as_much = |fold: &Fold| fold.concentration() >= ABOUT_AS_MUCH * most;
        let (fold, period_ns) = folded.into_iter().rev().find(|(fold, _)| fold.is_concentrated() && as_much(fold))?;
        let first_ns = owed.first()?.end_ns;
        let rhythm =
            Self { period_ns, wakes_ns: first_ns.saturating_add(fold.place_ns(period_ns)), weight: fold.weight() };
        let ended: Vec<&HostSilence> = silences.iter().filter(|silence| rhythm.ends(silence)).collect();
        let with_debt = ended.iter().filter(|silence| silence.owed).count();
        (with_debt * OWED_DIVISOR >= ended.len()).then_some(rhythm)
    }

    /// The silence ends when the host runs again.
    pub fn ends(&self, silence: &HostSilence) -> bool {
        let off_ns = (silence.end_ns.saturating_sub(self.wakes_ns) + self.period_ns / 2).rem_euclid(self.period_ns)
            - self.period_ns / 2;
        tells(silence, self.period_ns)
            && (off_ns.abs() as f64) <= (TOLERANCE * self.period_ns as f64).max(LEAST_TOLERANCE_NS)
    }

    /// When the host stalled: in no more than a period of what it did not owe.
    pub fn stops(&self, silences: &[HostSilence]) -> Vec<Span> {
        let span = |silence: &HostSilence| {
            let latest_ns = silence.end_ns.saturating_sub(self.period_ns);
            [if silence.owed { silence.start_ns } else { silence.start_ns.max(latest_ns) }, silence.end_ns]
        };
        silences.iter().filter(|silence| self.ends(silence)).map(span).collect()
    }
}

fn tells(silence: &HostSilence, period_ns: i64) -> bool {
    let length_ns = silence.end_ns.saturating_sub(silence.start_ns);
    (SHORTEST_NS..=MOST_PERIODS * period_ns).contains(&length_ns)
        && length_ns as f64 >= SHORTEST_SHARE * period_ns as f64
}

/// Ends of silences as directions on a circle, each by the share of a period that the silence took.
#[derive(Debug, Clone, Copy, Default)]
struct Fold {
    east: f64,
    north: f64,
    weights: f64,
    squares: f64,
}

impl Fold {
    fn of(silences: &[HostSilence], period_ns: i64) -> Self {
        let Some(first) = silences.first() else { return Self::default() };
        let mut fold = Self::default();
        for silence in silences.iter().filter(|silence| tells(silence, period_ns)) {
            let length_ns = silence.end_ns.saturating_sub(silence.start_ns).min(period_ns);
            let weight = length_ns as f64 / period_ns as f64;
            let since_ns = silence.end_ns.saturating_sub(first.end_ns).rem_euclid(period_ns);
            let (sine, cosine) = (since_ns as f64 / period_ns as f64 * TAU).sin_cos();
            fold.east += weight * cosine;
            fold.north += weight * sine;
            fold.weights += weight;
            fold.squares += weight * weight;
        }
        fold
    }

    /// 0: ends are everywhere; 1: all are at one place.
    fn concentration(&self) -> f64 {
        if self.weights > 0.0 { self.east.hypot(self.north) / self.weights } else { 0.0 }
    }

    /// Rayleigh's statistic: chance reaches it with a probability of e to the minus of this.
    fn weight(&self) -> f64 {
        if self.squares > 0.0 { (self.east * self.east + self.north * self.north) / self.squares } else { 0.0 }
    }

    fn is_concentrated(&self) -> bool {
        let least = if self.weight() >= SURE_WEIGHT { LEAST_WHERE_SURE } else { LEAST_CONCENTRATION };
        self.weight() >= LEAST_WEIGHT && self.concentration() >= least
    }

    fn place_ns(&self, period_ns: i64) -> i64 {
        (self.north.atan2(self.east) / TAU * period_ns as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    /// Random numbers 0 to 1 from a seed (Knuth's MMIX).
    fn dice(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        }
    }

    fn silence(end_ms: f64, length_ms: f64, owed: bool) -> HostSilence {
        let end_ns = (end_ms * 1e6) as i64;
        HostSilence { start_ns: end_ns - (length_ms * 1e6) as i64, end_ns, owed }
    }

    #[test]
    fn stops_that_end_at_multiples_of_a_quotas_period_are_a_rhythm_with_all_that_end_there() {
        let mut roll = dice(7);
        let mut silences = Vec::new();
        for number in 0..40 {
            let at_ms = f64::from(number) * 100.0 + 33.0;
            silences.push(silence(at_ms + 4.0 * roll(), 60.0 + 30.0 * roll(), roll() < 0.5));
            silences.push(silence(at_ms + 10.0 + 20.0 * roll(), 5.0, false));
        }
        let rhythm = Rhythm::of(&silences).expect("a rhythm");
        assert_eq!(rhythm.period_ns, 100 * MILLISECOND);
        assert_eq!(rhythm.stops(&silences).len(), 40);
    }

    #[test]
    fn an_application_that_owes_nothing_has_no_rhythm_of_a_host_however_regular_it_is() {
        let silences: Vec<HostSilence> =
            (0..100).map(|n| silence(f64::from(n) * 100.0, 90.0, n % 10 == 0 && n < 40)).collect();
        assert_eq!(Rhythm::of(&silences), None);
    }

    #[test]
    fn a_round_trip_that_is_nearly_a_period_is_none() {
        let silences: Vec<HostSilence> = (0..60).map(|n| silence(f64::from(n) * 102.4, 90.0, true)).collect();
        assert_eq!(Rhythm::of(&silences), None);
    }

    #[test]
    fn chance_makes_no_rhythm_in_one_of_a_hundred_transfers() {
        let found = (0..400).filter(|seed| {
            let mut roll = dice(*seed);
            let mut at_ms = 0.0;
            let silences: Vec<HostSilence> = (0..30)
                .map(|_| {
                    at_ms += 40.0 + 300.0 * roll();
                    silence(at_ms, 30.0 + 10.0 * roll(), true)
                })
                .collect();
            Rhythm::of(&silences).is_some()
        });
        assert!(found.count() <= 4);
    }

    #[test]
    fn few_stops_are_none() {
        let silences: Vec<HostSilence> = (0..6).map(|n| silence(f64::from(n) * 100.0, 80.0, true)).collect();
        assert_eq!((Rhythm::of(&silences), Rhythm::of(&[])), (None, None));
    }
}
