//! Connections whose packets are wanted one by one.
//!
//! An analysis that comes first asks for them by their numbers, and has to take all connections to know which has which. One that
//! follows knows them by what the first has found: it takes no packets but those of their flows.

use std::collections::{HashMap, HashSet};

use crate::decode::hash;
use crate::tcp::summary::summary::ConnectionSummary;

/// A connection that was measured before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownConnection {
    /// Its number among all.
    pub number: u32,
    /// Number of its first packet.
    order: u64,
    /// Hash of its flow.
    flow_hash: u32,
}

impl KnownConnection {
    /// The connection that was summed up so, by another number if its capture is not the only one.
    pub fn of(summary: &ConnectionSummary, number: u32) -> Self {
        Self { number, order: summary.order, flow_hash: flow_hash(summary) }
    }

    /// Hash of its flow.
    pub fn flow_hash(&self) -> u32 {
        self.flow_hash
    }
}

/// As that of the packets of the connection.
pub(crate) fn flow_hash(summary: &ConnectionSummary) -> u32 {
    let ports = u32::from(summary.ports[0]) << 16 | u32::from(summary.ports[1]);
    let [addresses_v4, ..] = summary.addresses.as_chunks::<8>().0 else { return 0 };
    match summary.addresses.as_chunks::<16>().0 {
        [client, server, ..] if summary.ip_version == 6 => hash::flow_v6(client, server, ports).1,
        _ => hash::flow_v4(u64::from_be_bytes(*addresses_v4), ports),
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    numbers: HashSet<u32>,
    /// Numbers of those that are known, by their first packets.
    by_order: HashMap<u64, u32>,
    hashes: HashSet<u32>,
}

impl Detail {
    /// Of connections with these numbers, or of those that are known if there are any.
    pub fn of(numbers: &[u32], known: &[KnownConnection]) -> Self {
        if known.is_empty() {
            return Self { numbers: numbers.iter().copied().collect(), ..Self::default() };
        }
        Self {
            numbers: known.iter().map(|one| one.number).collect(),
            by_order: known.iter().map(|one| (one.order, one.number)).collect(),
            hashes: known.iter().map(|one| one.flow_hash).collect(),
        }
    }

    /// No packets are wanted.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Packets of the flow are taken.
    pub fn takes(&self, flow_hash: u32) -> bool {
        self.hashes.is_empty() || self.hashes.contains(&flow_hash)
    }

    /// The number of a connection that begins with packet `order` and is the `count`th of those taken; 0 if it is not known.
    pub fn number(&self, order: u64, count: u32) -> u32 {
        if self.by_order.is_empty() { count } else { self.by_order.get(&order).copied().unwrap_or(0) }
    }

    /// Its packets are wanted.
    pub fn wants(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }
}
