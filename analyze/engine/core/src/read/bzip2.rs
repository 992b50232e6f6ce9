//! bzip2, any number of streams (parallel tools write many). Decoding is the crate's, block by block (900 kB at most): what the
//! last block before a cut holds is lost.

use std::io::{BufReader, ErrorKind, Read};

use ::bzip2::bufread::MultiBzDecoder;

use crate::read::unpack::{Packed, Unpack};

/// Unpacks bzip2.
pub(super) struct Bzip2 {
    decoder: MultiBzDecoder<BufReader<Packed>>,
}

impl Bzip2 {
    pub(super) fn new(source: BufReader<Packed>) -> Self {
        Self { decoder: MultiBzDecoder::new(source) }
    }
}

impl Unpack for Bzip2 {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        self.decoder.read(out).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
            _ => error.to_string(),
        })
    }
}
