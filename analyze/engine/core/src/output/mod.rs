//! Results as JSON and as columns. One description of a connection ([`describe`]) serves both, so that they never differ.

pub mod columns;
pub mod describe;
pub mod fixed;
pub mod json;
pub mod key;
pub mod link_names;
mod lookups;
pub mod packets;
