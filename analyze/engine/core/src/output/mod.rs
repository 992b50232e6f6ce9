//! Results as JSON and as columns. One description of a connection ([`describe`]) serves both, so that they never differ.
//!
//! ```text
//! describe/  a connection, field by field (key: a field's name and when it is in the JSON)
//! json       the document, written as a stream (fixed: numbers as text; link_names)
//! json_writer  brackets, lists, strings         outcomes  what became of connections, shared_limits  limits of several
//! columns    one value for each connection, packet (packets), second, looked-up name (lookups) or ping (echoes)
//! made_up_factor_tests  a limiting factor of the tests alone, in the JSON
//! ```

pub mod columns;
pub mod describe;
pub mod echoes;
mod fixed;
pub mod json;
mod json_writer;
pub mod key;
pub mod link_names;
pub mod lookups;
#[cfg(test)]
mod made_up_factor_tests;
mod outcomes;
pub mod packets;
mod shared_limits;
