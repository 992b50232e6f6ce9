//! The tunnels that connections were found in: gathered in file order, joined when all connections are known.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::results::Summaries;
use crate::decode::batch::{Batch, Tunnelled};
use crate::decode::entered::{Tunnel, TunnelPath};
use crate::decode::hash;
use crate::decode::walk;
use crate::read::record::Chunk;
use crate::tcp::summary::summary::ConnectionSummary;

/// Flows whose tunnels are remembered.
const MOST_FLOWS: usize = 1 << 18;

/// The first packet of a flow in a tunnel: which way it went, and the tunnels.
#[derive(Debug)]
struct First {
    address_key: u64,
    ports: u32,
    path: Vec<Tunnel>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct GatheredTunnels {
    flows: HashMap<(u32, u32), First>,
    last: Option<(u32, u32)>,
}

impl GatheredTunnels {
    /// Takes those of a decoded chunk.
    pub fn chunk(&mut self, chunk: &Chunk, batch: &Batch) {
        for &Tunnelled { record, flow_hash, ports } in &batch.tunnelled {
            let flow = (flow_hash, ports.min(ports.rotate_left(16)));
            if self.last == Some(flow) {
                continue;
            }
            self.last = Some(flow);
            if self.flows.contains_key(&flow) || self.flows.len() >= MOST_FLOWS {
                continue;
            }
            let found = chunk.records.get(record as usize).and_then(|record| walk::tunnels(&chunk.bytes, record));
            if let Some((path, packet)) = found {
                let first = First { address_key: packet.address_key, ports: packet.ports, path };
                self.flows.insert(flow, first);
            }
        }
    }

    /// Gives each connection the tunnels of its addresses and ports; outer addresses in the direction of the client.
    pub fn join(self, connections: &mut Summaries) {
        if self.flows.is_empty() {
            return;
        }
        for connection in connections.iter_mut() {
            let [client, server] = connection.ports.map(u32::from);
            let ports = client << 16 | server;
            let Some((address_key, flow_hash)) = keys_of(connection, [0, 1], ports) else { continue };
            let Some(first) = self.flows.get(&(flow_hash, ports.min(ports.rotate_left(16)))) else { continue };
            let mut list = first.path.clone();
            if (first.address_key, first.ports) != (address_key, ports) {
                let reverse = keys_of(connection, [1, 0], ports.rotate_left(16)).map(|(key, _)| key);
                if (Some(first.address_key), first.ports) != (reverse, ports.rotate_left(16)) {
                    continue;
                }
                list.iter_mut().for_each(|tunnel| tunnel.outer.reverse());
            }
            connection.details.get_or_insert_default().tunnels = Some(TunnelPath { list });
        }
    }
}

/// Address key and hash of a connection's packets that go from one side to the other.
fn keys_of(connection: &ConnectionSummary, sides: [usize; 2], ports: u32) -> Option<(u64, u32)> {
    match sides.map(|side| connection.address(side)) {
        [IpAddr::V4(from), IpAddr::V4(to)] => {
            let pair = u64::from(u32::from(from)) << 32 | u64::from(u32::from(to));
            Some((pair, hash::flow_v4(pair, ports)))
        }
        [IpAddr::V6(from), IpAddr::V6(to)] => Some(hash::flow_v6(&from.octets(), &to.octets(), ports)),
        _ => None,
    }
}
