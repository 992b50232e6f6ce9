//! Whose turn it was while nothing was in flight: the other side's until it had said its last, and from when the sender had heard that
//! the sender's ([`crate::tcp::sender::view`] tells when; docs/verdict.md, `idle`).

use crate::packet::Packet;

const NEVER: i64 = Packet::NEVER_NS;

/// See the module.
#[derive(Debug, Clone)]
pub struct Turns {
    /// Since when nothing is in flight though the window is open, and for how long something had been by then.
    idle_since_ns: i64,
    idle_since_busy_ns: u64,
    thought_ns: u64,
    /// How often the sender said something in its turn, but for the first time.
    taken: u32,
    first_asked_ns: Option<i64>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { idle_since_ns: NEVER, idle_since_busy_ns: u64::MAX, thought_ns: 0, taken: 0, first_asked_ns: None }
    }
}

impl Turns {
    /// Nothing is in flight since then, or longer: it had been for `busy_ns` in all.
    #[inline]
    pub(crate) fn idle(&mut self, since_ns: i64, busy_ns: u64) {
        if self.idle_since_busy_ns != busy_ns {
            (self.idle_since_ns, self.idle_since_busy_ns) = (since_ns, busy_ns);
        }
    }

    /// Since when nothing has been in flight, if it had been for `busy_ns` in all by then.
    pub(crate) fn idle_since_ns(&self, busy_ns: u64) -> Option<i64> {
        Some(self.idle_since_ns).filter(|_| self.idle_since_busy_ns == busy_ns)
    }

    /// The sender says something at `time_ns`, the first since it heard the other side's last at `asked_ns`, with nothing in flight.
    /// Before its first data, and between what it says, a server was asked; a client is not, and thinks in no one's time.
    pub(crate) fn taken(&mut self, time_ns: i64, asked_ns: i64, is_first_data: bool, by_server: bool) {
        self.taken = self.taken.saturating_add(u32::from(!is_first_data));
        if !by_server {
            return;
        }
        if is_first_data {
            self.first_asked_ns = Some(asked_ns.min(time_ns));
        } else if self.idle_since_ns != NEVER {
            let thought_ns = time_ns.saturating_sub(asked_ns.max(self.idle_since_ns));
            // Clocks of hostile captures jump: the sum of such times is no number that anybody needs.
            self.thought_ns = self.thought_ns.saturating_add(u64::try_from(thought_ns).unwrap_or(0));
        }
    }

    /// Time nothing was in flight though it was the sender's turn, nanoseconds; not before its first data.
    pub fn thought_ns(&self) -> u64 {
        self.thought_ns
    }

    /// How often the sender said something with nothing in flight, since it had heard the other side; its first words apart.
    pub fn taken_turns(&self) -> u32 {
        self.taken
    }

    /// When the sender had heard the last of the other side before its first data; none if nothing told it.
    pub fn first_asked_ns(&self) -> Option<i64> {
        self.first_asked_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_add_up_to_more_than_a_number_holds_stop_at_the_largest() {
        let mut turns = Turns::default();
        turns.idle(0, 1);
        for _ in 0..3 {
            turns.taken(i64::MAX, 0, false, true);
        }
        assert_eq!(turns.thought_ns(), u64::MAX);
    }
}
