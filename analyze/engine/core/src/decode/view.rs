//! The stretch of a frame that the walk has yet to read: what was captured of it, and how long it was on the wire.

use crate::decode::reason::Undecoded;
use crate::read::record::Record;

/// Which header is being read, for the reason when it is not all there.
#[derive(Debug, Clone, Copy)]
pub(super) enum HeaderPart {
    Link,
    Ip,
    Tunnel,
    Tcp,
}

impl HeaderPart {
    fn cut(self) -> Undecoded {
        match self {
            Self::Link => Undecoded::CutLinkHeader,
            Self::Ip => Undecoded::CutIpHeader,
            Self::Tunnel => Undecoded::CutTunnelHeader,
            Self::Tcp => Undecoded::CutTcpHeader,
        }
    }

    pub(super) fn bad(self) -> Undecoded {
        match self {
            Self::Link => Undecoded::BadLinkHeader,
            Self::Ip => Undecoded::BadIpHeader,
            Self::Tunnel => Undecoded::BadTunnelHeader,
            Self::Tcp => Undecoded::BadTcpHeader,
        }
    }
}

/// The rest of a frame from the current layer on.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    /// Captured bytes, without what lies beyond the enclosing layer's length (padding, frame check sequence).
    pub(super) data: &'a [u8],
    /// Where `data` starts in the chunk's bytes.
    pub(super) offset: u32,
    /// Bytes from here to the end of the enclosing layer on the wire (at least `data.len()`).
    pub(super) wire: u32,
    /// `wire` comes from a header and not from the frame's own length.
    declared: bool,
    /// It stands in a tunnel.
    tunnelled: bool,
}

impl<'a> View<'a> {
    /// The whole frame but its frame check sequence. Empty if the record lies outside of `bytes`.
    pub(super) fn of_frame(bytes: &'a [u8], record: &Record) -> Self {
        let frame = bytes.get(record.offset as usize..).and_then(|rest| rest.get(..record.captured_length as usize));
        let mut view =
            Self { data: frame.unwrap_or_default(), offset: record.offset, wire: 0, declared: false, tunnelled: false };
        view.wire = record.original_length.max(record.captured_length);
        view.drop_tail(u32::from(record.fcs_length));
        view
    }

    /// The first `N` bytes, without moving.
    #[inline]
    pub(super) fn head<const N: usize>(&self, part: HeaderPart) -> Result<&'a [u8; N], Undecoded> {
        self.data.first_chunk().ok_or_else(|| self.missing(N, part))
    }

    /// Moves behind the first `N` bytes and returns them.
    #[inline]
    pub(super) fn take<const N: usize>(&mut self, part: HeaderPart) -> Result<&'a [u8; N], Undecoded> {
        let head = self.head(part)?;
        self.skip(N, part)?;
        Ok(head)
    }

    /// Moves on by `length` bytes.
    #[inline]
    pub(super) fn skip(&mut self, length: usize, part: HeaderPart) -> Result<(), Undecoded> {
        self.data = self.data.get(length..).ok_or_else(|| self.missing(length, part))?;
        // `length` fits: the frame's own length is a u32.
        self.offset = self.offset.wrapping_add(length as u32);
        self.wire = self.wire.saturating_sub(length as u32);
        Ok(())
    }

    /// Sets the length on the wire to what a header says. That may be more than the frame's own length, which programs
    /// that cut frames lose, but not more than an enclosing header allows (padding that a router took for payload).
    #[inline]
    pub(super) fn declare(&mut self, wire: u32) {
        self.clip(if self.declared { wire.min(self.wire) } else { wire });
        self.declared = true;
    }

    /// What comes next stands in a tunnel. It may have been cut before it was put there, as by mirrors of traffic: how long it
    /// was, its own header says.
    ///
    /// Rule: docs/methods.md, "Cut before it was wrapped".
    pub(super) fn enter_tunnel(&mut self) {
        (self.declared, self.tunnelled) = (false, true);
    }

    /// Length of the frame on the wire, had nothing been cut off within a tunnel. `record` is the one it was made of.
    pub(super) fn frame_length(&self, record: &Record) -> u32 {
        let length = record.original_length.max(record.captured_length);
        let before = self.offset.wrapping_sub(record.offset);
        if self.tunnelled { length.max(before.saturating_add(self.wire)) } else { length }
    }

    fn clip(&mut self, wire: u32) {
        self.wire = wire;
        self.data = self.data.get(..wire as usize).unwrap_or(self.data);
    }

    /// Takes `length` bytes off the end on the wire.
    pub(super) fn drop_tail(&mut self, length: u32) {
        self.clip(self.wire.saturating_sub(length));
    }

    /// Byte at `index`, if captured.
    #[inline]
    pub(super) fn byte(&self, index: usize) -> Option<u8> {
        self.data.get(index).copied()
    }

    /// Big-endian number at `index`, if captured.
    #[inline]
    pub(super) fn u16(&self, index: usize) -> Option<u16> {
        self.data.get(index..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Why `needed` bytes are not there: cut by the snap length, or never sent.
    #[cold]
    pub(super) fn missing(&self, needed: usize, part: HeaderPart) -> Undecoded {
        if needed <= self.wire as usize { part.cut() } else { part.bad() }
    }
}
