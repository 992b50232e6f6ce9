//! Retransmissions of one direction. Owns their counters, and the evidence for their triggers and for needless ones;
//! which packet is one, and by which rule, is decided in `direction`.
//!
//! ```text
//! loss             all of it together, a record of each direction
//! retransmissions  counters, and those that may still prove needless
//! recovery         a recovery in progress               bursts           losses that belong together
//! probes           bytes that probe, and their reports  asked            what asks for an ACK of nothing more
//! awaited          what came back for each              refusals         data that a receiver refused (PAWS)
//! reductions       where recoveries began, and with how much in flight
//! ip_id            losses before the capture point, by missing identifications
//! ```

pub mod asked;
pub mod awaited;
pub mod bursts;
pub mod ip_id;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod loss;
pub mod probes;
pub mod recovery;
pub mod reductions;
pub mod refusals;
pub mod retransmissions;
