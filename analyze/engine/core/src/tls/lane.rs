//! One direction of a connection: the search for TLS in its bytes, and from there on its records.

use crate::tls::detect::{Candidate, Detected, Search};
use crate::tls::side::RecordSide;
use crate::tls::stream::{InOrder, StreamPiece};

#[derive(Debug, Clone)]
pub(super) struct RecordLane {
    pub(super) order: InOrder,
    pub(super) state: State,
    /// Bytes of first transmissions.
    pub(super) passed_fresh: u64,
    pub(super) passed_any: bool,
}

#[derive(Debug, Clone)]
pub(super) enum State {
    Searching(Search),
    Tls(Box<RecordSide>),
    Plain,
}

impl RecordLane {
    pub(super) fn new() -> Self {
        Self { order: InOrder::new(), state: State::Searching(Search::default()), passed_fresh: 0, passed_any: false }
    }

    pub(super) fn side(&self) -> Option<&RecordSide> {
        match &self.state {
            State::Tls(side) => Some(side),
            _ => None,
        }
    }

    pub(super) fn side_mut(&mut self) -> Option<&mut RecordSide> {
        match &mut self.state {
            State::Tls(side) => Some(side),
            _ => None,
        }
    }

    pub(super) fn count(&mut self, length: u64, by_retransmission: bool) {
        self.passed_any |= length > 0;
        if !by_retransmission {
            self.passed_fresh = self.passed_fresh.saturating_add(length);
        }
    }

    pub(super) fn segment(&mut self, offset: u64, piece: StreamPiece<'_>) {
        let length = piece.bytes.len() as u64 + piece.blind_bytes;
        let content_needed = match &self.state {
            State::Plain => return,
            State::Searching(_) => true,
            State::Tls(side) => {
                let ahead = offset.saturating_sub(self.order.next_offset());
                !side.ignores_next(ahead.saturating_add(length))
            }
        };
        let state = &mut self.state;
        self.order.segment(offset, piece, content_needed, |at, piece| state.piece(at, piece));
        self.forget_if_plain();
    }

    pub(super) fn skip(&mut self, offset: u64) {
        if matches!(self.state, State::Plain) {
            return;
        }
        let state = &mut self.state;
        self.order.skip(offset, |at, piece| state.piece(at, piece));
        self.forget_if_plain();
    }

    pub(super) fn give_up(&mut self) {
        self.state = State::Plain;
        self.order.abandon();
    }

    fn forget_if_plain(&mut self) {
        if matches!(self.state, State::Plain) {
            self.order.abandon();
        }
    }
}

impl State {
    fn piece(&mut self, offset: u64, piece: StreamPiece<'_>) {
        match self {
            Self::Plain => {}
            Self::Tls(side) => {
                side.piece(piece);
                if side.is_refuted() {
                    *self = Self::Searching(Search::default());
                }
            }
            Self::Searching(search) => match search.piece(offset, &piece) {
                Detected::Nothing => {}
                Detected::GiveUp => *self = Self::Plain,
                Detected::Start { candidate, before, index } => {
                    let rest = StreamPiece { bytes: piece.bytes.get(index..).unwrap_or_default(), ..piece };
                    let start_offset = (offset + index as u64).saturating_sub(before.length() as u64);
                    let start_ns = before.pieces().next().map_or(piece.time_ns, |first| first.time_ns);
                    let mut side = Box::new(match candidate {
                        Candidate::Record => RecordSide::new(start_offset, start_ns),
                        Candidate::V2Hello(length) => RecordSide::new_v2(length, start_offset, start_ns),
                    });
                    before.pieces().for_each(|kept| side.piece(kept));
                    side.piece(rest);
                    *self = if side.is_refuted() { Self::Searching(Search::default()) } else { Self::Tls(side) };
                }
            },
        }
    }
}
