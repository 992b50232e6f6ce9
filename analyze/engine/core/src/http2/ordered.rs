//! Payload of both directions in order, handed to what reads it.

use crate::tls::Moment;
use crate::tls::stream::{InOrder, Origin, StreamPiece};

/// Reads what is in order.
pub trait Pieces {
    /// The next bytes of the client (0) or the server (1), and how many behind them were not captured.
    fn piece(&mut self, side: usize, bytes: &[u8], blind_bytes: u64, at: Moment);

    /// Nothing more is learned from the connection's bytes.
    fn is_over(&self) -> bool;
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Ordered<T> {
    orders: [InOrder; 2],
    /// Which frame the next bytes are of.
    frame: u32,
    pub(super) reader: T,
}

impl<T: Pieces> Ordered<T> {
    pub(super) fn of(reader: T) -> Self {
        Self { orders: [InOrder::new(), InOrder::new()], frame: 0, reader }
    }

    /// The bytes that come next are those of this frame.
    pub fn at_frame(&mut self, frame: u32) {
        self.frame = frame;
    }

    /// Takes payload bytes of the client (0) or the server (1), each at most once and in any order. `captured` is the beginning of
    /// the `length` bytes.
    pub fn segment(&mut self, side: usize, offset: u64, captured: &[u8], length: u32, time_ns: i64) {
        let Self { orders, frame, reader } = self;
        let Some(order) = orders.get_mut(side) else { return };
        let bytes = captured.get(..length as usize).unwrap_or(captured);
        let blind_bytes = u64::from(length) - bytes.len() as u64;
        let piece = StreamPiece { bytes, blind_bytes, time_ns, frame: *frame, origin: Origin::Fresh };
        order.segment(offset, piece, true, |_, next| {
            reader.piece(side, next.bytes, next.blind_bytes, (next.time_ns, next.frame));
        });
    }

    /// Bytes before `offset` that have not come were never captured.
    pub fn skip_hole(&mut self, side: usize, offset: u64) {
        let Self { orders, reader, .. } = self;
        let Some(order) = orders.get_mut(side) else { return };
        order.skip(offset, |_, next| reader.piece(side, next.bytes, next.blind_bytes, (next.time_ns, next.frame)));
    }

    /// Nothing more is learned from its bytes.
    pub fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// Bytes are held back because others are missing.
    pub(super) fn is_waiting(&self) -> bool {
        self.orders.iter().any(InOrder::is_waiting)
    }
}
