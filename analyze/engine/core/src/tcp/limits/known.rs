//! A round with what the rules ask of it. Each is asked for its own sake and for that of all its neighbours, so the answers
//! are worked out once: when it ends, and again when a gap changes it.
//!
//! Rule: docs/verdict.md, "Rounds without a rate".

use std::ops::Deref;

use crate::tcp::limits::round::Round;

/// Share of a round from which on it was idle, and share up to which it still tells a rate.
pub(crate) const IDLE_SHARE: f64 = 0.05;

const MOST_IDLE: (u64, u64) = (1, 4);

/// Share of a round without data from which on the path was not busy in it.
const LONG_PAUSE: f64 = 0.25;

/// What a round delivers during a frame's time, more than the frame, without having paused: it is a mean over the round.
const FRAME_SLACK: f64 = 1.25;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct KnownRound {
    round: Round,
    rate_bytes_s: f64,
    round_trip_ns: Option<u64>,
    pauses: bool,
    tells_rate: bool,
}

impl From<Round> for KnownRound {
    fn from(round: Round) -> Self {
        Self {
            round,
            rate_bytes_s: round.rate_bytes_s(),
            round_trip_ns: round.round_trip_ns(),
            pauses: pauses(&round),
            tells_rate: tells_rate(&round),
        }
    }
}

impl Deref for KnownRound {
    type Target = Round;

    #[inline]
    fn deref(&self) -> &Round {
        &self.round
    }
}

impl KnownRound {
    /// The only way to change a round, so that no answer is left from before.
    pub fn change(&mut self, change: impl FnOnce(&mut Round)) {
        let mut round = self.round;
        change(&mut round);
        *self = Self::from(round);
    }

    /// [`Round::rate_bytes_s`].
    #[inline]
    pub fn rate_bytes_s(&self) -> f64 {
        self.rate_bytes_s
    }

    /// [`Round::round_trip_ns`].
    #[inline]
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.round_trip_ns
    }

    /// [`pauses`].
    #[inline]
    pub fn pauses(&self) -> bool {
        self.pauses
    }

    /// [`tells_rate`].
    #[inline]
    pub fn tells_rate(&self) -> bool {
        self.tells_rate
    }
}

/// No data came for a good part of the round: its path was not busy. A frame of many segments keeps it busy for as long as
/// they take, and comes all at once.
pub fn pauses(round: &Round) -> bool {
    let gap_ns = round.longest_gap_ns as f64;
    let within_gap_bytes = || gap_ns / 1e9 * round.rate_bytes_s();
    let offloaded = round.data_packets > 1 && round.largest_frame > u64::from(round.segment_size);
    gap_ns >= LONG_PAUSE * round.duration_ns() as f64
        && !(offloaded && within_gap_bytes() <= FRAME_SLACK * round.largest_frame as f64)
}

/// Nothing stalled, and the application did not pause for long: what was delivered is what the path or a window allowed.
pub fn tells_rate(round: &Round) -> bool {
    let (share, of) = MOST_IDLE;
    !round.disturbed && round.idle_ns.saturating_mul(of) <= round.duration_ns().saturating_mul(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round() -> KnownRound {
        let round = Round { end_ns: 10_000_000, delivered_bytes: 1000, longest_gap_ns: 2_000_000, ..Round::default() };
        round.into()
    }

    #[test]
    fn what_a_gap_takes_out_of_a_round_changes_all_answers() {
        let mut round = round();
        assert!((round.rate_bytes_s(), round.pauses(), round.tells_rate()) == (100_000.0, false, true));
        round.change(|round| (round.cut_ns, round.idle_ns) = (5_000_000, 2_000_000));
        assert!((round.rate_bytes_s(), round.pauses(), round.tells_rate()) == (200_000.0, true, false));
    }

    #[test]
    fn a_round_in_which_a_host_stood_still_tells_no_rate() {
        let mut round = round();
        round.change(|round| round.disturbed = true);
        assert!(!round.tells_rate());
    }
}
