//! SACK blocks about what a side cannot have sent: a device on the way has changed sequence numbers and left those in options as
//! they were. Senders ignore them (Linux, `tcp_is_sackblock_valid`), and so do the rules; what they should have said is lost.
//!
//! Rule: docs/methods.md, "SACK blocks of other numbers".

use crate::tcp::direction::direction::Direction;
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// Between what positions a block may lie.
#[derive(Clone, Copy)]
pub(crate) struct ForeignBlocks {
    lowest: u64,
    highest: u64,
}

impl ForeignBlocks {
    /// A block of an acknowledgement of everything up to `position` lies outside.
    pub(crate) fn has(self, position: u64, (left, right): (u32, u32)) -> bool {
        unwrap(position, left) < self.lowest || unwrap(position, right) > self.highest
    }
}

/// What its receiver may report now: a window below what is acknowledged, and above what was sent, since the capture may have
/// missed some of it.
pub(crate) fn foreign_blocks(direction: &Direction) -> ForeignBlocks {
    // Of a window that nobody has advertised the handshake has said all, if it was captured.
    let unknown_bytes = if direction.opening_seen { 0 } else { FARTHEST_JUMP };
    let room_bytes = direction.window.room_bytes(direction.opening_seen, unknown_bytes);
    let first = if direction.opening_seen { direction.base.saturating_sub(1) } else { 0 };
    ForeignBlocks { lowest: direction.una.saturating_sub(room_bytes).max(first), highest: direction.max + room_bytes }
}
