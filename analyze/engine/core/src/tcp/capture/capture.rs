//! What the capture itself did to a direction: packets to compare copies with, the clock behind its timestamps, recording delay.

use crate::tcp::capture::lag::RecordedBehind;
use crate::tcp::capture::recent_packets::RecentPackets;
use crate::tcp::capture::timestamp_clock::TimestampClock;

/// What the capture itself did to a direction.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// Packets to compare copies with.
    pub recent: RecentPackets,
    /// Timestamp clock of the side that sends this direction.
    pub clock: TimestampClock,
    /// Data that was recorded behind its acknowledgement.
    pub recorded_behind: RecordedBehind,
    /// Of the copies those that came later than most that captures make.
    pub late_copies: u32,
}
