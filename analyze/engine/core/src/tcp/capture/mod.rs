//! What the capture itself did to what it shows. Owns the memory by which that is noticed; what follows for a
//! connection is decided in `connection`, and counted for each input in `summary`.
//!
//! ```text
//! capture          all of it together, a record of each direction
//! recent_packets   frames captured twice                frame_sizes      full segments, offload, tunnels
//! timestamp_clock  a sender's clock, and steps of the capture's against it
//! two_taps         one path captured at two points      lag              hosts recorded late by a constant
//! checksums        segments that their receivers drop
//! ```

#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod capture;
pub mod checksums;
pub mod frame_sizes;
pub mod lag;
pub mod recent_packets;
pub mod timestamp_clock;
pub mod two_taps;
