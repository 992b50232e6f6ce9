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
    for summary in analysis.connections.iter().filter(|_| !wanted.is_empty()) {
        let key = (summary.address(0), summary.address(1), summary.ports[1]);
        for &place in wanted.get(&key).into_iter().flatten().filter(|_| summary.handshake_complete) {
            let Some(flow) = analysis.datagrams.flows.list().get(place) else { continue };
            let within = flow.start_ns()..=flow.end_ns().saturating_add(MAX_WAIT_NS);
            if within.contains(&summary.start_ns) {
                found.entry(place).or_insert(summary.id);
            }
        }
    }
    found
}
