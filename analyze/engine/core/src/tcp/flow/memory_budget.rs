//! What connections take in memory. An open one takes some ten times as much as what is left of it when it is over, and in some
//! captures hundred thousands never end: one way of a backbone's traffic, floods, short cuts out of a busy server's.
//!
//! [`crate::tcp::flow::table`] weighs its connections now and then and says when there are too many; [`crate::analysis`] then takes them in
//! parts.

use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Live;
use crate::tcp::summary::summary::ConnectionSummary;

/// When connections were weighed last, and what came of it.
#[derive(Clone, Default)]
pub(super) struct Weighed {
    pub(super) slots: usize,
    pub(super) packets_since: usize,
    /// What open ones took.
    pub(super) open_bytes: usize,
    pub(super) fullness: Fullness,
}

/// What a connection leaves, with its place in tables and what its lists hold on average.
const RESULT_BYTES: usize = size_of::<ConnectionSummary>() + 512;

/// What hangs on a connection, and on each of its directions with data: measured with a million short ones.
const LISTS_BYTES: usize = 768;

const LIVE_LISTS_BYTES: usize = 1856;

const LIVE_BYTES: usize = size_of::<Live>() + LIVE_LISTS_BYTES;

const MOST_HELD_BYTES: usize = size_of::<Connection>() + LISTS_BYTES + 2 * LIVE_BYTES;

/// However much results take, this share of the room is for open connections.
const LEAST_SHARE: usize = 8;

/// Connections that are SYNs without a reply are summed up from this share of all there is.
const UNANSWERED_SHARE: usize = 4;

/// Room for connections, open or over.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    bytes: usize,
    least_open_bytes: usize,
    /// None: there is no bound for all of them.
    pub(super) budget: Option<Budget>,
}

/// What all connections may take together, those of other parts and results included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) bytes: usize,
    /// What does not fit may be read again, part by part.
    pub(super) is_read_again: bool,
}

/// What connections take, against the room for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fullness {
    /// There is room for them.
    #[default]
    Fits,
    /// Open ones are too many: they are to be taken in parts.
    Overfull,
    /// No parts would help: nothing more is to be read.
    Exhausted,
}

impl Room {
    /// As much as there may be.
    pub const ANY: Self = Self { bytes: usize::MAX, least_open_bytes: usize::MAX, budget: None };

    /// So many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { bytes, least_open_bytes: bytes / LEAST_SHARE, budget: None }
    }

    /// The same, of which all connections may take so much: of what can be read again, and of what cannot.
    pub fn within(self, budget_bytes: Option<usize>, is_read_again: bool) -> Self {
        let Some(bytes) = budget_bytes else { return self };
        let room = Self::of(self.bytes.min(bytes));
        Self { budget: Some(Budget { bytes, is_read_again }), ..room }
    }

    /// The same without a bound for open ones alone.
    pub fn of_narrowest(self) -> Self {
        Self { budget: self.budget, ..Self::ANY }
    }

    /// What a connection that is over takes.
    pub(super) fn result_bytes() -> usize {
        RESULT_BYTES
    }

    /// The same with so many results in it.
    pub fn beside(self, results: usize) -> Self {
        let left = |bytes: usize| bytes.saturating_sub(results.saturating_mul(RESULT_BYTES));
        // Endless room stays so.
        let bytes = if self.bytes == usize::MAX { self.bytes } else { left(self.bytes) };
        Self { bytes, budget: self.budget.map(|budget| Budget { bytes: left(budget.bytes), ..budget }), ..self }
    }

    /// The room of each of so many shards.
    pub fn shared_by(self, shards: usize) -> Self {
        let share = |bytes: usize| if bytes == usize::MAX { bytes } else { bytes / shards.max(1) };
        let budget = self.budget.map(|budget| Budget { bytes: share(budget.bytes), ..budget });
        Self { bytes: share(self.bytes), least_open_bytes: share(self.least_open_bytes), budget }
    }

    /// So many connections fit whatever they are.
    pub fn surely_holds(&self, connections: usize) -> bool {
        connections.saturating_mul(MOST_HELD_BYTES) <= self.bytes
    }

    /// Bytes for open connections beside so many results.
    pub fn open_bytes(&self, results: usize) -> usize {
        self.beside(results).bytes.max(self.least_open_bytes)
    }

    /// Whether so many results fit, and what open ones take.
    pub(super) fn fullness(&self, results: usize, open_bytes: usize) -> Fullness {
        let is_too_much = open_bytes > self.open_bytes(results);
        match self.budget {
            Some(_) if self.is_exhausted_by(results) => Fullness::Exhausted,
            Some(Budget { is_read_again: false, .. }) if is_too_much => Fullness::Exhausted,
            _ if is_too_much => Fullness::Overfull,
            _ => Fullness::Fits,
        }
    }

    /// Results alone take all there is.
    pub fn is_exhausted_by(&self, results: usize) -> bool {
        self.budget.is_some_and(|budget| results.saturating_mul(RESULT_BYTES) >= budget.bytes)
    }

    /// What does not fit may be read again.
    pub(super) fn is_read_again(&self) -> bool {
        self.budget.is_some_and(|budget| budget.is_read_again)
    }

    /// So many unanswered SYNs are worth a sum: one connection each, they would take a fair part of all there is.
    pub fn sums(&self, unanswered: usize) -> bool {
        let bytes = unanswered.saturating_mul(RESULT_BYTES);
        self.budget.is_some_and(|budget| bytes > budget.bytes / UNANSWERED_SHARE)
    }
}

/// About so much it takes while it is open.
pub(crate) fn held_bytes(connection: &Connection) -> usize {
    let directions = connection.directions.iter().filter(|direction| direction.live.is_some()).count();
    size_of::<Connection>() + LISTS_BYTES + directions * LIVE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_leave_less_room_but_never_none() {
        let room = Room::of(8_000_000);
        assert_eq!(room.open_bytes(0), 8_000_000);
        assert!((5_000_000..7_000_000).contains(&room.open_bytes(2_000)));
        assert_eq!(room.open_bytes(1_000_000), 1_000_000);
        assert_eq!(room.beside(1_000).open_bytes(1_000), room.open_bytes(2_000));
    }

    #[test]
    fn shards_share_the_room_and_endless_room_stays_so() {
        assert_eq!(Room::of(8_000_000).shared_by(8).open_bytes(0), 1_000_000);
        assert!(
            Room::ANY.shared_by(8).surely_holds(1 << 40) && Room::ANY.beside(1 << 30).open_bytes(1 << 30) > 1 << 50
        );
    }
}
