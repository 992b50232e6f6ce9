//! Captures of both hosts put together: which frames are of which capture point, and by how much the clocks differ. Read before a
//! further reading, which [`crate::analysis::one_point`] leaves one of them.
//!
//! [`crate::analysis::points_apart`] measures how far copies lie apart; a second look pairs them.
//!
//! Rule: docs/methods.md, "Two capture points with clocks of their own".

use std::collections::HashMap;

use crate::analysis::copies::{Copies, Passed, Point};
use crate::analysis::options::Observer;
use crate::analysis::points_apart::{Apart, PointsApart};
use crate::decode::frame::{Decoded, decode};
use crate::packet::Packet;
use crate::read::chunk_source::ChunkSource;
use crate::read::record::{Chunk, Record};
use crate::tcp::capture::lag::Host;

/// Frames of an input that are told apart, at most.
const MOST_FRAMES: usize = 1 << 27;

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
    fn new(apart: &Apart) -> Self {
        Self {
            frames: Vec::new(),
            interfaces: HashMap::new(),
            hosts: apart.at.clone(),
            kept: apart.kept,
            offset_ns: if apart.kept == Point::First { apart.offset_ns } else { -apart.offset_ns },
            is_incomplete: false,
        }
    }

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
        let at = |host: Option<Host>| host.and_then(|host| self.hosts.get(&host).copied());
        let of_sender = at(Host::sender_of(&packet, bytes));
        let of_receiver = || at(Host::receiver_of(&packet, bytes)).map(Point::other);
        Some(of_sender.or_else(of_receiver).unwrap_or(self.kept))
    }

    fn label(&mut self, passed: &Passed, point: Point) {
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
        }
    }
}

/// Finds two points in what `open` gives, which is called twice.
pub(crate) fn find<E>(
    open: &dyn Fn() -> Result<Box<dyn ChunkSource>, E>,
    observer: &dyn Observer,
) -> Result<Option<TwoClocks>, E> {
    let mut points = PointsApart::default();
    each_packet(open()?, observer, &mut |record, packet, bytes| points.take(record, packet, bytes));
    let Some(apart) = points.conclude() else { return Ok(None) };
    let mut pairs = Pairs { found: TwoClocks::new(&apart), apart, copies: Copies::default(), order: 0 };
    each_packet(open()?, observer, &mut |record, packet, bytes| {
        pairs.take(record, packet, bytes);
        true
    });
    pairs.found.is_incomplete |= pairs.copies.forgot;
    Ok(Some(pairs.found))
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

/// The second look: which frames are of which point.
struct Pairs {
    apart: Apart,
    copies: Copies,
    order: u64,
    found: TwoClocks,
}

impl Pairs {
    fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) {
        let Some(host) = Host::sender_of(packet, bytes) else { return };
        let usual = *self.apart.hosts.get(&host).unwrap_or(&self.apart.others);
        self.order += 1;
        let mut passing = Passed::of(record, packet, bytes, self.order);
        let fewest_packets = self.apart.fewest_packets;
        let mut compared = 0;
        while passing.left > 0 {
            let copy = passing;
            let apart = |first: &Passed| {
                // Once one is found, of which it has the rest must be of the same point.
                let is_elsewhere = copy.point.is_none_or(|point| first.point.unwrap_or(usual.first) != point);
                let is_far = first.packets_before(&copy) >= fewest_packets;
                usual.apart(first, &copy).filter(|_| is_elsewhere && is_far)
            };
            let Some(first) = self.copies.take(&mut passing, &apart) else { break };
            let point = first.point.unwrap_or(usual.first);
            self.found.label(&first, point);
            passing.point = Some(point.other());
            compared += 1;
        }
        if compared > 0 {
            self.found.label(&passing, passing.point.unwrap_or(usual.first.other()));
        }
        if passing.left > 0 {
            self.copies.remember(passing);
        }
    }
}
