//! gzip (RFC 1952), any number of members. Owns the framing; inflating is flate2's. The framing is done here because
//! flate2's readers drop what they inflated in the call that meets a break.

use std::io::{BufRead, BufReader, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::read::unpack::{CompressedBytes, Unpack};

const FHCRC: u8 = 0x02;

const FEXTRA: u8 = 0x04;

const FNAME: u8 = 0x08;

const FCOMMENT: u8 = 0x10;

/// Unpacks gzip.
pub(super) struct Gzip {
    source: BufReader<CompressedBytes>,
    inflate: Decompress,
    crc: Crc,
    in_member: bool,
    members: u64,
    /// What is wrong, told after the bytes before it.
    broken: Option<String>,
}

impl Gzip {
    pub(super) fn new(source: BufReader<CompressedBytes>) -> Self {
        let inflate = Decompress::new(false);
        Self { source, inflate, crc: Crc::new(), in_member: false, members: 0, broken: None }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
            _ => error.to_string(),
        })?;
        Ok(bytes)
    }

    fn skip_text(&mut self) -> Result<(), String> {
        while self.bytes::<1>()? != [0] {}
        Ok(())
    }

    /// Reads the header of the next member (section 2.3); `false` if there is none.
    fn member_header(&mut self) -> Result<bool, String> {
        let rest = self.source.fill_buf().map_err(|error| error.to_string())?;
        if rest.is_empty() && self.members > 0 {
            return Ok(false);
        }
        let [id1, id2, method, flags, ..] = self.bytes::<10>()?;
        if [id1, id2, method] != [0x1f, 0x8b, 8] {
            return Err(format!("after member {} comes something that is not gzip", self.members));
        }
        if flags & FEXTRA != 0 {
            for _ in 0..u16::from_le_bytes(self.bytes()?) {
                self.bytes::<1>()?;
            }
        }
        if flags & FNAME != 0 {
            self.skip_text()?;
        }
        if flags & FCOMMENT != 0 {
            self.skip_text()?;
        }
        if flags & FHCRC != 0 {
            self.bytes::<2>()?;
        }
        self.members += 1;
        self.inflate.reset(false);
        self.crc.reset();
        self.in_member = true;
        Ok(true)
    }

    fn member_trailer(&mut self) -> Result<(), String> {
        self.in_member = false;
        let crc = u32::from_le_bytes(self.bytes()?);
        let length = u32::from_le_bytes(self.bytes()?);
        if (crc, length) != (self.crc.sum(), self.inflate.total_out() as u32) {
            return Err("its checksum does not match what it holds".to_owned());
        }
        Ok(())
    }

    /// Inflates once: how many bytes came.
    fn inflate(&mut self, out: &mut [u8]) -> Result<usize, String> {
        let input = self.source.fill_buf().map_err(|error| error.to_string())?;
        let at_end = input.is_empty();
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let flush = if at_end { FlushDecompress::Finish } else { FlushDecompress::None };
        let status = self.inflate.decompress(input, out, flush);
        let consumed = (self.inflate.total_in() - before_in) as usize;
        let count = (self.inflate.total_out() - before_out) as usize;
        self.source.consume(consumed);
        self.crc.update(out.get(..count).unwrap_or(&[]));
        self.broken = match status {
            Ok(Status::StreamEnd) => self.member_trailer().err(),
            Ok(_) if at_end && count == 0 => Some("it ends too early".to_owned()),
            Ok(_) if consumed == 0 && count == 0 => Some("it ends too early".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        Ok(count)
    }
}

impl Unpack for Gzip {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, String> {
        loop {
            if let Some(what) = self.broken.take() {
                return Err(what);
            }
            if !self.in_member && !self.member_header()? {
                return Ok(0);
            }
            let count = self.inflate(out)?;
            if count > 0 {
                return Ok(count);
            }
        }
    }
}
