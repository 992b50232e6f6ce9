//! Datagrams of port 53 (RFC 768), whose names tell whom TCP connections went to. Looked for only in frames without TCP.

use std::net::IpAddr;

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::numbers::DNS_PORT;
use crate::decode::view::View;

/// A datagram with its message, or what was captured of that.
#[derive(Debug, Clone, Copy)]
pub struct DnsDatagram<'a> {
    /// Source and destination.
    pub addresses: [IpAddr; 2],
    /// Source and destination.
    pub ports: [u16; 2],
    /// The DNS message.
    pub message: &'a [u8],
    /// The snap length cut it.
    pub cut: bool,
}

const UDP_HEADER_BYTES: usize = 8;

/// The datagram that `view` is at, if either port is DNS's.
pub(super) fn read<'a>(view: &View<'a>, header: Option<&IpHeader<'_>>) -> Option<DnsDatagram<'a>> {
    let ports = [view.u16(0)?, view.u16(2)?];
    if !ports.contains(&DNS_PORT) {
        return None;
    }
    let addresses = match header?.addresses {
        Addresses::V4(&[a, b, c, d, e, f, g, h]) => [[a, b, c, d].into(), [e, f, g, h].into()],
        Addresses::V6(source, destination) => [(*source).into(), (*destination).into()],
    };
    let length = usize::from(view.u16(4)?);
    let datagram = view.data.get(..length).unwrap_or(view.data);
    Some(DnsDatagram { addresses, ports, message: datagram.get(UDP_HEADER_BYTES..)?, cut: datagram.len() < length })
}
