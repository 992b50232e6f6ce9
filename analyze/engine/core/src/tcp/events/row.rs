//! What a packet said, for the row that is kept of it where rows are wanted.

use crate::tcp::events::sent::Arrived;

/// What a packet said, for per-packet rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowSeen {
    /// What it was.
    pub arrived: Arrived,
    /// Window it advertises, bytes.
    pub window_bytes: Option<u64>,
    /// Round trip it completed, and the frame sampled.
    pub round_trip: Option<(u64, u32)>,
}
