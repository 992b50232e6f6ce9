//! A send buffer after a loss. A congestion window that has been reduced may
//! stall, too: CUBIC hardly grows near the window at which it lost (RFC 9438 section 4.2). Only how long that lasts
//! tells one from the other, so it counts for the congestion window at first, and is moved when it has lasted. Looking at
//! the flight takes its time: once in eight rounds is enough for what must last for more.
//!
//! Rule: docs/verdict.md, "A flight that stands still after a loss".

use crate::tcp::limits::background::SAME_SEGMENTS;
use crate::tcp::limits::share::Share;
use crate::tcp::limits::tally::WindowRounds;

/// CUBIC's window passes through its plateau as 0.4 segments for the third power of the seconds (RFC 9438 section 4.1): in so
/// long by six segments and a half at least, four times what counts as the same. BBR probes for more after three seconds at the
/// latest (draft-ietf-ccwg-bbr, `BBRBwProbeWait`).
const LONGEST_OF_A_WINDOW_NS: u64 = 4_000_000_000;

/// Reno grows by half a segment in each round trip where every second segment is acknowledged (RFC 5681 section 3.1): in so
/// many rounds by as much.
const MOST_ROUNDS_OF_A_WINDOW: u64 = 16;

/// Rounds from one look to the next.
const BETWEEN_LOOKS: u8 = 8;

/// What its rounds were counted for until it has lasted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// As limited by the congestion window.
    pub share: Share,
    /// The same beneath recovery.
    pub underlying: Share,
    /// Rounds.
    pub rounds: u64,
    /// Those that nothing but the congestion window limited.
    pub window_rounds: WindowRounds,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    start_ns: i64,
    flight: u64,
    counted: Counted,
    lasted: bool,
}

/// See the module: the flight at one level, since when.
#[derive(Debug, Clone, Default)]
pub struct Plateau {
    level: Option<Level>,
    since_look: u8,
}

impl Plateau {
    /// In this round the flight is to be looked at.
    pub fn is_due(&mut self) -> bool {
        self.since_look = (self.since_look + 1) % BETWEEN_LOOKS;
        self.since_look == 0
    }

    /// Around the round that begins now the flight comes up to so many bytes; none if that varies.
    pub fn look(&mut self, start_ns: i64, flight: Option<u64>, segment_size: u16) {
        let Some(flight) = flight else { return self.end() };
        let same = |level: &Level| flight.abs_diff(level.flight) as f64 <= SAME_SEGMENTS * f64::from(segment_size);
        let begun = Level { start_ns, flight, counted: Counted::default(), lasted: false };
        self.level = self.level.take().filter(same).or(Some(begun));
    }

    /// In its rounds so far it has lasted longer than a congestion window's. What an application rested in between does not count.
    pub fn has_lasted(&mut self) -> bool {
        let Some(level) = &mut self.level else { return false };
        let long = level.counted.underlying.time_ns >= LONGEST_OF_A_WINDOW_NS;
        level.lasted |= long && level.counted.rounds >= MOST_ROUNDS_OF_A_WINDOW;
        level.lasted
    }

    /// A round that looks like something else.
    pub fn end(&mut self) {
        self.level = None;
    }

    /// A round of it counts for the congestion window so far.
    pub fn count(&mut self, round: &Counted) {
        if let Some(Level { counted, .. }) = &mut self.level {
            counted.share.add(round.share);
            counted.underlying.add(round.underlying);
            counted.rounds += round.rounds;
            counted.window_rounds.add(&round.window_rounds);
        }
    }

    /// What was counted before it had lasted, and since when; once.
    pub fn take_counted(&mut self) -> Option<(i64, Counted)> {
        let level = self.level.as_mut().filter(|level| level.lasted && level.counted.rounds > 0)?;
        Some((level.start_ns, std::mem::take(&mut level.counted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// The second in which a flight, in segments at each moment, is surely no window's.
    fn told_after(rounds_in_a_second: i64, flight: impl Fn(f64) -> f64) -> Option<i64> {
        let mut plateau = Plateau::default();
        let whole = Share { time_ns: (SECOND / rounds_in_a_second) as u64, bytes: 0 };
        let round = Counted { underlying: whole, rounds: 1, ..Counted::default() };
        let mut holds = |at: i64| {
            if plateau.is_due() {
                let flight = flight(at as f64 / rounds_in_a_second as f64);
                plateau.look(at * SECOND / rounds_in_a_second, Some((flight * 1000.0) as u64), 1000);
            }
            let holds = plateau.has_lasted();
            plateau.count(&round);
            holds
        };
        (0..60 * rounds_in_a_second).find(|&at| holds(at)).map(|at| at / rounds_in_a_second)
    }

    #[test]
    fn a_flight_at_one_level_is_told_and_one_that_grows_as_reno_or_cubic_is_not() {
        assert_eq!([10, 2].map(|rounds| told_after(rounds, |_| 40.0)), [Some(4), Some(11)]);
        assert_eq!([10, 2].map(|rounds| told_after(rounds, |at_s| 40.0 + at_s * rounds as f64 / 2.0)), [None; 2]);
        assert_eq!(told_after(10, |at_s| 200.0 + 0.4 * (at_s - 5.0).powi(3)), None);
    }

    #[test]
    fn what_was_counted_before_it_had_lasted_is_handed_out_once() {
        let mut plateau = Plateau::default();
        let underlying = Share { time_ns: SECOND as u64, bytes: 7 };
        let round = Counted { share: Share { time_ns: 5, bytes: 7 }, underlying, rounds: 1, ..Counted::default() };
        plateau.look(0, Some(40_000), 1000);
        for _ in 0..17 {
            assert_eq!(plateau.take_counted(), None);
            if !plateau.has_lasted() {
                plateau.count(&round);
            }
        }
        let (start_ns, counted) = plateau.take_counted().expect("it has lasted");
        assert_eq!((start_ns, counted.share, counted.rounds), (0, Share { time_ns: 80, bytes: 112 }, 16));
        assert_eq!(plateau.take_counted(), None);
    }
}
