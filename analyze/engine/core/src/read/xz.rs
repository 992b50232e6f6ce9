//! xz, any number of streams and blocks. Decoding is lzma-rust2's, which takes compressed chunks (up to 64 KiB) whole:
//! what the last chunk before a cut holds is lost.

use std::io::{BufReader, ErrorKind, Read};

use lzma_rust2::XzReader;

use crate::read::unpack::{CompressedBytes, MAX_WINDOW_BYTES, Unpack};

/// Bytes asked for at a time: what a break can cost, for the decoder drops what it decoded in the call that meets it.
const STEP_BYTES: usize = 4096;

/// What the decoder needs beside its dictionary, KiB.
const OVERHEAD_KIB: u64 = 1024;

/// Unpacks xz.
pub(super) struct Xz {
    reader: XzReader<BufReader<CompressedBytes>>,
}

impl Xz {
    pub(super) fn new(source: BufReader<CompressedBytes>) -> Self {
        let limit_kib = (MAX_WINDOW_BYTES / 1024 + OVERHEAD_KIB) as u32;
        Self { reader: XzReader::new_mem_limit(source, true, limit_kib) }
    }
}

impl Unpack for Xz {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        let step = out.len().min(STEP_BYTES);
        let room = out.get_mut(..step).unwrap_or(&mut []);
        self.reader.read(room).map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => "it needs a dictionary of more than 128 MiB".to_owned(),
            ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
            _ => error.to_string(),
        })
    }
}
