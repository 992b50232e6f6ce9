//! Compressed inputs: found by their magic numbers, unpacked while they are read, with bounded memory. Owns what all
//! kinds share: counting, keeping what came before a break, and containing panics of the unpacking crates.

use super::Input;
use super::{gzip, lz4, xz, zstd};
use std::io::{BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes of a file that tell its compression and its format.
pub(super) const MAGIC_BYTES: usize = 8;
/// Largest window (zstd) or dictionary (xz) that is allowed: every preset of both tools, `--ultra` and `--long=27`
/// included, and a bound on what a hostile header can make the reader allocate.
pub(super) const MAX_WINDOW_BYTES: u64 = 128 << 20;
/// Compressed bytes read at a time.
const SOURCE_BYTES: usize = 128 << 10;

/// The compressions that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gzip,
    Zstd,
    Xz,
    Lz4,
    /// The frame format of the first lz4 tools, still written by `lz4 -l`.
    Lz4Legacy,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Lz4 | Self::Lz4Legacy => "lz4",
        }
    }
}

/// The compression of a file that starts with these bytes.
pub(super) fn detect(head: &[u8]) -> Option<Kind> {
    match head {
        [0x1f, 0x8b, 8, ..] => Some(Kind::Gzip),
        // A zstd frame, or a skippable one before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Kind::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Kind::Xz),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(Kind::Lz4),
        [0x02, 0x21, 0x4c, 0x18, ..] => Some(Kind::Lz4Legacy),
        _ => None,
    }
}

/// Why no more bytes come.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The operating system refused.
    Io(std::io::Error),
    /// The compressed stream is broken.
    Broken(String),
}

/// One kind of compression at work.
pub(super) trait Unpack: Send {
    /// Appends nothing, fills `out` from its start; 0 at the end of the stream. After an error it is not called again.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String>;
}

/// What the compressed file does, as the unpacker sees it afterwards.
#[derive(Default)]
struct Progress {
    consumed: AtomicU64,
    failure: Mutex<Option<std::io::Error>>,
}

/// The compressed bytes: those read for the magic number, then the rest of the file.
pub(super) struct Packed {
    head: Vec<u8>,
    taken: usize,
    reader: Input,
    progress: Arc<Progress>,
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match self.head.get(self.taken..) {
            Some(rest) if !rest.is_empty() => {
                let count = (&mut &*rest).read(buffer)?;
                self.taken += count;
                count
            }
            _ => self.reader.read(buffer).inspect_err(|error| self.note(error))?.min(buffer.len()),
        };
        self.progress.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Packed {
    /// Unpackers wrap errors in their own ways: the true one is kept here.
    fn note(&self, error: &std::io::Error) {
        if error.kind() != std::io::ErrorKind::Interrupted
            && let Ok(mut failure) = self.progress.failure.lock()
        {
            let copy = match error.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(error.kind(), error.to_string()),
            };
            *failure = Some(copy);
        }
    }
}

/// Unpacks one input.
pub(super) struct Unpacker {
    kind: Kind,
    /// None after the end or a break.
    unpack: Option<Box<dyn Unpack>>,
    /// A break that is told once the bytes before it are handed on.
    trouble: Option<Trouble>,
    progress: Arc<Progress>,
}

impl Unpacker {
    /// Unpacks what `reader` gives after `head`, which was read from it already.
    pub(super) fn new(kind: Kind, head: Vec<u8>, reader: Input) -> Self {
        let progress = Arc::new(Progress::default());
        let packed = Packed { head, taken: 0, reader, progress: Arc::clone(&progress) };
        let source = BufReader::with_capacity(SOURCE_BYTES, packed);
        let unpack: Box<dyn Unpack> = match kind {
            Kind::Gzip => Box::new(gzip::Gzip::new(source)),
            Kind::Zstd => Box::new(zstd::Zstd::new(source)),
            Kind::Xz => Box::new(xz::Xz::new(source)),
            Kind::Lz4 => Box::new(lz4::Lz4::new(source, false)),
            Kind::Lz4Legacy => Box::new(lz4::Lz4::new(source, true)),
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
                Err(_) => self.break_off("it is malformed in a way the unpacker does not survive"),
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
