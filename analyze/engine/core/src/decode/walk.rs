//! The complete decoder: walks a frame layer by layer down to the innermost TCP segment. `fast` answers the
//! common frames before it comes to this.
//!
//! Each layer is a function that reads its header off the `View` and names the layer that follows, so nothing
//! recurses and one bound on the steps bounds the work, whatever a frame claims.

use crate::decode::entered::{Entered, Tunnel, TunnelPath};
use crate::decode::ip_header::{Fragment, IpHeader, Readdressed};
use crate::decode::layer::Layer;
use crate::decode::numbers::{DNS_PORT, protocol};
use crate::decode::other::Other;
use crate::decode::reason::Undecoded;
use crate::decode::tunnel::Step;
use crate::decode::view::View;
use crate::decode::{ethernet, ip, ip_header, link, mpls, over_udp, ppp, tcp, tunnel, unknown_tag, wifi};
use crate::packet::Packet;
use crate::read::record::Record;

/// IP headers that may be nested.
pub(super) const MAXIMUM_IP_HEADERS: u8 = 8;

/// Layers of any kind in one frame: room for eight tunnels, each with Ethernet, VLAN tags, IP, UDP and its own header.
const MAXIMUM_LAYERS: u8 = 64;

/// Where a walk ended, if not with a reason.
#[derive(Debug)]
pub(super) enum WalkEnd<'a> {
    /// A segment, and whether it is in a tunnel.
    Tcp(Packet, bool),
    Fragment(Fragment<'a>),
    /// To be walked again with these.
    Readdressed(Readdressed),
    /// No TCP segment, but known what else.
    Other(Other),
}

/// Decodes one frame completely.
pub(super) fn frame<'a>(bytes: &'a [u8], record: &Record) -> Result<WalkEnd<'a>, Undecoded> {
    walk(bytes, record, |_, _| {})
}

/// The tunnels that the segment of a frame is in, outermost first, and the segment.
#[must_use]
pub fn tunnels(bytes: &[u8], record: &Record) -> Option<(Vec<Tunnel>, Packet)> {
    match walk_noting_tunnels(bytes, record) {
        (path, Ok(WalkEnd::Tcp(packet, true))) => Some((path.list, packet)),
        _ => None,
    }
}

/// The same of a frame without a TCP segment.
pub(crate) fn tunnels_around_other(bytes: &[u8], record: &Record) -> Option<TunnelPath> {
    match walk_noting_tunnels(bytes, record) {
        (path, Ok(WalkEnd::Other(other))) if other.is_tunnelled => Some(path),
        _ => None,
    }
}

fn walk_noting_tunnels<'a>(bytes: &'a [u8], record: &Record) -> (TunnelPath, Result<WalkEnd<'a>, Undecoded>) {
    let mut list = Vec::new();
    let found = walk(bytes, record, |entered, header| list.push(entered.within(header)));
    (TunnelPath { list }, found)
}

fn walk<'a>(
    bytes: &'a [u8],
    record: &Record,
    mut pass: impl FnMut(&Entered, &IpHeader<'a>),
) -> Result<WalkEnd<'a>, Undecoded> {
    let mut view = View::of_frame(bytes, record);
    let mut layer = Layer::Link(record.link_type);
    let mut is_tunnelled = false;
    let mut header = None;
    let mut ip_headers = 0;
    for _ in 0..MAXIMUM_LAYERS {
        layer = match layer {
            Layer::Link(number) => link::read(&mut view, number)?,
            Layer::Ethernet => ethernet::read(&mut view)?,
            Layer::EtherType(kind) => match ethernet::payload(&mut view, kind) {
                Err(Undecoded::NotIp) => match unknown_tag::read(&mut view) {
                    Some(inner) => inner,
                    None => return Ok(WalkEnd::Other(Other::frame(&view, kind))),
                },
                next => next?,
            },
            Layer::Llc => ethernet::llc(&mut view)?,
            Layer::Wifi => wifi::read(&mut view)?,
            Layer::Ppp => ppp::read(&mut view)?,
            Layer::Mpls => mpls::read(&mut view)?,
            Layer::ServiceHeader => over_udp::service_header(&mut view)?,
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
                    ip_header::Datagram::Fragment(fragment) => return Ok(WalkEnd::Fragment(fragment)),
                    ip_header::Datagram::Readdressed(ends) => return Ok(WalkEnd::Readdressed(ends)),
                }
            }
            Layer::Protocol(number) => {
                let before = view;
                let carried = match number {
                    // Names are asked for from any port, that of a tunnel included.
                    protocol::UDP if is_of_dns(&view) => Err(Undecoded::NotTcp),
                    _ => tunnel::protocol(&mut view, number),
                };
                match (carried, &header) {
                    (Ok(_), None) => return Err(Undecoded::NotIp),
                    (Ok(Step::Segment), Some(header)) => return segment(&view, header, record, is_tunnelled),
                    (Ok(Step::Inner(inner)), Some(_)) => inner,
                    (Ok(Step::Tunnel(entered)), Some(header)) => {
                        pass(&entered, header);
                        is_tunnelled = true;
                        entered.inner
                    }
                    (Err(reason), Some(header)) if reason.is_sound() => {
                        let other = Other::packet(&before, header, number, reason);
                        return Ok(WalkEnd::Other(other.tunnelled(is_tunnelled)));
                    }
                    (Err(reason), _) => return Err(reason),
                }
            }
        }
    }
    Err(Undecoded::TunnelTooDeep)
}

fn is_of_dns(view: &View<'_>) -> bool {
    view.u16(0) == Some(DNS_PORT) || view.u16(2) == Some(DNS_PORT)
}

fn segment<'a>(
    view: &View<'_>,
    header: &IpHeader<'_>,
    record: &Record,
    is_tunnelled: bool,
) -> Result<WalkEnd<'a>, Undecoded> {
    let mut packet = tcp::read(view, header)?;
    packet.time_ns = record.time_ns;
    packet.wire_length = view.frame_length(record);
    packet.frame = record.frame;
    packet.input = record.input;
    Ok(WalkEnd::Tcp(packet, is_tunnelled))
}
