//! Compressed inputs: found by their magic numbers, unpacked while they are read, with bounded memory. Owns what all
//! kinds share: counting, keeping what came before a break, and containing panics of the unpacking crates.

use std::io::{BufReader, ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::read::chunk_source::Input;
use crate::read::unpack::{CompressedBytes, Progress, Trouble, Unpack};
use crate::read::{bzip2, gzip, lz4, xz, zstd};

/// Bytes of a file that tell its compression and its format.
pub(super) const MAGIC_BYTES: usize = 8;

/// Compressed bytes read at a time.
const SOURCE_BYTES: usize = 128 << 10;

/// The compressions that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Lz4,
    /// The frame format of the first lz4 tools, still written by `lz4 -l`.
    Lz4Legacy,
    Bzip2,
}

impl Compression {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Lz4 | Self::Lz4Legacy => "lz4",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// The compression of a file that starts with these bytes.
pub(super) fn detect(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
        // A zstd frame, or a skippable one before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Lz4),
        [0x02, 0x21, 0x4c, 0x18, ..] => Some(Compression::Lz4Legacy),
        // The level, and the mark of a block or of the end.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Compression::Bzip2),
        _ => None,
    }
}

/// Waits until there is something: what unpacks cannot stop half way.
struct Patient(Input);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }
}

/// Unpacks one input.
pub(super) struct Unpacker {
    kind: Compression,
    /// None after the end or a break.
    unpack: Option<Box<dyn Unpack>>,
    /// A break that is reported once the bytes before it are handed on.
    trouble: Option<Trouble>,
    progress: Arc<Progress>,
}

impl Unpacker {
    /// Unpacks what `reader` gives after `head`, which was read from it already.
    pub(super) fn new(kind: Compression, head: Vec<u8>, reader: Input) -> Self {
        let progress = Arc::new(Progress::default());
        let packed =
            CompressedBytes { head, taken: 0, reader: Box::new(Patient(reader)), progress: Arc::clone(&progress) };
        let source = BufReader::with_capacity(SOURCE_BYTES, packed);
        let unpack: Box<dyn Unpack> = match kind {
            Compression::Gzip => Box::new(gzip::Gzip::new(source)),
            Compression::Zstd => Box::new(zstd::Zstd::new(source)),
            Compression::Xz => Box::new(xz::Xz::new(source)),
            Compression::Lz4 => Box::new(lz4::Lz4::new(source, false)),
            Compression::Bzip2 => Box::new(bzip2::Bzip2::new(source)),
            Compression::Lz4Legacy => Box::new(lz4::Lz4::new(source, true)),
        };
        Self { kind, unpack: Some(unpack), trouble: None, progress }
    }

    /// Compressed bytes consumed.
    pub(super) fn consumed_bytes(&self) -> u64 {
        self.progress.consumed.load(Ordering::Relaxed)
    }

    /// Fills `out` as far as the stream goes; 0 at its end.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, Trouble> {
        let mut filled = 0;
        while let (Some(unpack), Some(room)) = (self.unpack.as_mut(), out.get_mut(filled..).filter(|r| !r.is_empty())) {
            // The crates promise not to panic; hostile input is where such promises fail.
            match catch_unwind(AssertUnwindSafe(|| unpack.read(room))) {
                Ok(Ok(0)) => self.unpack = None,
                Ok(Ok(count)) => filled += count.min(room.len()),
                Ok(Err(what)) => self.break_off(&what),
                Err(_) => self.break_off("it is malformed"),
            }
        }
        match self.trouble.take() {
            Some(trouble) if filled == 0 => Err(trouble),
            trouble => {
                self.trouble = trouble;
                Ok(filled)
            }
        }
    }

    fn break_off(&mut self, what: &str) {
        self.unpack = None;
        let failure = self.progress.failure.lock().ok().and_then(|mut failure| failure.take());
        self.trouble = Some(match failure {
            Some(error) => Trouble::Io(error),
            None => Trouble::Broken(format!("the {} stream is broken: {what}", self.kind.name())),
        });
    }
}
