//! Connections that may share a limit: of one sending host, of one receiving host, of one pair of hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::tcp::limits::bucket::{full_shares, network_shares};
use crate::tcp::rates::series::Series;
use crate::tcp::summary::summary::ConnectionSummary;

/// The largest so many of a group are summed.
pub(crate) const MOST_IN_A_GROUP: usize = 1024;

/// What one side of a connection delivered.
#[derive(Debug)]
pub(crate) struct SharingFlow {
    /// Place in the list of connections.
    pub place: usize,
    /// Data of the client (0) or the server (1).
    pub side: usize,
    /// Of the host that sends the data, and of the one that receives it.
    pub hosts: [IpAddr; 2],
    /// Bytes of IP packets.
    pub series: Series,
    /// All of them.
    pub bytes: f64,
    /// Share of each bin in which the network set the rate.
    pub usable: Vec<f32>,
    /// Share of each bin in which the path was full.
    pub path_full: Vec<f32>,
    /// A round trip as it mostly is, nanoseconds.
    pub rtt_ns: f64,
    /// A full segment with its headers.
    pub segment_bytes: f64,
    /// IP bytes for each byte of payload.
    pub overhead: f64,
    /// Round trips of the bins are whole.
    pub beside_sender: bool,
    /// It seemed to have a token bucket of its own.
    pub has_bucket: bool,
}

/// What the members of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The host that sends.
    Sender,
    /// The host that receives.
    Receiver,
    /// Both.
    Pair,
}

/// All directions of which enough was kept. What was kept is taken out of the connections.
pub(crate) fn flows(connections: &mut [Box<ConnectionSummary>]) -> Vec<SharingFlow> {
    let mut found = Vec::new();
    for (place, connection) in connections.iter_mut().enumerate() {
        found.extend([0, 1].into_iter().filter_map(|side| flow(connection, place, side)));
    }
    found
}

fn flow(connection: &mut ConnectionSummary, place: usize, side: usize) -> Option<SharingFlow> {
    let kept = connection.judgement.as_deref_mut()?.limits[side].as_deref_mut()?.delivered.take()?;
    let limits = connection.limits(side)?;
    let direction = &connection.directions[side];
    let trips = direction.round_trips.as_ref().map(|trips| trips.quantiles_ns[0]);
    let path_ns = limits.shortest_ns.map(|shortest_ns| shortest_ns as f64);
    let bytes = kept.series.bins.iter().map(|bin| f64::from(bin.arrived_bytes)).sum();
    Some(SharingFlow {
        place,
        side,
        hosts: [connection.address(side), connection.address(1 - side)],
        bytes,
        usable: network_shares(&kept.series, &limits.runs),
        path_full: full_shares(&kept.series, &limits.runs),
        rtt_ns: trips.unwrap_or(0.0).max(path_ns.unwrap_or(0.0)),
        segment_bytes: kept.segment_bytes,
        overhead: kept.overhead,
        beside_sender: kept.beside_sender,
        has_bucket: direction.extras.token_bucket.is_some(),
        series: kept.series,
    })
}

/// Groups of two or more, by what they have in common; of each the largest, in the order of connections.
pub(crate) fn groups(flows: &[SharingFlow], role: Role) -> Vec<Vec<usize>> {
    let mut by_hosts: BTreeMap<[Option<IpAddr>; 2], Vec<usize>> = BTreeMap::new();
    for (place, flow) in flows.iter().enumerate() {
        let [sender, receiver] = flow.hosts.map(Some);
        let key = match role {
            Role::Sender => [sender, None],
            Role::Receiver => [None, receiver],
            Role::Pair => [sender, receiver],
        };
        by_hosts.entry(key).or_default().push(place);
    }
    let several = by_hosts.into_values().filter(|group| group.len() > 1);
    several.map(|group| largest(flows, group)).collect()
}

fn largest(flows: &[SharingFlow], mut group: Vec<usize>) -> Vec<usize> {
    if group.len() > MOST_IN_A_GROUP {
        group.sort_by(|&one, &other| flows[other].bytes.total_cmp(&flows[one].bytes).then(one.cmp(&other)));
        group.truncate(MOST_IN_A_GROUP);
        group.sort_unstable();
    }
    group
}
