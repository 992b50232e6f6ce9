//! Where the bytes of an input come from: as they are, or unpacked; read so that kernels copy them quickly.

use std::io::ErrorKind;

use crate::read::chunk_source::Input;
use crate::read::compression::Unpacker;
use crate::read::unpack::Trouble;

/// Kernels copy a file's page several times slower to where, within a page, it comes to lie up to 31 bytes behind its own
/// place (measured): processors take each load for one of what was just stored, as both have the same low address bits.
const PAGE_BYTES: usize = 4 << 10;

pub(super) const QUICK_DISTANCE_BYTES: usize = 64;

/// See the module.
pub(super) enum Stream {
    Plain { reader: Input, consumed: u64 },
    Packed(Unpacker),
}

impl Stream {
    /// Reads once; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        match self {
            Self::Packed(unpacker) => unpacker.read(buffer),
            Self::Plain { reader, consumed } => loop {
                match reader.read(buffer) {
                    Ok(count) => {
                        *consumed += count as u64;
                        return Ok(count.min(buffer.len()));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(Trouble::Io(error)),
                }
            },
        }
    }

    pub(super) fn consumed_bytes(&self) -> u64 {
        match self {
            Self::Plain { consumed, .. } => *consumed,
            Self::Packed(unpacker) => unpacker.consumed_bytes(),
        }
    }

    /// By how many bytes the next read must go further back than to `address` to be copied quickly.
    pub(super) fn slow_copy_avoided_by(&self, address: usize) -> usize {
        match self {
            Self::Plain { consumed, .. } => {
                let behind = address.wrapping_sub(*consumed as usize) % PAGE_BYTES;
                if (1..QUICK_DISTANCE_BYTES).contains(&behind) { QUICK_DISTANCE_BYTES } else { 0 }
            }
            Self::Packed(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn avoided_by(consumed: u64, address: usize) -> usize {
        Stream::Plain { reader: Box::new(std::io::empty()), consumed }.slow_copy_avoided_by(address)
    }

    #[test]
    fn no_read_goes_a_little_behind_its_place_in_the_page() {
        for consumed in [0, 24, 262_168, u64::MAX] {
            for address in 0..3 * PAGE_BYTES {
                let moved = address + avoided_by(consumed, address);
                let behind = moved.wrapping_sub(consumed as usize) % PAGE_BYTES;
                assert!(behind == 0 || behind >= QUICK_DISTANCE_BYTES, "{consumed} to {address}: {behind} behind");
            }
        }
    }

    #[test]
    fn what_is_copied_quickly_stays_where_it_was_to_go() {
        assert_eq!([24, 24 + 64, 4096 + 24, 23].map(|address| avoided_by(24, address)), [0; 4]);
        assert_eq!([25, 24 + 63, 4096 + 30].map(|address| avoided_by(24, address)), [64; 3]);
    }
}
