//! One direction's bytes in order: holds back what comes early, within bounds. Knows nothing of TLS.

use std::collections::BTreeMap;

/// Most captured bytes held back for one direction.
const MAX_HELD_BYTES: usize = 512 << 10;

/// Most segments held back for one direction.
const MAX_HELD_SEGMENTS: usize = 4096;

/// Where bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They crossed the capture point in a first transmission.
    Fresh,
    /// They crossed in a retransmitted segment.
    Repeated,
    /// They were never captured, nor was their segment.
    Unseen,
}

/// A stretch of the stream: `bytes`, then `blind_bytes` of which only the number is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPiece<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) blind_bytes: u64,
    /// When this stretch and all before it had passed, Unix nanoseconds.
    pub(crate) time_ns: i64,
    /// The frame in which its last byte passed.
    pub(crate) frame: u32,
    pub(crate) origin: Origin,
}

impl StreamPiece<'_> {
    fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.blind_bytes
    }
}

#[derive(Debug, Clone)]
struct HeldBytes {
    bytes: Box<[u8]>,
    blind_bytes: u64,
    time_ns: i64,
    frame: u32,
    origin: Origin,
}

/// Puts the segments of one direction in order.
#[derive(Debug, Clone)]
pub(crate) struct InOrder {
    next_offset: u64,
    clock_ns: i64,
    clock_frame: u32,
    held_bytes: usize,
    held: Option<BTreeMap<u64, HeldBytes>>,
}

impl InOrder {
    pub(crate) fn new() -> Self {
        Self { next_offset: 0, clock_ns: i64::MIN, clock_frame: 0, held_bytes: 0, held: None }
    }

    /// Offset of the first byte not yet delivered.
    pub(crate) fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// True if bytes are held back because others are missing.
    pub(crate) fn is_waiting(&self) -> bool {
        self.held.is_some()
    }

    /// Takes a segment and delivers what is now in order. `content_needed` may be false if only the number of its
    /// bytes matters to the receiver: then none are kept.
    pub(crate) fn segment(
        &mut self,
        offset: u64,
        piece: StreamPiece<'_>,
        content_needed: bool,
        mut deliver: impl FnMut(u64, StreamPiece<'_>),
    ) {
        if offset > self.next_offset {
            self.hold(offset, piece, content_needed);
            while self.held_bytes > MAX_HELD_BYTES || self.held_count() > MAX_HELD_SEGMENTS {
                self.skip_to_first_held(&mut deliver);
            }
        } else {
            self.deliver(offset, piece, &mut deliver);
            self.drain(&mut deliver);
        }
    }

    /// Passes over the next bytes of the stream, which nobody wants; false if others are awaited or these are not the next.
    #[inline]
    pub(super) fn pass(&mut self, offset: u64, length: u64, time_ns: i64, frame: u32) -> bool {
        let next = offset == self.next_offset && length > 0 && self.held.is_none();
        if next {
            if time_ns >= self.clock_ns {
                (self.clock_ns, self.clock_frame) = (time_ns, frame);
            }
            self.next_offset = self.next_offset.saturating_add(length);
        }
        next
    }

    /// Gives up waiting for any byte before `offset`.
    pub(crate) fn skip(&mut self, offset: u64, mut deliver: impl FnMut(u64, StreamPiece<'_>)) {
        while self.next_offset < offset {
            let first_held = self.first_held().unwrap_or(u64::MAX);
            self.deliver_hole(offset.min(first_held), &mut deliver);
            self.drain(&mut deliver);
        }
    }

    /// Forgets everything held back, for a stream that is of no interest any more.
    pub(crate) fn abandon(&mut self) {
        self.held = None;
        self.held_bytes = 0;
    }

    fn held_count(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.len())
    }

    fn first_held(&self) -> Option<u64> {
        self.held.as_ref()?.keys().next().copied()
    }

    fn hold(&mut self, offset: u64, piece: StreamPiece<'_>, content_needed: bool) {
        let bytes: &[u8] = if content_needed { piece.bytes } else { &[] };
        let blind_bytes = piece.length() - bytes.len() as u64;
        let held = self.held.get_or_insert_default();
        if held.contains_key(&offset) {
            return; // The caller broke its promise to pass each byte once: the first copy stays.
        }
        self.held_bytes += bytes.len();
        let StreamPiece { time_ns, frame, origin, .. } = piece;
        let kept = HeldBytes { bytes: bytes.into(), blind_bytes, time_ns, frame, origin };
        held.insert(offset, kept);
    }

    fn skip_to_first_held(&mut self, deliver: &mut impl FnMut(u64, StreamPiece<'_>)) {
        if let Some(first) = self.first_held() {
            self.deliver_hole(first, deliver);
        }
        self.drain(deliver);
    }

    fn deliver_hole(&mut self, up_to: u64, deliver: &mut impl FnMut(u64, StreamPiece<'_>)) {
        let blind_bytes = up_to.saturating_sub(self.next_offset);
        if blind_bytes > 0 {
            let (time_ns, frame) = (self.clock_ns, self.clock_frame);
            let piece = StreamPiece { bytes: &[], blind_bytes, time_ns, frame, origin: Origin::Unseen };
            self.deliver(self.next_offset, piece, deliver);
        }
    }

    fn drain(&mut self, deliver: &mut impl FnMut(u64, StreamPiece<'_>)) {
        while let Some(held) = self.held.as_mut() {
            let Some(entry) = held.first_entry().filter(|entry| *entry.key() <= self.next_offset) else {
                break;
            };
            let (offset, kept) = entry.remove_entry();
            if held.is_empty() {
                self.held = None;
            }
            self.held_bytes -= kept.bytes.len();
            let HeldBytes { bytes, blind_bytes, time_ns, frame, origin } = kept;
            self.deliver(offset, StreamPiece { bytes: &bytes, blind_bytes, time_ns, frame, origin }, deliver);
        }
    }

    /// Delivers what of `piece` lies at or after `next_offset`.
    fn deliver(&mut self, offset: u64, piece: StreamPiece<'_>, deliver: &mut impl FnMut(u64, StreamPiece<'_>)) {
        let stale = self.next_offset.saturating_sub(offset);
        if stale >= piece.length() {
            return;
        }
        let stale_bytes = stale.min(piece.bytes.len() as u64);
        let bytes = piece.bytes.get(stale_bytes as usize..).unwrap_or_default();
        let blind_bytes = piece.blind_bytes - (stale - stale_bytes);
        if piece.time_ns >= self.clock_ns {
            (self.clock_ns, self.clock_frame) = (piece.time_ns, piece.frame);
        }
        let start = self.next_offset;
        let (time_ns, frame) = (self.clock_ns, self.clock_frame);
        let rest = StreamPiece { bytes, blind_bytes, time_ns, frame, origin: piece.origin };
        self.next_offset = self.next_offset.saturating_add(rest.length());
        deliver(start, rest);
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bytes: &[u8], time_ns: i64) -> StreamPiece<'_> {
        StreamPiece { bytes, blind_bytes: 0, time_ns, frame: 0, origin: Origin::Fresh }
    }

    #[test]
    fn early_bytes_wait_and_carry_the_time_of_the_gap_that_held_them() {
        let mut stream = InOrder::new();
        let mut seen = Vec::new();
        let mut push = |offset, p: StreamPiece<'_>| seen.push((offset, p.bytes.to_vec(), p.time_ns));
        stream.segment(3, piece(b"def", 10), true, &mut push);
        stream.segment(0, piece(b"abc", 20), true, &mut push);
        stream.segment(6, piece(b"g", 15), true, &mut push);
        let expected = [(0, b"abc".to_vec(), 20), (3, b"def".to_vec(), 20), (6, b"g".to_vec(), 20)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_skipped_hole_is_delivered_as_unseen_bytes() {
        let mut stream = InOrder::new();
        let mut seen = Vec::new();
        let mut push = |offset, p: StreamPiece<'_>| seen.push((offset, p.length(), p.origin));
        stream.segment(5, piece(b"xyz", 1), true, &mut push);
        stream.skip(10, &mut push);
        assert_eq!(seen, [(0, 5, Origin::Unseen), (5, 3, Origin::Fresh), (8, 2, Origin::Unseen)]);
        assert_eq!(stream.next_offset(), 10);
    }

    #[test]
    fn holding_is_bounded() {
        let mut stream = InOrder::new();
        let block = vec![0; 1 << 10];
        let mut delivered = 0;
        for i in 0..2000_u64 {
            stream.segment(1 + (i << 10), piece(&block, 0), true, |_, p| delivered += p.length());
            assert!(stream.held_bytes <= MAX_HELD_BYTES);
        }
        assert!(delivered > 1 << 20);
    }
}
