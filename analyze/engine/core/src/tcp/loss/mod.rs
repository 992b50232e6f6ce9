//! Retransmissions of one direction, what triggered them, and which were needless.

pub mod awaited;
pub mod bursts;
pub mod ip_id;
pub mod recovery;
pub mod refusals;
pub mod retransmissions;
