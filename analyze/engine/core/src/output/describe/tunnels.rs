//! The tunnels of a capture, each with the connections inside it.

use std::collections::HashMap;

use crate::analysis::results::Analysis;
use crate::decode::entered::Tunnel;
use crate::output::describe::visitor::Visitor;
use crate::output::key::key;

/// Tunnels that are listed: those of most bytes.
const MOST_LISTED: usize = 1000;

/// Connections that are named of a tunnel.
const MOST_CONNECTIONS: usize = 20;

/// What a tunnel carries.
#[derive(Debug)]
struct Carried {
    tunnel: Tunnel,
    connections: Vec<u32>,
    count: u64,
    packets: u64,
    wire_bytes: u64,
}

/// Tunnels by their bytes, the most first. One tunnel has two directions: the first connection's client says which is which.
pub(super) fn tunnels(analysis: &Analysis, visitor: &mut impl Visitor) {
    let mut list = carried(analysis);
    list.sort_by_key(|one| std::cmp::Reverse(one.wire_bytes));
    let not_listed = list.len().saturating_sub(MOST_LISTED);
    list.truncate(MOST_LISTED);
    visitor.records(key!("tunnels"), Some(list.iter()), |one, visitor| {
        let outer: Vec<String> = one.iter().flat_map(|one| one.tunnel.outer).map(|end| end.to_string()).collect();
        visitor.word(key!("kind"), one.map(|one| one.tunnel.kind));
        visitor.texts(key!("outer"), &outer);
        visitor.integer(key!("id"), one.and_then(|one| one.tunnel.id).map(u64::from));
        visitor.integers(key!("connections"), one.into_iter().flat_map(|one| &one.connections).map(|&id| id.into()));
        visitor.integer(key!("connections_count"), one.map(|one| one.count));
        visitor.integer(key!("packets"), one.map(|one| one.packets));
        visitor.integer(key!("wire_bytes"), one.map(|one| one.wire_bytes));
    });
    visitor.integer(key!("tunnels_not_listed", IfSet), Some(not_listed as u64));
}

fn carried(analysis: &Analysis) -> Vec<Carried> {
    let mut list: Vec<Carried> = Vec::new();
    let mut places: HashMap<Tunnel, usize> = HashMap::new();
    for (id, tunnelled) in analysis.outlines().filter_map(|outline| Some((outline.id, outline.tunnelled?))) {
        for tunnel in &tunnelled.path.list {
            let mut ends = *tunnel;
            ends.outer.sort_unstable();
            let place = *places.entry(ends).or_insert_with(|| {
                let (connections, count, packets, wire_bytes) = (Vec::new(), 0, 0, 0);
                list.push(Carried { tunnel: *tunnel, connections, count, packets, wire_bytes });
                list.len() - 1
            });
            let Some(one) = list.get_mut(place) else { continue };
            one.count += 1;
            if one.connections.len() < MOST_CONNECTIONS {
                one.connections.push(id);
            }
            one.packets += tunnelled.packets;
            one.wire_bytes += tunnelled.wire_bytes;
        }
    }
    list
}
