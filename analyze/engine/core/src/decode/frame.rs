//! One frame decoded: the common shapes by `fast`, every other one by `walk`.

use crate::decode::other::Other;
use crate::decode::reason::Undecoded;
use crate::decode::walk::{MAXIMUM_IP_HEADERS, WalkEnd};
use crate::decode::{fast, walk};
use crate::packet::Packet;
use crate::read::record::Record;

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// A TCP segment.
    Tcp(Packet),
    /// One fragment of a datagram; give the record to the [`crate::decode::fragments::Reassembler`] in file order.
    Fragment,
    /// No TCP segment, and why.
    None(Undecoded),
}

/// Decodes one frame. `bytes` are the whole chunk's bytes, so that the packet's offsets are positions in it.
///
/// Where other hosts than the header names are the packet's ends, key and hash are of those; the bytes at `address_offset` are not.
#[inline]
#[must_use]
pub fn decode(bytes: &[u8], record: &Record) -> Decoded {
    let mut packet = Packet::default();
    match decode_beside(bytes, record, &mut packet) {
        Outcome::Tcp | Outcome::TcpInTunnel => Decoded::Tcp(packet),
        Outcome::Fragment => Decoded::Fragment,
        Outcome::Other(other) => Decoded::None(other.reason),
    }
}

/// As [`decode`], for many frames one after the other: a segment is written to where the caller wants it. False if the frame is none.
#[inline]
pub fn decode_segment(bytes: &[u8], record: &Record, packet: &mut Packet) -> bool {
    matches!(decode_beside(bytes, record, packet), Outcome::Tcp | Outcome::TcpInTunnel)
}

#[inline(always)]
fn decode_beside(bytes: &[u8], record: &Record, packet: &mut Packet) -> Outcome {
    match fast::packet(bytes, record, packet) {
        Some(()) => Outcome::Tcp,
        None => walk_beside(bytes, record, packet),
    }
}

#[inline(never)]
fn walk_beside(bytes: &[u8], record: &Record, packet: &mut Packet) -> Outcome {
    match walk::frame(bytes, record) {
        Ok(WalkEnd::Readdressed(_)) => decode_apart(bytes, record, packet),
        found => taken(found, packet),
    }
}

/// Decodes a copy of the frame.
#[cold]
fn decode_apart(bytes: &[u8], record: &Record, packet: &mut Packet) -> Outcome {
    let frame = bytes.get(record.offset as usize..).and_then(|rest| rest.get(..record.captured_length as usize));
    let mut copy = frame.unwrap_or_default().to_vec();
    let outcome = decode_any(&mut copy, &Record { offset: 0, ..*record }, packet);
    for place in [&mut packet.payload_offset, &mut packet.address_offset, &mut packet.options_offset] {
        *place = place.wrapping_add(record.offset);
    }
    outcome
}

/// [`Decoded`] without the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A TCP segment was written.
    Tcp,
    /// The same, of a segment in a tunnel: [`walk::tunnels`] gives it.
    TcpInTunnel,
    /// One fragment of a datagram.
    Fragment,
    /// No TCP segment, and what it is.
    Other(Other),
}

/// As [`decode`], writing the packet to where it is to stay; `packet` is only changed for [`Outcome::Tcp`]. Where other hosts than the
/// header names are the packet's ends, they are written into it.
#[inline(always)]
pub fn decode_into(bytes: &mut [u8], record: &Record, packet: &mut Packet) -> Outcome {
    match fast::packet(bytes, record, packet) {
        Some(()) => Outcome::Tcp,
        None => decode_any(bytes, record, packet),
    }
}

/// Decodes one frame of any shape.
#[inline(never)]
fn decode_any(bytes: &mut [u8], record: &Record, packet: &mut Packet) -> Outcome {
    for _ in 0..=MAXIMUM_IP_HEADERS {
        match walk::frame(bytes, record) {
            Ok(WalkEnd::Readdressed(ends)) => ends.write(bytes),
            found => return taken(found, packet),
        }
    }
    Outcome::Other(Other::unread(Undecoded::TunnelTooDeep))
}

/// What a walk has found.
fn taken(found: Result<WalkEnd<'_>, Undecoded>, packet: &mut Packet) -> Outcome {
    match found {
        Ok(WalkEnd::Tcp(found, is_tunnelled)) => {
            *packet = found;
            if is_tunnelled { Outcome::TcpInTunnel } else { Outcome::Tcp }
        }
        Ok(WalkEnd::Fragment(_)) => Outcome::Fragment,
        Ok(WalkEnd::Other(other)) => Outcome::Other(other),
        // Whoever walks writes and walks again.
        Ok(WalkEnd::Readdressed(_)) => Outcome::Other(Other::unread(Undecoded::TunnelTooDeep)),
        Err(reason) => Outcome::Other(Other::unread(reason)),
    }
}
