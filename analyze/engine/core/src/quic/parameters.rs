//! Transport parameters of an end (RFC 9000 section 18), as far as something is learned from them.

use crate::quic::bytes::Bytes;
use crate::quic::round_trip::DEFAULT_MAX_ACK_DELAY_NS;

/// Bits by which ACK delays are shifted where an end says nothing else.
const DEFAULT_ACK_DELAY_EXPONENT: u32 = 3;

/// What an end allows its peer, and how it acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) max_data: u64,
    /// Streams with two directions that this end opens, those that its peer opens, and the peer's with one direction.
    pub(super) max_stream_data: [u64; 3],
    pub(super) ack_delay_exponent: u32,
    pub(super) max_ack_delay_ns: i64,
    pub(super) reset_token: Option<[u8; 16]>,
}

impl Parameters {
    /// Reads the extension's content, or as much of it as makes sense.
    pub(super) fn read(content: &[u8]) -> Self {
        let mut found = Self {
            max_data: 0,
            max_stream_data: [0; 3],
            ack_delay_exponent: DEFAULT_ACK_DELAY_EXPONENT,
            max_ack_delay_ns: DEFAULT_MAX_ACK_DELAY_NS,
            reset_token: None,
        };
        let mut bytes = Bytes(content);
        while let Some((id, value)) = bytes.varint().zip(bytes.string()) {
            let number = Bytes(value).varint().unwrap_or(0);
            match id {
                0x02 => found.reset_token = value.try_into().ok(),
                0x04 => found.max_data = number,
                0x05..=0x07 => found.max_stream_data[(id - 0x05) as usize] = number,
                // Larger ones are not allowed.
                0x0a => found.ack_delay_exponent = number.min(20) as u32,
                0x0b => found.max_ack_delay_ns = number.min(1 << 14) as i64 * 1_000_000,
                _ => {}
            }
        }
        found
    }

    /// What the peer may send on a stream at first. `from` sends; 0 is the client.
    pub(super) fn max_stream_data(&self, id: u64, from: usize) -> u64 {
        let [own, peers, one_direction] = self.max_stream_data;
        match id & 3 {
            2 | 3 => one_direction,
            opener if opener as usize == from => peers,
            _ => own,
        }
    }
}
