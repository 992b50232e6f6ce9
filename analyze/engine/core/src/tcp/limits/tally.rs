//! What the rounds of one factor say together, for the verdict: it is surer, or names another factor, by what they have in common.

use crate::tcp::limits::round::Round;
use crate::tcp::sender::pauses::SenderPauses;

/// Rounds that the congestion window limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowRounds {
    /// All of them.
    pub all: u64,
    /// Those in which a queue stood all the time.
    pub queued: u64,
    /// Those around which most pauses of the data ended with what answers no acknowledgement.
    pub at_own_pace: u64,
}

impl WindowRounds {
    /// Puts others to them.
    pub(crate) fn add(&mut self, others: &Self) {
        self.all += others.all;
        self.queued += others.queued;
        self.at_own_pace += others.at_own_pace;
    }

    /// Takes some of them out.
    pub(crate) fn take(&mut self, some: &Self) {
        self.all -= some.all;
        self.queued -= some.queued;
        self.at_own_pace -= some.at_own_pace;
    }
}

/// Rounds in which the path seemed to be full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FullRounds {
    /// All of them.
    pub all: u64,
    /// Those in which no data came for a good part of the round.
    pub pausing: u64,
}

/// Rounds that the send buffer seemed to limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BufferRounds {
    /// How long they were, nanoseconds.
    pub time_ns: u64,
    /// The pauses of the data in them.
    pub pauses: SenderPauses,
}

impl BufferRounds {
    /// Puts a round to them.
    pub(crate) fn add(&mut self, round: &Round) {
        self.time_ns = self.time_ns.saturating_add(round.duration_ns());
        self.pauses.add(&round.pauses);
    }
}

/// Rounds in which something was lost or marked, and nothing right before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReducedRounds {
    /// How many.
    pub all: u64,
    /// A queue stood in the round before.
    pub queued: u64,
    /// Rounds in which nothing was lost or marked.
    pub quiet: u64,
    /// Those of them in which a queue stood.
    pub quiet_queued: u64,
}

impl ReducedRounds {
    /// How likely so many reductions follow a queue by chance, if one stands as often as it did.
    pub(crate) fn chance(&self) -> f64 {
        let often = self.quiet_queued as f64 / self.quiet.max(1) as f64;
        often.powf(self.queued as f64)
    }

    /// A queue stood before half of them: they may be its answer.
    pub(crate) fn may_be_of_a_queue(&self) -> bool {
        self.queued > 0 && 2 * self.queued >= self.all
    }
}
