//! One captured frame to one TCP segment: link layers, tunnels, IP, TCP header. Owns no state but fragments.
//!
//! ```text
//! Batch::decode            a whole chunk, any number of chunks at once on different threads
//!   fixed                  the commonest frame: every field at a constant place
//!   fast                   the common frame (Ethernet, IP, TCP) in one step
//!   walk                   every other frame, layer by layer: link, ethernet, ppp, mpls, wifi, ip, tunnel, tcp, dns
//! Batch::join_fragments    chunk after chunk in file order: IP fragments to datagrams (fragments::Reassembler)
//! options                  TCP options of a packet, read later and only where they matter
//! ```
//!
//! The innermost TCP segment of a frame is its packet. Whatever a frame holds, decoding gives a packet, a fragment or a
//! reason ([`Undecoded`]), and every frame is counted exactly once.

pub(crate) mod batch;
pub(crate) mod dns;
pub(crate) mod ethernet;
pub(crate) mod fast;
pub(crate) mod fixed;
pub mod fragments;
pub(crate) mod hash;
pub(crate) mod ip;
pub mod ip_header;
pub mod layer;
pub(crate) mod link;
pub(crate) mod mpls;
pub mod numbers;
pub mod options;
pub(crate) mod ppp;
pub(crate) mod reason;
pub(crate) mod tcp;
#[cfg(test)]
mod tests;
pub(crate) mod tunnel;
pub(crate) mod view;
pub mod walk;
pub(crate) mod wifi;

use crate::packet::Packet;
use crate::read::Record;

pub use crate::decode::batch::{Batch, FragmentAt};
pub use crate::decode::dns::DnsDatagram;
pub use crate::decode::reason::{Counts, CountsByInput, Undecoded};
pub use crate::decode::walk::dns_datagram;

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// A TCP segment.
    Tcp(Packet),
    /// One fragment of a datagram; give the record to the [`fragments::Reassembler`] in file order.
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
        Outcome::Tcp => Decoded::Tcp(packet),
        Outcome::Fragment => Decoded::Fragment,
        Outcome::Dns => Decoded::None(Undecoded::NotTcp),
        Outcome::None(reason) => Decoded::None(reason),
    }
}

/// [`Decoded`] without the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A TCP segment was written.
    Tcp,
    /// One fragment of a datagram.
    Fragment,
    /// No TCP segment but a datagram of port 53: [`dns_datagram`] gives it. Counted as [`Undecoded::NotTcp`].
    Dns,
    /// No TCP segment, and why.
    None(Undecoded),
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
        Ok(walk::Found::Tcp(found)) => {
            *packet = found;
            Outcome::Tcp
        }
        Ok(walk::Found::Fragment(_)) => Outcome::Fragment,
        Ok(walk::Found::Dns(_)) => Outcome::Dns,
        Err(reason) => Outcome::None(reason),
    }
}
