//! A row for each packet, where rows are wanted.

pub mod recorder;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod rows;
