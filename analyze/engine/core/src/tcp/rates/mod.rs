//! What passed in which time: series of bins, packet trains, peaks, spacing, SYNs.

pub(crate) mod packet_trains;
pub mod peaks;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod rates;
pub mod series;
pub mod spacing;
pub mod syn_series;
