//! Capture files: bytes in, chunks of records out. Owns formats, compression, damage and merging; knows no protocol.
//!
//! ```text
//! merge          several inputs as one, in time order
//! file_source    one input: big reads, the tail of one chunk carried to the next
//!   compression  gzip, zstd, xz, lz4 found by their magic numbers, unpacked on the way
//!   walk         what a format does: from a window of bytes to records
//!     records    pcap and snoop: fixed record headers; finds its way again after damage
//!     pcapng     blocks with a trailer
//!   ledger       what was learnt of the input: counts, times, damage
//! ```

pub(crate) mod compression;
pub(crate) mod endian;
pub(crate) mod file_source;
pub(crate) mod gzip;
pub(crate) mod ledger;
pub(crate) mod lz4;
pub(crate) mod merge;
pub mod pcapng;
pub mod records;
pub(crate) mod same_point;
pub mod unpack;
pub(crate) mod walk;
pub(crate) mod xz;
pub(crate) mod zstd;

use std::fmt;
use std::io::Read;

pub use crate::read::file_source::{CHUNK_BYTES, FileSource};
pub use crate::read::merge::{MergedSource, open};
pub use crate::read::same_point::{Overlap, shared_frames};

/// An input as the caller opened it: a file, standard input, bytes in memory.
pub type Input = Box<dyn Read + Send>;

/// Where one captured frame lies, and when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Capture time, Unix nanoseconds. [`Record::NO_TIME`] where the format gives none (pcapng simple packet blocks).
    pub time_ns: i64,
    /// Start of the frame in [`Chunk::bytes`].
    pub offset: u32,
    /// Captured bytes of the frame.
    pub captured_length: u32,
    /// Bytes of the frame on the wire.
    pub original_length: u32,
    /// Number of the frame within its input, from 1.
    pub frame: u32,
    /// Link type (LINKTYPE_ number of the tcpdump registry).
    pub link_type: u16,
    /// Number of the input file.
    pub input: u16,
    /// Interface number within the input (0 for pcap; for pcapng counted over all sections).
    pub interface: u16,
    /// Bytes of frame check sequence at the end of each frame, if the file says so.
    pub fcs_length: u8,
}

impl Record {
    /// `time_ns` of a frame without a capture time.
    pub const NO_TIME: i64 = i64::MIN;
    /// Times further than this from 1970 (146 years) are no times: within, differences never overflow.
    pub const FARTHEST_TIME_NS: i64 = 1 << 62;
}

/// A batch of records with the bytes they point into.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Raw bytes; records (and reassembled datagrams appended later) point into them.
    pub bytes: Vec<u8>,
    /// Records in file order (time order where inputs were merged).
    pub records: Vec<Record>,
}

impl Chunk {
    /// Empties the chunk, keeping its allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }
}

/// Why a whole input could not be read (further). A damaged spot is not an error: it is reported as [`Damage`].
#[derive(Debug)]
pub enum ReadError {
    /// The operating system refused.
    Io {
        /// Number of the input file.
        input: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// The bytes are not of a capture format that can be read.
    NotACapture {
        /// Number of the input file.
        input: u16,
        /// What they are instead, as far as is known, and what to do.
        what: String,
    },
    /// The compressed stream is broken before the first record.
    Decompression {
        /// Number of the input file.
        input: u16,
        /// What is wrong with it.
        what: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { source, .. } => write!(f, "{source}"),
            Self::NotACapture { what, .. } | Self::Decompression { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NotACapture { .. } | Self::Decompression { .. } => None,
        }
    }
}

impl ReadError {
    /// Number of the input file that could not be read.
    pub fn input(&self) -> u16 {
        match self {
            Self::Io { input, .. } | Self::NotACapture { input, .. } | Self::Decompression { input, .. } => *input,
        }
    }

    /// The same error among inputs of which `first_input` come before those it was counted in.
    #[must_use]
    pub fn moved(mut self, first_input: u16) -> Self {
        match &mut self {
            Self::Io { input, .. } | Self::NotACapture { input, .. } | Self::Decompression { input, .. } => {
                *input = input.saturating_add(first_input);
            }
        }
        self
    }
}

/// A stretch of a file that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the (decompressed) file.
    pub offset: u64,
    /// Bytes that were passed over.
    pub skipped_bytes: u64,
    /// What was wrong there.
    pub what: String,
}

/// Something that yields chunks until its end.
pub trait ChunkSource: Send {
    /// Replaces the contents of `chunk` by the next batch; `false` at the end (the chunk is then empty). Hand the last
    /// chunk back as it is: bytes that are not cleared need not be zeroed again.
    ///
    /// # Errors
    /// [`ReadError`] when an input cannot be read at all; damage within it is skipped and recorded instead.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError>;

    /// Facts about the inputs so far, one entry per input; complete at the end.
    fn inputs(&self) -> Vec<InputFacts>;

    /// Bytes consumed so far of the files as they lie on disk (compressed), for progress.
    fn consumed_bytes(&self) -> u64;
}

/// What reading learnt of one input, apart from its packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// "pcap", "pcapng" or "snoop"; empty as long as the file's first bytes have not been read.
    pub format: &'static str,
    /// "gzip", "zstd", "xz", "lz4" or none.
    pub compression: Option<&'static str>,
    /// Link types seen, in order of appearance (LINKTYPE_ numbers).
    pub link_types: Vec<u16>,
    /// Finest time resolution of the interfaces, nanoseconds (0 if finer than 1 ns).
    pub time_resolution_ns: u64,
    /// Records read.
    pub packets: u64,
    /// Captured bytes of all records.
    pub captured_bytes: u64,
    /// Bytes of all records on the wire.
    pub wire_bytes: u64,
    /// Time of the earliest record.
    pub start_ns: Option<i64>,
    /// Time of the latest record.
    pub end_ns: Option<i64>,
    /// Largest snap length any interface declares; none if unlimited or unknown.
    pub snap_length: Option<u32>,
    /// Packets dropped by the kernel as the file itself reports (pcapng ISB `isb_osdrop`/`isb_filteraccept` rules).
    pub dropped_by_kernel: Option<u64>,
    /// Packets dropped by the interface (pcapng `isb_ifdrop`).
    pub dropped_by_interface: Option<u64>,
    /// Records without a (usable) capture time.
    pub packets_without_time: u64,
    /// Steps back in time of more than a second between consecutive records of one interface.
    pub clock_steps_back: u64,
    /// TLS key log text of pcapng decryption secrets blocks.
    pub tls_key_log: Vec<u8>,
    /// Blocks of unknown type that were passed over, by type number (bounded: what is beyond is under [`u32::MAX`]).
    pub unknown_blocks: Vec<(u32, u64)>,
    /// Damaged stretches, in file order (bounded; the last entry then says how many more).
    pub damage: Vec<Damage>,
}

impl InputFacts {
    /// No frame has a time.
    pub fn is_timeless(&self) -> bool {
        self.packets_without_time == self.packets
    }
}
