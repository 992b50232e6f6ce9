//! What each field of the results means, once: the JSON Schema, the tables of the documentation and `vmtrace fields` follow
//! from it. Which fields there are, and of what kind, is asked of the description that writes them.
//!
//! ```text
//! field      how a field and a section are described
//! beyond, quic   the descriptions of what is no TCP
//! capture, connection, direction, http2, requests, verdict   the descriptions, a section for each object
//! emitted    the fields that the description has, their kinds
//! catalogue  both together
//! tests      nothing is without the other
//! ```

mod beyond;
mod capture;
pub mod catalogue;
mod connection;
mod direction;
pub mod emitted;
pub mod field;
mod http2;
mod quic;
mod requests;
#[cfg(test)]
mod tests;
mod verdict;
