//! The complete decoder: walks a frame layer by layer down to the innermost TCP segment. `fast` answers the
//! common frames before it comes to this.
//!
//! Each layer is a function that reads its header off the `View` and names the layer that follows, so nothing
//! recurses and one bound on the steps bounds the work, whatever a frame claims.

use crate::decode::dns::DnsDatagram;
use crate::decode::echo::Echo;
use crate::decode::icmp::IcmpError;
use crate::decode::ip_header::{Fragment, IpHeader};
use crate::decode::layer::Layer;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::View;
use crate::decode::{dns, echo, ethernet, icmp, ip, ip_header, link, mpls, ppp, tcp, tunnel, wifi};
use crate::packet::Packet;
use crate::read::record::Record;

/// The datagram of a frame that [`crate::decode::frame::decode_into`] called one.
#[must_use]
pub fn dns_datagram<'a>(bytes: &'a [u8], record: &Record) -> Option<DnsDatagram<'a>> {
    match frame(bytes, record) {
        Ok(Found::Dns(datagram)) => Some(datagram),
        _ => None,
    }
}

/// What [`crate::decode::frame::decode_into`] called ICMP: an error about a TCP segment, an echo request or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmp {
    /// An error.
    Error(IcmpError),
    /// A request or a reply.
    Echo(Echo),
}

/// The ICMP message of a frame that [`crate::decode::frame::decode_into`] called one.
#[must_use]
pub fn icmp_message(bytes: &[u8], record: &Record) -> Option<Icmp> {
    let Record { time_ns, frame: number, input, .. } = *record;
    match frame(bytes, record) {
        Ok(Found::Icmp(Icmp::Error(error))) => Some(Icmp::Error(IcmpError { time_ns, frame: number, ..error })),
        Ok(Found::Icmp(Icmp::Echo(echo))) => Some(Icmp::Echo(Echo { time_ns, frame: number, input, ..echo })),
        _ => None,
    }
}

/// IP headers that may be nested.
const MAXIMUM_IP_HEADERS: u8 = 8;

/// Layers of any kind in one frame: room for eight tunnels, each with Ethernet, VLAN tags, IP, UDP and its own header.
const MAXIMUM_LAYERS: u8 = 64;

/// Where a walk ended, if not with a reason.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Tcp(Packet),
    Fragment(Fragment<'a>),
    Dns(DnsDatagram<'a>),
    Icmp(Icmp),
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
            Layer::ServiceHeader => tunnel::service_header(&mut view)?,
            Layer::Ip => {
                ip_headers += 1;
                if ip_headers > MAXIMUM_IP_HEADERS {
                    return Err(Undecoded::TunnelTooDeep);
                }
                match ip::read(&mut view)? {
                    ip_header::Datagram::Whole(found, protocol) => {
                        header = Some(found);
                        Layer::Protocol(protocol)
                    }
                    ip_header::Datagram::Fragment(fragment) => return Ok(Found::Fragment(fragment)),
                }
            }
            Layer::Protocol(protocol::UDP) if let Some(found) = dns::read(&view, header.as_ref()) => {
                return Ok(Found::Dns(found));
            }
            Layer::Protocol(number @ (protocol::ICMP | protocol::ICMP_V6)) => {
                let (view, header) = (&view, header.as_ref());
                let error = icmp::read(view, number, header).map(Icmp::Error);
                let found = error.or_else(|| echo::read(view, number, header).map(Icmp::Echo));
                return found.map(Found::Icmp).ok_or(Undecoded::NotTcp);
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
    packet.wire_length = view.frame_length(record);
    packet.frame = record.frame;
    packet.input = record.input;
    Ok(Found::Tcp(packet))
}
