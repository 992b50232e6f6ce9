//! Ethernet II, IEEE 802.3 with LLC/SNAP, and everything an EtherType stands for.

use crate::decode::layer::Layer;
use crate::decode::numbers::ether_type;
use crate::decode::reason::Undecoded;
use crate::decode::tags;
use crate::decode::view::{HeaderPart, View};

/// Greatest value of the type field that is a length (IEEE 802.3 section 3.2.6).
const LONGEST_LENGTH: u16 = 1500;

/// Reads the Ethernet header.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[.., t0, t1] = view.take::<14>(HeaderPart::Link)?;
    Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
}

/// What follows an EtherType (or IEEE 802.3 length) field.
pub(super) fn payload(view: &mut View<'_>, kind: u16) -> Result<Layer, Undecoded> {
    match kind {
        ether_type::IPV4 | ether_type::IPV6 => Ok(Layer::Ip),
        ether_type::VLAN | ether_type::SERVICE_VLAN => tags::plain::<4>(view),
        ether_type::OLD_QINQ | ether_type::OLD_QINQ_2 | ether_type::OLD_QINQ_3 => tags::plain::<4>(view),
        ether_type::MPLS | ether_type::MPLS_MULTICAST => Ok(Layer::Mpls),
        ether_type::PPPOE_SESSION => crate::decode::ppp::session(view),
        ether_type::BRIDGED => Ok(Layer::Ethernet),
        ether_type::BACKBONE => view.skip(4, HeaderPart::Link).map(|()| Layer::Ethernet),
        ether_type::PORT_EXTENSION | ether_type::DSA => tags::plain::<8>(view),
        ether_type::VN_TAG | ether_type::HSR | ether_type::REDUNDANCY => tags::plain::<6>(view),
        ether_type::METADATA => tags::metadata(view),
        ether_type::MACSEC => tags::macsec(view),
        ether_type::TRILL => tags::trill(view),
        ether_type::FABRIC_PATH => view.skip(2, HeaderPart::Link).map(|()| Layer::Ethernet),
        ether_type::NSH => Ok(Layer::ServiceHeader),
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
    match *view.head::<3>(HeaderPart::Link)? {
        [0xaa, 0xaa, 3] => {
            let &[_, _, _, o0, o1, o2, t0, t1] = view.take::<8>(HeaderPart::Link)?;
            match [o0, o1, o2] {
                [0, 0, 0] | [0, 0, 0xf8] => Ok(Layer::EtherType(u16::from_be_bytes([t0, t1]))),
                _ => Err(Undecoded::NotIp),
            }
        }
        // The service access point of IP itself (RFC 948).
        [6, 6, 3] => view.skip(3, HeaderPart::Link).map(|()| Layer::Ip),
        _ => Err(Undecoded::NotIp),
    }
}
