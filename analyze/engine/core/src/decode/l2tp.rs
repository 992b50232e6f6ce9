//! L2TP: version 2 (RFC 2661) over UDP with PPP inside, version 3 (RFC 3931) over IP or UDP with what was agreed inside.

use crate::decode::entered::Entered;
use crate::decode::layer::Layer;
use crate::decode::proof::{Strictness, is_proved};
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

mod flag {
    pub const CONTROL: u16 = 0x8000;
    pub const LENGTH: u16 = 0x4000;
    pub const SEQUENCE: u16 = 0x0800;
    pub const OFFSET: u16 = 0x0200;
    pub const VERSION: u16 = 0x000f;
}

/// Behind a UDP header.
pub(super) fn over_udp(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let flags = u16::from_be_bytes(*view.take::<2>(HeaderPart::Tunnel)?);
    if flags & flag::CONTROL != 0 {
        return Err(Undecoded::NotTcp);
    }
    match flags & flag::VERSION {
        2 => version_2(view, flags),
        3 => {
            view.skip(2, HeaderPart::Tunnel)?;
            session(view)
        }
        _ => Err(Undecoded::NotTcp),
    }
}

fn version_2(view: &mut View<'_>, flags: u16) -> Result<Entered, Undecoded> {
    let has = |bit: u16, length: usize| if flags & bit != 0 { length } else { 0 };
    view.skip(has(flag::LENGTH, 2), HeaderPart::Tunnel)?;
    let id = u32::from_be_bytes(*view.take::<4>(HeaderPart::Tunnel)?);
    view.skip(has(flag::SEQUENCE, 4), HeaderPart::Tunnel)?;
    if flags & flag::OFFSET != 0 {
        let offset = u16::from_be_bytes(*view.take::<2>(HeaderPart::Tunnel)?);
        view.skip(usize::from(offset), HeaderPart::Tunnel)?;
    }
    // Tunnel and session in one number, as both are needed to know it.
    Ok(Entered::new("l2tpv2", Some(id), Layer::Ppp))
}

/// Directly in IP: session 0 is control.
pub(super) fn over_ip(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    session(view)
}

/// How long cookie and sublayer are, and what they carry, was agreed and is not said: the first that holds an IP packet is it.
fn session(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let id = u32::from_be_bytes(*view.take::<4>(HeaderPart::Tunnel)?);
    if id == 0 {
        return Err(Undecoded::NotTcp);
    }
    for header_bytes in [0, 4, 8, 12] {
        for inner in [Layer::Ethernet, Layer::Ppp, Layer::Ip] {
            let mut inside = *view;
            if inside.skip(header_bytes, HeaderPart::Tunnel).is_ok() && is_proved(inside, inner, Strictness::ByPort) {
                *view = inside;
                return Ok(Entered::new("l2tpv3", Some(id), inner));
            }
        }
    }
    Err(Undecoded::NotTcp)
}
