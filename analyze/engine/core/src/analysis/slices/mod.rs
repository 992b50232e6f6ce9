//! A capture analysed in pieces, on as many processes as there are: decoded packets are written to slices by the hash of their
//! address pair, and the connections of a slice are found in another run. Owns the slices' format and both ways; where slices lie
//! and who merges the results is the caller's.
//!
//! ```text
//! split    a run of inputs: read, decoded, counted; each packet goes into the slice of its bucket
//! bucket   the slices of one bucket, in order: connections
//!   piece  the format of slices: a piece is a batch of packets with the bytes that the analysis looks at
//! beyond   what is no TCP, of all runs in order, with the connections of all buckets
//!   frames   the format of its slices
//!   outlines what crosses from connections, packed
//! crossing what connections of several buckets show together: limits that they share, servers that they ask
//! ```
//!
//! Packets keep their places among all packets of their run, so that both together find what one reading finds (docs/corpus.md).

pub mod beyond;
pub mod bucket;
pub mod crossing;
mod frames;
pub(crate) mod outlines;
pub mod piece;
pub mod split;
