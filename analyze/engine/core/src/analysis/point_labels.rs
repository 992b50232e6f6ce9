//! What was found of captures of two points put together: which record is of which, and by how much the clocks differ.
//!
//! [`crate::analysis::two_clocks`] finds it, [`crate::analysis::one_point`] leaves the records of one point.

use crate::analysis::copies::{CopiedPacket, Point};
use crate::analysis::gaps_to_copies::Usual;
use crate::analysis::hops_apart::Hops;
use crate::analysis::points_apart::Apart;
use crate::decode::frame::{Decoded, decode};
use crate::keyed::{KeyedMap, KeyedSet};
use crate::packet::Packet;
use crate::read::record::Record;
use crate::tcp::capture::lag::HostAddress;

/// Frames of an input that are told apart, at most.
const MOST_FRAMES: usize = 1 << 27;

/// So much nearer to what one point shows a packet is of that.
const FAR_NS: i64 = 1_000_000_000;

/// Connections that are known to be there twice.
const MOST_CONNECTIONS: usize = 1 << 20;

/// What was found.
#[derive(Debug)]
pub(crate) struct TwoClocks {
    /// By input and frame, as far as frames were told apart.
    frames: Vec<Vec<Option<Point>>>,
    /// By input and interface: frames of each point.
    interfaces: KeyedMap<(u16, u16), [u64; 2]>,
    /// By point: the first and the last time.
    times_ns: [Option<(i64, i64)>; 2],
    /// Connections of which packets are there twice.
    connections: KeyedSet<u32>,
    /// The point at which each host is, and how much later the other one shows its packets.
    hosts: KeyedMap<HostAddress, (Point, i64)>,
    /// Routers between the points say which packet passed which.
    hops: Option<Hops>,
    /// The point at the host that sent most.
    pub(crate) kept: Point,
    /// Clock of the other point less that of this one, nanoseconds.
    pub(crate) offset_ns: i64,
    /// More packets lay between copies than are remembered.
    pub(crate) is_incomplete: bool,
}

impl TwoClocks {
    fn at(hosts: KeyedMap<HostAddress, (Point, i64)>, kept: Point, offset_ns: i64) -> Self {
        Self {
            frames: Vec::new(),
            interfaces: KeyedMap::default(),
            times_ns: [None; 2],
            connections: KeyedSet::default(),
            hosts,
            hops: None,
            kept,
            offset_ns: if kept == Point::First { offset_ns } else { -offset_ns },
            is_incomplete: false,
        }
    }

    pub(crate) fn new(apart: &Apart) -> Self {
        let later_ns = |host: &HostAddress| apart.hosts.get(host).map_or(0, Usual::later_elsewhere_ns);
        let hosts = apart.at.iter().map(|(host, &point)| (*host, (point, later_ns(host)))).collect();
        Self::at(hosts, apart.kept, apart.offset_ns)
    }

    pub(crate) fn by_hops(hops: Hops) -> Self {
        let hosts = hops.at.iter().map(|(host, (point, _))| (*host, (*point, 0))).collect();
        let offset_ns = hops.offset_ns;
        Self { hops: Some(hops), ..Self::at(hosts, Point::First, offset_ns) }
    }

    /// The point that a record is of; none if it is no TCP, or of a connection that one point alone shows.
    pub(crate) fn point_of(&self, record: &Record, bytes: &[u8]) -> Option<Point> {
        let label = self.frames.get(usize::from(record.input)).and_then(|frames| frames.get(record.frame as usize));
        if let Some(Some(point)) = label {
            return Some(*point);
        }
        let Decoded::Tcp(packet) = decode(bytes, record) else { return None };
        if let Some(hops) = &self.hops {
            return hops.point_of(&packet, bytes);
        }
        // An interface, or a file, that is of one point alone.
        match self.interfaces.get(&(record.input, record.interface)) {
            Some(&[_, 0]) => return Some(Point::First),
            Some(&[0, _]) => return Some(Point::Second),
            _ => {}
        }
        if self.connections.len() < MOST_CONNECTIONS && !self.connections.contains(&packet.flow_hash) {
            return None;
        }
        // What was lost on the way is there at its sender alone.
        let at = |host: Option<HostAddress>| host.and_then(|host| self.hosts.get(&host).copied());
        let of_sender = at(HostAddress::sender_of(&packet, bytes));
        let of_receiver = || at(HostAddress::receiver_of(&packet, bytes)).map(|(point, _)| (point.other(), 0));
        let (point, later_ns) = of_sender.or_else(of_receiver).unwrap_or((self.kept, 0));
        Some(self.capturing(point, record.time_ns, later_ns))
    }

    /// The point, or the other one where that captured and this one did not yet, or no more. Then the packet passed this one so
    /// much earlier than that.
    fn capturing(&self, point: Point, time_ns: i64, later_ns: i64) -> Point {
        let [own_ns, others_ns] = [point, point.other()].map(|point| self.outside_ns(point, time_ns));
        let was_on_its_way = others_ns == 0 && self.outside_ns(point, time_ns.saturating_sub(later_ns)) > 0;
        match own_ns {
            _ if was_on_its_way => point.other(),
            0 => point,
            _ if others_ns == 0 => point.other(),
            _ if own_ns.saturating_sub(others_ns) > FAR_NS => point.other(),
            _ if others_ns.saturating_sub(own_ns) > FAR_NS => point,
            _ => self.kept,
        }
    }

    /// How long before the first packet of a point, or after the last.
    fn outside_ns(&self, point: Point, time_ns: i64) -> i64 {
        let (first_ns, last_ns) = self.times_ns[point as usize].unwrap_or((time_ns, time_ns));
        first_ns.saturating_sub(time_ns).max(time_ns.saturating_sub(last_ns)).max(0)
    }

    pub(crate) fn has_copies(&mut self, packet: &Packet) {
        if self.connections.len() < MOST_CONNECTIONS {
            self.connections.insert(packet.flow_hash);
        }
    }

    pub(crate) fn label(&mut self, passed: &CopiedPacket, point: Point) {
        let index = usize::from(passed.input);
        if self.frames.len() <= index {
            self.frames.resize(index + 1, Vec::new());
        }
        let (frames, frame) = (&mut self.frames[index], passed.frame as usize);
        if frame >= MOST_FRAMES {
            self.is_incomplete = true;
            return;
        }
        if frames.len() <= frame {
            frames.resize(frame + 1, None);
        }
        if frames[frame].is_none() {
            frames[frame] = Some(point);
            self.interfaces.entry((passed.input, passed.interface)).or_default()[point as usize] += 1;
            let time_ns = passed.time_ns;
            let (first_ns, last_ns) = self.times_ns[point as usize].unwrap_or((time_ns, time_ns));
            self.times_ns[point as usize] = Some((first_ns.min(time_ns), last_ns.max(time_ns)));
        }
    }
}
