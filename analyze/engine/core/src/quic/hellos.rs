//! The TLS handshake of a connection, out of CRYPTO frames (RFC 9001 section 4): bounded, in any order.

use crate::quic::frame::{Frame, Frames};
use crate::tls::handshake::{Assembler, Messages};
use crate::tls::stream::{InOrder, Origin, StreamPiece};

/// Largest offset of a CRYPTO frame that is taken: no handshake is longer.
const MAX_CRYPTO_BYTES: u64 = 256 << 10;

/// CRYPTO frames of one direction at one level.
#[derive(Debug, Clone)]
pub(super) struct CryptoStream {
    order: InOrder,
    pub(super) assembler: Assembler,
}

impl CryptoStream {
    pub(super) fn new() -> Self {
        Self { order: InOrder::new(), assembler: Assembler::new() }
    }

    /// Takes the CRYPTO frames of a packet's contents.
    pub(super) fn contents(&mut self, contents: &[u8]) {
        for frame in Frames::new(contents) {
            let Frame::Crypto { offset, data } = frame else { continue };
            if offset.saturating_add(data.len() as u64) > MAX_CRYPTO_BYTES {
                continue;
            }
            let piece = StreamPiece { bytes: data, blind_bytes: 0, time_ns: 0, frame: 0, origin: Origin::Fresh };
            let assembler = &mut self.assembler;
            self.order.segment(offset, piece, true, |_, piece| assembler.bytes(piece.bytes));
        }
    }

    /// A message longer than what was captured of it is read as far as it goes.
    pub(super) fn messages(&self) -> Messages {
        self.assembler.messages_so_far()
    }
}
