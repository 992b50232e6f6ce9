//! A part of all connections, by a range of hashes, that is analysed at a time where memory is short.

use std::ops::RangeInclusive;

use crate::tcp::flow::memory_budget::Room;

/// No part is narrower: so many hashes. What does not fit then is taken all the same, as it is better than to read for ever.
pub(crate) const NARROWEST: u64 = ALL / 1024;

/// All hashes.
pub(crate) const ALL: u64 = 1 << 32;

/// Connections that are taken together.
#[derive(Debug, Clone)]
pub struct Part {
    /// Hashes of their flows.
    pub hashes: RangeInclusive<u32>,
    /// What they may take.
    pub room: Room,
}

impl Part {
    /// All connections.
    pub fn whole(room: Room) -> Self {
        Self { hashes: 0..=u32::MAX, room }
    }

    pub(crate) fn new(from: u64, width: u64, room: Room) -> Self {
        let last = (from + width).min(ALL) - 1;
        let room = if width > NARROWEST { room } else { room.of_narrowest() };
        Self { hashes: from as u32..=last as u32, room }
    }

    /// How many hashes.
    pub(crate) fn width(&self) -> u64 {
        u64::from(*self.hashes.end()) - u64::from(*self.hashes.start()) + 1
    }
}
