//! What reading hands on: chunks of bytes, and records that say where in them each frame lies.

/// Where one captured frame lies, and when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// Raw bytes; records (and reassembled datagrams appended later) point into them.
    pub bytes: Vec<u8>,
    /// Records in file order (time order where inputs were merged).
    pub records: Vec<Record>,
    /// The stretch of its input that the chunk is; none where records were copied together.
    pub stretch: Option<ChunkStart>,
}

/// Where a chunk begins in its (decompressed) input. It ends where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkStart {
    /// Offset of its first byte.
    pub offset: u64,
    /// It describes interfaces, or begins a section: later ones cannot be read without it.
    pub has_headers: bool,
}

impl ChunkStart {
    /// The same, and it is not the input's beginning.
    pub(crate) fn has_headers_within(self) -> bool {
        self.has_headers && self.offset > 0
    }
}

impl Chunk {
    /// Empties the chunk, keeping its allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.stretch = None;
    }
}

/// Makes `bytes` at least `length` long. Bytes that are there already are kept, whatever they are.
pub(super) fn make_room(bytes: &mut Vec<u8>, length: usize) {
    if bytes.len() < length {
        bytes.resize(length, 0);
    }
}
