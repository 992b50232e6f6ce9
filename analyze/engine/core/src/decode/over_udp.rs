//! Headers of tunnels over UDP, and the ports that some of them have.

use crate::decode::entered::Entered;
use crate::decode::layer::Layer;
use crate::decode::numbers::{ether_type, protocol};
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

/// UDP ports of tunnels (IANA, 8472 of Linux before the number was assigned, 37008 of MikroTik).
pub(super) mod port {
    pub const L2TP: u16 = 1701;
    pub const GTP_USER: u16 = 2152;
    pub const LISP: u16 = 4341;
    pub const VXLAN: u16 = 4789;
    pub const VXLAN_GPE: u16 = 4790;
    pub const AYIYA: u16 = 5072;
    pub const CAPWAP: u16 = 5247;
    pub const GUE: u16 = 6080;
    pub const GENEVE: u16 = 6081;
    pub const MPLS: u16 = 6635;
    pub const VXLAN_LINUX: u16 = 8472;
    pub const TZSP: u16 = 37008;
}

/// Header, bytes.
pub(super) const UDP_BYTES: usize = 8;

/// Reads the header of one tunnel.
pub(super) type Reader = fn(&mut View<'_>) -> Result<Entered, Undecoded>;

/// VXLAN (RFC 7348 section 5); only the flag of a valid network identifier must be set.
pub(super) fn vxlan(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[flags, _, _, _, i0, i1, i2, _] = view.take::<8>(HeaderPart::Tunnel)?;
    let id = (flags & 0x08 != 0).then_some(number24([i0, i1, i2])).ok_or(Undecoded::NotTcp)?;
    Ok(Entered::new("vxlan", Some(id), Layer::Ethernet))
}

fn number24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

/// VXLAN generic protocol extension (draft-ietf-nvo3-vxlan-gpe section 3): a flag tells that the protocol is named.
pub(super) fn vxlan_gpe(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[flags, _, _, next, i0, i1, i2, _] = view.take::<8>(HeaderPart::Tunnel)?;
    let inner = if flags & 0x04 == 0 { Layer::Ethernet } else { next_protocol(next)? };
    Ok(Entered::new("vxlan_gpe", Some(number24([i0, i1, i2])), inner))
}

/// Numbers shared by VXLAN-GPE and NSH but for MPLS.
fn next_protocol(number: u8) -> Result<Layer, Undecoded> {
    match number {
        1 | 2 => Ok(Layer::Ip),
        3 => Ok(Layer::Ethernet),
        4 => Ok(Layer::EtherType(ether_type::NSH)),
        5 => Ok(Layer::Mpls),
        _ => Err(Undecoded::NotTcp),
    }
}

/// Network service header (RFC 8300 section 2.2): its length is counted in 4-byte words.
pub(super) fn service_header(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, length, _, next] = view.head::<4>(HeaderPart::Tunnel)?;
    let length = usize::from(length & 0x3f) * 4;
    if length < 8 {
        return Err(Undecoded::BadTunnelHeader);
    }
    view.skip(length, HeaderPart::Tunnel)?;
    next_protocol(next)
}

/// GENEVE (RFC 8926 section 3.4).
pub(super) fn geneve(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[first, flags, t0, t1, i0, i1, i2, _] = view.take::<8>(HeaderPart::Tunnel)?;
    // Version 0; control packets carry no payload of the user's.
    if first >> 6 != 0 || flags & 0x80 != 0 {
        return Err(Undecoded::NotTcp);
    }
    view.skip(usize::from(first & 0x3f) * 4, HeaderPart::Tunnel)?;
    let inner = Layer::EtherType(u16::from_be_bytes([t0, t1]));
    Ok(Entered::new("geneve", Some(number24([i0, i1, i2])), inner))
}

/// MPLS over UDP (RFC 7510).
pub(super) fn mpls(_view: &mut View<'_>) -> Result<Entered, Undecoded> {
    Ok(Entered::new("mpls_in_udp", None, Layer::Mpls))
}

/// GTP-U version 1 (3GPP TS 29.281 section 5): user packets only.
pub(super) fn gtp(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[flags, message, _, _, e0, e1, e2, e3] = view.take::<8>(HeaderPart::Tunnel)?;
    if flags & 0xf0 != 0x30 || message != 0xff {
        return Err(Undecoded::NotTcp);
    }
    if flags & 0x07 != 0 {
        let &[.., mut next] = view.take::<4>(HeaderPart::Tunnel)?;
        // Each extension consumes at least four bytes.
        while flags & 0x04 != 0 && next != 0 {
            let &[units] = view.head::<1>(HeaderPart::Tunnel)?;
            let length = usize::from(units) * 4;
            let last = length.checked_sub(1).ok_or(Undecoded::BadTunnelHeader)?;
            next = view.byte(last).ok_or_else(|| view.missing(length, HeaderPart::Tunnel))?;
            view.skip(length, HeaderPart::Tunnel)?;
        }
    }
    // Ethernet and unstructured sessions have no mark of their own.
    match view.head::<1>(HeaderPart::Ip)?[0] >> 4 {
        4 | 6 => Ok(Entered::new("gtp_u", Some(u32::from_be_bytes([e0, e1, e2, e3])), Layer::Ip)),
        _ => Err(Undecoded::NotTcp),
    }
}

/// Generic UDP encapsulation (draft-ietf-intarea-gue): version 0 with a header, version 1 an IP packet without one.
pub(super) fn gue(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[first, protocol] = view.head::<2>(HeaderPart::Tunnel)?;
    if first >> 6 == 1 {
        return Ok(Entered::new("gue", None, Layer::Ip));
    }
    // Version 0, data; the length of options in words.
    if first & 0xe0 != 0 {
        return Err(Undecoded::NotTcp);
    }
    view.skip(4 + usize::from(first & 0x1f) * 4, HeaderPart::Tunnel)?;
    match protocol {
        protocol::IPV4 | protocol::IPV6 => Ok(Entered::new("gue", None, Layer::Ip)),
        protocol::GRE => Ok(Entered::new("gue", None, Layer::Protocol(protocol))),
        _ => Err(Undecoded::NotTcp),
    }
}

/// LISP data (RFC 9300 section 5.3): flags, nonce, instance.
pub(super) fn lisp(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[flags, _, _, _, i0, i1, i2, _] = view.take::<8>(HeaderPart::Tunnel)?;
    // The instance stands there if its flag does.
    let id = (flags & 0x08 != 0).then_some(number24([i0, i1, i2]));
    Ok(Entered::new("lisp", id, Layer::Ip))
}
