//! One connection: both directions, opening, capture point, payload.

pub mod at_two_taps;
pub mod congestion_bits;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod connection;
pub mod duplicates;
pub mod environment;
pub mod handshake;
pub mod open;
pub mod packet_row;
pub mod payload_feed;
pub mod rtt_by_echo;
pub mod rtt_lengthened;
pub mod vantage;
pub mod watchers;
pub mod watching;
