//! Limits that several connections share: an allowance of a host, or a bottleneck that all of them pass. Their sum stands at a
//! rate though each of them rises and falls (docs/verdict.md, "Shared limits"). Owns the search, once all connections are over;
//! what it means for each of them is `limits`' ([`crate::tcp::limits::sharing`]), its words are `verdict`'s.
//!
//! ```text
//! groups   which connections may share one: of a host, or of a pair of hosts
//! sum      their bytes in common cells of time, and as one series
//! flat     does their sum stand at a rate that they share?
//! member   whose it is: a connection that the others make way for
//! packed   connections that several processes have found: on their way to one
//! ```

pub(crate) mod flat;
pub(crate) mod groups;
pub(crate) mod member;
pub(crate) mod packed;
pub(crate) mod sum;

use std::collections::HashSet;

use crate::tcp::events::factor::Factor;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::limits::second_stage::{Facts, reassign};
use crate::tcp::shared_limits::flat::Flat;
use crate::tcp::shared_limits::groups::{Role, SharingFlow, flows, groups};
use crate::tcp::shared_limits::sum::SharedSum;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::factors::{reassignments, shared_as};

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

/// A shared limit as it concerns one direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// Place of the connection in the list.
    pub place: usize,
    /// Data of the client (0) or the server (1).
    pub side: usize,
    /// The limit.
    pub sharing: Sharing,
    /// Payload that the others left for it, bytes a second.
    pub left_bytes_s: f64,
}

/// What [`among`] finds.
#[derive(Debug, Default)]
pub struct FoundLimits {
    /// The highest rate first.
    pub limits: Vec<SharedLimit>,
    /// Whom they concern.
    pub given: Vec<Given>,
}

/// Finds the limits that connections share, and bounds what each of these could have reached. What was kept of them for that
/// is given back.
pub fn find(connections: &mut [Box<ConnectionSummary>]) -> Vec<SharedLimit> {
    let FoundLimits { mut limits, given } = among(taken_flows(connections));
    give(connections, &given);
    // Numbered from 1 on, unless some were forgotten.
    let id = |number: u32| connections.get(number as usize - 1).map_or(number, |connection| connection.id);
    limits.iter_mut().flat_map(|limit| &mut limit.connections).for_each(|number| *number = id(*number));
    limits
}

/// What is needed of connections to find their limits among all, packed: of connections that are a part of all.
pub fn packed_flows(connections: &mut [Box<ConnectionSummary>]) -> Vec<u8> {
    packed::to_bytes(&taken_flows(connections))
}

/// Finds the limits among packed flows of several parts; `numbers` are those of each part's connections among all. None if something
/// is damaged. Places are those among all.
pub fn among_packed(parts: &[(&[u8], &[u32])]) -> Option<FoundLimits> {
    let mut all = Vec::new();
    for (bytes, numbers) in parts {
        for mut flow in packed::from_bytes(bytes)? {
            flow.place = (*numbers.get(flow.place)? as usize).checked_sub(1)?;
            all.push(flow);
        }
    }
    all.sort_by_key(|flow| (flow.place, flow.side));
    Some(among(all))
}

/// Tells each connection of the limit that it shares. A bucket of its own that it seemed to have is the one of all.
pub fn give(connections: &mut [Box<ConnectionSummary>], given: &[Given]) {
    for &Given { place, side, sharing, left_bytes_s } in given {
        let Some(connection) = connections.get_mut(place) else { continue };
        let is_part = |bps: f64| bps < OWN_BUCKET * sharing.rate_bps;
        connection.directions[side].extras.token_bucket.take_if(|bucket| is_part(bucket.sustained_bps));
        let limits = connection.judgement.as_deref_mut().and_then(|judgement| judgement.limits[side].as_deref_mut());
        if let Some(limits) = limits {
            reassign(reassignments(), limits, &Facts { sharing: Some((sharing, left_bytes_s)), ..Facts::default() });
        }
    }
}

fn taken_flows(connections: &mut [Box<ConnectionSummary>]) -> Vec<SharingFlow> {
    let flows = flows(connections);
    for judgement in connections.iter_mut().filter_map(|connection| connection.judgement.as_deref_mut()) {
        judgement.limits.iter_mut().flatten().for_each(|limits| limits.delivered = None);
    }
    flows
}

fn among(mut flows: Vec<SharingFlow>) -> FoundLimits {
    let mut found = FoundLimits::default();
    // A host's own link or allowance first: its pairs would each show a part of that.
    for role in [Role::Sender, Role::Receiver, Role::Pair] {
        let before = found.given.len();
        for group in groups(&flows, role) {
            of_group(&flows, &group, &mut found);
        }
        let taken: HashSet<(usize, usize)> = found.given[before..].iter().map(|one| (one.place, one.side)).collect();
        flows.retain(|flow| !taken.contains(&(flow.place, flow.side)));
    }
    found.limits.sort_by(|one, other| other.rate_bps.total_cmp(&one.rate_bps));
    found
}

/// Adds the limit of one group, if there is one.
fn of_group(flows: &[SharingFlow], group: &[usize], found: &mut FoundLimits) {
    let members: Vec<&SharingFlow> = group.iter().map(|&place| &flows[place]).collect();
    let Some((sum, flat)) = SharedSum::of(&members).and_then(|sum| flat::find(&sum, &members).map(|flat| (sum, flat)))
    else {
        return;
    };
    let Some(factor) = shared_as(flat.is_bucket) else { return };
    let Flat { rate_bps, burst_bytes, between_ns, confidence, .. } = flat;
    let sharing = Sharing { factor, rate_bps, connections: flat.members.len(), between_ns, confidence };
    let total = sum.total(&flat.members);
    let mut connections = Vec::new();
    for &member in &flat.members {
        let &SharingFlow { place, side, overhead, .. } = members[member];
        let left_bytes_s = left_bps(&sum, &total, rate_bps, member) / 8.0 / overhead.max(1.0);
        found.given.push(Given { place, side, sharing, left_bytes_s });
        connections.push(u32::try_from(place + 1).unwrap_or(u32::MAX));
    }
    connections.sort_unstable();
    found.limits.push(SharedLimit { connections, factor, rate_bps, burst_bytes, between_ns, confidence });
}

/// What the others left of the rate while this one was there, bits per second, on average; `total` is what all had of each cell.
fn left_bps(sum: &SharedSum, total: &[f64], rate_bps: f64, member: usize) -> f64 {
    let cells = sum.life(member);
    let rate = rate_bps * sum.cell_s() / 8.0;
    let others = |cell: usize| total[cell] - sum.parts[member][cell];
    let left: f64 = cells.clone().map(|cell| (rate - others(cell)).max(sum.parts[member][cell])).sum();
    left * 8.0 / (cells.len().max(1) as f64 * sum.cell_s())
}

/// A bucket of less than this share of what all reach is no bucket: others took the rest.
const OWN_BUCKET: f64 = 0.9;
