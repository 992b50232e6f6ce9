//! Results as JSON and as columns. One description of a connection ([`describe`]) serves both, so that they never differ.
//!
//! ```text
//! describe/  the document, field by field (key: a field's name and when it is in the JSON)
//! json       the document, written as a stream (json_connections: by several threads; fixed: numbers as text; link_names;
//!            json_writer: brackets, lists, strings)
//! columns    one value for each connection, packet (packets), second, looked-up name (lookups) or ping (echoes)
//! fields/    what each field means: schema, documentation and `vmtrace fields` follow from it
//! made_up_factor_tests  a limiting factor of the tests alone, in the JSON
//! ```

pub mod columns;
pub mod describe;
pub mod echoes;
pub mod fields;
mod fixed;
pub mod json;
mod json_connections;
mod json_writer;
pub mod key;
pub mod link_names;
pub mod lookups;
#[cfg(test)]
mod made_up_factor_tests;
pub mod packets;
