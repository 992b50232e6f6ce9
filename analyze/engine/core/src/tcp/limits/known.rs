//! A round with what the rules ask of it. Each is asked for its own sake and for that of all its neighbours, so the answers
//! are worked out once: when it ends, and again when a gap changes it.

use std::ops::Deref;

use super::round::Round;
use super::rules;

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
            pauses: rules::pauses(&round),
            tells_rate: rules::tells_rate(&round),
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

    /// [`rules::pauses`].
    #[inline]
    pub fn pauses(&self) -> bool {
        self.pauses
    }

    /// [`rules::tells_rate`].
    #[inline]
    pub fn tells_rate(&self) -> bool {
        self.tells_rate
    }
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
