//! What a side has said inside TLS: a stretch of application data, and what the lengths of its records reveal.

use crate::tls::entry::{Entry, Moment};

/// So many bytes of a segment fill it: more of the same will follow.
const FULL_SEGMENT_BYTES: u64 = 1000;

/// A stretch of one side's application data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// When its first byte passed, and in which frame.
    pub start: Moment,
    /// The same of its last byte.
    pub end: Moment,
    /// Bytes without what protects them, as far as that is known.
    pub bytes: u64,
    /// Its records.
    pub records: Records,
}

/// What the lengths of the records of a stretch reveal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    /// They are those of HTTP/2, whose streams may go side by side.
    pub http2: bool,
    /// They are of HTTP/2, and could not be read.
    pub hidden: bool,
    /// Records that may begin a request of HTTP/2 each; 0 where there is no HTTP/2.
    pub requests: u16,
    /// One of them is too long to begin a request: short ones after it are of the same body.
    pub has_body: bool,
    /// All may be window updates of HTTP/2.
    pub window_updates: bool,
    /// It is one record as long as the interim response that asks for the body.
    pub is_continue: bool,
    /// Length of the last one.
    pub last_bytes: u16,
    /// The last one is as long as one before it, or fills its segment: more of the same will follow.
    pub repeats: bool,
    /// Lengths of the last ones before.
    pub recent_bytes: [u16; 3],
}

impl Records {
    /// Bytes whose records could not be read.
    pub(super) fn unread(entry: &Entry, http2: bool) -> Self {
        Self {
            http2,
            hidden: http2,
            has_body: http2,
            repeats: entry.last_bytes >= FULL_SEGMENT_BYTES,
            ..Self::default()
        }
    }

    /// Requests in both, one after the other.
    fn requests_with(self, next: Self) -> u16 {
        if self.has_body { self.requests } else { self.requests.saturating_add(next.requests) }
    }

    /// Those of two stretches, one after the other.
    pub fn and(self, next: Self) -> Self {
        let [first, second, _] = self.recent_bytes;
        let recent_bytes = match self.recent_bytes.contains(&self.last_bytes) {
            true => self.recent_bytes,
            false => [self.last_bytes, first, second],
        };
        Self {
            http2: next.http2,
            hidden: self.hidden,
            requests: self.requests_with(next),
            has_body: self.has_body || next.has_body,
            window_updates: self.window_updates && next.window_updates,
            is_continue: false,
            last_bytes: next.last_bytes,
            repeats: next.repeats || next.last_bytes > 0 && recent_bytes.contains(&next.last_bytes),
            recent_bytes,
        }
    }
}
