//! What connections take in memory. An open one takes some ten times as much as what is left of it when it is over, and in some
//! captures hundred thousands never end: one way of a backbone's traffic, floods, short cuts out of a busy server's.
//!
//! [`crate::tcp::flow::table`] weighs its connections now and then and says when there are too many; [`crate::analysis`] then takes them in
//! parts.

use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Live;
use crate::tcp::summary::summary::ConnectionSummary;

/// What a connection leaves, with its place in tables and what its lists hold on average.
const RESULT_BYTES: usize = size_of::<ConnectionSummary>() + 448;

/// What hangs on a connection, and on each of its directions with data: measured with a million short ones.
const LISTS_BYTES: usize = 768;

const LIVE_LISTS_BYTES: usize = 1856;

const LIVE_BYTES: usize = size_of::<Live>() + LIVE_LISTS_BYTES;

const MOST_HELD_BYTES: usize = size_of::<Connection>() + LISTS_BYTES + 2 * LIVE_BYTES;

/// However much results take, this share of the room is for open connections.
const LEAST_SHARE: usize = 8;

/// Room for connections, open or over.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    bytes: usize,
    least_open_bytes: usize,
}

impl Room {
    /// As much as there may be.
    pub const ANY: Self = Self { bytes: usize::MAX, least_open_bytes: usize::MAX };

    /// So many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { bytes, least_open_bytes: bytes / LEAST_SHARE }
    }

    /// What a connection that is over takes.
    pub(super) fn result_bytes() -> usize {
        RESULT_BYTES
    }

    /// The same with so many results in it.
    pub fn beside(self, results: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(results.saturating_mul(RESULT_BYTES)), ..self }
    }

    /// The room of each of so many shards.
    pub fn shared_by(self, shards: usize) -> Self {
        match self {
            Self { bytes: usize::MAX, .. } => self,
            Self { bytes, least_open_bytes } => {
                Self { bytes: bytes / shards.max(1), least_open_bytes: least_open_bytes / shards.max(1) }
            }
        }
    }

    /// So many connections fit whatever they are.
    pub fn surely_holds(&self, connections: usize) -> bool {
        connections.saturating_mul(MOST_HELD_BYTES) <= self.bytes
    }

    /// Bytes for open connections beside so many results.
    pub fn open_bytes(&self, results: usize) -> usize {
        self.beside(results).bytes.max(self.least_open_bytes)
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
