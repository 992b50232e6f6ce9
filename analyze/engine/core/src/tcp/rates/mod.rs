//! What passed in which time: series of bins, packet trains, peaks, spacing, SYNs.

pub(crate) mod packet_trains;
pub mod peaks;
pub mod series;
pub mod spacing;
pub mod syn_series;
