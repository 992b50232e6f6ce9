//! One input: big reads, compression and format found by their magic numbers, records handed on chunk by chunk. Owns
//! the buffer and its offsets; formats are `walk`'s, unpacking is `compression`'s.
//!
//! What of a chunk is behind its last whole record becomes the start of the next chunk. A buffer grows only as bytes
//! really arrive, never by what a length in the file claims.

use std::collections::VecDeque;
use std::io::ErrorKind;

use crate::read::chunk_source::{ChunkSource, Input};
use crate::read::compression::Unpacker;
use crate::read::foreign::foreign;
use crate::read::input_facts::InputFacts;
use crate::read::ledger::InputLedger;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, ChunkStart, make_room};
use crate::read::records::{erf, pcap, snoop};
use crate::read::stream::{QUICK_DISTANCE_BYTES, Stream};
use crate::read::unpack::Trouble;
use crate::read::walk::{BytesAtHand, Walk};
use crate::read::{compression, pcapng};

/// Bytes that one read asks for, and about what a chunk holds: chunk and decoded packets stay in a core's own cache, and
/// what connections know goes from one thread to another once for thousands of packets.
pub const CHUNK_BYTES: usize = 512 << 10;

/// Of long records, of which little more than the headers is looked at, a chunk holds so many, if they are no more bytes than
/// this: threads wait for one another at every chunk.
const CHUNK_RECORDS: usize = 1000;

const LARGEST_CHUNK_BYTES: usize = 1 << 20;

/// Buffers larger than this are given back once the large record that needed them has passed.
const KEPT_BUFFER_BYTES: usize = 8 * CHUNK_BYTES;

const LEAST_ASK_BYTES: usize = 4 << 10;

/// A stretch of an input that is read, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputPart {
    /// Offset of its first byte in the input.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// Number of its first frame.
    pub frame: u32,
}

/// Reads one capture.
pub struct FileSource {
    input: u16,
    stream: Stream,
    /// The format, once the file header has been read.
    walk: Option<Box<dyn Walk>>,
    /// Bytes that have been read but not walked over.
    tail: Vec<u8>,
    /// Offset of the first of them in the (decompressed) file.
    offset: u64,
    /// Bytes that are still to be read of the stretch at hand.
    stretch_bytes: u64,
    /// Those behind it, where an input is read in stretches.
    stretches: VecDeque<InputPart>,
    /// So many of the stretches are read for what they declare; their records are left out.
    heads: usize,
    /// Bytes that the next read asks for: less of a pipe that gives little at a time, for room has to be zeroed.
    ask_bytes: usize,
    /// The most that a read asks for.
    chunk_bytes: usize,
    /// The stream has ended.
    at_end: bool,
    /// Nothing was there to be read just now: the reader said [`ErrorKind::WouldBlock`].
    is_waiting: bool,
    /// Why it has ended, until this has been told.
    trouble: Option<Trouble>,
    finished: bool,
    ledger: InputLedger,
}

impl FileSource {
    /// A source that starts to read with the first chunk that is asked for. `input` is the number that records and
    /// errors carry.
    pub fn new(reader: Input, input: u16) -> Self {
        Self {
            input,
            stream: Stream::Plain { reader, consumed: 0 },
            walk: None,
            tail: Vec::new(),
            offset: 0,
            stretch_bytes: u64::MAX,
            stretches: VecDeque::new(),
            heads: 0,
            ask_bytes: CHUNK_BYTES,
            chunk_bytes: CHUNK_BYTES,
            at_end: false,
            is_waiting: false,
            trouble: None,
            finished: false,
            ledger: InputLedger::default(),
        }
    }

    /// A source over stretches of an input, which `reader` gives one behind the other. The first is its beginning; each begins
    /// and ends between records.
    pub fn of_parts(reader: Input, input: u16, parts: &[InputPart]) -> Self {
        let mut stretches: VecDeque<InputPart> = parts.iter().copied().collect();
        let stretch_bytes = stretches.pop_front().map_or(0, |part| part.length);
        Self { stretch_bytes, stretches, ..Self::new(reader, input) }
    }

    /// A source over `run`, a stretch of an input behind others, of which `heads` declare what its records are: they, then the run,
    /// are what `reader` gives. The first head is the input's beginning.
    pub(crate) fn of_run(reader: Input, input: u16, heads: &[InputPart], run: InputPart) -> Self {
        let parts = [heads, &[run]].concat();
        Self { heads: heads.len(), ..Self::of_parts(reader, input, &parts) }
    }

    /// The number that records carry.
    pub(crate) fn input(&self) -> u16 {
        self.input
    }

    /// Offset in the input of what the next chunk begins with.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// What is known of the input by now.
    pub fn facts(&self) -> InputFacts {
        self.ledger.facts()
    }

    /// As [`ChunkSource::next_chunk`], with reads of `read_bytes`.
    pub(crate) fn next_chunk_of(&mut self, chunk: &mut Chunk, read_bytes: usize) -> Result<bool, ReadError> {
        self.is_waiting = false;
        let result = loop {
            chunk.records.clear();
            let read_bytes = if self.heads > 0 { CHUNK_BYTES } else { read_bytes };
            match if self.finished { Ok(false) } else { self.fill(chunk, read_bytes) } {
                Ok(true) if self.heads > 0 => {}
                Ok(false) if self.jump() => {}
                result => break result,
            }
        };
        if !matches!(result, Ok(true)) {
            self.finished = true;
            self.tail = Vec::new();
            chunk.clear();
        }
        result
    }

    /// Goes on with the next stretch; false if there is none.
    fn jump(&mut self) -> bool {
        let (Some(walk), Some(part)) = (&mut self.walk, self.stretches.pop_front()) else { return false };
        walk.jump(part.frame);
        if self.heads == 1 {
            // What is told of heads is told by those who read their records.
            self.ledger.forget_packets();
        }
        self.heads = self.heads.saturating_sub(1);
        self.tail.clear();
        (self.offset, self.stretch_bytes, self.at_end) = (part.offset, part.length, false);
        true
    }

    fn fill(&mut self, chunk: &mut Chunk, read_bytes: usize) -> Result<bool, ReadError> {
        if self.walk.is_none() {
            self.open()?;
            self.is_waiting = false;
        }
        let Some(mut walk) = self.walk.take() else {
            return Ok(false);
        };
        let found = self.fill_by(walk.as_mut(), chunk, read_bytes);
        self.walk = Some(walk);
        if found || self.is_waiting {
            return Ok(true);
        }
        match self.trouble.take() {
            Some(trouble) => Err(self.error(trouble)),
            None => Ok(false),
        }
    }

    /// Reads and walks until there is a record; `false` at the end.
    fn fill_by(&mut self, walk: &mut dyn Walk, chunk: &mut Chunk, read_bytes: usize) -> bool {
        let (offset, headers) = (self.offset, self.ledger.headers);
        let bytes = &mut chunk.bytes;
        if bytes.capacity() > KEPT_BUFFER_BYTES && self.tail.len() < KEPT_BUFFER_BYTES / 2 {
            *bytes = Vec::new();
        }
        let tail_bytes = self.tail.len();
        // All of it now, and some for longer tails: growing would move it. Nothing of the chunk before is of use.
        let room_bytes = QUICK_DISTANCE_BYTES + tail_bytes + self.ask_bytes.min(read_bytes);
        if bytes.capacity() < room_bytes {
            *bytes = vec![0; room_bytes + (16 << 10)];
        }
        make_room(bytes, room_bytes);
        let start = self.stream.slow_copy_avoided_by(bytes.as_ptr().addr() + tail_bytes);
        let mut filled = start + tail_bytes;
        if let Some(front) = bytes.get_mut(start..filled) {
            front.copy_from_slice(&self.tail);
        }
        let mut needed = filled + 1;
        loop {
            while filled < needed && !self.at_end && !self.is_waiting {
                let asked = self.ask_bytes.min(read_bytes);
                let count = self.read_into(bytes, filled, asked);
                self.ask_bytes = (2 * count).clamp(LEAST_ASK_BYTES, self.chunk_bytes);
                filled += count;
            }
            let window =
                BytesAtHand { bytes: bytes.get(start..filled).unwrap_or(&[]), base: self.offset, at_end: self.at_end };
            let walked = walk.walk(window, &mut chunk.records, &mut self.ledger);
            let consumed = walked.consumed.min(filled - start);
            self.offset += consumed as u64;
            if !chunk.records.is_empty() || self.at_end || self.is_waiting {
                let record_bytes = consumed / chunk.records.len().max(1);
                self.chunk_bytes = CHUNK_RECORDS.saturating_mul(record_bytes).clamp(CHUNK_BYTES, LARGEST_CHUNK_BYTES);
                self.keep_tail(bytes, start + consumed, filled);
                break;
            }
            bytes.copy_within(start + consumed..filled, start);
            filled -= consumed;
            needed = (start + walked.needed).max(filled + 1);
        }
        if start > 0 {
            chunk.records.iter_mut().for_each(|record| record.offset += start as u32);
        }
        self.ledger.count(&chunk.records);
        chunk.stretch = Some(ChunkStart { offset, has_headers: self.ledger.headers > headers });
        if self.at_end {
            self.note_break();
        }
        !chunk.records.is_empty()
    }

    fn keep_tail(&mut self, bytes: &mut Vec<u8>, consumed: usize, filled: usize) {
        if self.tail.capacity() > KEPT_BUFFER_BYTES && filled - consumed < KEPT_BUFFER_BYTES / 2 {
            self.tail = Vec::new();
        }
        self.tail.clear();
        self.tail.extend_from_slice(bytes.get(consumed..filled).unwrap_or(&[]));
        bytes.truncate(consumed);
    }

    /// One read behind the first `filled` bytes; what stands there already is overwritten, not zeroed.
    fn read_into(&mut self, bytes: &mut Vec<u8>, filled: usize, read_bytes: usize) -> usize {
        let read_bytes = usize::try_from(self.stretch_bytes).map_or(read_bytes, |left| left.min(read_bytes));
        make_room(bytes, filled + read_bytes);
        let Some(room) = bytes.get_mut(filled..filled + read_bytes) else {
            return 0;
        };
        match self.stream.read(room) {
            Ok(0) => {
                self.at_end = true;
                0
            }
            Ok(count) => {
                self.stretch_bytes -= count as u64;
                count
            }
            Err(Trouble::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                self.is_waiting = true;
                0
            }
            Err(trouble) => {
                self.at_end = true;
                self.trouble = Some(trouble);
                0
            }
        }
    }

    /// A stream that broke after the first record is damage, not an error.
    fn note_break(&mut self) {
        if self.ledger.facts.packets > 0
            && let Some(Trouble::Broken(what)) = self.trouble.take_if(|trouble| matches!(trouble, Trouble::Broken(_)))
        {
            self.ledger.damage(self.offset, 0, &what);
        }
    }

    fn error(&self, trouble: Trouble) -> ReadError {
        match trouble {
            Trouble::Io(source) => ReadError::Io { input: self.input, source },
            Trouble::Broken(what) => ReadError::Decompression { input: self.input, what },
        }
    }

    /// Reads until `count` bytes are in the tail or the stream ends. What it ended with is reported after the walk.
    fn look_ahead(&mut self, count: usize) {
        let mut head = std::mem::take(&mut self.tail);
        let mut filled = head.len();
        while filled < count && !self.at_end {
            filled += self.read_into(&mut head, filled, count - filled);
        }
        head.truncate(filled);
        self.tail = head;
    }

    /// Reads until `count` bytes are in the tail or the stream ends, which is an error if something broke.
    fn read_head(&mut self, count: usize) -> Result<(), ReadError> {
        self.look_ahead(count);
        if self.tail.len() < count
            && let Some(trouble) = self.trouble.take()
        {
            return Err(self.error(trouble));
        }
        Ok(())
    }

    /// Finds compression and format, and reads the file header.
    fn open(&mut self) -> Result<(), ReadError> {
        self.read_head(compression::MAGIC_BYTES)?;
        if let Some(kind) = compression::detect(&self.tail) {
            self.unpack(kind);
            self.read_head(compression::MAGIC_BYTES)?;
        }
        let (walk, header_bytes) = if self.tail.starts_with(pcapng::MAGIC) {
            (pcapng::open(self.input, &mut self.ledger), 0)
        } else if pcap::is_magic(&self.tail) {
            self.read_head(pcap::FILE_HEADER_BYTES)?;
            (self.open_pcap()?, pcap::FILE_HEADER_BYTES)
        } else if self.tail.starts_with(snoop::MAGIC) {
            self.read_head(snoop::FILE_HEADER_BYTES)?;
            let walk = snoop::open(&self.tail, self.input, &mut self.ledger);
            (walk.map_err(|what| self.refuse(what))?, snoop::FILE_HEADER_BYTES)
        } else {
            self.look_ahead(erf::TELLING_BYTES);
            self.walk = erf::open(&self.tail, self.at_end, self.input, &mut self.ledger);
            if self.walk.is_some() {
                return Ok(());
            }
            return Err(self.refuse(foreign(&self.tail)));
        };
        self.walk = Some(walk);
        self.tail.drain(..header_bytes);
        self.offset = header_bytes as u64;
        Ok(())
    }

    /// Opens a pcap file of which the file header has been read, with as much of its records as that takes.
    fn open_pcap(&mut self) -> Result<Box<dyn Walk>, ReadError> {
        loop {
            match pcap::open(&self.tail, self.at_end, self.input, &mut self.ledger) {
                Ok(walk) => return Ok(walk),
                Err(_) if self.at_end => {
                    return Err(self.refuse("a pcap file that is cut short in its file header".to_owned()));
                }
                Err(needed) => self.look_ahead(needed),
            }
        }
    }

    fn unpack(&mut self, kind: compression::Compression) {
        let head = std::mem::take(&mut self.tail);
        let nothing = Stream::Plain { reader: Box::new(std::io::empty()), consumed: 0 };
        if let Stream::Plain { reader, .. } = std::mem::replace(&mut self.stream, nothing) {
            self.stream = Stream::Packed(Unpacker::new(kind, head, reader));
            self.ledger.facts.compression = Some(kind.name());
            self.at_end = false;
        }
    }

    fn refuse(&self, what: String) -> ReadError {
        ReadError::NotACapture { input: self.input, what }
    }
}

impl ChunkSource for FileSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        self.next_chunk_of(chunk, LARGEST_CHUNK_BYTES)
    }

    fn inputs(&self) -> Vec<InputFacts> {
        vec![self.facts()]
    }

    fn key_log_bytes(&self) -> usize {
        self.ledger.facts.tls_key_log.len()
    }
    fn consumed_bytes(&self) -> u64 {
        self.stream.consumed_bytes()
    }
}
