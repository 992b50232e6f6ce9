//! What is said of a connection, field by field in the order of the JSON contract `vmtrace.analysis/1`. Owns the names and the
//! order of the fields; how they become text or columns is their visitor's.
//!
//! ```text
//! connection      endpoint, ledger (where the bytes went), tls, requests
//!   direction     loss, round_trips, spacing
//! visitor         takes it all: crate::output::json, crate::output::columns
//! ```

pub mod connection;
pub mod direction;
pub mod endpoint;
pub mod ledger;
pub mod loss;
pub mod requests;
pub mod round_trips;
pub mod spacing;
pub mod tls;
pub mod visitor;
