//! Datagrams that no port explains, by their look: a tunnel is believed if the packet inside proves it. What looks like a
//! tunnel and cannot be proved, or is encrypted, is counted as unread.
//!
//! Rule: docs/methods.md, "Tunnels on any port".

use crate::decode::entered::Entered;
use crate::decode::layer::Layer;
use crate::decode::numbers;
use crate::decode::numbers::protocol;
use crate::decode::over_udp::{Reader, geneve, gue, port, vxlan, vxlan_gpe};
use crate::decode::proof::{Strictness, is_proved};
use crate::decode::reason::Undecoded;
use crate::decode::unread::Look;
use crate::decode::view::View;

/// The tunnels that a payload may be.
const TUNNELS: [(Look, Reader); 6] = [
    (Look::Vxlan, vxlan),
    (Look::Vxlan, vxlan_gpe),
    (Look::Geneve, geneve),
    (Look::Ip, direct_ip),
    (Look::Gue, gue),
    (Look::Gre, direct_gre),
];

/// The tunnel that a datagram's payload is, and what is inside.
pub(super) fn read(payload: View<'_>, ports: [u16; 2]) -> Result<(Entered, View<'_>), Undecoded> {
    let mut cut = None;
    let fitting = fitting(payload.data, payload.wire);
    // Most datagrams look like none of them.
    if fitting != [false; TUNNELS.len()] {
        for (&(look, reader), _) in TUNNELS.iter().zip(fitting).filter(|(_, fits)| *fits) {
            let mut inside = payload;
            match reader(&mut inside) {
                Ok(entered) if is_proved(inside, entered.inner, Strictness::ByLook) => return Ok((entered, inside)),
                Ok(_) if payload.data.len() < payload.wire as usize => cut = cut.or(Some(look)),
                _ => {}
            }
        }
    }
    let unread = cut.or_else(|| encrypted(payload.data, payload.wire, ports));
    Err(unread.map_or(Undecoded::NotTcp, |look| Undecoded::UnreadTunnel(look, ports[1])))
}

/// Of each of [`TUNNELS`] whether the payload may be it: the first bytes are nearly all prescribed.
#[inline]
fn fitting(data: &[u8], wire: u32) -> [bool; TUNNELS.len()] {
    let [b0, b1, b2, b3, _, _, _, b7, ..] = *data else { return [false; TUNNELS.len()] };
    let kind = u16::from_be_bytes([b2, b3]);
    let is_followed = matches!(kind, 0x6558 | 0x0800 | 0x86dd);
    [
        [b0, b1, b2, b3, b7] == [0x08, 0, 0, 0, 0],
        [b0, b1, b2, b7] == [0x0c, 0, 0, 0] && (1..=3).contains(&b3),
        b0 >> 6 == 0 && b1 & 0xbf == 0 && is_followed && b7 == 0,
        is_whole_packet(b0, data, wire),
        b0 & 0xe0 == 0 && matches!(b1, protocol::IPV4 | protocol::IPV6 | protocol::GRE),
        b0 & 0x4f == 0 && b1 == 0 && is_followed,
    ]
}

/// An IP packet that is exactly as long as the datagram.
fn is_whole_packet(first: u8, data: &[u8], wire: u32) -> bool {
    let length_at = |at: usize| {
        data.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u32::from(u16::from_be_bytes(*bytes)))
    };
    let carries = |at: usize| data.get(at).is_some_and(|&number| numbers::leads_to_tcp(number));
    match first >> 4 {
        4 => first & 15 >= 5 && length_at(2) == Some(wire) && carries(9),
        6 => length_at(4).is_some_and(|length| length + 40 == wire) && carries(6),
        _ => false,
    }
}

/// Foo over UDP (Linux): nothing between the UDP header and the packet. So it is with Teredo, whose addresses have a prefix of their
/// own (RFC 4380 section 2.6).
fn direct_ip(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let is_teredo = |at: usize| view.data.get(at..).is_some_and(|rest| rest.starts_with(&TEREDO_PREFIX));
    let is_ipv6 = view.byte(0).is_some_and(|first| first >> 4 == 6);
    let kind = if is_ipv6 && (is_teredo(8) || is_teredo(24)) { "teredo" } else { "fou" };
    Ok(Entered::new(kind, None, Layer::Ip))
}

/// 2001::/32.
const TEREDO_PREFIX: [u8; 4] = [0x20, 1, 0, 0];

fn direct_gre(_view: &mut View<'_>) -> Result<Entered, Undecoded> {
    Ok(Entered::new("fou", None, Layer::Protocol(protocol::GRE)))
}

/// Ports that VPNs use.
const OPENVPN: u16 = 1194;

const IPSEC_NAT: u16 = 4500;

/// Tunnels that cannot be read by anybody without their keys.
fn encrypted(data: &[u8], wire: u32, ports: [u16; 2]) -> Option<Look> {
    let is_of = |port| ports[0] == port || ports[1] == port;
    match *data {
        // WireGuard: initiation, response, cookie, data.
        [1, 0, 0, 0, ..] if wire == 148 => Some(Look::WireGuard),
        [2, 0, 0, 0, ..] if wire == 92 => Some(Look::WireGuard),
        [3, 0, 0, 0, ..] if wire == 64 => Some(Look::WireGuard),
        // Counters of data begin at 0 and stay far below 2^40: keys live for minutes.
        [4, 0, 0, 0, _, _, _, _, _, _, _, _, _, 0, 0, 0, ..] if wire >= 32 && wire.is_multiple_of(16) => {
            Some(Look::WireGuard)
        }
        // ESP in UDP (RFC 3948): the index is not 0, which marks IKE.
        [a, b, c, d, ..] if is_of(IPSEC_NAT) && [a, b, c, d] != [0; 4] => Some(Look::Esp),
        [1, ..] if is_of(port::CAPWAP) => Some(Look::Dtls),
        [first, ..] if is_of(OPENVPN) && matches!(first >> 3, 1..=10) => Some(Look::OpenVpn),
        _ => None,
    }
}
