//! Outcomes of a whole capture, counted by kind, and within a kind by the server's address and port.

use std::collections::{BTreeMap, HashMap};

use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::requests::servers::ServerKey;
use crate::tcp::summary::summary::ConnectionSummary;

/// Servers that are listed of one kind, those of most connections first: a scan asks for thousands of ports.
const MOST_SERVERS: usize = 100;

/// Connections that are named of one server.
const MOST_IDS: usize = 20;

/// Servers that are counted one by one; further ones are counted together.
const MOST_COUNTED: usize = 1 << 16;

/// Connections of one kind to one server.
#[derive(Debug, Clone)]
pub struct ServerGroup<'a> {
    /// The first of them: it has the address and the port.
    pub first: &'a ConnectionSummary,
    /// How many there are.
    pub connections: u64,
    /// The numbers of the first ones.
    pub ids: Vec<u32>,
}

/// Connections of one kind.
#[derive(Debug, Clone)]
pub struct KindGroup<'a> {
    /// What became of them.
    pub kind: OutcomeKind,
    /// How many there are.
    pub connections: u64,
    /// By server, most connections first.
    pub servers: Vec<ServerGroup<'a>>,
    /// Servers beyond those, and connections to them.
    pub not_listed: [u64; 2],
}

/// Those of all connections, most connections first.
pub fn groups<'a>(connections: impl Iterator<Item = &'a ConnectionSummary>) -> Vec<KindGroup<'a>> {
    let mut by_kind: BTreeMap<OutcomeKind, (u64, u64, HashMap<ServerKey, ServerGroup<'a>>)> = BTreeMap::new();
    for connection in connections {
        let Some(kind) = outcome_kind(connection) else { continue };
        let (all, uncounted, servers) = by_kind.entry(kind).or_default();
        *all += 1;
        let server = connection.server_key();
        if servers.len() >= MOST_COUNTED && !servers.contains_key(&server) {
            *uncounted += 1;
            continue;
        }
        let fresh = || ServerGroup { first: connection, connections: 0, ids: Vec::new() };
        let group = servers.entry(server).or_insert_with(fresh);
        group.connections += 1;
        if group.ids.len() < MOST_IDS {
            group.ids.push(connection.id);
        }
    }
    let mut found: Vec<KindGroup> = by_kind
        .into_iter()
        .map(|(kind, (connections, uncounted, servers))| listed(kind, connections, uncounted, servers))
        .collect();
    found.sort_by_key(|group| std::cmp::Reverse(group.connections));
    found
}

fn listed<'a>(
    kind: OutcomeKind,
    connections: u64,
    uncounted: u64,
    servers: HashMap<ServerKey, ServerGroup<'a>>,
) -> KindGroup<'a> {
    let mut servers: Vec<ServerGroup> = servers.into_values().collect();
    servers.sort_by_key(|group| (std::cmp::Reverse(group.connections), group.first.id));
    let rest = servers.split_off(MOST_SERVERS.min(servers.len()));
    let more = rest.iter().map(|group| group.connections).sum::<u64>() + uncounted;
    KindGroup { kind, connections, servers, not_listed: [rest.len() as u64 + uncounted, more] }
}

/// What became of it, without the words.
pub fn outcome_kind(summary: &ConnectionSummary) -> Option<OutcomeKind> {
    summary.ending.as_deref().and_then(|ending| ending.kind)
}
