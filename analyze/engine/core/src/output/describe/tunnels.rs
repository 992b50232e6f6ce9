//! The tunnels of a capture, each with the connections and flows inside it.

use std::collections::HashMap;

use crate::analysis::results::Analysis;
use crate::decode::entered::{Tunnel, TunnelPath};
use crate::flows::protocols::Amount;
use crate::output::describe::visitor::Visitor;
use crate::output::key::key;

/// Tunnels that are listed: those of most bytes.
const MOST_LISTED: usize = 1000;

/// Connections that are named of a tunnel, and flows.
const MOST_NAMED: usize = 20;

/// Ids of the first, and how many there are.
#[derive(Debug, Default)]
struct Named {
    ids: Vec<u64>,
    count: u64,
}

impl Named {
    fn add(&mut self, id: u64) {
        self.count += 1;
        if self.ids.len() < MOST_NAMED {
            self.ids.push(id);
        }
    }
}

/// What a tunnel carries.
#[derive(Debug)]
struct Carried {
    tunnel: Tunnel,
    connections: Named,
    flows: Named,
    amount: Amount,
}

/// Tunnels by their bytes, the most first. One tunnel has two directions: the first connection's client says which is which.
pub(super) fn tunnels(analysis: &Analysis, visitor: &mut impl Visitor) {
    let mut list = carried(analysis);
    list.sort_by_key(|one| std::cmp::Reverse(one.amount.wire_bytes));
    let not_listed = list.len().saturating_sub(MOST_LISTED);
    list.truncate(MOST_LISTED);
    visitor.records(key!("tunnels"), Some(list.iter()), |one, visitor| {
        let outer: Vec<String> = one.iter().flat_map(|one| one.tunnel.outer).map(|end| end.to_string()).collect();
        visitor.word(key!("kind"), one.map(|one| one.tunnel.kind));
        visitor.texts(key!("outer"), &outer);
        visitor.integer(key!("id"), one.and_then(|one| one.tunnel.id).map(u64::from));
        visitor.integers(key!("connections"), one.into_iter().flat_map(|one| &one.connections.ids).copied());
        visitor.integer(key!("connections_count"), one.map(|one| one.connections.count));
        visitor.integers(key!("flows"), one.into_iter().flat_map(|one| &one.flows.ids).copied());
        visitor.integer(key!("flows_count"), one.map(|one| one.flows.count));
        visitor.integer(key!("packets"), one.map(|one| one.amount.packets));
        visitor.integer(key!("wire_bytes"), one.map(|one| one.amount.wire_bytes));
    });
    visitor.integer(key!("tunnels_not_listed", IfSet), Some(not_listed as u64));
}

fn carried(analysis: &Analysis) -> Vec<Carried> {
    let mut all = Tunnels::default();
    for (id, tunnelled) in analysis.outlines().filter_map(|outline| Some((outline.id, outline.tunnelled?))) {
        let amount = Amount { packets: tunnelled.packets, wire_bytes: tunnelled.wire_bytes };
        all.take(&tunnelled.path, amount, |one| one.connections.add(u64::from(id)));
    }
    for flow in analysis.datagrams.flows.list() {
        if let Some(path) = flow.tunnels_from_client() {
            all.take(&path, flow.amount(), |one| one.flows.add(u64::from(flow.number)));
        }
    }
    all.list
}

/// Those found so far, each by its ends in either order.
#[derive(Default)]
struct Tunnels {
    list: Vec<Carried>,
    places: HashMap<Tunnel, usize>,
}

impl Tunnels {
    /// Takes what passed in all of a path; `name` is asked to note whose it was.
    fn take(&mut self, path: &TunnelPath, amount: Amount, name: impl Fn(&mut Carried)) {
        for tunnel in &path.list {
            let mut ends = *tunnel;
            ends.outer.sort_unstable();
            let place = *self.places.entry(ends).or_insert_with(|| {
                let (connections, flows) = (Named::default(), Named::default());
                self.list.push(Carried { tunnel: *tunnel, connections, flows, amount: Amount::default() });
                self.list.len() - 1
            });
            if let Some(one) = self.list.get_mut(place) {
                name(one);
                one.amount.add(amount);
            }
        }
    }
}
