//! Two capture points with routers between them: each of these takes one from the TTL (RFC 791 section 3.2), so that
//! it shows at which point a packet passed, whatever the clocks say and however long it was queued.
//!
//! [`crate::analysis::points_apart`] shows it packets and their copies; [`crate::analysis::two_clocks`] asks it for each packet.

use crate::analysis::copies::{Passed, Point, sorted};
use crate::keyed::KeyedMap;
use crate::packet::Packet;
use crate::tcp::capture::lag::Host;

/// Hosts that are measured, and values of each.
const MOST_HOSTS: usize = 4096;

const MOST_VALUES: usize = 4096;

/// So many packets of a host must be there with two TTLs, and so many of ten that are there twice.
const FEWEST_APART: usize = 3;

const MOST_OF_TEN: usize = 9;

/// A router that is captured on both sides is passed in less, and has one clock.
const SHORTEST_WAY_NS: i64 = 1_000_000;

/// The shortest but for one of so many.
const STRAYS: usize = 400;

/// What is known of a host.
#[derive(Debug, Default)]
struct Known {
    /// The highest.
    ttl: u8,
    /// From the packet with the higher TTL to that with the lower.
    after_ns: Vec<i64>,
    /// Packets that are there twice with one TTL.
    with_one_ttl: usize,
    sent_bytes: u64,
    /// Whom it sent to last.
    peer: Option<Host>,
}

impl Known {
    fn are_apart(&self) -> bool {
        let twice = self.after_ns.len() + self.with_one_ttl;
        self.after_ns.len() >= FEWEST_APART && 10 * self.after_ns.len() >= MOST_OF_TEN * twice
    }

    fn least_ns(&self) -> i64 {
        sorted(self.after_ns.clone()).get(self.after_ns.len() / STRAYS).copied().unwrap_or(0)
    }
}

/// The first reading.
#[derive(Debug, Default)]
pub(crate) struct HopsApart {
    hosts: KeyedMap<Host, Known>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    /// Of each host the point at which it is, and the TTL there.
    pub(crate) at: KeyedMap<Host, (Point, u8)>,
    /// Clock of the second point less that of the first, which is at the host that sent most.
    pub(crate) offset_ns: i64,
}

impl HopsApart {
    /// A packet of `host`.
    pub(crate) fn take(&mut self, packet: &Packet, host: Host, receiver: Option<Host>) {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            return;
        }
        let known = self.hosts.entry(host).or_default();
        known.ttl = known.ttl.max(packet.ttl);
        known.peer = receiver;
    }

    /// A packet of `host` that passed before, and its copy.
    pub(crate) fn take_copy(&mut self, host: Host, first: &Passed, copy: &Passed) {
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
        let mut left: Vec<(&Host, &Known)> = others().collect();
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
        Some(Hops { at, offset_ns })
    }
}

impl Hops {
    /// The point at which a packet passed; none if its sender is not known.
    pub(crate) fn point_of(&self, packet: &Packet, bytes: &[u8]) -> Option<Point> {
        let (point, ttl) = *self.at.get(&Host::sender_of(packet, bytes)?)?;
        Some(if packet.ttl >= ttl { point } else { point.other() })
    }
}
