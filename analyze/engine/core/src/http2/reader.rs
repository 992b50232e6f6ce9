//! What reads a connection's frames: from its first byte on, or inside TLS.

use crate::http2::sealed::{Opened, SealedTracker};
use crate::http2::tracker::{Http2Summary, Http2Tracker};
use crate::secrets::SharedKeys;

/// See the module.
#[derive(Debug, Clone)]
pub enum Http2Reader {
    /// The client began with the preface.
    Clear(Box<Http2Tracker>),
    /// There are keys, if it should turn out to be TLS.
    Sealed(Box<SealedTracker>),
}

impl Http2Reader {
    /// For a connection that may be TLS whose keys are in `log`.
    pub fn sealed(log: &SharedKeys) -> Self {
        Self::Sealed(Box::new(SealedTracker::new(log)))
    }

    /// Takes payload bytes of the client (0) or the server (1), each at most once and in any order.
    pub fn segment(&mut self, side: usize, offset: u64, captured: &[u8], length: u32, time_ns: i64) {
        match self {
            Self::Clear(tracker) => tracker.segment(side, offset, captured, length, time_ns),
            Self::Sealed(tracker) => tracker.segment(side, offset, captured, length, time_ns),
        }
    }

    /// The bytes that come next are those of this frame.
    pub fn at_frame(&mut self, frame: u32) {
        if let Self::Sealed(tracker) = self {
            tracker.at_frame(frame);
        }
    }

    /// Texts inside TLS that are no HTTP/2, since this was asked last.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        match self {
            Self::Clear(_) => Vec::new(),
            Self::Sealed(tracker) => tracker.take_opened(),
        }
    }

    /// All of the connection was such texts.
    pub fn has_opened_all(&self) -> bool {
        matches!(self, Self::Sealed(tracker) if tracker.has_opened_all())
    }

    /// Bytes before `offset` that have not come were never captured.
    pub fn skip_hole(&mut self, side: usize, offset: u64) {
        match self {
            Self::Clear(tracker) => tracker.skip_hole(side, offset),
            Self::Sealed(tracker) => tracker.skip_hole(side, offset),
        }
    }

    /// Nothing more is learned from its bytes.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Clear(tracker) => tracker.is_over(),
            Self::Sealed(tracker) => tracker.is_over(),
        }
    }

    /// The connection is read without TLS.
    pub fn is_clear(&self) -> bool {
        matches!(self, Self::Clear(_))
    }

    /// What is known; none where it was no HTTP/2.
    pub fn summary(&self) -> Option<Http2Summary> {
        match self {
            Self::Clear(tracker) => Some(tracker.summary()),
            Self::Sealed(tracker) => tracker.summary(),
        }
    }
}
