//! Tunnels over UDP. Some have ports of their own; what other ports carry is known by its look alone ([`crate::decode::look`]).

use crate::decode::entered::Entered;
use crate::decode::over_udp::{Reader, UDP_BYTES, port};
use crate::decode::proof::{Strictness, is_proved};
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::decode::{access, l2tp, look, over_udp};

/// The tunnels that are believed where the packet goes to their port.
fn by_destination(port: u16) -> Option<Reader> {
    Some(match port {
        port::GTP_USER => over_udp::gtp,
        port::VXLAN | port::VXLAN_LINUX => over_udp::vxlan,
        port::VXLAN_GPE => over_udp::vxlan_gpe,
        port::GENEVE => over_udp::geneve,
        port::MPLS => over_udp::mpls,
        _ => return None,
    })
}

/// Those that must hold an IP packet, too: programs may have got their port by chance, and some are used from it.
fn by_either(ports: [u16; 2]) -> Option<Reader> {
    let reader: fn(u16) -> Option<Reader> = |port| {
        Some(match port {
            port::L2TP => l2tp::over_udp,
            port::LISP => over_udp::lisp,
            port::AYIYA => access::ayiya,
            port::CAPWAP => access::capwap,
            port::GUE => over_udp::gue,
            port::TZSP => access::tzsp,
            _ => return None,
        })
    };
    reader(ports[1]).or_else(|| reader(ports[0]))
}

/// What a datagram carries, if it is a tunnel's.
pub(super) fn read(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    // Most UDP is no tunnel: a cut or odd header is then nothing to report.
    let (Some(source), Some(destination)) = (view.u16(0), view.u16(2)) else { return Err(Undecoded::NotTcp) };
    if let Some(reader) = by_destination(destination) {
        view.skip(UDP_BYTES, HeaderPart::Tunnel)?;
        return reader(view);
    }
    let ports = [source, destination];
    let mut payload = *view;
    payload.skip(UDP_BYTES, HeaderPart::Tunnel).map_err(|_| Undecoded::NotTcp)?;
    if let Some(length) = view.u16(4).and_then(|length| u32::from(length).checked_sub(UDP_BYTES as u32)) {
        payload.declare(length);
    }
    let mut inside = payload;
    if let Some(entered) = by_either(ports).and_then(|reader| reader(&mut inside).ok())
        && is_proved(inside, entered.inner, Strictness::ByPort)
    {
        *view = inside;
        return Ok(entered);
    }
    let (entered, inside) = look::read(payload, ports)?;
    *view = inside;
    Ok(entered)
}
