//! Frames of a packet that was opened (RFC 9000 section 19, RFC 9221).

use crate::quic::bytes::Bytes;

/// A frame, as far as something is learned from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// Padding.
    Padding,
    Ack {
        largest: u64,
        delay: u64,
        ranges: AckRanges<'a>,
    },
    ResetStream {
        id: u64,
        code: u64,
        final_bytes: u64,
    },
    StopSending {
        id: u64,
        code: u64,
    },
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    Stream {
        id: u64,
        offset: u64,
        bytes: u64,
        finishes: bool,
    },
    MaxData(u64),
    MaxStreamData {
        id: u64,
        limit: u64,
    },
    DataBlocked,
    StreamDataBlocked {
        id: u64,
    },
    NewConnectionId {
        id: &'a [u8],
        reset_token: &'a [u8],
    },
    ConnectionClose {
        application: bool,
        code: u64,
        reason: &'a [u8],
    },
    /// Of no interest but that it elicits an acknowledgement.
    Other,
}

impl Frame<'_> {
    /// Its packet is to be acknowledged (RFC 9002 section 2).
    pub(super) fn elicits_ack(&self) -> bool {
        !matches!(self, Self::Padding | Self::Ack { .. } | Self::ConnectionClose { .. })
    }
}

/// The ranges of an ACK frame behind its largest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AckRanges<'a> {
    pub(super) largest: u64,
    first: u64,
    count: u64,
    bytes: &'a [u8],
}

impl AckRanges<'_> {
    /// Smallest and largest number of each range, the newest first.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut bytes = Bytes(self.bytes);
        let mut left = self.count;
        let mut next = self.largest.checked_sub(self.first).map(|smallest| (smallest, self.largest));
        std::iter::from_fn(move || {
            let (smallest, largest) = next?;
            next = (|| {
                left = left.checked_sub(1)?;
                let (gap, length) = (bytes.varint()?, bytes.varint()?);
                let largest = smallest.checked_sub(gap)?.checked_sub(2)?;
                Some((largest.checked_sub(length)?, largest))
            })();
            Some((smallest, largest))
        })
    }
}

/// Frames one by one; ends at one that is malformed or not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames<'a>(Bytes<'a>);

impl<'a> Frames<'a> {
    pub(super) fn new(contents: &'a [u8]) -> Self {
        Self(Bytes(contents))
    }

    fn read(&mut self) -> Option<Frame<'a>> {
        let bytes = &mut self.0;
        Some(match bytes.varint()? {
            0x00 => {
                let padding = bytes.0.iter().take_while(|&&byte| byte == 0).count();
                bytes.take(padding as u64)?;
                Frame::Padding
            }
            kind @ (0x02 | 0x03) => {
                let (largest, delay, count, first) =
                    (bytes.varint()?, bytes.varint()?, bytes.varint()?, bytes.varint()?);
                let start = bytes.0;
                for _ in 0..count {
                    bytes.skip_varints(2)?;
                }
                let ranges = start.get(..start.len() - bytes.0.len())?;
                if kind == 0x03 {
                    bytes.skip_varints(3)?;
                }
                Frame::Ack { largest, delay, ranges: AckRanges { largest, first, count, bytes: ranges } }
            }
            0x04 => Frame::ResetStream { id: bytes.varint()?, code: bytes.varint()?, final_bytes: bytes.varint()? },
            0x05 => Frame::StopSending { id: bytes.varint()?, code: bytes.varint()? },
            0x06 => Frame::Crypto { offset: bytes.varint()?, data: bytes.string()? },
            0x07 => {
                bytes.string()?;
                Frame::Other
            }
            kind @ 0x08..=0x0f => {
                let id = bytes.varint()?;
                let offset = if kind & 4 != 0 { bytes.varint()? } else { 0 };
                let rest = bytes.0.len() as u64;
                let length = if kind & 2 != 0 { bytes.varint()? } else { rest };
                Frame::Stream { id, offset, bytes: bytes.take(length)?.len() as u64, finishes: kind & 1 != 0 }
            }
            0x10 => Frame::MaxData(bytes.varint()?),
            0x11 => Frame::MaxStreamData { id: bytes.varint()?, limit: bytes.varint()? },
            0x14 => {
                bytes.varint()?;
                Frame::DataBlocked
            }
            0x15 => {
                let id = bytes.varint()?;
                bytes.varint()?;
                Frame::StreamDataBlocked { id }
            }
            // MAX_STREAMS, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x12 | 0x13 | 0x16 | 0x17 | 0x19 => {
                bytes.varint()?;
                Frame::Other
            }
            0x18 => {
                bytes.skip_varints(2)?;
                Frame::NewConnectionId { id: bytes.short_string()?, reset_token: bytes.take(16)? }
            }
            // PATH_CHALLENGE, PATH_RESPONSE.
            0x1a | 0x1b => {
                bytes.take(8)?;
                Frame::Other
            }
            kind @ (0x1c | 0x1d) => {
                let code = bytes.varint()?;
                if kind == 0x1c {
                    bytes.varint()?;
                }
                Frame::ConnectionClose { application: kind == 0x1d, code, reason: bytes.string()? }
            }
            // PING, HANDSHAKE_DONE.
            0x01 | 0x1e => Frame::Other,
            kind @ (0x30 | 0x31) => {
                let length = if kind == 0x31 { bytes.varint()? } else { bytes.0.len() as u64 };
                bytes.take(length)?;
                Frame::Other
            }
            _ => return None,
        })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let frame = self.read();
        if frame.is_none() {
            self.0 = Bytes(&[]);
        }
        frame
    }
}
