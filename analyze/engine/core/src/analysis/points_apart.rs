//! Were two captures of the same traffic put together, and how far apart are their points? The first of two readings of such captures.
//!
//! The time from a packet to its copy is the way between the points and what their clocks differ, of the one host in sum, of the
//! other in difference. Which of both it is, acknowledgements show: where the clocks differ by more than the way takes, one point shows
//! nearly everything first, so that acknowledgements appear before the copies of their data. Else each packet appears first at the
//! point that is nearer to its sender.
//!
//! One capture may have copies of its own, as on a mirrored port. They are late by about the same for both hosts, whatever the path,
//! and the rest of the path is behind them: [`crate::analysis::turnarounds`].
//!
//! Rule: docs/methods.md, "A path or a clock between the copies".

use crate::analysis::copies::{CopiedPacket, Copies, Point};
use crate::analysis::gaps_to_copies::{Gaps, LONGEST_QUEUE_NS, Measured, Usual};
use crate::analysis::hops_apart::{Hops, HopsApart};
use crate::analysis::turnarounds::Turnarounds;
use crate::keyed::KeyedMap;
use crate::packet::{Packet, tcp_flags};
use crate::read::record::Record;
use crate::tcp::capture::lag::HostAddress;
use crate::tcp::stats::sequence::serial_difference;

/// Hosts whose packets are measured.
const MOST_HOSTS: usize = 64;

/// Connections whose data and acknowledgements are followed.
const MOST_FLOWS: usize = 1 << 14;

/// In other connections a few were retransmitted.
const FEWEST_RECORDS: u64 = 8;

/// Packets that are looked at.
const MOST_PACKETS: u64 = 1 << 22;

/// Routers that lie between copies tell them from others, however many packets are nearer.
const ONE_TTL: u64 = 1 << 48;

/// So far apart are clocks, not what a capture makes of one of them.
const FAR_NS: i64 = 150_000_000;

/// A shorter way, there and back, is none between hosts.
const SHORTEST_WAY_NS: i64 = 100_000;

/// So much of a round trip lies between the points, where one shows everything first.
const LEAST_SHARE: i64 = 4;

/// A host acknowledges within this, or within such a share of the way.
const HOST_NS: i64 = 50_000;

const HOST_SHARE: i64 = 8;

/// What the first reading says.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) hosts: KeyedMap<HostAddress, Usual>,
    /// Of hosts that were not measured.
    pub(crate) others: Usual,
    /// The point at which each host is.
    pub(crate) at: KeyedMap<HostAddress, Point>,
    /// The point at the host that sent most.
    pub(crate) kept: Point,
    /// Clock of the second point less that of the first, nanoseconds.
    pub(crate) offset_ns: i64,
    /// At least so many packets lie between copies: where one capture stands behind the other, half of what is usual.
    pub(crate) fewest_packets: u64,
}

/// What is known of a host.
#[derive(Debug, Default)]
struct KnownHost {
    gaps: Gaps,
    /// Whom it sent to last.
    peer: Option<HostAddress>,
}

/// Of a host that is measured.
struct MeasuredHost {
    host: HostAddress,
    peer: Option<HostAddress>,
    sent_bytes: u64,
    copies: Measured,
}

/// What passed last in a flow.
#[derive(Debug, Clone, Copy)]
struct Last {
    identity: u64,
    ttl: u8,
    /// It brought something new, and has no copy yet.
    is_new: bool,
}

/// How far a flow has come.
#[derive(Debug, Clone, Copy, Default)]
struct FlowProgress {
    last: Option<Last>,
    /// End of the data that passed, and of that which passed twice.
    sent: Option<u32>,
    twice: Option<u32>,
    acknowledged: Option<u32>,
}

/// The first reading.
#[derive(Default)]
pub(crate) struct PointsApart {
    copies: Copies,
    hosts: KeyedMap<HostAddress, KnownHost>,
    after_packets: Vec<u64>,
    flows: KeyedMap<(u32, u32), FlowProgress>,
    turnarounds: Turnarounds,
    hops: HopsApart,
    /// Acknowledgements that appeared first before, or after, the second point has shown their data.
    early: u64,
    late: u64,
    order: u64,
    /// By connection.
    records: KeyedMap<u32, Records>,
}

/// Those of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Records {
    /// Since the first that was there twice.
    since: u64,
    /// Of them those that were.
    with_copy: u64,
}

/// It has come farther than before.
fn is_farther(known: &mut Option<u32>, end: u32) -> bool {
    let is_farther = known.is_none_or(|known| serial_difference(end, known) > 0);
    if is_farther {
        *known = Some(end);
    }
    is_farther
}

impl PointsApart {
    /// False when enough is known.
    pub(crate) fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) -> bool {
        let Some(host) = HostAddress::sender_of(packet, bytes) else { return true };
        let may_measure = self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(&host);
        if !may_measure {
            return true;
        }
        self.order += 1;
        let mut passing = CopiedPacket::of(record, packet, bytes, self.order);
        let receiver = HostAddress::receiver_of(packet, bytes);
        let known = self.hosts.entry(host).or_default();
        known.peer = receiver;
        known.gaps.take(&passing);
        if self.is_like_last(packet, &passing) {
            return true;
        }
        self.hops.take(packet, host, receiver);
        let copies = self.take_copies(host, &mut passing);
        self.count(packet, copies);
        match copies > 0 {
            true => self.on_copy(packet, receiver),
            false => self.on_first(packet, host, receiver, &mut passing),
        }
        if passing.left > 0 {
            self.copies.remember(passing);
        }
        // Copies alone make it enough.
        let is_enough = copies > 0 && self.hosts.values().filter(|known| known.gaps.are_enough()).count() > 1;
        !is_enough && self.order < MOST_PACKETS
    }

    /// Of packets that are alike, one behind the other, nobody can say which is a copy of which: but for the second, if the first brought
    /// something new.
    fn is_like_last(&mut self, packet: &Packet, passing: &CopiedPacket) -> bool {
        let [own, _] = packet.flows();
        let now = Last { identity: passing.identity(), ttl: passing.ttl, is_new: false };
        if self.flows.len() >= MOST_FLOWS && !self.flows.contains_key(&own) {
            return false;
        }
        let last = self.flows.entry(own).or_default().last.replace(now);
        last.is_some_and(|last| (last.identity, last.ttl, last.is_new) == (now.identity, now.ttl, false))
    }

    /// Of how many packets this is the copy, or a part.
    fn take_copies(&mut self, host: HostAddress, passing: &mut CopiedPacket) -> u64 {
        let (mut copies, mut taken, ttl) = (0, None, passing.ttl);
        // Of packets that are alike the first passed the other point first, too.
        while passing.left > 0
            && let Some(first) = self.copies.take(passing, &|first| {
                let is_taken = taken.is_some_and(|taken| first.order <= taken);
                (!is_taken).then_some(first.order + if first.ttl == ttl { ONE_TTL } else { 0 })
            })
        {
            copies += 1;
            taken = Some(first.order);
            if copies == 1 {
                self.measure(host, &first, passing);
                self.hops.take_copy(host, &first, passing);
            }
            // Several segments may be in one frame at the other point.
            if let Some(known) = self.hosts.get_mut(&host).filter(|_| first.is_new && first.left == 0) {
                known.gaps.take_all_twice();
            }
        }
        copies
    }

    fn count(&mut self, packet: &Packet, copies: u64) {
        if self.records.len() >= MOST_FLOWS && !self.records.contains_key(&packet.flow_hash) {
            return;
        }
        let records = self.records.entry(packet.flow_hash).or_default();
        records.since += u64::from(records.with_copy > 0);
        records.with_copy += if copies > 0 { copies + 1 } else { 0 };
    }

    fn measure(&mut self, host: HostAddress, first: &CopiedPacket, passing: &CopiedPacket) {
        let is_known = |known: &&mut KnownHost| first.is_new || known.gaps.is_numbered();
        let Some(known) = self.hosts.get_mut(&host).filter(is_known) else { return };
        known.gaps.take_copy(first, passing);
        self.after_packets.push(first.packets_before(passing));
    }

    fn on_copy(&mut self, packet: &Packet, receiver: Option<HostAddress>) {
        let [own, _] = packet.flows();
        let end = packet.sequence.wrapping_add(packet.sequence_length());
        let is_farther = self.flows.get_mut(&own).is_none_or(|flow| is_farther(&mut flow.twice, end));
        if is_farther && packet.sequence_length() > 0 {
            self.turnarounds.take_copy(packet, receiver);
        }
    }

    /// A packet that is no copy.
    fn on_first(
        &mut self,
        packet: &Packet,
        host: HostAddress,
        receiver: Option<HostAddress>,
        passing: &mut CopiedPacket,
    ) {
        let [own, opposite] = packet.flows();
        let end = packet.sequence.wrapping_add(packet.sequence_length());
        let twice = self.flows.get(&opposite).and_then(|flow| flow.twice);
        let mut unknown = FlowProgress::default();
        let flow = self.flows.get_mut(&own).unwrap_or(&mut unknown);
        let acknowledges_more =
            packet.has(tcp_flags::ACK) && is_farther(&mut flow.acknowledged, packet.acknowledgement);
        let brings_more = packet.sequence_length() > 0 && is_farther(&mut flow.sent, end);
        passing.is_new = brings_more || packet.payload_length == 0 && acknowledges_more;
        if let Some(last) = &mut flow.last {
            last.is_new = passing.is_new;
        }
        if acknowledges_more {
            self.turnarounds.take_first(packet, host, receiver);
            match twice.is_some_and(|end| serial_difference(packet.acknowledgement, end) <= 0) {
                true => self.late += 1,
                false => self.early += 1,
            }
        }
        if brings_more {
            self.turnarounds.take_new(packet);
        }
        if let Some(known) = self.hosts.get_mut(&host).filter(|_| passing.is_new) {
            known.gaps.take_new();
        }
    }

    /// Two points that routers lie between, if there are.
    pub(crate) fn hops(&self) -> Option<Hops> {
        self.hops.conclude().filter(|_| self.are_mostly_twice())
    }

    /// What both points show; one of them may show other connections, too.
    fn are_mostly_twice(&self) -> bool {
        let twice = self.records.values().filter(|records| records.with_copy >= FEWEST_RECORDS);
        let [with_copy, since] =
            twice.fold([0, 0], |[with_copy, since], of| [with_copy + of.with_copy, since + of.since]);
        with_copy > 0 && 3 * with_copy >= 2 * since
    }

    /// Two points, if there are.
    pub(crate) fn conclude(mut self) -> Option<Apart> {
        let fewest_packets = self.fewest_packets();
        let hosts = self.measured_hosts();
        let (back, there) = (hosts.first()?, hosts.last()?);
        let [back_ns, there_ns] = [back, there].map(|found| found.copies.middle_ns);
        if hosts.len() < 2 || !self.are_mostly_twice() || there_ns.saturating_sub(back_ns) > LONGEST_QUEUE_NS {
            return None;
        }
        let is_far = fewest_packets > 0 || (there_ns / 2 + back_ns / 2).saturating_abs() >= FAR_NS;
        let is_by_clocks = self.early > self.late;
        let (at, offset_ns) = match is_by_clocks {
            true if is_far && self.early > 3 * self.late || self.holds_difference(there, back) => by_clocks(&hosts)?,
            true => return None,
            false => self.by_way(&hosts)?,
        };
        let point = |host: &HostAddress| at.get(host).copied().unwrap_or(Point::First);
        let usual = |found: &MeasuredHost| {
            let of = if is_by_clocks { Usual::by_clocks } else { Usual::by_way };
            (found.host, of(found.copies, point(&found.host)))
        };
        let sent_most = hosts.iter().max_by_key(|found| (found.sent_bytes, found.host))?;
        Some(Apart {
            kept: point(&sent_most.host),
            others: usual(sent_most).1,
            hosts: hosts.iter().map(usual).collect(),
            at,
            offset_ns,
            fewest_packets,
        })
    }

    /// In order of the time to their copies.
    fn measured_hosts(&self) -> Vec<MeasuredHost> {
        let are_sure = self.hosts.iter().filter(|(_, known)| known.gaps.are_sure());
        let found = |(host, known): (&HostAddress, &KnownHost)| MeasuredHost {
            host: *host,
            peer: known.peer,
            sent_bytes: known.gaps.sent_bytes,
            copies: known.gaps.measured(),
        };
        let mut hosts: Vec<MeasuredHost> = are_sure.map(found).collect();
        hosts.sort_by_key(|found| (found.copies.middle_ns, found.host));
        hosts
    }

    /// One point shows everything first, and the copies of one host come so much later than those of the other: that is the path
    /// between the points.
    fn holds_difference(&self, there: &MeasuredHost, back: &MeasuredHost) -> bool {
        let difference_ns = there.copies.least_ns.saturating_sub(back.copies.most_ns);
        let round_trip_ns = [there, back].iter().filter_map(|found| self.turnarounds.round_trip_ns(found.host)).max();
        round_trip_ns.is_some_and(|round_trip_ns| {
            difference_ns >= SHORTEST_WAY_NS.max(round_trip_ns / LEAST_SHARE)
                && difference_ns <= round_trip_ns.saturating_mul(2).saturating_add(SHORTEST_WAY_NS)
        })
    }

    /// The way takes longer than the clocks differ: each packet appears first where its sender is. The first point is that of the host
    /// that sent most.
    fn by_way(&self, hosts: &[MeasuredHost]) -> Option<Places> {
        let sent_most = hosts.iter().max_by_key(|found| (found.sent_bytes, found.host))?;
        let others = || hosts.iter().filter(|found| found.host != sent_most.host);
        let is_opposite = |found: &MeasuredHost| found.peer == Some(sent_most.host);
        let opposite =
            others().filter(|found| is_opposite(found)).max_by_key(|found| (found.sent_bytes, found.host))?;
        let [there_ns, back_ns] = [sent_most.copies.shortest_ns, opposite.copies.shortest_ns];
        let way_ns = there_ns.saturating_add(back_ns);
        let most_ns = HOST_NS.max(way_ns / HOST_SHARE);
        let known =
            || [sent_most, opposite].into_iter().filter_map(|found| self.turnarounds.to_acknowledge_ns(found.host));
        if way_ns < SHORTEST_WAY_NS
            || known().count() == 0
            || known().any(|turnaround_ns| turnaround_ns.saturating_abs() > most_ns)
        {
            return None;
        }
        let mut at: KeyedMap<HostAddress, Point> = KeyedMap::from_iter([(sent_most.host, Point::First)]);
        for found in others() {
            let of_peer = found.peer.and_then(|peer| at.get(&peer)).copied();
            at.insert(found.host, of_peer.map_or(Point::Second, Point::other));
        }
        Some((at, there_ns / 2 - back_ns / 2))
    }

    /// Where one capture stands behind the other, as many packets lie between the copies of each, but for those that one point missed.
    fn fewest_packets(&mut self) -> u64 {
        self.after_packets.sort_unstable();
        let at = |index: usize| self.after_packets.get(index).copied().unwrap_or(0);
        let (nearest, apart) = (at(0), at(self.after_packets.len() / 2));
        let farthest = at(self.after_packets.len().saturating_sub(1));
        let stand_behind_one_another = 4 * apart >= self.order && 5 * nearest >= 4 * farthest;
        if stand_behind_one_another { apart / 2 } else { 0 }
    }
}

/// The point of each host, and the second's clock less that of the first.
type Places = (KeyedMap<HostAddress, Point>, i64);

/// The clocks differ by more than the way takes: one point shows everything first, and what the hosts at it send longer before the
/// other.
fn by_clocks(hosts: &[MeasuredHost]) -> Option<Places> {
    let (back, there) = (hosts.first()?, hosts.last()?);
    // The quickest of both ways: queues lengthen one of them.
    let offset_ns = there.copies.least_ns / 2 + back.copies.most_ns / 2;
    let middle_ns = there.copies.middle_ns / 2 + back.copies.middle_ns / 2;
    let at = |found: &MeasuredHost| if found.copies.middle_ns >= middle_ns { Point::First } else { Point::Second };
    Some((hosts.iter().map(|found| (found.host, at(found))).collect(), offset_ns))
}
