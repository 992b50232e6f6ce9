//! What passed in which time, in one direction. Owns bins, windows and times between packets; token buckets, pauses
//! and limits read them from above.
//!
//! ```text
//! rates            all of it together, a record of each direction
//! series           delivered, lost, measured by bin     peaks            the most within 1, 10, 100 ms
//! spacing          time between data packets            packet_trains    what a path carries where no queue stands
//! syn_series       connections opened each second        ack_trains       the same by trains of a few acknowledgements
//! delivered        what stays of a series when its direction is over (steady: a rate that was set)
//! ```

pub mod ack_trains;
pub mod delivered;
pub(crate) mod packet_trains;
pub mod peaks;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod rates;
pub mod series;
pub mod spacing;
pub(crate) mod steady;
pub mod syn_series;
