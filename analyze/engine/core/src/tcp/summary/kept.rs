//! What is kept of a connection that is over, for its stragglers.

use crate::tcp::capture::recent_packets::RecentPackets;
use crate::tcp::events::close::Refused;

/// What is kept of a connection that is over for packets that are still to come.
#[derive(Debug, Clone)]
pub struct Kept {
    /// What each side sent last, if the capture shows copies: those of the last packets are still to come.
    pub recent: Option<Box<[RecentPackets; 2]>>,
    /// What the client offered, if a reset is all that came of it: that may have been another's, and the answer still comes.
    pub refused: Option<Refused>,
    /// By so much the client's numbers are moved on the other side of a device.
    pub rewritten_by: Option<u32>,
}
