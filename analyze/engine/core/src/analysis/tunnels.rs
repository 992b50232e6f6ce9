//! The tunnels that connections were found in: gathered in file order, joined when all connections are known.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::results::Summaries;
use crate::decode::batch::{Batch, Tunnelled};
use crate::decode::entered::{KINDS, Tunnel, TunnelPath};
use crate::decode::{hash, walk};
use crate::packet::Packet;
use crate::read::record::Chunk;
use crate::tcp::stats::packed::Packed;
use crate::tcp::summary::summary::ConnectionSummary;

/// Flows whose tunnels are remembered.
const MOST_FLOWS: usize = 1 << 18;

/// A path of more tunnels is cut here where it is written down.
const MOST_TUNNELS: usize = u8::MAX as usize;

/// The first packet of a flow in a tunnel: which way it went, and the tunnels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowTunnels {
    flow_hash: u32,
    address_key: u64,
    ports: u32,
    path: Vec<Tunnel>,
}

impl FlowTunnels {
    /// Both directions.
    fn flow(&self) -> (u32, u32) {
        (self.flow_hash, both_ways(self.ports))
    }

    /// Appends it, for another run.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.flow_hash.to_le_bytes());
        out.extend(self.address_key.to_le_bytes());
        out.extend(self.ports.to_le_bytes());
        put_path(out, &self.path);
    }

    /// Reads what [`Self::write`] has written; none if it is something else.
    pub(crate) fn read(from: &mut Packed<'_>) -> Option<Self> {
        let (flow_hash, address_key, ports) = (from.u32()?, from.u64()?, from.u32()?);
        Some(Self { flow_hash, address_key, ports, path: read_path(from)? })
    }
}

/// Appends the tunnels that a connection was found in, for another run.
pub(crate) fn put_path(out: &mut Vec<u8>, path: &[Tunnel]) {
    let path = &path[..path.len().min(MOST_TUNNELS)];
    out.push(path.len() as u8);
    for Tunnel { kind, outer, id } in path {
        out.push(KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len()) as u8);
        out.push(u8::from(id.is_some()));
        out.extend(id.unwrap_or(0).to_le_bytes());
        for address in outer {
            let (version, bytes) = match address {
                IpAddr::V4(address) => (4, address.to_ipv6_mapped().octets()),
                IpAddr::V6(address) => (6, address.octets()),
            };
            out.push(version);
            out.extend(bytes);
        }
    }
}

/// Reads what [`put_path`] has written; none if it is something else.
pub(crate) fn read_path(from: &mut Packed<'_>) -> Option<Vec<Tunnel>> {
    let [count] = from.bytes()?;
    (0..count).map(|_| read_tunnel(from)).collect()
}

fn read_tunnel(from: &mut Packed<'_>) -> Option<Tunnel> {
    let [kind, has_id] = from.bytes()?;
    let id = from.u32()?;
    let mut address = || {
        let [version] = from.bytes()?;
        let bytes = std::net::Ipv6Addr::from(from.bytes::<16>()?);
        if version == 4 { bytes.to_ipv4_mapped().map(IpAddr::V4) } else { Some(IpAddr::V6(bytes)) }
    };
    Some(Tunnel {
        kind: KINDS.get(usize::from(kind))?,
        outer: [address()?, address()?],
        id: (has_id > 0).then_some(id),
    })
}

/// Ports of a flow, whichever way its packet goes.
fn both_ways(ports: u32) -> u32 {
    ports.min(ports.rotate_left(16))
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct GatheredTunnels {
    flows: HashMap<(u32, u32), FlowTunnels>,
    last: Option<(u32, u32)>,
}

impl GatheredTunnels {
    /// Takes those of a decoded chunk; shows each that is new, with its packet.
    pub fn chunk(&mut self, chunk: &Chunk, batch: &Batch, mut show: impl FnMut(&FlowTunnels, &Packet)) {
        for &Tunnelled { record, flow_hash, ports } in &batch.tunnelled {
            let flow = (flow_hash, both_ways(ports));
            if self.last == Some(flow) {
                continue;
            }
            self.last = Some(flow);
            if self.flows.contains_key(&flow) || self.flows.len() >= MOST_FLOWS {
                continue;
            }
            let found = chunk.records.get(record as usize).and_then(|record| walk::tunnels(&chunk.bytes, record));
            if let Some((path, packet)) = found {
                let first = FlowTunnels { flow_hash, address_key: packet.address_key, ports: packet.ports, path };
                show(&first, &packet);
                self.flows.insert(flow, first);
            }
        }
    }

    /// Takes what another run has found, unless the flow is known.
    pub(crate) fn take(&mut self, found: FlowTunnels) {
        if self.flows.len() < MOST_FLOWS {
            self.flows.entry(found.flow()).or_insert(found);
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
            let Some(first) = self.flows.get(&(flow_hash, both_ways(ports))) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_for_another_run_comes_back_and_a_part_of_it_does_not() {
        let outer = ["10.0.0.1", "2001:db8::9"].map(|text| text.parse().expect("an address"));
        let path = KINDS.iter().zip([None, Some(7)].into_iter().cycle());
        let path = path.map(|(&kind, id)| Tunnel { kind, outer, id }).collect();
        let found = FlowTunnels { flow_hash: 5, address_key: 1 << 40, ports: 80 << 16 | 9000, path };
        let mut bytes = Vec::new();
        found.write(&mut bytes);
        found.write(&mut bytes);
        let mut rest = Packed::new(&bytes);
        assert_eq!([FlowTunnels::read(&mut rest), FlowTunnels::read(&mut rest)], [Some(found.clone()), Some(found)]);
        assert!(rest.is_empty());
        assert!((0..bytes.len() / 2).all(|length| FlowTunnels::read(&mut Packed::new(&bytes[..length])).is_none()));
    }
}
