//! A reader of bytes and of QUIC's variable-length integers (RFC 9000 section 16).

/// What has not been read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*taken))
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let length = 1u64 << (self.0.first()? >> 6);
        let taken = self.take(length)?;
        let value = taken.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        // Its two first bits say how long it is.
        Some(value & (u64::MAX >> (66 - 8 * length)))
    }

    pub(super) fn skip_varints(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    /// Bytes behind their one-byte length.
    pub(super) fn short_string(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(length.into())
    }

    /// Bytes behind their length.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length_are_those_of_the_standard() {
        // RFC 9000 appendix A.1.
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            let mut reader = Bytes(bytes);
            assert_eq!((reader.varint(), reader.0.len()), (Some(value), 0));
            assert_eq!(Bytes(&bytes[..bytes.len() - 1]).varint(), None);
        }
    }
}
