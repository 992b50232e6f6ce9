//! What the capture itself did: packets recorded twice, frame sizes, two capture points, clocks, recording lag.

#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod capture;
pub mod frame_sizes;
pub mod lag;
pub mod recent_packets;
pub mod timestamp_clock;
pub mod two_taps;
