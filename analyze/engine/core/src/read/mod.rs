//! Capture files: bytes in, chunks of records out. Owns formats, compression, damage and merging; knows no protocol: what
//! is inside a frame is `decode`'s.
//!
//! ```text
//! merge          several inputs as one, in time order           same_point: whether two inputs saw the same frames
//! file_source    one input: big reads, the tail of one chunk carried to the next
//!   stream       where its bytes come from
//!   compression  gzip, zstd, xz, lz4, bzip2 found by their magic numbers, unpacked on the way (contract: unpack)
//!   walk         what a format does: from a window of bytes to records
//!     records    pcap, snoop, ERF: fixed record headers; finds its way again after damage
//!     pcapng     blocks with a trailer
//!   ledger       what was learnt of the input: counts, times, damage
//!   foreign      what a file is that is not a capture
//! chunk_source   the contract of merge and file_source (reopen: inputs opened once more, or parts of them)
//! record, input_facts, read_error   what reading hands on, learns, and fails with (endian: byte order of numbers)
//! ```

pub(crate) mod bzip2;
pub mod chunk_source;
pub(crate) mod compression;
pub(crate) mod endian;
pub(crate) mod file_source;
mod foreign;
pub(crate) mod gzip;
pub mod input_facts;
pub(crate) mod ledger;
pub(crate) mod lz4;
pub(crate) mod merge;
pub mod pcapng;
pub mod read_error;
pub mod record;
pub mod records;
pub mod reopen;
pub(crate) mod same_point;
mod stream;
pub mod unpack;
pub(crate) mod walk;
pub(crate) mod xz;
pub(crate) mod zstd;

// For those outside the crate.
pub use crate::read::chunk_source::{ChunkSource, Input};
pub use crate::read::file_source::{CHUNK_BYTES, FileSource, InputPart};
pub use crate::read::input_facts::{Damage, InputFacts};
pub use crate::read::merge::{MergedSource, open};
pub use crate::read::read_error::ReadError;
pub use crate::read::record::{Chunk, ChunkStart, Record};
pub use crate::read::reopen::Reopen;
pub use crate::read::same_point::{FirstFrames, Overlap, shared_frames};
