//! Protocols on IP that carry frames or packets: GRE, IP in IP, and the tunnels over UDP.

use crate::decode::ip;
use crate::decode::layer::Layer;
use crate::decode::numbers::ether_type;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::{Part, View};

/// UDP destination ports of tunnels (IANA, and 8472 of Linux before the number was assigned).
mod port {
    pub const GTP_USER: u16 = 2152;
    pub const VXLAN: u16 = 4789;
    pub const VXLAN_GPE: u16 = 4790;
    pub const GENEVE: u16 = 6081;
    pub const MPLS: u16 = 6635;
    pub const VXLAN_LINUX: u16 = 8472;
}

/// What an IP protocol carries; none for TCP itself.
pub(super) fn protocol(view: &mut View<'_>, number: u8) -> Result<Option<Layer>, Undecoded> {
    match number {
        protocol::TCP => Ok(None),
        protocol::IPV4 | protocol::IPV6 => Ok(Some(Layer::Ip)),
        protocol::GRE => entered(view, gre).map(Some),
        protocol::UDP => entered(view, udp).map(Some),
        protocol::AUTHENTICATION => ip::authentication(view).map(Some),
        protocol::MPLS => Ok(Some(Layer::Mpls)),
        protocol::ETHERNET => Ok(Some(Layer::Ethernet)),
        protocol::ESP => Err(Undecoded::EncryptedIpsec),
        _ => Err(Undecoded::NotTcp),
    }
}

/// What a tunnel carries may have been cut before.
fn entered<'a>(
    view: &mut View<'a>,
    read: impl FnOnce(&mut View<'a>) -> Result<Layer, Undecoded>,
) -> Result<Layer, Undecoded> {
    let inner = read(view)?;
    view.enter_tunnel();
    Ok(inner)
}

/// GRE header bits (RFC 1701, RFC 2890; acknowledgement: RFC 2637).
mod gre_bits {
    pub const CHECKSUM: u16 = 0x8000;
    pub const ROUTING: u16 = 0x4000;
    pub const KEY: u16 = 0x2000;
    pub const SEQUENCE: u16 = 0x1000;
    pub const ACKNOWLEDGEMENT: u16 = 0x0080;
    pub const VERSION: u16 = 0x0007;
}

fn gre(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[b0, b1, t0, t1] = view.take::<4>(Part::Tunnel)?;
    let (bits, kind) = (u16::from_be_bytes([b0, b1]), u16::from_be_bytes([t0, t1]));
    let version = bits & gre_bits::VERSION;
    let has = |bit: u16| usize::from(bits & bit != 0) * 4;
    let checksum = if has(gre_bits::CHECKSUM) + has(gre_bits::ROUTING) > 0 { 4 } else { 0 };
    let acknowledgement = if version == 1 { has(gre_bits::ACKNOWLEDGEMENT) } else { 0 };
    view.skip(checksum + has(gre_bits::KEY) + has(gre_bits::SEQUENCE) + acknowledgement, Part::Tunnel)?;
    if version == 0 && bits & gre_bits::ROUTING != 0 {
        source_routes(view)?;
    }
    match (version, kind) {
        // PPTP (RFC 2637): PPP, unless the packet is a bare acknowledgement.
        (1, 0x880b) if bits & gre_bits::SEQUENCE != 0 => Ok(Layer::Ppp),
        (0, 0x88be) => erspan(view, bits & gre_bits::SEQUENCE != 0),
        (0, 0x22eb) => erspan3(view),
        // Cisco WCCP: a redirect header may come before the packet.
        (0, 0x883e) if ip::plausible(view) => Ok(Layer::Ip),
        (0, 0x883e) => view.skip(4, Part::Tunnel).map(|()| Layer::Ip),
        // Aruba controllers: IEEE 802.11 frames, the number tells the queue.
        (0, 0x8200..=0x83ff | 0x9000) => Ok(Layer::Wifi),
        (0, 0..1536) | (1.., _) => Err(Undecoded::NotTcp),
        (0, kind) => Ok(Layer::EtherType(kind)),
    }
}

/// Source route entries of RFC 1701, up to the empty one.
fn source_routes(view: &mut View<'_>) -> Result<(), Undecoded> {
    loop {
        let &[f0, f1, _, length] = view.take::<4>(Part::Tunnel)?;
        if [f0, f1, length] == [0, 0, 0] {
            return Ok(());
        }
        view.skip(usize::from(length), Part::Tunnel)?;
    }
}

/// ERSPAN: type I has no header, type II (identified by GRE's sequence number) one of 8 bytes.
fn erspan(view: &mut View<'_>, sequenced: bool) -> Result<Layer, Undecoded> {
    if sequenced {
        view.skip(8, Part::Tunnel)?;
    }
    Ok(Layer::Ethernet)
}

/// ERSPAN type III: 12 bytes, and 8 more if the last bit says so. Frame type 0 is Ethernet, 2 an IP packet.
fn erspan3(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[.., kind, flags] = view.take::<12>(Part::Tunnel)?;
    if flags & 1 != 0 {
        view.skip(8, Part::Tunnel)?;
    }
    if (kind >> 2) & 0x1f == 2 { Ok(Layer::Ip) } else { Ok(Layer::Ethernet) }
}

fn udp(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    // Most UDP is no tunnel: a cut or odd header is then nothing to report.
    let Some(destination) = view.u16(2) else { return Err(Undecoded::NotTcp) };
    if !matches!(
        destination,
        port::GTP_USER | port::VXLAN | port::VXLAN_GPE | port::GENEVE | port::MPLS | port::VXLAN_LINUX
    ) {
        return Err(Undecoded::NotTcp);
    }
    view.skip(8, Part::Tunnel)?;
    match destination {
        port::GTP_USER => gtp(view),
        port::GENEVE => geneve(view),
        port::MPLS => Ok(Layer::Mpls),
        port::VXLAN_GPE => vxlan_gpe(view),
        _ => vxlan(view),
    }
}

/// VXLAN (RFC 7348 section 5); only the flag of a valid network identifier must be set.
fn vxlan(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[flags, ..] = view.take::<8>(Part::Tunnel)?;
    if flags & 0x08 != 0 { Ok(Layer::Ethernet) } else { Err(Undecoded::NotTcp) }
}

/// VXLAN generic protocol extension (draft-ietf-nvo3-vxlan-gpe section 3): a flag tells that the protocol is named.
fn vxlan_gpe(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[flags, _, _, next, ..] = view.take::<8>(Part::Tunnel)?;
    if flags & 0x04 == 0 { Ok(Layer::Ethernet) } else { next_protocol(next) }
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
    let &[_, length, _, next] = view.head::<4>(Part::Tunnel)?;
    let length = usize::from(length & 0x3f) * 4;
    if length < 8 {
        return Err(Undecoded::BadTunnelHeader);
    }
    view.skip(length, Part::Tunnel)?;
    next_protocol(next)
}

/// GENEVE (RFC 8926 section 3.4).
fn geneve(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[first, flags, t0, t1, ..] = view.take::<8>(Part::Tunnel)?;
    // Version 0; control packets carry no payload of the user's.
    if first >> 6 != 0 || flags & 0x80 != 0 {
        return Err(Undecoded::NotTcp);
    }
    view.skip(usize::from(first & 0x3f) * 4, Part::Tunnel)?;
    Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
}

/// GTP-U version 1 (3GPP TS 29.281 section 5): user packets only.
fn gtp(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[flags, message, ..] = view.take::<8>(Part::Tunnel)?;
    if flags & 0xf0 != 0x30 || message != 0xff {
        return Err(Undecoded::NotTcp);
    }
    if flags & 0x07 != 0 {
        let &[.., mut next] = view.take::<4>(Part::Tunnel)?;
        // Each extension consumes at least four bytes.
        while flags & 0x04 != 0 && next != 0 {
            let &[units] = view.head::<1>(Part::Tunnel)?;
            let length = usize::from(units) * 4;
            let last = length.checked_sub(1).ok_or(Undecoded::BadTunnelHeader)?;
            next = view.byte(last).ok_or_else(|| view.missing(length, Part::Tunnel))?;
            view.skip(length, Part::Tunnel)?;
        }
    }
    // Ethernet and unstructured sessions have no mark of their own.
    match view.head::<1>(Part::Ip)?[0] >> 4 {
        4 | 6 => Ok(Layer::Ip),
        _ => Err(Undecoded::NotTcp),
    }
}
