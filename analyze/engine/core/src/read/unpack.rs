//! The contract of a decompressor: packed bytes in, plain bytes out, trouble named.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::read::chunk_source::Input;

/// Largest window (zstd) or dictionary (xz) that is allowed: every preset of both tools, `--ultra` and `--long=27`
/// included, and a bound on what a hostile header can make the reader allocate.
pub(super) const MAX_WINDOW_BYTES: u64 = 128 << 20;

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
pub(crate) struct Progress {
    pub(crate) consumed: AtomicU64,
    pub(crate) failure: Mutex<Option<std::io::Error>>,
}

/// The compressed bytes: those read for the magic number, then the rest of the file.
pub(super) struct CompressedBytes {
    pub(crate) head: Vec<u8>,
    pub(crate) taken: usize,
    pub(crate) reader: Input,
    pub(crate) progress: Arc<Progress>,
}

impl Read for CompressedBytes {
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

impl CompressedBytes {
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
