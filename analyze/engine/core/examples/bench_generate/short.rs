//! Many short connections as a busy client sees them: handshake, request, a response of several segments, teardown.
//!
//! One connection is a script of segments with times; a heap merges the scripts that run at once. In some connections
//! one response segment is lost on the way: the client reports the hole and the server repeats the segment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::frame::flags::{ACK, FIN, PSH, SYN};
use crate::frame::{Agreed, Endpoints, Frame, MSS, Segment};
use crate::random::Random;
use crate::truth::Truth;
use crate::writer::CaptureWriter;

const START_NS: u64 = 1_750_000_000_000_000_000;
const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;
/// Spacing of full segments behind a bottleneck of 100 Mbit/s.
const SEGMENT_TIME: u64 = 121 * MICROSECOND;

/// What is asked for.
pub struct Config {
    /// Number of connections.
    pub connections: u32,
    /// They are closed at their end.
    pub closes: bool,
    /// Share of connections that lose a segment.
    pub loss: f64,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Writes the capture and gives the counts of what is in it.
pub fn generate(config: &Config, writer: &mut CaptureWriter) -> io::Result<Truth> {
    let mut random = Random::new(config.seed);
    let mut truth = Truth { connections: config.connections.into(), ..Truth::default() };
    let mut waiting = BinaryHeap::new();
    let mut start_ns = START_NS;
    let mut order = 0u64;
    let mut segments: Vec<Option<(Endpoints, Segment)>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    for number in 0..config.connections {
        start_ns += random.between(100 * MICROSECOND, 1900 * MICROSECOND);
        while waiting.peek().is_some_and(|Reverse((time, _, _))| *time < start_ns) {
            write_first(&mut waiting, &mut segments, &mut free, writer)?;
        }
        for (time_ns, segment) in Script::new(&mut random, start_ns, config, &mut truth).run() {
            truth.packets += 1;
            truth.payload_bytes += u64::from(segment.payload_length);
            truth.data_segments += u64::from(segment.payload_length > 0);
            let slot = free.pop().unwrap_or_else(|| {
                segments.push(None);
                segments.len() - 1
            });
            segments[slot] = Some((endpoints(number), segment));
            waiting.push(Reverse((time_ns, order, slot)));
            order += 1;
        }
    }
    while !waiting.is_empty() {
        write_first(&mut waiting, &mut segments, &mut free, writer)?;
    }
    Ok(truth)
}

/// Time, order of making (for equal times) and slot of the segment.
type Waiting = BinaryHeap<Reverse<(u64, u64, usize)>>;

fn write_first(
    waiting: &mut Waiting,
    segments: &mut [Option<(Endpoints, Segment)>],
    free: &mut Vec<usize>,
    writer: &mut CaptureWriter,
) -> io::Result<()> {
    if let Some(Reverse((time_ns, _, slot))) = waiting.pop()
        && let Some((ends, segment)) = segments[slot].take()
    {
        free.push(slot);
        writer.record(time_ns, &Frame::new(&ends, &segment))?;
    }
    Ok(())
}

/// A client of a private network and one of 64 servers; no two connections have the same four numbers.
fn endpoints(number: u32) -> Endpoints {
    let client = [10, 0, (number % 4) as u8, (1 + number / 4 % 250) as u8];
    Endpoints {
        addresses: [client, [203, 0, 113, (1 + number.wrapping_mul(7) % 64) as u8]],
        ports: [32768 + (number / 1000 % 28_000) as u16, 8080],
        agreed: Agreed::default(),
    }
}

/// One connection while it is written.
struct Script<'a> {
    random: &'a mut Random,
    truth: &'a mut Truth,
    loses: bool,
    closes: bool,
    now: u64,
    rtt: u64,
    /// Next sequence number of the client and the server.
    sequence: [u32; 2],
    /// What each side last said it has.
    acknowledged: [u32; 2],
    ip_id: [u16; 2],
    /// Timestamp clocks at the start, milliseconds, and the last value each side received.
    clock: [u32; 2],
    echo: [u32; 2],
    segments: Vec<(u64, Segment)>,
}

impl<'a> Script<'a> {
    fn new(random: &'a mut Random, now: u64, config: &Config, truth: &'a mut Truth) -> Self {
        let sequence = [random.bits() as u32, random.bits() as u32];
        // Most servers are near, some are far: 4 ms and a long tail to 80 ms.
        let rtt = 4 * MILLISECOND * (1 + random.between(0, 20) * random.between(0, 20) / 20);
        Self {
            loses: random.chance(config.loss),
            closes: config.closes,
            now,
            rtt: rtt + random.between(0, MILLISECOND),
            sequence,
            acknowledged: [sequence[1], sequence[0]],
            ip_id: [random.bits() as u16, random.bits() as u16],
            clock: [random.bits() as u32, random.bits() as u32],
            echo: [0, 0],
            segments: Vec::with_capacity(32),
            random,
            truth,
        }
    }

    fn run(mut self) -> Vec<(u64, Segment)> {
        self.handshake();
        self.request();
        self.response();
        if self.closes {
            self.teardown();
        }
        self.segments
    }

    fn handshake(&mut self) {
        self.send(0, SYN, 0);
        self.now += self.rtt;
        self.send(1, SYN | ACK, 0);
        self.now += 30 * MICROSECOND;
        self.send(0, ACK, 0);
    }

    fn request(&mut self) {
        self.now += 60 * MICROSECOND;
        let length = self.random.between(180, 700) as u32;
        self.send(0, PSH | ACK, length);
        self.now += self.rtt;
        self.send(1, ACK, 0);
        self.now += self.random.between(MILLISECOND, 20 * MILLISECOND);
    }

    fn response(&mut self) {
        let full = self.random.between(5, 10) as u32;
        let last = self.random.between(100, 1400) as u32;
        let lost = if self.loses { Some(self.random.between(0, u64::from(full) - 4) as u32) } else { None };
        let first = self.sequence[1];
        let mut unacknowledged = 0;
        for number in 0..full {
            self.now += SEGMENT_TIME;
            if lost == Some(number) {
                self.sequence[1] = self.sequence[1].wrapping_add(MSS);
                self.ip_id[1] = self.ip_id[1].wrapping_add(1);
                continue;
            }
            let in_order = lost.is_none_or(|lost| number < lost);
            self.send_received(1, ACK, MSS, in_order);
            unacknowledged += 1;
            if !in_order {
                let hole_end = first.wrapping_add((lost.unwrap_or(0) + 1) * MSS);
                self.report_hole(hole_end);
            } else if unacknowledged == 2 {
                unacknowledged = 0;
                self.now += 15 * MICROSECOND;
                self.send(0, ACK, 0);
            }
        }
        if let Some(lost) = lost {
            self.now += self.rtt - 2 * SEGMENT_TIME;
            self.repeat(first.wrapping_add(lost * MSS));
        }
        self.now += SEGMENT_TIME;
        self.send(1, PSH | ACK, last);
        self.now += 15 * MICROSECOND;
        self.send(0, ACK, 0);
    }

    /// The client has something beyond a hole: it says so at once.
    fn report_hole(&mut self, hole_end: u32) {
        self.now += 15 * MICROSECOND;
        self.send(0, ACK, 0);
        let received = self.sequence[1];
        if let Some((_, segment)) = self.segments.last_mut() {
            segment.sack[0] = (hole_end, received);
        }
    }

    /// The server sends the lost segment again, which fills the hole.
    fn repeat(&mut self, sequence: u32) {
        let end = std::mem::replace(&mut self.sequence[1], sequence);
        self.send_received(1, ACK, MSS, true);
        self.truth.retransmitted_segments += 1;
        self.sequence[1] = end;
        self.acknowledged[0] = end;
        self.now += 15 * MICROSECOND;
        self.send(0, ACK, 0);
    }

    fn teardown(&mut self) {
        self.now += 20 * MICROSECOND;
        self.send(1, FIN | ACK, 0);
        self.now += 25 * MICROSECOND;
        self.send(0, ACK, 0);
        self.now += self.random.between(50, 400) * MICROSECOND;
        self.send(0, FIN | ACK, 0);
        self.now += self.rtt;
        self.send(1, ACK, 0);
    }

    /// A segment that arrives in order.
    fn send(&mut self, side: usize, flags: u8, payload_length: u32) {
        self.send_received(side, flags, payload_length, true);
    }

    fn send_received(&mut self, side: usize, flags: u8, payload_length: u32, in_order: bool) {
        // The server stamped what is seen now half a round trip ago.
        let stamped_ns = if side == 1 { self.now - self.rtt / 2 } else { self.now };
        let value = self.clock[side].wrapping_add((stamped_ns / MILLISECOND) as u32);
        let segment = Segment {
            from_server: side == 1,
            sequence: self.sequence[side],
            acknowledgement: self.acknowledged[side],
            flags,
            window: if flags & SYN != 0 { 64_240 } else { 502 },
            timestamps: (value, self.echo[side]),
            payload_length,
            ip_id: self.ip_id[side],
            ..Segment::default()
        };
        self.segments.push((self.now, segment));
        self.ip_id[side] = self.ip_id[side].wrapping_add(1);
        let length = payload_length + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        self.sequence[side] = self.sequence[side].wrapping_add(length);
        if in_order {
            self.acknowledged[1 - side] = self.sequence[side];
            self.echo[1 - side] = value;
        }
    }
}
