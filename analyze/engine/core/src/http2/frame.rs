//! Frames of one direction, cut out of its bytes (RFC 9113 section 4).

/// Bytes of a frame's header.
const HEADER_BYTES: usize = 9;

/// Bytes kept of a payload: all that the frames that are read need at their beginning.
const MAX_KEPT_BYTES: usize = 1 << 10;

/// What a client sends first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    /// Bytes of its payload.
    pub(super) length: u32,
    /// What is kept of them.
    pub(super) payload: &'a [u8],
    /// When its first and its last byte passed.
    pub(super) between_ns: [i64; 2],
}

impl Frame<'_> {
    /// The number that the payload has at this place.
    pub(super) fn number(&self, at: usize) -> Option<u32> {
        self.payload.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
    }
}

/// Cuts the bytes of a direction into frames.
#[derive(Debug, Clone, Default)]
pub(super) struct Cutter {
    header: Vec<u8>,
    kept: Vec<u8>,
    /// Bytes of the payload that are to come.
    left: u32,
    start_ns: i64,
    /// The bytes are no frames, or some were not captured.
    pub(super) lost: bool,
    /// Of a client that has not sent it whole.
    preface: usize,
}

impl Cutter {
    /// One whose bytes begin with so many of a preface.
    pub(super) fn behind_preface(bytes: usize) -> Self {
        Self { preface: bytes, ..Self::default() }
    }

    /// Takes the next bytes.
    pub(super) fn bytes(&mut self, mut bytes: &[u8], time_ns: i64, mut take: impl FnMut(Frame<'_>)) {
        let preface = self.preface.min(bytes.len());
        self.preface -= preface;
        bytes = bytes.get(preface..).unwrap_or_default();
        while !bytes.is_empty() && !self.lost {
            if self.header.len() < HEADER_BYTES {
                if self.header.is_empty() {
                    self.start_ns = time_ns;
                }
                let (now, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header.len()));
                self.header.extend_from_slice(now);
                bytes = rest;
                if let [high, middle, low, ..] = self.header[..]
                    && self.header.len() == HEADER_BYTES
                {
                    self.left = u32::from_be_bytes([0, high, middle, low]);
                    self.lost = !self.is_known();
                    self.close(time_ns, &mut take);
                }
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(self.left as usize));
            let room = MAX_KEPT_BYTES.saturating_sub(self.kept.len());
            if self.header.get(3).is_some_and(|&kind| kind >= RST_STREAM) {
                self.kept.extend_from_slice(now.get(..room).unwrap_or(now));
            }
            self.left -= now.len() as u32;
            bytes = rest;
            self.close(time_ns, &mut take);
        }
    }

    /// Bytes that were not captured: within a frame of data they are only counted.
    pub(super) fn blind(&mut self, count: u64, time_ns: i64, mut take: impl FnMut(Frame<'_>)) {
        let is_data = self.header.len() == HEADER_BYTES && self.header.get(3) == Some(&DATA);
        if count == 0 || self.lost {
            return;
        }
        if is_data && count <= u64::from(self.left) {
            self.left -= count as u32;
            self.close(time_ns, &mut take);
        } else {
            self.lost = true;
        }
    }

    /// A kind of RFC 9113 and its extensions so far (IANA's registry), or one that keeps peers tolerant; a stream without the
    /// reserved bit.
    fn is_known(&self) -> bool {
        let [_, _, _, kind, _, stream, ..] = self.header[..] else { return false };
        let is_reserved = kind >= 0x0b && (kind - 0x0b).is_multiple_of(0x1f);
        stream < 0x80 && (kind <= 0x10 || is_reserved)
    }

    fn close(&mut self, time_ns: i64, take: &mut impl FnMut(Frame<'_>)) {
        if self.left > 0 || self.lost {
            return;
        }
        if let [high, middle, low, kind, flags, a, b, c, d] = self.header[..] {
            let length = u32::from_be_bytes([0, high, middle, low]);
            let stream = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
            take(Frame { kind, flags, stream, length, payload: &self.kept, between_ns: [self.start_ns, time_ns] });
        }
        self.header.clear();
        self.kept.clear();
    }
}
