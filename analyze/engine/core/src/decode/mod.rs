//! One captured frame to one TCP segment: link layers, tunnels, IP, TCP header. Owns no state but fragments.
//!
//! ```text
//! Batch::decode            a whole chunk, any number of chunks at once on different threads
//!   fast                   the common frame (Ethernet, IP, TCP) in one step
//!   walk                   every other frame, layer by layer: link, ethernet, ppp, mpls, wifi, ip, tunnel, tcp
//! Batch::join_fragments    chunk after chunk in file order: IP fragments to datagrams (fragments::Reassembler)
//! options                  TCP options of a packet, read later and only where they matter
//! ```
//!
//! The innermost TCP segment of a frame is its packet. Whatever a frame holds, decoding gives a packet, a fragment or a
//! reason ([`Undecoded`]), and every frame is counted exactly once.

mod batch;
mod ethernet;
mod fast;
pub mod fragments;
mod hash;
mod ip;
mod link;
mod mpls;
pub mod options;
mod ppp;
mod reason;
mod tcp;
mod tunnel;
mod view;
mod walk;
mod wifi;

#[cfg(test)]
mod tests;

pub use batch::{Batch, FragmentAt};
pub use link::link_type;
pub use reason::{Counts, Undecoded};

use crate::packet::Packet;
use crate::read::Record;

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
    match fast::packet(bytes, record) {
        Some(packet) => Decoded::Tcp(packet),
        None => decode_any(bytes, record),
    }
}

/// Decodes one frame of any shape.
#[inline(never)]
fn decode_any(bytes: &[u8], record: &Record) -> Decoded {
    match walk::frame(bytes, record) {
        Ok(walk::Found::Tcp(packet)) => Decoded::Tcp(packet),
        Ok(walk::Found::Fragment(_)) => Decoded::Fragment,
        Err(reason) => Decoded::None(reason),
    }
}
