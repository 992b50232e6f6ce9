//! What is said of a capture, field by field in the order of the JSON contract `vmtrace.analysis/1`. Owns the names and the
//! order of the fields; how they become text or columns is their visitor's, what they mean is said in `crate::output::fields`.
//!
//! ```text
//! document        inputs, outcomes of all connections, limits and servers that they share (unanswered: SYNs summed up)
//! connection      endpoint, ledger (where the bytes went), tls, requests, http2, outcome, account, verdict (evidence)
//!   direction     loss, round_trips, spacing
//!   flows, names  what is no TCP: datagram flows (quic), neighbours, protocols; names looked up
//!   tunnels       what connections were found in
//! visitor         takes it all: crate::output::json, crate::output::columns, crate::output::fields
//! ```

pub mod account;
pub mod connection;
pub mod direction;
pub mod document;
pub mod endpoint;
mod evidence;
mod flows;
mod http2;
pub mod ledger;
pub mod loss;
pub mod names;
pub mod outcome;
mod quic;
pub mod requests;
pub mod round_trips;
pub mod spacing;
pub mod tls;
mod tunnels;
mod unanswered;
mod verdict;
pub mod visitor;
