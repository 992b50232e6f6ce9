//! The complete decoder: walks a frame layer by layer down to the innermost TCP segment. [`super::fast`] answers the
//! common frames before it comes to this.
//!
//! Each layer is a function that reads its header off the [`View`] and names the layer that follows, so nothing
//! recurses and one bound on the steps bounds the work, whatever a frame claims.

use super::fragments::Fragment;
use super::ip::{self, IpHeader};
use super::view::View;
use super::{Undecoded, dns, ethernet, link, mpls, ppp, tcp, tunnel, wifi};
use crate::packet::Packet;
use crate::read::Record;

/// IP headers that may be nested.
const MAXIMUM_IP_HEADERS: u8 = 8;

/// Layers of any kind in one frame: room for eight tunnels, each with Ethernet, VLAN tags, IP, UDP and its own header.
const MAXIMUM_LAYERS: u8 = 64;

/// What the rest of the frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// LINKTYPE_ number.
    Link(u16),
    Ethernet,
    /// The payload of this EtherType.
    EtherType(u16),
    /// IEEE 802.2.
    Llc,
    /// IEEE 802.11 header.
    Wifi,
    /// Protocol field of PPP, perhaps after address and control.
    Ppp,
    /// Label stack.
    Mpls,
    /// IPv4 or IPv6, by its first four bits.
    Ip,
    /// The payload of this IP protocol.
    Protocol(u8),
}

/// Where a walk ended, if not with a reason.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Tcp(Packet),
    Fragment(Fragment<'a>),
    Dns(dns::DnsDatagram<'a>),
}

/// Decodes one frame completely.
pub(super) fn frame<'a>(bytes: &'a [u8], record: &Record) -> Result<Found<'a>, Undecoded> {
    walk(View::of_frame(bytes, record), Layer::Link(record.link_type), record)
}

fn walk<'a>(mut view: View<'a>, first: Layer, record: &Record) -> Result<Found<'a>, Undecoded> {
    let mut layer = first;
    let mut header = None;
    let mut ip_headers = 0;
    for _ in 0..MAXIMUM_LAYERS {
        layer = match layer {
            Layer::Link(number) => link::read(&mut view, number)?,
            Layer::Ethernet => ethernet::read(&mut view)?,
            Layer::EtherType(kind) => ethernet::payload(&mut view, kind)?,
            Layer::Llc => ethernet::llc(&mut view)?,
            Layer::Wifi => wifi::read(&mut view)?,
            Layer::Ppp => ppp::read(&mut view)?,
            Layer::Mpls => mpls::read(&mut view)?,
            Layer::Ip => {
                ip_headers += 1;
                if ip_headers > MAXIMUM_IP_HEADERS {
                    return Err(Undecoded::TunnelTooDeep);
                }
                match ip::read(&mut view)? {
                    ip::Datagram::Whole(found, protocol) => {
                        header = Some(found);
                        Layer::Protocol(protocol)
                    }
                    ip::Datagram::Fragment(fragment) => return Ok(Found::Fragment(fragment)),
                }
            }
            Layer::Protocol(ip::protocol::UDP) if let Some(found) = dns::read(&view, header.as_ref()) => {
                return Ok(Found::Dns(found));
            }
            Layer::Protocol(protocol) => match (tunnel::protocol(&mut view, protocol)?, &header) {
                (Some(inner), _) => inner,
                (None, Some(header)) => return segment(&view, header, record),
                (None, None) => return Err(Undecoded::NotIp),
            },
        }
    }
    Err(Undecoded::TunnelTooDeep)
}

fn segment<'a>(view: &View<'_>, header: &IpHeader<'_>, record: &Record) -> Result<Found<'a>, Undecoded> {
    let mut packet = tcp::read(view, header)?;
    packet.time_ns = record.time_ns;
    packet.wire_length = record.original_length.max(record.captured_length);
    packet.frame = record.frame;
    packet.input = record.input;
    Ok(Found::Tcp(packet))
}
