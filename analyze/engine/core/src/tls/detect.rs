//! Where in a direction's stream TLS begins, if it does.
//!
//! TLS need not start with the stream: a CONNECT request, a SOCKS dialogue, STARTTLS or a PROXY header may come first, and a
//! capture may begin in the middle of a record. So a record header is looked for at every byte of the stream's first
//! kilobytes (further in binary than in text, since only a record cut in two is long and binary), and at segment starts up
//! to [`MAX_OFFSET`]. A candidate is only that: [`super::side::RecordSide`] proves or refutes it by what follows.

use crate::tls::record::{self, RecordHeader};
use crate::tls::stream::{Origin, StreamPiece};

/// No TLS is looked for beyond this offset.
const MAX_OFFSET: u64 = 64 << 10;

/// Every byte is looked at up to here in a stream that starts as text: a dialogue before TLS or a PROXY header.
const MAX_TEXT_SCAN: u64 = 2 << 10;

/// Every byte is looked at up to here in other streams: more than the longest record, which a capture may begin inside.
const MAX_BINARY_SCAN: u64 = 20 << 10;

/// Bytes that tell whether a stream starts as text.
const TEXT_SAMPLE: u64 = 8;

/// Bytes that decide about a candidate.
const PROBE_BYTES: usize = 11;

/// Eight bytes of one.
const ONES: u64 = 0x0101_0101_0101_0101;

/// A place where a record may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    Record,
    /// An SSLv2 ClientHello, with its length after two bytes of header.
    V2Hello(u16),
}

enum Probe {
    No,
    NeedMore,
    Yes(Candidate),
}

/// What the search made of a piece.
pub(super) enum Detected {
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    GiveUp,
    /// A candidate: `before` kept bytes of earlier pieces, then the piece from `index` on.
    Start { candidate: Candidate, before: KeptBytes, index: usize },
}

/// The last bytes of the stream, kept while they are too few to decide.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeptBytes {
    bytes: [u8; PROBE_BYTES],
    /// Bit i: byte i crossed in a first transmission.
    fresh: u16,
    times_ns: [i64; PROBE_BYTES],
    frames: [u32; PROBE_BYTES],
    length: u8,
}

impl KeptBytes {
    pub(super) fn length(&self) -> usize {
        usize::from(self.length)
    }

    /// The kept bytes one by one as pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = StreamPiece<'_>> {
        let bytes =
            self.bytes.chunks(1).zip(self.times_ns.into_iter().zip(self.frames)).enumerate().take(self.length());
        bytes.map(move |(index, (bytes, (time_ns, frame)))| {
            let origin = if self.fresh >> index & 1 == 1 { Origin::Fresh } else { Origin::Repeated };
            StreamPiece { bytes, blind_bytes: 0, time_ns, frame, origin }
        })
    }

    fn drop_front(&mut self, count: usize) {
        let count = count.min(self.length());
        self.bytes.rotate_left(count);
        self.times_ns.rotate_left(count);
        self.frames.rotate_left(count);
        self.fresh >>= count;
        self.length -= count as u8;
    }

    fn push(&mut self, bytes: &[u8], piece: &StreamPiece<'_>) {
        for byte in bytes {
            let index = self.length();
            let (Some(slot), Some(time)) = (self.bytes.get_mut(index), self.times_ns.get_mut(index)) else {
                return;
            };
            *slot = *byte;
            *time = piece.time_ns;
            if let Some(frame) = self.frames.get_mut(index) {
                *frame = piece.frame;
            }
            let bit = 1 << index;
            self.fresh = if piece.origin == Origin::Fresh { self.fresh | bit } else { self.fresh & !bit };
            self.length += 1;
        }
    }
}

/// The search in one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    kept: KeptBytes,
    binary: bool,
}

impl Search {
    /// Looks at a piece whose first byte lies at `offset`.
    pub(super) fn piece(&mut self, offset: u64, piece: &StreamPiece<'_>) -> Detected {
        self.sample(offset, piece.bytes);
        let found = self.look(offset, piece);
        if matches!(found, Detected::Nothing) {
            if piece.blind_bytes > 0 {
                self.kept = KeptBytes::default();
            }
            if offset > MAX_OFFSET && self.kept.length == 0 {
                return Detected::GiveUp;
            }
        }
        found
    }

    /// True if these bytes, without any kept, would leave the search as it is and let it go on.
    #[inline]
    pub(super) fn finds_nothing(&self, offset: u64, bytes: &[u8]) -> bool {
        let may_start = bytes.first().is_some_and(|byte| matches!(byte, 0x14..=0x17 | 0x80..=0xff));
        (TEXT_SAMPLE..=MAX_OFFSET).contains(&offset)
            && self.kept.length == 0
            && !may_start
            && self.next_possible_start(offset, bytes, 1) == bytes.len()
    }

    fn sample(&mut self, offset: u64, bytes: &[u8]) {
        if offset < TEXT_SAMPLE && !(offset == 0 && bytes.first_chunk().is_some_and(is_plain_text)) {
            let sample = bytes.iter().take((TEXT_SAMPLE - offset) as usize);
            self.binary |= !sample.into_iter().all(|byte| matches!(byte, b'\r' | b'\n' | b'\t' | b' '..=b'~'));
        }
    }

    fn look(&mut self, offset: u64, piece: &StreamPiece<'_>) -> Detected {
        while self.kept.length > 0 {
            match self.probe_kept(piece.bytes) {
                Probe::Yes(candidate) => return self.start(candidate, 0),
                Probe::NeedMore => {
                    self.kept.push(piece.bytes, piece);
                    return Detected::Nothing;
                }
                Probe::No => self.kept.drop_front(1),
            }
        }
        let mut index = 0;
        while let Some(rest) = piece.bytes.get(index..).filter(|rest| !rest.is_empty()) {
            match probe(rest) {
                Probe::Yes(candidate) => return self.start(candidate, index),
                Probe::NeedMore => {
                    self.kept.push(rest, piece);
                    return Detected::Nothing;
                }
                Probe::No => index = self.next_possible_start(offset, piece.bytes, index + 1),
            }
        }
        Detected::Nothing
    }

    /// Index of the next byte, from `from` on, that may start a record; the end of `bytes` if none.
    fn next_possible_start(&self, offset: u64, bytes: &[u8], from: usize) -> usize {
        let scan_end = if self.binary { MAX_BINARY_SCAN } else { MAX_TEXT_SCAN };
        let end = scan_end.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let next = bytes.get(from..end).and_then(first_content_type);
        next.map_or(bytes.len(), |distance| from + distance)
    }

    fn start(&mut self, candidate: Candidate, index: usize) -> Detected {
        Detected::Start { candidate, before: std::mem::take(&mut self.kept), index }
    }

    /// Probes the kept bytes followed by `more`.
    fn probe_kept(&self, more: &[u8]) -> Probe {
        let mut bytes = self.kept.bytes;
        let have = self.kept.length();
        let added = more.len().min(PROBE_BYTES - have);
        if let (Some(slot), Some(more)) = (bytes.get_mut(have..have + added), more.get(..added)) {
            slot.copy_from_slice(more);
        }
        probe(bytes.get(..have + added).unwrap_or_default())
    }
}

/// Space to tilde, all eight: what a stream that starts as text most often starts with. May be false of others than those.
fn is_plain_text(word: &[u8; TEXT_SAMPLE as usize]) -> bool {
    let word = u64::from_le_bytes(*word);
    // The highest bit of a byte is set if it is no ASCII, if there is nothing to take a space off, and behind the tilde.
    (word | word.wrapping_sub(0x20 * ONES) | word.wrapping_add(ONES)) & (0x80 * ONES) == 0
}

/// Index of the first byte that may be a record's content type. Eight bytes at a time, which nearly always hold none.
fn first_content_type(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    let passed = 8 * words.iter().take_while(|word| !has_content_type(word)).count();
    // What is left without making a word is looked at with bytes before it.
    if passed / 8 == words.len() && bytes.last_chunk().is_some_and(|last| !has_content_type(last)) {
        return None;
    }
    let rest = bytes.get(passed..)?;
    rest.iter().position(|byte| matches!(byte, 0x14..=0x17)).map(|distance| passed + distance)
}

/// One of these bytes may be a record's content type.
#[inline(always)]
fn has_content_type(word: &[u8; 8]) -> bool {
    // The four types differ in two bits: without these, each becomes zero, and below zero some bit is borrowed.
    let rest = (u64::from_le_bytes(*word) & (0xfc * ONES)) ^ (0x14 * ONES);
    rest.wrapping_sub(ONES) & !rest & (0x80 * ONES) != 0
}

/// Whether `bytes` begin with a record.
fn probe(bytes: &[u8]) -> Probe {
    match bytes {
        [] => Probe::No,
        [0x14..=0x17, rest @ ..] => probe_record(bytes, rest),
        [0x80..=0xff, rest @ ..] => probe_v2(bytes, rest),
        _ => Probe::No,
    }
}

fn probe_record(bytes: &[u8], rest: &[u8]) -> Probe {
    match rest {
        [major, ..] if *major != 3 => Probe::No,
        [_, minor, ..] if *minor > 4 => Probe::No,
        _ => match bytes.first_chunk::<5>() {
            None => Probe::NeedMore,
            Some(header) if RecordHeader::parse(*header).is_some() => Probe::Yes(Candidate::Record),
            Some(_) => Probe::No,
        },
    }
}

fn probe_v2(bytes: &[u8], rest: &[u8]) -> Probe {
    match rest {
        [_, kind, ..] if *kind != 1 => Probe::No,
        [_, _, major, ..] if *major != 3 => Probe::No,
        _ if bytes.len() < PROBE_BYTES => Probe::NeedMore,
        _ => record::v2_client_hello(bytes).map_or(Probe::No, |length| Probe::Yes(Candidate::V2Hello(length))),
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_text_is_from_space_to_tilde(bytes: [u8; 8], text in prop::array::uniform8(b' '..=b'~')) {
            let is_text = |bytes: &[u8; 8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
            prop_assert!(is_plain_text(&text));
            prop_assert!(is_text(&bytes) || !is_plain_text(&bytes));
        }

        #[test]
        fn the_first_content_type_is_where_one_byte_after_the_other_finds_it(bytes in prop::collection::vec(0x10u8..0x1c, 0..40), other: u8) {
            let bytes: Vec<u8> = bytes.into_iter().map(|byte| if byte < 0x17 { other } else { byte }).collect();
            let expected = bytes.iter().position(|byte| matches!(byte, 0x14..=0x17));
            prop_assert_eq!(first_content_type(&bytes), expected);
        }
    }
}
