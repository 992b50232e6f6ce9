//! What the capture itself did: packets recorded twice, frame sizes, two capture points, clocks, recording lag.

pub mod frame_sizes;
pub mod lag;
pub mod recent_packets;
pub mod timestamp_clock;
pub mod two_taps;
