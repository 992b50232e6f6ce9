//! Protocols on IP that carry frames or packets.

use crate::decode::entered::Entered;
use crate::decode::layer::Layer;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::decode::{gre, ip, l2tp, udp};

/// What an IP protocol is.
pub(super) enum Step {
    /// TCP.
    Segment,
    /// A header that is no tunnel.
    Inner(Layer),
    Tunnel(Entered),
}

/// What an IP protocol carries.
pub(super) fn protocol(view: &mut View<'_>, number: u8) -> Result<Step, Undecoded> {
    let nested = |kind, inner| Ok(Step::Tunnel(Entered::new(kind, None, inner)));
    match number {
        protocol::TCP => Ok(Step::Segment),
        protocol::IPV4 | protocol::IPV6 => nested("ip_in_ip", Layer::Ip),
        protocol::GRE => entered(view, gre::read),
        protocol::UDP => entered(view, udp::read),
        protocol::AUTHENTICATION => ip::authentication(view).map(Step::Inner),
        protocol::MPLS => nested("mpls_in_ip", Layer::Mpls),
        protocol::ETHERNET => nested("ethernet_in_ip", Layer::Ethernet),
        protocol::ETHER_IP => entered(view, ether_ip),
        protocol::L2TP => entered(view, l2tp::over_ip),
        protocol::ESP => Err(Undecoded::EncryptedIpsec),
        _ => Err(Undecoded::NotTcp),
    }
}

/// What a tunnel carries may have been cut before.
fn entered<'a>(
    view: &mut View<'a>,
    read: impl FnOnce(&mut View<'a>) -> Result<Entered, Undecoded>,
) -> Result<Step, Undecoded> {
    let inner = read(view)?;
    view.enter_tunnel();
    Ok(Step::Tunnel(inner))
}

/// EtherIP (RFC 3378): version 3, the rest 0.
fn ether_ip(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    match view.take::<2>(HeaderPart::Tunnel)? {
        [0x30, 0] => Ok(Entered::new("etherip", None, Layer::Ethernet)),
        _ => Err(Undecoded::NotTcp),
    }
}
