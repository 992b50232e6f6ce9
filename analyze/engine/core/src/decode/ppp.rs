//! PPP (RFC 1661), in HDLC-like framing (RFC 1662) or without it, and PPPoE sessions (RFC 2516).

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::link_type;

/// Reads the protocol field, after address and control if they are there.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    match *view.head::<2>(HeaderPart::Link)? {
        // All-stations address; a direction flag in its place (pppd); each with the control "unnumbered information".
        [0xff | 0 | 1, 3] => view.skip(2, HeaderPart::Link)?,
        // Cisco's framing carries an EtherType instead (RFC 1547 section 4.3.1).
        [0x0f | 0x8f, 0] => return Ok(Layer::Link(link_type::C_HDLC)),
        _ => {}
    }
    // A first byte that is odd is the whole field (protocol field compression, RFC 1661 section 6.5).
    let protocol = match *view.head::<1>(HeaderPart::Link)? {
        [short] if short & 1 == 1 => {
            view.skip(1, HeaderPart::Link)?;
            u16::from(short)
        }
        _ => u16::from_be_bytes(*view.take::<2>(HeaderPart::Link)?),
    };
    match protocol {
        0x0021 | 0x0057 => Ok(Layer::Ip),
        0x0281 | 0x0283 => Ok(Layer::Mpls),
        _ => Err(Undecoded::NotIp),
    }
}

/// PPPoE session stage: version and type 1, code 0.
pub(super) fn session(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[version, code, _, _, l0, l1] = view.take::<6>(HeaderPart::Link)?;
    if version != 0x11 {
        return Err(Undecoded::BadLinkHeader);
    }
    if code != 0 {
        return Err(Undecoded::NotIp);
    }
    // Offloaded superpackets leave the field 0.
    match u16::from_be_bytes([l0, l1]) {
        0 => {}
        length => view.declare(u32::from(length)),
    }
    Ok(Layer::Ppp)
}
