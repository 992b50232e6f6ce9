//! TCP connections that followed QUIC flows without a reply: of the same client, to the same address and port.
//!
//! See docs/methods.md, "QUIC without keys".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::results::Analysis;

/// A client that waited longer gave the request up.
const MAX_WAIT_NS: i64 = 60_000_000_000;

/// By place of the flow, the first connection that opened between its first datagram and a minute after its last.
pub fn fallbacks(analysis: &Analysis) -> HashMap<usize, u32> {
    let flows = analysis.datagrams.flows.list().iter().enumerate();
    let unanswered = flows.filter(|(_, flow)| flow.quic.is_some() && flow.lanes[1 - flow.client()].packets == 0);
    let mut wanted: HashMap<(IpAddr, IpAddr, u16), Vec<usize>> = HashMap::new();
    for (place, flow) in unanswered {
        let (client, server) = (flow.client(), 1 - flow.client());
        let key = (flow.address(client), flow.address(server), flow.ports[server]);
        wanted.entry(key).or_default().push(place);
    }
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    for outline in analysis.outlines().filter(|outline| outline.is_open) {
        let key = (outline.addresses[0], outline.addresses[1], outline.ports[1]);
        for &place in wanted.get(&key).into_iter().flatten() {
            let Some(flow) = analysis.datagrams.flows.list().get(place) else { continue };
            let within = flow.start_ns()..=flow.end_ns().saturating_add(MAX_WAIT_NS);
            if within.contains(&outline.start_ns) {
                found.entry(place).or_insert(outline.id);
            }
        }
    }
    found
}
