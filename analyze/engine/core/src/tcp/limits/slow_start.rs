//! When a congestion window still grows exponentially (docs/verdict.md, `slow_start`).
//!
//! Rule: docs/verdict.md, "Growth in slow start".

use crate::tcp::limits::known::KnownRound;

/// Growth for each round that slow start shows at least, and rounds without it that end it (BBR's full pipe).
const GROWTH: f64 = 1.25;

const ROUNDS_WITHOUT_GROWTH: u8 = 3;

/// What is delivered in a round trip grows by a quarter with each round; three rounds without that end it, and were
/// not part of it. The flight alone proves nothing: it also grows into a queue.
#[derive(Debug, Clone, Copy)]
pub struct SlowStart {
    active: bool,
    /// Highest rate so far, bytes/s.
    highest: f64,
    without_growth: u8,
}

impl Default for SlowStart {
    fn default() -> Self {
        Self { active: true, highest: 0.0, without_growth: 0 }
    }
}

impl SlowStart {
    /// Takes the newest of `rounds`, and marks what belongs to slow start.
    pub fn take(&mut self, rounds: &mut [KnownRound]) {
        let Some((round, before)) = rounds.split_last_mut() else { return };
        if round.timeouts > 0 {
            (self.active, self.highest, self.without_growth) = (true, 0.0, 0);
            return;
        }
        if round.recovering_ns > 0 || round.tells_of_congestion() {
            self.active = false;
        }
        if !self.active {
            return;
        }
        round.change(|round| round.slow_start = true);
        let rate = round.rate_bytes_s();
        if rate >= GROWTH * self.highest {
            (self.highest, self.without_growth) = (rate, 0);
            return;
        }
        self.without_growth += 1;
        if self.without_growth >= ROUNDS_WITHOUT_GROWTH {
            self.active = false;
            round.change(|round| round.slow_start = false);
            before
                .iter_mut()
                .rev()
                .take(usize::from(ROUNDS_WITHOUT_GROWTH) - 1)
                .for_each(|other| other.change(|other| other.slow_start = false));
        }
    }
}
