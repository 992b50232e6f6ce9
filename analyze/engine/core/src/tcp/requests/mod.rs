//! Requests and their responses, as far as packets show them: who spoke, how much, and when (docs/json.md). Reads no content
//! beyond the first bytes of a message; knows neither TCP nor TLS, which give it what each side has said.
//!
//! ```text
//! said        a stretch of one side's data
//! exchanges   stretches in turns -> exchanges, or why there are none
//! open        the one under way
//! longest     the longest of many, with totals and quantiles
//! opening     first bytes of a message: protocols whose messages are no requests, interim responses, pipelining
//! talk        what a connection knows of turns so far
//! summary     what stays of a connection; which part of the time dominates
//! servers     all connections to one server
//! ```

pub mod exchanges;
pub mod longest;
pub mod open;
pub mod opening;
pub mod said;
pub mod servers;
pub mod summary;
pub mod talk;
