//! Limits that several connections share: an allowance of a host, or a bottleneck that all of them pass. Their sum stands at a
//! rate though each of them rises and falls (docs/verdict.md, "Shared limits"). Owns the search, once all connections are over;
//! what it means for each of them is `limits`' ([`crate::tcp::limits::sharing`]), its words are `verdict`'s.
//!
//! ```text
//! groups   which connections may share one: of a host, or of a pair of hosts
//! sum      their bytes in common cells of time, and as one series
//! flat     does their sum stand at a rate that they share?
//! member   whose it is: a connection that the others make way for
//! ```

pub(crate) mod flat;
pub(crate) mod groups;
pub(crate) mod member;
pub(crate) mod sum;

use crate::tcp::events::factor::Factor;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::limits::sharing::take_sharing;
use crate::tcp::shared_limits::flat::Flat;
use crate::tcp::shared_limits::groups::{Flow, Role, flows, groups};
use crate::tcp::shared_limits::sum::Sum;
use crate::tcp::summary::summary::ConnectionSummary;

/// Limits that are listed, those of the highest rates first.
pub const MOST_LISTED: usize = 100;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedLimit {
    /// Numbers of the connections, in rising order.
    pub connections: Vec<u32>,
    /// `TokenBucket` or `BottleneckBandwidth`.
    pub factor: Factor,
    /// What all of them reach together, bits of IP packets a second.
    pub rate_bps: f64,
    /// What passed beyond that before; none of a bottleneck, or where it does not show.
    pub burst_bytes: Option<f64>,
    /// When it held.
    pub between_ns: [i64; 2],
    /// 0.5 to 0.95.
    pub confidence: f64,
}

impl SharedLimit {
    /// The same, where connections are numbered from another one on.
    pub fn moved(mut self, by: u32) -> Self {
        self.connections.iter_mut().for_each(|id| *id = id.saturating_add(by));
        self
    }
}

/// Finds the limits that connections share, and bounds what each of these could have reached. What was kept of them for that
/// is given back.
pub fn find(connections: &mut [Box<ConnectionSummary>]) -> Vec<SharedLimit> {
    let mut found = Vec::new();
    let mut flows = flows(connections);
    // A host's own link or allowance first: its pairs would each show a part of that.
    for role in [Role::Sender, Role::Receiver, Role::Pair] {
        for group in groups(&flows, role) {
            found.extend(of_group(&flows, &group, connections));
        }
        let taken =
            |flow: &Flow| connections[flow.place].limits(flow.side).is_some_and(|limits| limits.sharing.is_some());
        flows.retain(|flow| !taken(flow));
    }
    for judgement in connections.iter_mut().filter_map(|connection| connection.judgement.as_deref_mut()) {
        judgement.limits.iter_mut().flatten().for_each(|limits| limits.delivered = None);
    }
    found.sort_by(|one: &SharedLimit, other| other.rate_bps.total_cmp(&one.rate_bps));
    found
}

/// The limit of one group, if there is one.
fn of_group(flows: &[Flow], group: &[usize], connections: &mut [Box<ConnectionSummary>]) -> Option<SharedLimit> {
    let members: Vec<&Flow> = group.iter().map(|&place| &flows[place]).collect();
    let sum = Sum::of(&members)?;
    let flat = flat::find(&sum, &members)?;
    let factor = if flat.is_bucket { Factor::TokenBucket } else { Factor::BottleneckBandwidth };
    let sharing = Sharing {
        factor,
        rate_bps: flat.rate_bps,
        connections: flat.members.len(),
        between_ns: flat.between_ns,
        confidence: flat.confidence,
    };
    let total = sum.total(&flat.members);
    for &member in &flat.members {
        take(
            members[member],
            sharing,
            left_bps(&sum, &total, flat.rate_bps, member),
            &mut connections[members[member].place],
        );
    }
    let mut ids: Vec<u32> = flat.members.iter().map(|&member| connections[members[member].place].id).collect();
    ids.sort_unstable();
    let Flat { rate_bps, burst_bytes, between_ns, confidence, .. } = flat;
    Some(SharedLimit { connections: ids, factor, rate_bps, burst_bytes, between_ns, confidence })
}

/// What the others left of the rate while this one was there, bits per second, on average; `total` is what all had of each cell.
fn left_bps(sum: &Sum, total: &[f64], rate_bps: f64, member: usize) -> f64 {
    let cells = sum.life(member);
    let rate = rate_bps * sum.cell_s() / 8.0;
    let others = |cell: usize| total[cell] - sum.parts[member][cell];
    let left: f64 = cells.clone().map(|cell| (rate - others(cell)).max(sum.parts[member][cell])).sum();
    left * 8.0 / (cells.len().max(1) as f64 * sum.cell_s())
}

/// Tells one of them. A bucket of its own that it seemed to have is the one of all.
fn take(flow: &Flow, sharing: Sharing, left_bps: f64, connection: &mut ConnectionSummary) {
    let left_bytes_s = left_bps / 8.0 / flow.overhead.max(1.0);
    let side = flow.side;
    let is_part = |bps: f64| bps < OWN_BUCKET * sharing.rate_bps;
    connection.directions[side].token_bucket.take_if(|bucket| is_part(bucket.sustained_bps));
    let limits = connection.judgement.as_deref_mut().and_then(|judgement| judgement.limits[side].as_deref_mut());
    if let Some(limits) = limits {
        take_sharing(limits, sharing, left_bytes_s);
    }
}

/// A bucket of less than this share of what all reach is no bucket: others took the rest.
const OWN_BUCKET: f64 = 0.9;
