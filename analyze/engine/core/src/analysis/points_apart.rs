//! Were two captures of the same traffic put together, and how far apart are their points? The first of two readings of such captures.
//!
//! The time from a packet to its copy is the way between the points and what their clocks differ, of the one host in sum, of the
//! other in difference. Which of both it is, acknowledgements show: where the clocks differ by more than the way takes, one point shows
//! nearly everything first, so that acknowledgements appear before the copies of their data. Else each packet appears first at the
//! point that is nearer to its sender.
//!
//! Rule: docs/methods.md, "Two capture points with clocks of their own".

use std::collections::HashMap;

use crate::analysis::copies::{Copies, Passed, Point};
use crate::packet::{Packet, tcp_flags};
use crate::read::record::Record;
use crate::tcp::capture::lag::Host;
use crate::tcp::capture::two_taps::SHORTEST_WAY_NS;
use crate::tcp::stats::sequence::serial_difference;

/// Hosts whose packets are measured.
const MOST_HOSTS: usize = 64;

/// Connections whose data and acknowledgements are followed.
const MOST_FLOWS: usize = 1 << 14;

/// So many packets of a host must be there twice.
const FEWEST_TWICE: usize = 8;

/// So many are enough to measure.
const ENOUGH_TWICE: usize = 4096;

/// On the way packets take no longer than others by this.
const LONGEST_QUEUE_NS: i64 = 3_000_000_000;

/// Of a host whose packets have no numbers nearly all must be there twice: it may send the same again.
const MOST_OF_TEN: u64 = 8;

/// From packets of a host to their copies.
#[derive(Debug, Default)]
struct Measured {
    after_ns: Vec<i64>,
    sent_bytes: u64,
    /// Packets that brought something new, and those of them that have a copy.
    new: u64,
    new_twice: u64,
    /// Some were told from others by their numbers.
    is_numbered: bool,
    /// Whom it sent to last.
    peer: Option<Host>,
}

impl Measured {
    fn is_enough(&self) -> bool {
        self.after_ns.len() >= ENOUGH_TWICE
    }

    /// Nearly the shortest time to a copy. Without numbers some of what is sent again looks like one.
    fn least_ns(&self) -> i64 {
        share_of(&self.after_ns, if self.is_numbered { 2 } else { 10 })
    }

    /// Nearly the longest.
    fn most_ns(&self) -> i64 {
        share_of(&self.after_ns, if self.is_numbered { 98 } else { 90 })
    }

    fn is_sure(&self) -> bool {
        self.after_ns.len() >= FEWEST_TWICE && (self.is_numbered || 10 * self.new_twice >= MOST_OF_TEN * self.new)
    }
}

/// How the copies of a host's packets usually lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    pub(crate) middle_ns: i64,
    least_ns: i64,
    most_ns: i64,
    /// The same, where packets look the same if they are sent again.
    most_without_numbers_ns: i64,
    /// The point that shows its packets first.
    pub(crate) first: Point,
}

impl Usual {
    fn of(measured: &Measured, first: Point) -> Self {
        let at = |per_cent| share_of(&measured.after_ns, per_cent);
        let [least_ns, most_ns] = [measured.least_ns(), measured.most_ns()];
        let spread_ns = at(90).saturating_sub(at(10));
        Self {
            middle_ns: at(50),
            least_ns: least_ns.saturating_sub(least_ns.saturating_abs() / 2).saturating_sub(spread_ns / 8),
            most_ns: most_ns.saturating_add(LONGEST_QUEUE_NS),
            most_without_numbers_ns: at(90).saturating_add(spread_ns).saturating_add(at(50).saturating_abs() / 4),
            first,
        }
    }

    /// How unusually far `first` is from its copy; none if that is too much.
    pub(crate) fn apart(&self, first: &Passed, copy: &Passed) -> Option<u64> {
        let after_ns = first.ns_before(copy);
        let most_ns = if copy.is_numbered { self.most_ns } else { self.most_without_numbers_ns };
        (self.least_ns..=most_ns).contains(&after_ns).then(|| after_ns.abs_diff(self.middle_ns))
    }
}

/// What the first reading says.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) hosts: HashMap<Host, Usual>,
    /// Of hosts that were not measured.
    pub(crate) others: Usual,
    /// The point at which each host is.
    pub(crate) at: HashMap<Host, Point>,
    /// The point at the host that sent most.
    pub(crate) kept: Point,
    /// Clock of the second point less that of the first, nanoseconds.
    pub(crate) offset_ns: i64,
    /// At least so many packets lie between copies: where one capture stands behind the other, half of what is usual.
    pub(crate) fewest_packets: u64,
}

/// The first reading.
#[derive(Default)]
pub(crate) struct PointsApart {
    copies: Copies,
    hosts: HashMap<Host, Measured>,
    after_packets: Vec<u64>,
    /// By flow: end of the data that passed, of that which passed twice, and what was acknowledged.
    sent: HashMap<(u32, u32), u32>,
    twice: HashMap<(u32, u32), u32>,
    acknowledged: HashMap<(u32, u32), u32>,
    /// What passed last, by flow.
    last: HashMap<(u32, u32), u64>,
    /// Acknowledgements that appeared first before, or after, the second point has shown their data.
    early: u64,
    late: u64,
    order: u64,
    /// Packets since the first that was there twice, and those of them that were.
    since: u64,
    with_copy: u64,
}

/// The flow has come farther than before.
fn is_farther(ends: &mut HashMap<(u32, u32), u32>, flow: (u32, u32), end: u32) -> bool {
    let last = ends.get(&flow);
    let is_farther = last.is_none_or(|last| serial_difference(end, *last) > 0);
    if is_farther && (last.is_some() || ends.len() < MOST_FLOWS) {
        ends.insert(flow, end);
    }
    is_farther
}

impl PointsApart {
    /// False when enough is known.
    pub(crate) fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) -> bool {
        let Some(host) = Host::sender_of(packet, bytes) else { return true };
        let may_measure = self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(&host);
        if !may_measure {
            return true;
        }
        self.order += 1;
        let mut passing = Passed::of(record, packet, bytes, self.order);
        let [own, opposite] = packet.flows();
        if self.is_like_last(own, &passing) {
            return true;
        }
        self.since += u64::from(self.with_copy > 0);
        let end = packet.sequence.wrapping_add(packet.sequence_length());
        let mut copies = 0;
        // Of packets that are alike the first passed the other point first, too.
        while passing.left > 0
            && let Some(first) = self.copies.take(&mut passing, &|first| Some(first.order))
        {
            self.with_copy += 1;
            copies += 1;
            if copies == 1 {
                self.measure(host, &first, &passing);
            }
        }
        self.with_copy += u64::from(copies > 0);
        if copies > 0 {
            is_farther(&mut self.twice, own, end);
        }
        let acknowledges_more =
            packet.has(tcp_flags::ACK) && is_farther(&mut self.acknowledged, own, packet.acknowledgement);
        let brings_more = packet.payload_length > 0 && is_farther(&mut self.sent, own, end);
        if acknowledges_more && copies == 0 {
            let end = self.twice.get(&opposite);
            match end.is_some_and(|end| serial_difference(packet.acknowledgement, *end) <= 0) {
                true => self.late += 1,
                false => self.early += 1,
            }
        }
        let measured = self.hosts.entry(host).or_default();
        measured.peer = Host::receiver_of(packet, bytes);
        if passing.left > 0 {
            passing.is_new = brings_more || packet.payload_length == 0 && acknowledges_more;
            measured.new += u64::from(passing.is_new && copies == 0);
            self.copies.remember(passing);
        }
        let is_enough = self.hosts.values().filter(|measured| measured.is_enough()).count() > 1;
        !is_enough
    }

    /// Of packets that are alike, one behind the other, nobody can say which is a copy of which.
    fn is_like_last(&mut self, flow: (u32, u32), passing: &Passed) -> bool {
        let (identity, last) = (passing.identity(), self.last.get(&flow).copied());
        if last.is_some() || self.last.len() < MOST_FLOWS {
            self.last.insert(flow, identity);
        }
        last == Some(identity)
    }

    fn measure(&mut self, host: Host, first: &Passed, passing: &Passed) {
        if !(first.is_numbered || first.is_new) {
            return;
        }
        self.after_packets.push(first.packets_before(passing));
        let measured = self.hosts.entry(host).or_default();
        measured.new_twice += u64::from(first.is_new);
        measured.is_numbered |= first.is_numbered;
        measured.sent_bytes += u64::from(passing.length);
        if !measured.is_enough() {
            measured.after_ns.push(first.ns_before(passing));
        }
    }

    /// Two points, if there are.
    pub(crate) fn conclude(mut self) -> Option<Apart> {
        let mut hosts: Vec<(Host, Measured)> = self.hosts.drain().filter(|(_, measured)| measured.is_sure()).collect();
        hosts.iter_mut().for_each(|(_, measured)| measured.after_ns.sort_unstable());
        hosts.sort_by_key(|(host, measured)| (share_of(&measured.after_ns, 50), *host));
        let (back, there) = (hosts.first()?, hosts.last()?);
        let [back_ns, there_ns] = [back, there].map(|(_, measured)| share_of(&measured.after_ns, 50));
        let are_mostly_twice = 3 * self.with_copy >= 2 * self.since;
        let is_constant = there_ns.saturating_sub(back_ns) <= LONGEST_QUEUE_NS;
        let are_apart = there_ns.saturating_abs().max(back_ns.saturating_abs()) >= SHORTEST_WAY_NS;
        if hosts.len() < 2 || !(are_mostly_twice && is_constant && are_apart) {
            return None;
        }
        let (at, offset_ns, is_first_everywhere) =
            if self.early > self.late { by_clocks(&hosts) } else { by_way(&hosts)? };
        let first = |at: Point| if is_first_everywhere { Point::First } else { at };
        let usual = |(host, measured): &(Host, Measured)| {
            (*host, Usual::of(measured, first(at.get(host).copied().unwrap_or(Point::First))))
        };
        let sent_most = hosts.iter().max_by_key(|(host, measured)| (measured.sent_bytes, *host));
        let all_ns = sorted(hosts.iter().flat_map(|(_, measured)| measured.after_ns.iter().copied()).collect());
        let all = Measured { after_ns: all_ns, ..Measured::default() };
        Some(Apart {
            kept: sent_most.and_then(|(host, _)| at.get(host).copied()).unwrap_or(Point::First),
            others: Usual::of(&all, Point::First),
            hosts: hosts.iter().map(usual).collect(),
            at,
            offset_ns,
            fewest_packets: self.fewest_packets(),
        })
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

type Places = (HashMap<Host, Point>, i64, bool);

/// The clocks differ by more than the way takes: one point shows everything first, and what the hosts at it send longer before the
/// other.
fn by_clocks(hosts: &[(Host, Measured)]) -> Places {
    let (Some((_, back)), Some((_, there))) = (hosts.first(), hosts.last()) else {
        return (HashMap::new(), 0, true);
    };
    // The quickest of both ways: queues lengthen one of them.
    let offset_ns = there.least_ns() / 2 + back.most_ns() / 2;
    let middle_ns = share_of(&there.after_ns, 50) / 2 + share_of(&back.after_ns, 50) / 2;
    let at = |measured: &Measured| {
        if share_of(&measured.after_ns, 50) >= middle_ns { Point::First } else { Point::Second }
    };
    (hosts.iter().map(|(host, measured)| (*host, at(measured))).collect(), offset_ns, true)
}

/// The way takes longer: each packet appears first where its sender is. The first point is that of the host that sent most.
fn by_way(hosts: &[(Host, Measured)]) -> Option<Places> {
    let (top, sent_most) = hosts.iter().max_by_key(|(host, measured)| (measured.sent_bytes, *host))?;
    let others = || hosts.iter().filter(|(host, _)| host != top);
    let is_opposite = |measured: &Measured| measured.peer == Some(*top);
    let (_, opposite) = others()
        .filter(|(_, measured)| is_opposite(measured))
        .chain(others())
        .max_by_key(|(host, measured)| (is_opposite(measured), measured.after_ns.len(), *host))?;
    let offset_ns = sent_most.least_ns() / 2 - opposite.least_ns() / 2;
    let mut at: HashMap<Host, Point> = HashMap::from([(*top, Point::First)]);
    for (host, measured) in others() {
        let of_peer = measured.peer.and_then(|peer| at.get(&peer)).copied();
        at.insert(*host, of_peer.map_or(Point::Second, Point::other));
    }
    Some((at, offset_ns, false))
}

fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
}

/// The value that so many per cent of the sorted values do not exceed.
fn share_of(sorted_ns: &[i64], per_cent: usize) -> i64 {
    sorted_ns.get(sorted_ns.len().saturating_sub(1) * per_cent / 100).copied().unwrap_or(0)
}
