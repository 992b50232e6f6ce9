//! One frame decoded: the common shapes by `fast`, every other one by `walk`.

use crate::decode::other::Other;
use crate::decode::reason::Undecoded;
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
#[inline]
#[must_use]
pub fn decode(bytes: &[u8], record: &Record) -> Decoded {
    let mut packet = Packet::default();
    match decode_into(bytes, record, &mut packet) {
        Outcome::Tcp | Outcome::TcpInTunnel => Decoded::Tcp(packet),
        Outcome::Fragment => Decoded::Fragment,
        Outcome::Other(other) => Decoded::None(other.reason),
    }
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

/// As [`decode`], writing the packet to where it is to stay; `packet` is only changed for [`Outcome::Tcp`].
#[inline(always)]
pub fn decode_into(bytes: &[u8], record: &Record, packet: &mut Packet) -> Outcome {
    match fast::packet(bytes, record, packet) {
        Some(()) => Outcome::Tcp,
        None => decode_any(bytes, record, packet),
    }
}

/// Decodes one frame of any shape.
#[inline(never)]
fn decode_any(bytes: &[u8], record: &Record, packet: &mut Packet) -> Outcome {
    match walk::frame(bytes, record) {
        Ok(walk::Found::Tcp(found, is_tunnelled)) => {
            *packet = found;
            if is_tunnelled { Outcome::TcpInTunnel } else { Outcome::Tcp }
        }
        Ok(walk::Found::Fragment(_)) => Outcome::Fragment,
        Ok(walk::Found::Other(other)) => Outcome::Other(other),
        Err(reason) => Outcome::Other(Other::unread(reason)),
    }
}
