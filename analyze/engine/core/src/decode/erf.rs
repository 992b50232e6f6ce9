//! Endace's extensible record format: its header, inside pcap (LINKTYPE_ERF) as in files of its own (`read` hands those on in
//! the same way).

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::link_type;

/// What the type byte says, without the bit for extension headers.
mod record_type {
    pub const HDLC: [u8; 4] = [1, 5, 12, 15];
    pub const ETHERNET: [u8; 4] = [2, 11, 16, 20];
    pub const IPV4: u8 = 22;
    pub const IPV6: u8 = 23;
}

/// More headers follow.
const EXTENDED: u8 = 0x80;

/// Time, type, flags, length of the record, drops or colour, length on the wire; then extension headers of eight bytes. Before
/// an Ethernet frame stand two bytes of padding.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, _, _, _, _, _, _, _, kind, _, _, _, _, _, w0, w1] = view.take::<16>(HeaderPart::Link)?;
    let mut more = kind & EXTENDED != 0;
    // Bounded by the frame.
    while more {
        more = view.take::<8>(HeaderPart::Link)?[0] & EXTENDED != 0;
    }
    let wire = u32::from(u16::from_be_bytes([w0, w1]));
    let layer = match kind & !EXTENDED {
        kind if record_type::ETHERNET.contains(&kind) => {
            view.skip(2, HeaderPart::Link)?;
            Layer::Ethernet
        }
        kind if record_type::HDLC.contains(&kind) => Layer::Link(link_type::C_HDLC),
        record_type::IPV4 | record_type::IPV6 => Layer::Ip,
        _ => return Err(Undecoded::NotIp),
    };
    // Records are padded to multiples of eight bytes.
    if wire > 0 {
        view.drop_tail(view.wire.saturating_sub(wire));
    }
    match layer {
        // PPP and Cisco's framing share a type; the first byte is the address.
        Layer::Link(_) if view.byte(0) == Some(0xff) => Ok(Layer::Ppp),
        layer => Ok(layer),
    }
}
