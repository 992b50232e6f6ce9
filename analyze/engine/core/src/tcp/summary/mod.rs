//! What stays of a connection that is over.

pub mod capture_faults;
pub(crate) mod summarize;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod summary;
