//! A tunnel that a walk goes through, and what is left of it for whoever asks: its kind and number.

use std::net::IpAddr;

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::layer::Layer;

/// All kinds: slices of captures name them by their place here, so that new ones come last.
pub const KINDS: [&str; 22] = [
    "ayiya",
    "capwap",
    "erspan",
    "ethernet_in_ip",
    "etherip",
    "fou",
    "geneve",
    "gre",
    "gtp_u",
    "gue",
    "ip_in_ip",
    "l2tpv2",
    "l2tpv3",
    "lisp",
    "mpls_in_ip",
    "mpls_in_udp",
    "teredo",
    "tzsp",
    "vxlan",
    "vxlan_gpe",
    "wccp",
    "pptp",
];

/// A tunnel that a segment was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// What kind, as in JSON.
    pub kind: &'static str,
    /// Source and destination of the packet around it.
    pub outer: [IpAddr; 2],
    /// Its number: network identifier, key, session.
    pub id: Option<u32>,
}

/// Tunnels, the outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelPath {
    /// Each of them.
    pub list: Vec<Tunnel>,
}

/// What a tunnel's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entered {
    pub(super) kind: &'static str,
    pub(super) id: Option<u32>,
    pub(super) inner: Layer,
}

impl Entered {
    pub(super) fn new(kind: &'static str, id: Option<u32>, inner: Layer) -> Self {
        Self { kind, id, inner }
    }

    /// The tunnel, in a packet with this header.
    pub(super) fn within(&self, header: &IpHeader<'_>) -> Tunnel {
        let outer = match header.addresses {
            Addresses::V4(&[a, b, c, d, e, f, g, h]) => [[a, b, c, d].into(), [e, f, g, h].into()],
            Addresses::V6(source, destination) => [(*source).into(), (*destination).into()],
        };
        Tunnel { kind: self.kind, outer, id: self.id }
    }
}
