//! One connection: both directions, opening, capture point, payload.

pub(crate) mod at_two_taps;
pub mod congestion_bits;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod connection;
pub(crate) mod duplicates;
pub mod environment;
pub mod handshake;
pub(crate) mod open;
pub(crate) mod payload_feed;
pub(crate) mod rtt_by_echo;
pub mod rtt_lengthened;
pub mod vantage;
