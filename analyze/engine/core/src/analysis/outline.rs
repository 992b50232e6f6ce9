//! What others have to know of a connection: who talked with whom and since when, and the tunnels that it was found in. Where connections
//! are analysed apart from what is no TCP, this is all that crosses.

use std::net::IpAddr;

use crate::decode::entered::TunnelPath;
use crate::dns::resolutions::Follower;
use crate::tcp::summary::summary::ConnectionSummary;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Its number.
    pub id: u32,
    /// Client and server.
    pub addresses: [IpAddr; 2],
    /// Their ports.
    pub ports: [u16; 2],
    /// When its first packet passed.
    pub start_ns: i64,
    /// Its handshake is complete.
    pub is_open: bool,
    /// The tunnels that it was found in.
    pub tunnelled: Option<Box<Tunnelled>>,
}

/// The tunnels of a connection, and what passed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnelled {
    /// The outermost first.
    pub path: TunnelPath,
    /// Packets of both directions.
    pub packets: u64,
    /// Bytes of their frames.
    pub wire_bytes: u64,
}

impl Outline {
    /// Of a connection.
    pub fn of(summary: &ConnectionSummary) -> Self {
        let path = summary.details.as_ref().and_then(|details| details.tunnels.clone());
        let tunnelled = path.map(|path| {
            let packets = summary.directions.iter().map(|direction| direction.packets).sum();
            Box::new(Tunnelled { path, packets, wire_bytes: summary.wire_bytes() })
        });
        Self {
            id: summary.id,
            addresses: [0, 1].map(|side| summary.address(side)),
            ports: summary.ports,
            start_ns: summary.start_ns,
            is_open: summary.handshake_complete,
            tunnelled,
        }
    }

    /// As names see it.
    pub fn follower(&self) -> Follower {
        Follower { id: self.id, addresses: self.addresses, start_ns: self.start_ns }
    }
}
