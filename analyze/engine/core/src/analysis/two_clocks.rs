//! Captures of both hosts put together while their clocks differ: which frames are of which capture point, and by how much the
//! clocks differ. Read before a further reading, which [`crate::analysis::one_point`] leaves one of them.
//!
//! Each packet of a connection passes both points. What its sender says in it (TSval, numbers, identification) is the same at both,
//! whatever the clocks say. That an acknowledgement appears before the second point shows its data tells clocks that differ from a
//! long way.
//!
//! Rule: docs/methods.md, "Two capture points with clocks of their own".

use std::collections::{HashMap, VecDeque};

use crate::analysis::options::Observer;
use crate::decode::frame::{Decoded, decode};
use crate::decode::hash::GOLDEN;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::read::chunk_source::ChunkSource;
use crate::read::record::{Chunk, Record};
use crate::tcp::capture::lag::Host;
use crate::tcp::stats::sequence::serial_difference;

/// Packets that are remembered to find their copies, at most.
const MOST_REMEMBERED: usize = 1 << 20;

/// Frames of an input that are told apart, at most.
const MOST_FRAMES: usize = 1 << 27;

/// Hosts whose packets are measured.
const MOST_HOSTS: usize = 64;

/// Connections whose acknowledgements are followed.
const MOST_FLOWS: usize = 1 << 14;

/// So many packets of a host must be there twice.
const FEWEST_TWICE: usize = 8;

/// So many are enough to measure.
const ENOUGH_TWICE: usize = 4096;

/// Of packets that are nearer in the file, a smaller difference is a way between the points: other rules do.
const SHORTEST_NS: i64 = 150_000_000;

/// Packets that are so near, both in the file and in time, may be alike though they are two: acknowledgements of one moment.
const NEAR_PACKETS: u64 = 32;

const NEAR_NS: i64 = 50_000_000;

/// On the way packets take no longer than the quickest by this.
const LONGEST_QUEUE_NS: i64 = 3_000_000_000;

/// Without numbers and timestamps a packet may look like one retransmitted: then it is a copy within this.
const LONGEST_QUEUE_WITHOUT_NUMBERS_NS: i64 = 150_000_000;

/// A capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The one that shows a packet first in the file.
    First,
    /// The other.
    Second,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct TwoClocks {
    /// By input and frame, as far as frames were told apart.
    frames: Vec<Vec<Option<Point>>>,
    /// By input and interface: frames of each point.
    interfaces: HashMap<(u16, u16), [u64; 2]>,
    /// The point at which each host is.
    hosts: HashMap<Host, Point>,
    /// The point at the host that sent most.
    pub(crate) kept: Point,
    /// Clock of the other point less that of this one, nanoseconds.
    pub(crate) offset_ns: i64,
    /// More packets lay between copies than are remembered.
    pub(crate) is_incomplete: bool,
}

impl TwoClocks {
    /// The point that a record is of; none if it is no TCP.
    pub(crate) fn point_of(&self, record: &Record, bytes: &[u8]) -> Option<Point> {
        let label = self.frames.get(usize::from(record.input)).and_then(|frames| frames.get(record.frame as usize));
        if let Some(Some(point)) = label {
            return Some(*point);
        }
        let Decoded::Tcp(packet) = decode(bytes, record) else { return None };
        // An interface, or a file, that is of one point alone.
        match self.interfaces.get(&(record.input, record.interface)) {
            Some(&[_, 0]) => return Some(Point::First),
            Some(&[0, _]) => return Some(Point::Second),
            _ => {}
        }
        // What was lost on the way is there at its sender alone.
        let ends = Host::sender_of(&packet, bytes).into_iter().chain(Host::receiver_of(&packet, bytes));
        Some(ends.filter_map(|host| self.hosts.get(&host).copied()).next().unwrap_or(self.kept))
    }

    fn label(&mut self, place: &Place, point: Point) {
        let index = usize::from(place.input);
        if self.frames.len() <= index {
            self.frames.resize(index + 1, Vec::new());
        }
        let (frames, frame) = (&mut self.frames[index], place.frame as usize);
        if frame >= MOST_FRAMES {
            self.is_incomplete = true;
            return;
        }
        if frames.len() <= frame {
            frames.resize(frame + 1, None);
        }
        if frames[frame].is_none() {
            frames[frame] = Some(point);
            self.interfaces.entry((place.input, place.interface)).or_default()[point as usize] += 1;
        }
    }
}

/// Finds two points whose clocks differ in what `open` gives, which is called twice.
pub(crate) fn find<E>(
    open: &dyn Fn() -> Result<Box<dyn ChunkSource>, E>,
    observer: &dyn Observer,
) -> Result<Option<TwoClocks>, E> {
    let mut measured = Measured::default();
    each_packet(open()?, observer, &mut |record, packet, bytes| measured.take(record, packet, bytes));
    let Some((mut found, usual)) = measured.conclude() else { return Ok(None) };
    let mut pairs = Pairs::default();
    each_packet(open()?, observer, &mut |record, packet, bytes| {
        pairs.take(record, packet, bytes, &usual, &mut found);
        true
    });
    found.is_incomplete |= pairs.memory.forgot;
    Ok(Some(found))
}

/// Calls `take` for each TCP packet until it returns false.
fn each_packet(
    mut source: Box<dyn ChunkSource>,
    observer: &dyn Observer,
    take: &mut dyn FnMut(&Record, &Packet, &[u8]) -> bool,
) {
    let mut chunk = Chunk::default();
    while source.next_chunk(&mut chunk).unwrap_or(false) && !observer.progress(source.consumed_bytes()) {
        for record in &chunk.records {
            if let Decoded::Tcp(packet) = decode(&chunk.bytes, record)
                && !take(record, &packet, &chunk.bytes)
            {
                return;
            }
        }
    }
}

/// Where a packet passed first.
#[derive(Debug, Clone, Copy)]
struct Place {
    time_ns: i64,
    input: u16,
    interface: u16,
    frame: u32,
    payload: u32,
    /// Its number among all packets.
    order: u64,
}

impl Place {
    fn of(record: &Record, packet: &Packet, order: u64) -> Self {
        let Record { time_ns, input, interface, frame, .. } = *record;
        Self { time_ns, input, interface, frame, payload: packet.payload_length, order }
    }

    fn ns_before(&self, later: &Self) -> i64 {
        later.time_ns.saturating_sub(self.time_ns)
    }

    fn packets_before(&self, later: &Self) -> u64 {
        later.order.saturating_sub(self.order)
    }
}

/// Packets that passed once, by what their sender says in them.
#[derive(Default)]
struct Memory {
    places: HashMap<u64, VecDeque<Place>>,
    in_order: VecDeque<u64>,
    forgot: bool,
}

impl Memory {
    fn remember(&mut self, key: u64, place: Place) {
        self.places.entry(key).or_default().push_back(place);
        self.in_order.push_back(key);
        if self.in_order.len() > MOST_REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
            && let Some(places) = self.places.get_mut(&oldest)
        {
            self.forgot |= places.pop_front().is_some();
            if places.is_empty() {
                self.places.remove(&oldest);
            }
        }
    }

    /// Takes the first place of a key that `is_it` finds right.
    fn take(&mut self, key: u64, is_it: impl Fn(&Place) -> bool) -> Option<Place> {
        let places = self.places.get_mut(&key)?;
        let index = places.iter().position(is_it)?;
        places.remove(index)
    }
}

/// What a sender says in a packet that routers and offloads leave as it is: a frame of several segments has the numbers of the
/// first.
fn key_of(packet: &Packet, sequence: u32, ip_id: u16, bytes: &[u8]) -> u64 {
    let flags =
        packet.flags & (tcp_flags::SYN | (tcp_flags::FIN * u16::from(packet.payload_length == 0)) | tcp_flags::RST);
    let stamps = packet.timestamp().map_or(0, |tsval| u64::from(tsval) << 32 | u64::from(packet.tsecr));
    let words = [
        packet.address_key,
        u64::from(packet.ports) << 32 | u64::from(sequence),
        u64::from(packet.acknowledgement) << 32 | u64::from(ip_id) << 16 | u64::from(packet.window),
        stamps,
        u64::from(flags) << 1 | u64::from(packet.payload_length > 0),
    ];
    let mix = |mixed: u64, word: u64| (mixed.rotate_left(23) ^ word).wrapping_mul(GOLDEN);
    let mixed = words.into_iter().fold(0, mix);
    if packet.payload_length > 0 || packet.options & option_bits::OTHERS == 0 {
        return mixed;
    }
    // Acknowledgements that report different blocks are different.
    let options = bytes.get(packet.options_offset as usize..).unwrap_or_default();
    options
        .get(..usize::from(packet.options_captured))
        .unwrap_or_default()
        .iter()
        .fold(mixed, |mixed, byte| mix(mixed, u64::from(*byte)))
}

/// What is retransmitted looks different.
fn is_numbered(packet: &Packet) -> bool {
    packet.ip_id != 0 || packet.timestamp().is_some()
}

/// The first look: are there two points, and how long after the first does the second see a packet of each host?
#[derive(Default)]
struct Measured {
    memory: Memory,
    after_ns: HashMap<Host, Vec<i64>>,
    /// Payload of each of them.
    sent_bytes: HashMap<Host, u64>,
    /// So many packets after the first.
    after_packets: Vec<u64>,
    /// End of the data that passed twice.
    twice: HashMap<(u32, u32), u32>,
    /// What was acknowledged last.
    acknowledged: HashMap<(u32, u32), u32>,
    /// Acknowledgements that appeared first before, or after, the second point has shown their data.
    early: u64,
    late: u64,
    /// All, and those since the first that was there twice.
    order: u64,
    packets: usize,
}

/// How the copies of a packet usually lie.
struct Usual {
    /// So long after the first, by sender.
    after_ns: HashMap<Host, i64>,
    /// The same of hosts that were not measured.
    middle_ns: i64,
    /// At least so many packets after it: where one capture stands behind the other, half of what is usual.
    fewest_packets: u64,
}

impl Measured {
    fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) -> bool {
        let Some(host) = Host::sender_of(packet, bytes) else { return true };
        self.order += 1;
        self.packets += usize::from(!self.after_ns.is_empty());
        let place = Place::of(record, packet, self.order);
        let key = key_of(packet, packet.sequence, packet.ip_id, bytes);
        let [own, opposite] = packet.flows();
        let is_far = |first: &Place| {
            first.packets_before(&place) >= NEAR_PACKETS || first.ns_before(&place).saturating_abs() >= NEAR_NS
        };
        if let Some(first) = self.memory.take(key, is_far) {
            if self.twice.len() < MOST_FLOWS || self.twice.contains_key(&own) {
                self.twice.insert(own, packet.sequence.wrapping_add(packet.sequence_length()));
            }
            let may_measure = self.after_ns.len() < MOST_HOSTS || self.after_ns.contains_key(&host);
            if may_measure && is_numbered(packet) {
                let after_ns = self.after_ns.entry(host).or_default();
                after_ns.push(first.ns_before(&place));
                *self.sent_bytes.entry(host).or_default() += u64::from(packet.payload_length);
                self.after_packets.push(first.packets_before(&place));
                return after_ns.len() < ENOUGH_TWICE || self.after_ns.len() < 2;
            }
            return true;
        }
        if packet.has(tcp_flags::ACK) && self.is_new_acknowledgement(own, packet.acknowledgement) {
            let end = self.twice.get(&opposite);
            match end.is_some_and(|end| serial_difference(packet.acknowledgement, *end) <= 0) {
                true => self.late += 1,
                false => self.early += 1,
            }
        }
        self.memory.remember(key, place);
        true
    }

    /// It acknowledges more than those before it.
    fn is_new_acknowledgement(&mut self, flow: (u32, u32), acknowledgement: u32) -> bool {
        let last = self.acknowledged.get(&flow);
        let is_new = last.is_none_or(|last| serial_difference(acknowledgement, *last) > 0);
        if is_new && (self.acknowledged.len() < MOST_FLOWS || last.is_some()) {
            self.acknowledged.insert(flow, acknowledgement);
        }
        is_new
    }

    /// Two points with clocks of their own, where nothing is told apart yet.
    fn conclude(mut self) -> Option<(TwoClocks, Usual)> {
        let mut hosts: Vec<(Host, Vec<i64>)> =
            self.after_ns.into_iter().filter(|(_, all)| all.len() >= FEWEST_TWICE).collect();
        let twice: usize = hosts.iter().map(|(_, after_ns)| after_ns.len()).sum();
        hosts.iter_mut().for_each(|(_, after_ns)| after_ns.sort_unstable());
        hosts.sort_by_key(|(_, after_ns)| share_of(after_ns, 50));
        let ((_, back_ns), (_, there_ns)) = (hosts.first()?, hosts.last()?);
        // The quickest of both ways: queues lengthen one of them.
        let offset_ns = share_of(there_ns, 2) / 2 + share_of(back_ns, 98) / 2;
        let middle_ns = share_of(there_ns, 50) / 2 + share_of(back_ns, 50) / 2;
        self.after_packets.sort_unstable();
        let apart = self.after_packets.get(self.after_packets.len() / 2).copied().unwrap_or(0);
        let is_far = offset_ns.abs() >= SHORTEST_NS || apart >= NEAR_PACKETS;
        let is_mostly_early = self.early > 3 * self.late;
        let are_mostly_twice = 3 * twice >= self.packets;
        let is_constant = share_of(there_ns, 50).saturating_sub(share_of(back_ns, 50)) <= LONGEST_QUEUE_NS;
        if hosts.len() < 2 || !(is_mostly_early && are_mostly_twice && is_constant && is_far) {
            return None;
        }
        // Then as many packets lie between the copies of each, but for those that one point missed.
        let nearest = self.after_packets.first().copied().unwrap_or(0);
        let farthest = self.after_packets.last().copied().unwrap_or(0);
        let stand_behind_one_another = 4 * apart >= self.order && 5 * nearest >= 4 * farthest;
        let usual = Usual {
            after_ns: hosts.iter().map(|(host, after_ns)| (*host, share_of(after_ns, 50))).collect(),
            middle_ns,
            fewest_packets: if stand_behind_one_another { apart / 2 } else { 0 },
        };
        let point = |after_ns: &[i64]| if share_of(after_ns, 50) >= middle_ns { Point::First } else { Point::Second };
        let hosts: HashMap<Host, Point> = hosts.iter().map(|(host, after_ns)| (*host, point(after_ns))).collect();
        let sent_most = hosts.iter().max_by_key(|(host, _)| (self.sent_bytes.get(host).copied(), **host));
        let kept = sent_most.map_or(Point::First, |(_, point)| *point);
        let found = TwoClocks {
            frames: Vec::new(),
            interfaces: HashMap::new(),
            hosts,
            kept,
            offset_ns: if kept == Point::First { offset_ns } else { -offset_ns },
            is_incomplete: false,
        };
        Some((found, usual))
    }
}

/// The value that so many per cent of the sorted values do not exceed.
fn share_of(sorted_ns: &[i64], per_cent: usize) -> i64 {
    sorted_ns.get(sorted_ns.len().saturating_sub(1) * per_cent / 100).copied().unwrap_or(0)
}

/// The second look: which frames are of which point.
#[derive(Default)]
struct Pairs {
    memory: Memory,
    order: u64,
}

impl Pairs {
    fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8], usual: &Usual, found: &mut TwoClocks) {
        let Some(host) = Host::sender_of(packet, bytes) else { return };
        let usual_ns = usual.after_ns.get(&host).copied().unwrap_or(usual.middle_ns);
        self.order += 1;
        let place = Place::of(record, packet, self.order);
        let longest_ns = if is_numbered(packet) { LONGEST_QUEUE_NS } else { LONGEST_QUEUE_WITHOUT_NUMBERS_NS };
        // What stands behind one another cannot be mistaken for what is sent in one moment.
        let longest_ns = if usual.fewest_packets > 0 { longest_ns } else { longest_ns.min(usual_ns.abs() / 2) };
        let is_it = |first: &Place| {
            let apart_ns = first.ns_before(&place).saturating_sub(usual_ns).saturating_abs();
            apart_ns <= longest_ns && first.packets_before(&place) >= usual.fewest_packets
        };
        let key = key_of(packet, packet.sequence, packet.ip_id, bytes);
        let Some(first) = self.memory.take(key, is_it) else {
            return self.memory.remember(key, place);
        };
        found.label(&first, Point::First);
        found.label(&place, Point::Second);
        let (longer, shorter) = (first.payload.max(place.payload), first.payload.min(place.payload));
        if shorter == 0 || longer == shorter {
            return;
        }
        // One point has the segments of what the other has in one frame.
        for number in 1..longer.div_ceil(shorter) {
            let sequence = packet.sequence.wrapping_add(number * shorter);
            let ip_id = if packet.ip_id == 0 { 0 } else { packet.ip_id.wrapping_add(number as u16) };
            let key = key_of(packet, sequence, ip_id, bytes);
            if first.payload == longer {
                self.memory.remember(key, Place { payload: 0, ..first });
            } else if let Some(segment) = self.memory.take(key, is_it) {
                found.label(&segment, Point::First);
            }
        }
    }
}
