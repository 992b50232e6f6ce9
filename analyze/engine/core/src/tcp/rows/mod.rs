//! A row for each packet of the connections that are asked for. Owns the columns; what a row says is gathered in
//! `connection`, and which connections are asked for is known in `flow`.
//!
//! ```text
//! rows             columns, in the order of the capture
//! recorder         makes them while packets pass, as not all is known of a packet when it comes
//! ```

pub mod recorder;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod rows;
