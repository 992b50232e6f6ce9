//! One captured frame to one TCP segment: link layers, tunnels, IP, TCP header. Owns no state but fragments.

use crate::packet::Packet;
use crate::read::Record;

/// Why a frame gives no TCP segment. Counted per reason; never an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Undecoded {
    /// Not IP (ARP, LLDP, ...): nothing wrong with it.
    NotIp,
    /// IP but not TCP (UDP, ICMP, ...) and no tunnel that is read: nothing wrong with it.
    NotTcp,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// A TCP segment.
    Tcp(Packet),
    /// One fragment of a datagram; give the record to the [`fragments`](self) reassembler in file order.
    Fragment,
    /// No TCP segment, and why.
    None(Undecoded),
}

/// Decodes one frame. `bytes` are the whole chunk's bytes, so that the packet's offsets are positions in it.
pub fn decode(_bytes: &[u8], _record: &Record) -> Decoded {
    Decoded::None(Undecoded::NotIp)
}
