//! Retransmissions of one direction, what triggered them, and which were needless.

pub mod awaited;
pub mod bursts;
pub mod ip_id;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod loss;
pub mod recovery;
pub mod refusals;
pub mod retransmissions;
