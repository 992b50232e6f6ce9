//! Headers of packets: what all versions have in common (RFC 8999), and the long headers of versions 1 and 2
//! (RFC 9000 section 17.2).

use crate::quic::bytes::Bytes;
use crate::quic::version::{LongKind, Version};

/// Longest connection id of a version that is read.
pub(super) const MAX_ID_BYTES: usize = 20;

/// A long header as every version has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongHeader<'a> {
    pub(super) first: u8,
    pub(super) version: u32,
    pub(super) destination: &'a [u8],
    pub(super) source: &'a [u8],
    /// What follows.
    pub(super) rest: &'a [u8],
}

impl LongHeader<'_> {
    /// A header of a version that is read, of a draft, of one reserved for practice (RFC 9000 section 15), or a version
    /// negotiation.
    pub(super) fn is_plausible(&self) -> bool {
        let fits = self.destination.len() <= MAX_ID_BYTES && self.source.len() <= MAX_ID_BYTES;
        let fixed_bit = self.first & 0x40 != 0;
        let is_reserved = self.version >> 16 == 0xff00 || self.version & 0x0f0f_0f0f == 0x0a0a_0a0a;
        let is_negotiation = self.version == 0 && !self.rest.is_empty() && self.rest.len().is_multiple_of(4);
        fits && (is_negotiation || fixed_bit && (is_reserved || Version::of(self.version).is_some()))
    }
}

/// The header is a long one.
pub(super) fn is_long(first: u8) -> bool {
    first & 0x80 != 0
}

/// Reads a long header; none if the bytes do not hold one.
pub(super) fn long_header(packet: &[u8]) -> Option<LongHeader<'_>> {
    let mut bytes = Bytes(packet);
    let first = bytes.byte().filter(|&first| is_long(first))?;
    let version = bytes.u32()?;
    let destination = bytes.short_string()?;
    let source = bytes.short_string()?;
    Some(LongHeader { first, version, destination, source, rest: bytes.0 })
}

/// A packet with a long header of a version that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongPacket<'a> {
    pub(super) kind: LongKind,
    pub(super) header: LongHeader<'a>,
    /// Of an Initial.
    pub(super) token: &'a [u8],
    /// Where the protected packet number begins.
    pub(super) number_offset: usize,
    /// Bytes of the packet, which may be more than were captured.
    pub(super) bytes: usize,
}

/// Reads the packet that `datagram` begins with; none if it is malformed.
pub(super) fn long_packet(datagram: &[u8], version: Version) -> Option<LongPacket<'_>> {
    let header = long_header(datagram)?;
    if header.destination.len() > MAX_ID_BYTES || header.source.len() > MAX_ID_BYTES {
        return None;
    }
    let kind = version.kind(header.first);
    let mut bytes = Bytes(header.rest);
    if kind == LongKind::Retry {
        return Some(LongPacket { kind, header, token: &[], number_offset: datagram.len(), bytes: datagram.len() });
    }
    let token = if kind == LongKind::Initial { bytes.string()? } else { &[] };
    let length = usize::try_from(bytes.varint()?).ok()?;
    let number_offset = datagram.len() - bytes.0.len();
    Some(LongPacket { kind, header, token, number_offset, bytes: number_offset.checked_add(length)? })
}
