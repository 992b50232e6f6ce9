//! bzip2, any number of streams (parallel tools write many). Owns the framing; the blocks (900 kB at most) are the crate's. The
//! framing is done here because the crate's readers drop what they unpacked in the call that meets a break.

use std::io::{BufRead, BufReader};

use ::bzip2::{Decompress, Error, Status};

use crate::read::unpack::{CompressedBytes, Unpack};

/// Unpacks bzip2.
pub(super) struct Bzip2 {
    source: BufReader<CompressedBytes>,
    /// Of the stream in hand; none between two.
    stream: Option<Decompress>,
    streams: u64,
    /// What is wrong, told after the bytes before it.
    broken: Option<String>,
}

impl Bzip2 {
    pub(super) fn new(source: BufReader<CompressedBytes>) -> Self {
        Self { source, stream: None, streams: 0, broken: None }
    }

    /// Unpacks once: how many bytes came; none at the end of the file.
    fn unpack(&mut self, out: &mut [u8]) -> Result<Option<usize>, String> {
        let input = self.source.fill_buf().map_err(|error| error.to_string())?;
        let at_end = input.is_empty();
        if self.stream.is_none() {
            if at_end && self.streams > 0 {
                return Ok(None);
            }
            self.streams += 1;
        }
        let stream = self.stream.get_or_insert_with(|| Decompress::new(false));
        let (before_in, before_out) = (stream.total_in(), stream.total_out());
        let status = stream.decompress(input, out);
        let consumed = (stream.total_in() - before_in) as usize;
        let count = (stream.total_out() - before_out) as usize;
        self.source.consume(consumed);
        self.broken = match status {
            Ok(Status::StreamEnd) => {
                self.stream = None;
                None
            }
            Ok(_) if count == 0 && consumed == 0 && (at_end || !out.is_empty()) => Some("it ends too early".to_owned()),
            Ok(_) => None,
            Err(Error::DataMagic) if self.streams > 1 => {
                Some(format!("after stream {} comes something that is not bzip2", self.streams - 1))
            }
            Err(error) => Some(error.to_string()),
        };
        Ok(Some(count))
    }
}

impl Unpack for Bzip2 {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        loop {
            if let Some(what) = self.broken.take() {
                return Err(what);
            }
            match self.unpack(out)? {
                None => return Ok(0),
                Some(0) => {}
                Some(count) => return Ok(count),
            }
        }
    }
}
