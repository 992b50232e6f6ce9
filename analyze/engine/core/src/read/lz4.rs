//! lz4 frames, any number. Decoding is lz4_flex's, which takes the end of the file in front of a block for the end of
//! the frame; what is added here is to tell a cut stream from a whole one. Blocks (up to 4 MiB) are decoded whole: what
//! the last block before a cut holds is lost.

use std::io::{BufReader, ErrorKind, Read};

use lz4_flex::frame::{Error, FrameDecoder};

use crate::read::unpack::{CompressedBytes, Unpack};

const ENDS_TOO_EARLY: &str = "it ends too early";

/// The source, watched for its end.
struct Watched {
    source: BufReader<CompressedBytes>,
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
    pub(super) fn new(source: BufReader<CompressedBytes>, legacy: bool) -> Self {
        Self { decoder: FrameDecoder::new(Watched { source, consumed: 0, ended: false }), legacy }
    }

    fn skip(&mut self, length: u64) -> Result<(), String> {
        let skipped = std::io::copy(&mut self.decoder.get_mut().take(length), &mut std::io::sink());
        match skipped {
            Ok(count) if count == length => Ok(()),
            Ok(_) => Err(ENDS_TOO_EARLY.to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The length of what was met, if it is a skippable frame.
fn skippable_bytes(error: &std::io::Error) -> Option<u64> {
    match error.get_ref()?.downcast_ref()? {
        Error::SkippableFrame(length) => Some(u64::from(*length)),
        _ => None,
    }
}

/// What went wrong; the decoder's own words are the names of its errors.
fn in_words(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match (error.kind(), cause) {
        (ErrorKind::UnexpectedEof, _) => ENDS_TOO_EARLY.to_owned(),
        (_, Some(Error::WrongMagicNumber)) => "after a frame comes something that is not lz4".to_owned(),
        (_, Some(Error::HeaderChecksumError | Error::BlockChecksumError | Error::ContentChecksumError)) => {
            "its checksum does not match what it holds".to_owned()
        }
        (_, Some(Error::DecompressionError(_) | Error::BlockTooBig | Error::ContentLengthError { .. })) => {
            "a block is malformed".to_owned()
        }
        _ => error.to_string(),
    }
}

impl Unpack for Lz4 {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        // Whether the last call ended a frame: then the end of the file may come, if it comes at once.
        let mut between_frames = false;
        loop {
            let before = self.decoder.get_ref().consumed;
            let count = match self.decoder.read(out) {
                Ok(count) => count,
                Err(error) => {
                    self.skip(skippable_bytes(&error).ok_or_else(|| in_words(&error))?)?;
                    continue;
                }
            };
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
