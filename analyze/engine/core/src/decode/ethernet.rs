//! Ethernet II, IEEE 802.3 with LLC/SNAP, and everything an EtherType stands for.

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{Part, View};

/// EtherTypes (IANA, IEEE registry).
pub(super) mod ether_type {
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    /// Ethernet in GRE, GENEVE (Transparent Ethernet Bridging).
    pub const BRIDGED: u16 = 0x6558;
    /// IEEE 802.1Q.
    pub const VLAN: u16 = 0x8100;
    pub const IPV6: u16 = 0x86dd;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_MULTICAST: u16 = 0x8848;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const JUMBO_LLC: u16 = 0x8870;
    /// IEEE 802.1ad.
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// IEEE 802.1ah.
    pub const BACKBONE: u16 = 0x88e7;
    /// IEEE 802.1BR.
    pub const PORT_EXTENSION: u16 = 0x893f;
    /// Network service header (RFC 8300).
    pub const NSH: u16 = 0x894f;
    /// Outer tags of QinQ before IEEE 802.1ad: each maker of switches had its own.
    pub const OLD_QINQ: u16 = 0x9100;
    pub const OLD_QINQ_2: u16 = 0x9200;
    pub const OLD_QINQ_3: u16 = 0x9300;
}

/// Greatest value of the type field that is a length (IEEE 802.3 section 3.2.6).
const LONGEST_LENGTH: u16 = 1500;

/// Reads the Ethernet header.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[.., t0, t1] = view.take::<14>(Part::Link)?;
    Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
}

/// A VLAN tag: its control information, and the EtherType of what it is put before.
fn tagged(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, _, t0, t1] = view.take::<4>(Part::Link)?;
    Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
}

/// What follows an EtherType (or IEEE 802.3 length) field.
pub(super) fn payload(view: &mut View<'_>, kind: u16) -> Result<Layer, Undecoded> {
    match kind {
        ether_type::IPV4 | ether_type::IPV6 => Ok(Layer::Ip),
        ether_type::VLAN | ether_type::SERVICE_VLAN => tagged(view),
        ether_type::OLD_QINQ | ether_type::OLD_QINQ_2 | ether_type::OLD_QINQ_3 => tagged(view),
        ether_type::MPLS | ether_type::MPLS_MULTICAST => Ok(Layer::Mpls),
        ether_type::PPPOE_SESSION => crate::decode::ppp::session(view),
        ether_type::BRIDGED => Ok(Layer::Ethernet),
        ether_type::BACKBONE => view.skip(4, Part::Link).map(|()| Layer::Ethernet),
        ether_type::PORT_EXTENSION => {
            let &[.., t0, t1] = view.take::<8>(Part::Link)?;
            Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
        }
        ether_type::NSH => crate::decode::tunnel::service_header(view),
        ether_type::JUMBO_LLC => Ok(Layer::Llc),
        0..=LONGEST_LENGTH => {
            view.declare(u32::from(kind));
            Ok(Layer::Llc)
        }
        _ => Err(Undecoded::NotIp),
    }
}

/// IEEE 802.2 LLC: IP behind SNAP (RFC 1042, IEEE 802.1H for bridge tunnels) or directly.
pub(super) fn llc(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    match *view.head::<3>(Part::Link)? {
        [0xaa, 0xaa, 3] => {
            let &[_, _, _, o0, o1, o2, t0, t1] = view.take::<8>(Part::Link)?;
            match [o0, o1, o2] {
                [0, 0, 0] | [0, 0, 0xf8] => Ok(Layer::EtherType(u16::from_be_bytes([t0, t1]))),
                _ => Err(Undecoded::NotIp),
            }
        }
        // The service access point of IP itself (RFC 948).
        [6, 6, 3] => view.skip(3, Part::Link).map(|()| Layer::Ip),
        _ => Err(Undecoded::NotIp),
    }
}
