//! Two capture points with routers between them: each of these takes one from the TTL (RFC 791 section 3.2), so that
//! it shows at which point a packet passed, whatever the clocks say and however long it was queued.
//!
//! [`crate::analysis::points_apart`] shows it packets and their copies; [`crate::analysis::two_clocks`] asks it for each packet.

use crate::analysis::copies::{CopiedPacket, Point, sorted};
use crate::keyed::{KeyedMap, KeyedSet};
use crate::packet::Packet;
use crate::tcp::capture::lag::HostAddress;

/// Hosts that are measured, and values of each.
const MOST_HOSTS: usize = 4096;

const MOST_VALUES: usize = 4096;

/// Connections of which it is known whether both points show them.
const MOST_CONNECTIONS: usize = 1 << 20;

/// So many packets of a host must be there with two TTLs, and so many of ten that are there twice.
const FEWEST_APART: usize = 3;

const MOST_OF_TEN: usize = 9;

/// A router that is captured on both sides is passed in less, and has one clock.
const SHORTEST_WAY_NS: i64 = 1_000_000;

/// The shortest but for one of so many.
const STRAYS: usize = 400;

/// What is known of a host.
#[derive(Debug, Default)]
struct HopHost {
    /// The highest.
    ttl: u8,
    /// From the packet with the higher TTL to that with the lower.
    after_ns: Vec<i64>,
    /// Packets that are there twice with one TTL.
    with_one_ttl: usize,
    sent_bytes: u64,
    /// Whom it sent to last.
    peer: Option<HostAddress>,
}

impl HopHost {
    fn are_apart(&self) -> bool {
        let twice = self.after_ns.len() + self.with_one_ttl;
        self.after_ns.len() >= FEWEST_APART && 10 * self.after_ns.len() >= MOST_OF_TEN * twice
    }

    fn least_ns(&self) -> i64 {
        sorted(self.after_ns.clone()).get(self.after_ns.len() / STRAYS).copied().unwrap_or(0)
    }
}

/// What is known of a flow.
#[derive(Debug, Clone, Copy)]
struct FlowHops {
    connection: u32,
    host: HostAddress,
    /// The lowest and the highest.
    ttls: [u8; 2],
}

/// The first reading.
#[derive(Debug, Default)]
pub(crate) struct HopsApart {
    hosts: KeyedMap<HostAddress, HopHost>,
    flows: KeyedMap<(u32, u32), FlowHops>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    /// Of each host the point at which it is, and the TTL there.
    pub(crate) at: KeyedMap<HostAddress, (Point, u8)>,
    /// Clock of the second point less that of the first, which is at the host that sent most.
    pub(crate) offset_ns: i64,
    /// By flow the point that showed it first.
    shown: KeyedMap<(u32, u32), Point>,
    /// Connections that both points show.
    twice: KeyedSet<u32>,
}

impl HopsApart {
    /// A packet of `host`.
    pub(crate) fn take(&mut self, packet: &Packet, host: HostAddress, receiver: Option<HostAddress>) {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            return;
        }
        let known = self.hosts.entry(host).or_default();
        known.ttl = known.ttl.max(packet.ttl);
        known.peer = receiver;
        let own = packet.flows()[0];
        if self.flows.len() < MOST_CONNECTIONS || self.flows.contains_key(&own) {
            let new = FlowHops { connection: packet.flow_hash, host, ttls: [packet.ttl; 2] };
            let ttls = &mut self.flows.entry(own).or_insert(new).ttls;
            *ttls = [ttls[0].min(packet.ttl), ttls[1].max(packet.ttl)];
        }
    }

    /// A packet of `host` that passed before, and its copy.
    pub(crate) fn take_copy(&mut self, host: HostAddress, first: &CopiedPacket, copy: &CopiedPacket) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        known.sent_bytes += u64::from(copy.length);
        if first.ttl == copy.ttl {
            known.with_one_ttl += 1;
        } else if known.after_ns.len() < MOST_VALUES {
            let after_ns = first.ns_before(copy);
            known.after_ns.push(if first.ttl > copy.ttl { after_ns } else { -after_ns });
        }
    }

    /// Where each host is; none if no way is between the points, or no other clock.
    pub(crate) fn conclude(&self) -> Option<Hops> {
        let apart = || self.hosts.iter().filter(|(_, known)| known.are_apart());
        let (top, sent_most) = apart().max_by_key(|(host, known)| (known.sent_bytes, **host))?;
        let others = || apart().filter(|(host, _)| *host != top);
        let (_, opposite) = others()
            .filter(|(_, known)| known.peer == Some(*top))
            .max_by_key(|(host, known)| (known.after_ns.len(), **host))?;
        let [there_ns, back_ns] = [sent_most.least_ns(), opposite.least_ns()];
        let way_ns = there_ns.saturating_add(back_ns);
        let offset_ns = there_ns / 2 - back_ns / 2;
        if way_ns <= 0 || way_ns.max(offset_ns.saturating_abs()) < SHORTEST_WAY_NS {
            return None;
        }
        let mut at = KeyedMap::from_iter([(*top, (Point::First, sent_most.ttl))]);
        // From host to peer, whatever order the table has them in.
        let mut left: Vec<(&HostAddress, &HopHost)> = others().collect();
        left.sort_by_key(|(host, _)| **host);
        let mut placed = 0;
        while at.len() > placed {
            placed = at.len();
            left.retain(|(host, known)| {
                let of_peer = known.peer.and_then(|peer| at.get(&peer)).map(|(point, _)| point.other());
                of_peer.is_none_or(|point| at.insert(**host, (point, known.ttl)).is_some())
            });
        }
        at.extend(left.into_iter().map(|(host, known)| (*host, (Point::Second, known.ttl))));
        let mut hops = Hops { at, offset_ns, ..Hops::default() };
        self.flows.iter().for_each(|(own, flow)| hops.see_flow(*own, flow));
        Some(hops)
    }
}

impl Hops {
    /// Both points show a connection if its packets of one direction passed both.
    pub(crate) fn see(&mut self, packet: &Packet, bytes: &[u8]) {
        if self.shown.len() >= MOST_CONNECTIONS || self.twice.contains(&packet.flow_hash) {
            return;
        }
        if let Some(point) = self.passed(packet, bytes) {
            self.shown_at(packet.flows()[0], packet.flow_hash, point);
        }
    }

    fn see_flow(&mut self, own: (u32, u32), flow: &FlowHops) {
        for ttl in flow.ttls {
            if let Some(point) = self.of_ttl(flow.host, ttl) {
                self.shown_at(own, flow.connection, point);
            }
        }
    }

    fn shown_at(&mut self, own: (u32, u32), connection: u32, point: Point) {
        if *self.shown.entry(own).or_insert(point) != point {
            self.twice.insert(connection);
        }
    }

    /// The point at which a packet passed; none if its sender is not known, or one point alone shows its connection.
    pub(crate) fn point_of(&self, packet: &Packet, bytes: &[u8]) -> Option<Point> {
        let may_be_twice = self.shown.len() >= MOST_CONNECTIONS || self.twice.contains(&packet.flow_hash);
        self.passed(packet, bytes).filter(|_| may_be_twice)
    }

    fn passed(&self, packet: &Packet, bytes: &[u8]) -> Option<Point> {
        self.of_ttl(HostAddress::sender_of(packet, bytes)?, packet.ttl)
    }

    fn of_ttl(&self, host: HostAddress, ttl: u8) -> Option<Point> {
        let (point, there) = *self.at.get(&host)?;
        Some(if ttl >= there { point } else { point.other() })
    }
}
