//! zstd (RFC 8878), any number of frames, skippable ones included. Owns the sequence of frames; decoding is ruzstd's.

use std::io::{BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::read::unpack::{CompressedBytes, MAX_WINDOW_BYTES, Unpack};

/// An empty last block and room for a checksum: ends a frame, so that the decoder gives away what it holds.
const END_OF_FRAME: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// Unpacks zstd.
pub(super) struct Zstd {
    source: BufReader<CompressedBytes>,
    decoder: FrameDecoder,
    in_frame: bool,
    frames: u64,
    broken: Option<String>,
}

impl Zstd {
    pub(super) fn new(source: BufReader<CompressedBytes>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        Self { source, decoder, in_frame: false, frames: 0, broken: None }
    }

    /// Starts the next frame; `false` if there is none.
    fn next_frame(&mut self) -> Result<bool, String> {
        loop {
            let rest = self.source.fill_buf().map_err(|error| error.to_string())?;
            if rest.is_empty() {
                return if self.frames > 0 { Ok(false) } else { Err("it ends too early".to_owned()) };
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.frames += 1;
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    self.skip(u64::from(length))?;
                }
                Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                    return Err(format!("it needs a window of {requested} bytes, more than 128 MiB"));
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(_))) => {
                    return Err(format!("after frame {} comes something that is not zstd", self.frames));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn skip(&mut self, length: u64) -> Result<(), String> {
        let skipped = std::io::copy(&mut (&mut self.source).take(length), &mut std::io::sink());
        match skipped {
            Ok(count) if count == length => Ok(()),
            Ok(_) => Err("it ends too early".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Decodes one block more. After a break the decoder is made to give away the window it held back.
    fn decode(&mut self) {
        let one = || BlockDecodingStrategy::UptoBlocks(1);
        if self.decoder.decode_blocks(&mut self.source, one()).is_err() {
            let at_end = self.source.fill_buf().map_or(true, <[u8]>::is_empty);
            self.broken = Some(if at_end { "it ends too early" } else { "a block is malformed" }.to_owned());
            if self.decoder.decode_blocks(END_OF_FRAME, one()).is_err() {
                self.in_frame = false;
            }
        }
    }

    fn end_frame(&mut self) -> Result<(), String> {
        self.in_frame = false;
        if let Some(what) = self.broken.take() {
            return Err(what);
        }
        match self.decoder.get_checksum_from_data() {
            Some(sum) if Some(sum) != self.decoder.get_calculated_checksum() => {
                Err("its checksum does not match what it holds".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Unpack for Zstd {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        loop {
            if self.in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(out).map_err(|error| error.to_string());
            }
            if self.in_frame && self.decoder.is_finished() {
                self.end_frame()?;
            } else if self.in_frame {
                self.decode();
            } else if let Some(what) = self.broken.take() {
                return Err(what);
            } else if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}
