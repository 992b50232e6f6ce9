//! The timestamp clock of one sender (RFC 7323), and steps of the capture clock against it (docs/methods.md, section 2 rules
//! 5 and 6).
//!
//! Rule: docs/methods.md, "Timestamps as a clock".

use crate::tcp::stats::sequence::serial_difference;

/// Rates that stacks are known to use, ticks per second.
const KNOWN_RATES: [f64; 7] = [1000.0, 100.0, 250.0, 300.0, 10.0, 2.0, 1_000_000.0];

/// Steps below this are hidden by queues and scheduling; so is what lies between packets that close by both clocks.
const SMALLEST_STEP_NS: i64 = 50_000_000;

/// The rate is estimated over at least this time and so many ticks: known rates lie far apart, but for 250 and 300 Hz. While both
/// may be, no step is seen.
const SHORTEST_BASE_NS: i64 = 100_000_000;

const FEWEST_TICKS: i32 = 20;

/// Within less time jitter could be taken for another of the known rates, the nearest of which lies 2.5 times as far. From here
/// on they are told apart, though not yet from rates that are not known: enough to say how long a pause was, too little to say
/// that a clock was set.
const SHORTEST_PROVISIONAL_BASE_NS: i64 = 40_000_000;

/// So many ticks are no step at any usual rate.
const FEW_TICKS: u32 = 5;

/// What queues and scheduling may add to the time over which the rate is estimated.
const JITTER_NS: f64 = 10_000_000.0;

/// While a queue grows, as in slow start, a clock seems slower than it is by this share of a known rate at most. Enough to say how
/// long a pause was; after a second no queue slows it so much any more.
const SLOWER_BEHIND_QUEUE: f64 = 0.35;

const LONGEST_QUEUE_GROWTH_NS: i64 = 1_000_000_000;

/// A clock that is ahead of time by such a part of it, one in so many, has shorter ticks than was thought.
const AHEAD_DIVISOR: i64 = 4;

/// TSval against capture time, for one direction.
#[derive(Debug, Clone, Copy)]
pub struct TimestampClock {
    first: Option<(i64, u32)>,
    last: (i64, u32),
    tick_ns: Option<f64>,
    /// Ticks in the smallest step, once the rate is known; never less than [`FEW_TICKS`].
    few_ticks: u32,
}

impl Default for TimestampClock {
    fn default() -> Self {
        // Further from any packet than the smallest step.
        Self { first: None, last: (i64::MIN / 2, 0), tick_ns: None, few_ticks: FEW_TICKS }
    }
}

impl TimestampClock {
    /// Takes a packet; returns by how much the capture clock ran ahead of the timestamp clock since the packet before, if
    /// that is more than a queue or a tick can explain.
    #[inline(always)]
    pub fn add(&mut self, time_ns: i64, tsval: u32) -> Option<i64> {
        let previous = std::mem::replace(&mut self.last, (time_ns, tsval));
        let elapsed = time_ns.wrapping_sub(previous.0);
        // Neither clock went far: neither stepped.
        if (0..SMALLEST_STEP_NS).contains(&elapsed) && tsval.wrapping_sub(previous.1) <= self.few_ticks {
            return None;
        }
        self.compare(previous, elapsed)
    }

    /// Time and TSval of the first packet.
    pub fn first(&self) -> Option<(i64, u32)> {
        self.first
    }

    /// The newest TSval; none before the first.
    pub fn newest(&self) -> Option<u32> {
        self.first.map(|_| self.last.1)
    }

    /// Time of the newest packet with a TSval; none before the first.
    pub fn newest_ns(&self) -> Option<i64> {
        self.first.map(|_| self.last.0)
    }

    /// Time that passes from the newest TSval to this one by the side's own clock; none if its rate is not known.
    pub fn since_newest_ns(&self, tsval: u32) -> Option<i64> {
        self.between_ns(self.last.1, tsval)
    }

    /// One step of the side's own clock; none if its rate is not known.
    pub fn tick_ns(&self) -> Option<f64> {
        self.tick_ns
    }

    /// Time between two TSvals by the side's own clock; none if its rate is not known.
    pub fn between_ns(&self, from: u32, to: u32) -> Option<i64> {
        let tick_ns = self
            .tick_ns
            .or_else(|| estimate(self.first?, self.last, SHORTEST_PROVISIONAL_BASE_NS, SLOWER_BEHIND_QUEUE))?;
        Some((f64::from(serial_difference(to, from)) * tick_ns) as i64)
    }

    /// How much later than the first packet the newest came, by the side's own clock: a queue that has grown since then, and what two clocks
    /// drift apart. None while their rate is not known, or was mistaken.
    pub fn late_ns(&self) -> Option<i64> {
        let first = self.first?;
        let tick_ns = self.tick_ns.or_else(|| estimate(first, self.last, LONGEST_QUEUE_GROWTH_NS, 0.0))?;
        let stamped_ns = (f64::from(serial_difference(self.last.1, first.1)) * tick_ns) as i64;
        let passed_ns = self.last.0.saturating_sub(first.0);
        // While a queue grew, longer ticks seemed to fit.
        let is_ahead = stamped_ns > passed_ns.saturating_add(passed_ns / AHEAD_DIVISOR);
        (!is_ahead).then(|| passed_ns.saturating_sub(stamped_ns))
    }

    /// Could the side have sent this TSval? Some middleboxes and experimental kernels put other things into the echo.
    pub fn may_have_sent(&self, tsval: u32) -> bool {
        self.first.is_none_or(|(_, first)| serial_difference(tsval, first) >= 0)
    }

    /// Rule: docs/methods.md, "Clock steps".
    #[cold]
    fn compare(&mut self, previous: (i64, u32), elapsed: i64) -> Option<i64> {
        let Some(first) = self.first else {
            self.first = Some(self.last);
            return None;
        };
        if self.tick_ns.is_none() {
            self.tick_ns = estimate(first, previous, SHORTEST_BASE_NS, 0.0);
            let few_ticks = self.tick_ns.map_or(0, |tick_ns| (SMALLEST_STEP_NS as f64 / tick_ns) as u32);
            self.few_ticks = few_ticks.max(FEW_TICKS);
        }
        let tick_ns = self.tick_ns?;
        let by_timestamps = f64::from(serial_difference(self.last.1, previous.1)) * tick_ns;
        let ahead = elapsed as f64 - by_timestamps;
        (ahead.abs() > (SMALLEST_STEP_NS as f64).max(10.0 * tick_ns)).then_some(ahead as i64)
    }
}

/// Nanoseconds per tick between two packets at least so far apart, if it is one of the known rates within 10 % and what jitter adds,
/// or slower than it by the share `slower` at most.
///
/// Rule: docs/methods.md, "Ticks".
fn estimate(first: (i64, u32), last: (i64, u32), shortest_base_ns: i64, slower: f64) -> Option<f64> {
    let elapsed = last.0.checked_sub(first.0)?;
    if elapsed < shortest_base_ns {
        return None;
    }
    let ticks = serial_difference(last.1, first.1);
    if ticks < FEWEST_TICKS {
        return None;
    }
    let rate = f64::from(ticks) * 1e9 / elapsed as f64;
    let tolerance = 0.1 + JITTER_NS / elapsed as f64;
    let slower = if elapsed < LONGEST_QUEUE_GROWTH_NS { slower } else { 0.0 };
    let fits = |known: &f64| (1.0 - tolerance.max(slower)..1.0 + tolerance).contains(&(rate / known));
    let mut fitting = KNOWN_RATES.into_iter().filter(fits);
    let (first, other) = (fitting.next()?, fitting.next());
    let nearest = other.filter(|other| (rate - other).abs() < (rate - first).abs()).unwrap_or(first);
    (other.is_none() || shortest_base_ns < SHORTEST_BASE_NS).then_some(1e9 / nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_of_what_was_never_sent_is_known() {
        let mut clock = TimestampClock::default();
        assert!(clock.may_have_sent(5));
        clock.add(0, 1000);
        assert!(clock.may_have_sent(1000) && clock.may_have_sent(2000) && !clock.may_have_sent(325));
    }

    const MILLISECOND: i64 = 1_000_000;

    #[test]
    fn a_step_soon_after_the_first_packets_shows() {
        let mut clock = TimestampClock::default();
        steady(&mut clock, 8, 0);
        assert_eq!(clock.add(160 * MILLISECOND + 300 * MILLISECOND, 160), Some(300 * MILLISECOND));
    }

    #[test]
    fn a_step_back_into_a_longer_pause_shows() {
        let mut clock = TimestampClock::default();
        steady(&mut clock, 200, 0);
        assert_eq!(clock.add(4080 * MILLISECOND - 70 * MILLISECOND, 4080), Some(-70 * MILLISECOND));
    }

    #[test]
    fn a_young_clock_tells_time_before_it_tells_steps() {
        let young = |until: i64, rate_hz: i64| {
            let mut clock = TimestampClock::default();
            (0..=until).for_each(|at| {
                clock.add(at * MILLISECOND, (at * rate_hz / 1000) as u32);
            });
            clock.since_newest_ns((until * rate_hz / 1000 + rate_hz / 10) as u32).map(|time_ns| time_ns / MILLISECOND)
        };
        assert_eq!(
            [young(39, 1000), young(40, 1000), young(79, 250), young(80, 250)],
            [None, Some(100), None, Some(100)]
        );
        assert_eq!(young(60, 600), None);
        // Behind a growing queue it seems slow, though not for long.
        assert_eq!([young(300, 760), young(300, 190), young(2000, 760)], [Some(76), Some(76), None]);
    }

    fn steady(clock: &mut TimestampClock, count: i64, step_ns: i64) -> Vec<i64> {
        (0..count).filter_map(|index| clock.add(index * 20 * MILLISECOND + step_ns, (index * 20) as u32)).collect()
    }

    #[test]
    fn a_steady_clock_has_no_step() {
        assert_eq!(steady(&mut TimestampClock::default(), 200, 0), []);
    }

    #[test]
    fn a_step_of_the_capture_clock_shows_by_its_size() {
        let mut clock = TimestampClock::default();
        steady(&mut clock, 200, 0);
        assert_eq!(clock.add(4000 * MILLISECOND + 700 * MILLISECOND, 4000), Some(700 * MILLISECOND));
        assert_eq!(clock.add(4020 * MILLISECOND - 500 * MILLISECOND, 4020), Some(-1200 * MILLISECOND));
    }

    #[test]
    fn three_hundred_ticks_a_second_are_no_steps_of_two_hundred_and_fifty() {
        let mut clock = TimestampClock::default();
        let at = |ms: i64| (ms * MILLISECOND, (ms * 3 / 10) as u32);
        let steps = [0, 43, 82, 110, 122, 5_000, 9_000, 9_040].map(|ms| clock.add(at(ms).0, at(ms).1));
        assert_eq!(steps, [None; 8]);
        assert_eq!(clock.tick_ns(), Some(1e9 / 300.0));
        assert_eq!(clock.add(at(9_100).0 + 700 * MILLISECOND, at(9_100).1), Some(700 * MILLISECOND));
    }

    #[test]
    fn a_queue_that_grows_shows_by_how_late_packets_are() {
        let mut clock = TimestampClock::default();
        let late_ms = |clock: &TimestampClock| clock.late_ns().map(|late_ns| late_ns / MILLISECOND);
        steady(&mut clock, 3, 0);
        assert_eq!(late_ms(&clock), None, "the rate is not known");
        steady(&mut clock, 200, 0);
        assert_eq!(late_ms(&clock), Some(0));
        clock.add(4000 * MILLISECOND + 150 * MILLISECOND, 4000);
        assert_eq!(late_ms(&clock), Some(150));
    }

    #[test]
    fn a_clock_behind_a_queue_that_grows_for_seconds_is_not_taken_for_a_slower_one() {
        let mut clock = TimestampClock::default();
        // What was sent in 130 ms takes half a second, and a second takes a quarter more later.
        let late_ms: Vec<Option<i64>> = (0..200i64)
            .map(|index| {
                let at_ms = index * 35;
                clock.add(at_ms * MILLISECOND, (at_ms * at_ms / (at_ms + 1400).max(1)) as u32);
                clock.late_ns().map(|late_ns| late_ns / MILLISECOND)
            })
            .collect();
        assert_eq!(clock.tick_ns(), Some(1e9 / 250.0), "as it seemed at first");
        assert!(late_ms.iter().flatten().all(|late_ms| *late_ms > -200), "{late_ms:?}");
        assert_eq!(late_ms.last(), Some(&None));
    }

    #[test]
    fn an_idle_sender_is_no_step() {
        let mut clock = TimestampClock::default();
        steady(&mut clock, 200, 0);
        assert_eq!(clock.add(9000 * MILLISECOND, 9000), None);
    }

    #[test]
    fn random_timestamps_have_no_rate() {
        let mut clock = TimestampClock::default();
        let steps = (0..200)
            .filter_map(|index: i64| clock.add(index * 100 * MILLISECOND, (index as u32).wrapping_mul(2_654_435_761)))
            .count();
        assert_eq!(steps, 0);
    }
}
