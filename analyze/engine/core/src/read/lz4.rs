//! lz4 frames, any number. Decoding is lz4_flex's, which takes the end of the file in front of a block for the end of
//! the frame; what is added here is to tell a cut stream from a whole one. Blocks (up to 4 MiB) are decoded whole: what
//! the last block before a cut holds is lost.

use super::compression::{Packed, Unpack};
use lz4_flex::frame::FrameDecoder;
use std::io::{BufReader, ErrorKind, Read};

const ENDS_TOO_EARLY: &str = "it ends too early";

/// The source, watched for its end.
struct Watched {
    source: BufReader<Packed>,
    consumed: u64,
    ended: bool,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.consumed += count as u64;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Unpacks lz4.
pub(super) struct Lz4 {
    decoder: FrameDecoder<Watched>,
    /// Frames of the legacy format end with the file.
    legacy: bool,
}

impl Lz4 {
    pub(super) fn new(source: BufReader<Packed>, legacy: bool) -> Self {
        Self { decoder: FrameDecoder::new(Watched { source, consumed: 0, ended: false }), legacy }
    }
}

impl Unpack for Lz4 {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        // Whether the last call ended a frame: then the end of the file may come, if it comes at once.
        let mut between_frames = false;
        loop {
            let before = self.decoder.get_ref().consumed;
            let count = self.decoder.read(out).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => ENDS_TOO_EARLY.to_owned(),
                _ => error.to_string(),
            })?;
            let Watched { consumed, ended, .. } = *self.decoder.get_ref();
            match (count, ended) {
                (1.., _) => return Ok(count),
                (_, false) => between_frames = true,
                (_, true) if self.legacy || between_frames && consumed == before => return Ok(0),
                (_, true) => return Err(ENDS_TOO_EARLY.to_owned()),
            }
        }
    }
}
