//! What each link type ([`crate::link_type`]) begins with, and the ones too small for a file of their own.

use crate::decode::envelope;
use crate::decode::layer::Layer;
use crate::decode::numbers::ether_type;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::link_type;

/// Reads what a link type puts before the first layer that other link types have, too.
pub(super) fn read(view: &mut View<'_>, number: u16) -> Result<Layer, Undecoded> {
    match number {
        link_type::ETHERNET => Ok(Layer::Ethernet),
        link_type::RAW | link_type::RAW_BSD | link_type::RAW_OPENBSD => Ok(Layer::Ip),
        link_type::IPV4 | link_type::IPV6 => Ok(Layer::Ip),
        link_type::NULL | link_type::LOOP => null(view),
        link_type::LINUX_SLL => sll(view),
        link_type::LINUX_SLL2 => sll2(view),
        link_type::PPP | link_type::PPP_HDLC => Ok(Layer::Ppp),
        link_type::PPP_WITH_DIR => view.skip(1, HeaderPart::Link).map(|()| Layer::Ppp),
        link_type::PPP_ETHER => crate::decode::ppp::session(view),
        link_type::C_HDLC => cisco_hdlc(view),
        link_type::MPLS => Ok(Layer::Mpls),
        link_type::FDDI => fddi(view),
        link_type::TOKEN_RING => token_ring(view),
        link_type::IEEE802_11 => Ok(Layer::Wifi),
        link_type::IEEE802_11_PRISM => crate::decode::wifi::prism(view),
        link_type::IEEE802_11_RADIOTAP => crate::decode::wifi::radiotap(view),
        link_type::IEEE802_11_AVS => crate::decode::wifi::avs(view),
        link_type::ARCNET_BSD => envelope::arcnet(view, 2),
        link_type::ARCNET_LINUX => envelope::arcnet(view, 4),
        link_type::PPI => envelope::ppi(view),
        link_type::PKTAP => envelope::pktap(view),
        link_type::IPOIB => envelope::infiniband(view),
        link_type::ERF => crate::decode::erf::read(view),
        unknown => Err(Undecoded::UnknownLinkType(unknown)),
    }
}

/// The protocol of a BSD loopback frame (NULL, LOOP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopbackFamily {
    Ipv4,
    Ipv6,
    Other,
}

impl LoopbackFamily {
    /// By the frame's first four bytes: an address family in the byte order of the capturing machine (NULL) or of the
    /// network (LOOP). The number is small, so its order shows; the value for IPv6 differs from system to system.
    pub(crate) fn read(bytes: [u8; 4]) -> Self {
        match u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes)) {
            2 => Self::Ipv4,
            // Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
            10 | 23 | 24 | 28 | 30 => Self::Ipv6,
            _ => Self::Other,
        }
    }
}

/// BSD loopback.
fn null(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    match LoopbackFamily::read(*view.take::<4>(HeaderPart::Link)?) {
        LoopbackFamily::Ipv4 | LoopbackFamily::Ipv6 => Ok(Layer::Ip),
        LoopbackFamily::Other => Err(Undecoded::NotIp),
    }
}

/// Linux "cooked" capture (LINKTYPE_LINUX_SLL).
fn sll(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, _, h0, h1, .., p0, p1] = view.take::<16>(HeaderPart::Link)?;
    cooked(u16::from_be_bytes([h0, h1]), u16::from_be_bytes([p0, p1]))
}

/// Linux "cooked" capture, version 2 (LINKTYPE_LINUX_SLL2).
fn sll2(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[p0, p1, _, _, _, _, _, _, h0, h1, ..] = view.take::<20>(HeaderPart::Link)?;
    cooked(u16::from_be_bytes([h0, h1]), u16::from_be_bytes([p0, p1]))
}

/// What follows a cooked header, by ARPHRD_ hardware type and protocol field.
fn cooked(hardware: u16, protocol: u16) -> Result<Layer, Undecoded> {
    match (hardware, protocol) {
        (_, ether_type::IPV4 | ether_type::IPV6) => Ok(Layer::Ip),
        // Netlink: the protocol is a family.
        (824, _) => Err(Undecoded::NotIp),
        (801, _) => Ok(Layer::Wifi),
        (802, _) => Ok(Layer::Link(link_type::IEEE802_11_PRISM)),
        (803, _) => Ok(Layer::Link(link_type::IEEE802_11_RADIOTAP)),
        // ETH_P_802_2; the other numbers below 1536 are no EtherTypes and carry no IP.
        (_, 4) => Ok(Layer::Llc),
        (_, 0..1536) => Err(Undecoded::NotIp),
        (_, kind) => Ok(Layer::EtherType(kind)),
    }
}

/// Cisco HDLC: address, control and an EtherType.
fn cisco_hdlc(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, _, p0, p1] = view.take::<4>(HeaderPart::Link)?;
    Ok(Layer::EtherType(u16::from_be_bytes([p0, p1])))
}

/// FDDI: frame control, two addresses, then LLC if the frame control says so (ISO 9314-2).
fn fddi(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[control, ..] = view.take::<13>(HeaderPart::Link)?;
    if control & 0x70 == 0x50 { Ok(Layer::Llc) } else { Err(Undecoded::NotIp) }
}

/// Token ring: access and frame control, two addresses, perhaps a source route, then LLC (IEEE 802.5).
fn token_ring(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, control, _, _, _, _, _, _, source, ..] = view.take::<14>(HeaderPart::Link)?;
    if control & 0xc0 != 0x40 {
        return Err(Undecoded::NotIp);
    }
    if source & 0x80 != 0 {
        let &[route] = view.head::<1>(HeaderPart::Link)?;
        view.skip(usize::from(route & 0x1f), HeaderPart::Link)?;
    }
    Ok(Layer::Llc)
}

/// True for EtherTypes that are followed, for protocols that do not say whether a frame or a packet comes next.
pub(super) fn follows(kind: u16) -> bool {
    matches!(
        kind,
        ether_type::IPV4
            | ether_type::IPV6
            | ether_type::ARP
            | ether_type::VLAN
            | ether_type::SERVICE_VLAN
            | ether_type::MPLS
            | ether_type::MPLS_MULTICAST
            | ether_type::PPPOE_SESSION
    )
}
