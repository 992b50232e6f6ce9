//! Bulk uploads as the sending host records them: a small discrete-event simulation of TCP over a lossy path.
//!
//! Each flow has its own bottleneck (100 Mbit/s, 20 ms; a policer instead, if one is asked for). The sender does slow start, additive increase, SACK-based fast
//! retransmission with a halved window, and retransmission timeouts; the receiver acknowledges every second segment, at
//! once with SACK blocks while there is a hole. Segments are lost at random on the way out. Events come off the heap in
//! time order, which is the order of the capture.

mod bucket;
mod receiver;
mod sender;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;

use crate::frame::flags::{ACK, FIN, SYN};
use crate::frame::{Agreed, Endpoints, Frame, Segment};
use crate::random::Random;
use crate::truth::Truth;
use crate::writer::CaptureWriter;
use bucket::Bucket;
pub use bucket::Policer;
use receiver::{Acknowledgement, Receiver};
use sender::{Sender, Transmission};

const START_NS: u64 = 1_750_000_000_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// A full frame at the host's 1 Gbit/s, and at the bottleneck's 100 Mbit/s.
const HOST_FRAME_NS: u64 = 12_112;
const BOTTLENECK_FRAME_NS: u64 = 121_120;
/// Ethernet, IP and TCP with timestamps.
const HEADER_BYTES: u32 = 66;
/// So much later comes a segment that is reordered.
const LATE_NS: u64 = MILLISECOND;
const TIMER_NS: u64 = 100 * MILLISECOND;
const TIMEOUT_NS: u64 = 250 * MILLISECOND;

/// What is asked for.
pub struct Config {
    /// Number of connections, all at once.
    pub flows: u32,
    /// Packets of the capture, nearly.
    pub packets: u64,
    /// Share of data segments that the path loses.
    pub loss: f64,
    /// Share of data segments that the path delays behind later ones.
    pub reordering: f64,
    /// Round trip time of the empty path.
    pub rtt_ms: u64,
    /// A token bucket that drops what it has no tokens for.
    pub policer: Option<Policer>,
    /// Last part of the client's address: of captures that are merged each has its own.
    pub client: u8,
    /// TCP options.
    pub agreed: Agreed,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Writes the capture and gives the counts of what is in it.
pub fn generate(config: &Config, writer: &mut CaptureWriter) -> io::Result<Truth> {
    let mut simulation = Simulation {
        random: Random::new(config.seed),
        flows: Vec::new(),
        events: BinaryHeap::new(),
        made: 0,
        truth: Truth { connections: config.flows.into(), ..Truth::default() },
        writer,
        config,
    };
    for number in 0..config.flows {
        let flow = Flow::new(number, config, &mut simulation.random);
        simulation.flows.push(flow);
        simulation.at(START_NS + u64::from(number) * 3_700_123 % 1_000_000_000, number, Event::Open);
    }
    while let Some(scheduled) = simulation.events.pop() {
        simulation.handle(&scheduled)?;
    }
    Ok(simulation.truth)
}

/// What happens to a flow.
#[derive(Clone, Copy)]
enum Event {
    /// The client sends its SYN.
    Open,
    /// The SYN/ACK is back; data may flow.
    Opened,
    /// The host's interface is free for the next segment.
    Ready,
    /// A segment reaches the receiver.
    Arrival { transmission: Transmission, tsval: u32 },
    /// An acknowledgement reaches the sender.
    Acknowledged(Acknowledgement),
    /// Time to look whether nothing moves any more.
    Timer,
    /// The server's FIN reaches the client.
    Closed,
}

struct Scheduled {
    time_ns: u64,
    made: u64,
    flow: u32,
    event: Event,
}

/// The earliest event is the greatest, as the heap wants it; equal times in the order of making.
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time_ns, other.made).cmp(&(self.time_ns, self.made))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

struct Flow {
    ends: Endpoints,
    /// Initial sequence numbers of client and server.
    isn: [u32; 2],
    ip_id: [u16; 2],
    /// Offsets of the timestamp clocks, milliseconds.
    clock: [u32; 2],
    /// Last timestamp that came from the server.
    echo: u32,
    sender: Sender,
    receiver: Receiver,
    interface_free_ns: u64,
    bottleneck_free_ns: u64,
    bucket: Option<Bucket>,
    ready_scheduled: bool,
    last_progress_ns: u64,
    closed: bool,
}

impl Flow {
    fn new(number: u32, config: &Config, random: &mut Random) -> Self {
        Self {
            ends: Endpoints {
                addresses: [[10, 0, 0, config.client], [198, 51, 100, (1 + number % 250) as u8]],
                ports: [40_000 + (number % 20_000) as u16, 5201],
                agreed: config.agreed,
            },
            isn: [random.bits() as u32, random.bits() as u32],
            ip_id: [random.bits() as u16, random.bits() as u16],
            clock: [random.bits() as u32, random.bits() as u32],
            echo: 0,
            sender: Sender::new(config.agreed.segment_bytes),
            receiver: Receiver::new(config.agreed.segment_bytes),
            interface_free_ns: 0,
            bottleneck_free_ns: 0,
            bucket: config.policer.map(Bucket::new),
            ready_scheduled: false,
            last_progress_ns: 0,
            closed: false,
        }
    }

    fn timestamp(&self, side: usize, now: u64) -> u32 {
        self.clock[side].wrapping_add((now / MILLISECOND) as u32)
    }
}

struct Simulation<'a> {
    random: Random,
    flows: Vec<Flow>,
    events: BinaryHeap<Scheduled>,
    made: u64,
    truth: Truth,
    writer: &'a mut CaptureWriter,
    config: &'a Config,
}

impl Simulation<'_> {
    fn one_way_ns(&self) -> u64 {
        self.config.rtt_ms * MILLISECOND / 2
    }

    fn at(&mut self, time_ns: u64, flow: u32, event: Event) {
        self.made += 1;
        self.events.push(Scheduled { time_ns, made: self.made, flow, event });
    }

    fn handle(&mut self, scheduled: &Scheduled) -> io::Result<()> {
        let (now, flow) = (scheduled.time_ns, scheduled.flow);
        match scheduled.event {
            Event::Open => self.open(now, flow),
            Event::Opened => self.opened(now, flow),
            Event::Ready => {
                self.flows[flow as usize].ready_scheduled = false;
                self.pump(now, flow)
            }
            Event::Arrival { transmission, tsval } => {
                self.arrive(now, flow, transmission, tsval);
                Ok(())
            }
            Event::Acknowledged(acknowledgement) => self.acknowledged(now, flow, &acknowledgement),
            Event::Timer => self.timer(now, flow),
            Event::Closed => self.closed(now, flow),
        }
    }

    fn open(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let state = &self.flows[flow as usize];
        let syn = Segment {
            sequence: state.isn[0],
            flags: SYN,
            window: 64_240,
            timestamps: (state.timestamp(0, now), 0),
            ..Segment::default()
        };
        self.at(now + 2 * self.one_way_ns(), flow, Event::Opened);
        self.emit(now, flow, syn)
    }

    fn opened(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let one_way_ns = self.one_way_ns();
        let state = &mut self.flows[flow as usize];
        let tsval = state.timestamp(1, now - one_way_ns);
        let sent = state.timestamp(0, now - 2 * one_way_ns);
        (state.echo, state.receiver.recent_tsval, state.last_progress_ns) = (tsval, sent, now);
        let syn_ack = Segment {
            from_server: true,
            sequence: state.isn[1],
            acknowledgement: state.isn[0].wrapping_add(1),
            flags: SYN | ACK,
            window: 65_160,
            timestamps: (tsval, sent),
            ..Segment::default()
        };
        self.emit(now, flow, syn_ack)?;
        let ack_ns = now + 20_000;
        self.client_sends(ack_ns, flow, ACK, 0, 0)?;
        self.at(ack_ns + 50_000, flow, Event::Ready);
        self.at(now + TIMER_NS, flow, Event::Timer);
        Ok(())
    }

    /// Sends what the window allows, one segment each time the interface is free.
    fn pump(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let more = self.truth.packets < self.config.packets;
        loop {
            let state = &mut self.flows[flow as usize];
            if !state.sender.may_send(more) {
                break;
            }
            if state.interface_free_ns > now {
                if !state.ready_scheduled {
                    state.ready_scheduled = true;
                    let free = state.interface_free_ns;
                    self.at(free, flow, Event::Ready);
                }
                break;
            }
            let transmission = state.sender.send();
            state.interface_free_ns = now + HOST_FRAME_NS;
            self.transmit(now, flow, transmission)?;
        }
        let state = &mut self.flows[flow as usize];
        if !more && state.sender.is_done() && !state.closed {
            state.closed = true;
            let end = state.sender.next;
            self.client_sends(now, flow, FIN | ACK, end, 0)?;
            self.at(now + 2 * self.one_way_ns(), flow, Event::Closed);
        }
        Ok(())
    }

    fn transmit(&mut self, now: u64, flow: u32, transmission: Transmission) -> io::Result<()> {
        self.truth.data_segments += 1;
        let segment_bytes = self.config.agreed.segment_bytes;
        self.truth.payload_bytes += u64::from(segment_bytes);
        self.truth.retransmitted_segments += u64::from(transmission.again);
        self.client_sends(now, flow, ACK, transmission.start, segment_bytes)?;
        if self.random.chance(self.config.loss) {
            return Ok(());
        }
        let is_late = self.config.reordering > 0.0 && self.random.chance(self.config.reordering);
        let one_way_ns = self.one_way_ns();
        let state = &mut self.flows[flow as usize];
        let mut arrival_ns = now + one_way_ns;
        match &mut state.bucket {
            Some(bucket) => {
                if !bucket.lets_pass(now, segment_bytes + HEADER_BYTES) {
                    return Ok(());
                }
            }
            None => {
                arrival_ns = arrival_ns.max(state.bottleneck_free_ns + BOTTLENECK_FRAME_NS);
                state.bottleneck_free_ns = arrival_ns;
            }
        }
        arrival_ns += if is_late { LATE_NS } else { 0 };
        let tsval = state.timestamp(0, now);
        self.at(arrival_ns, flow, Event::Arrival { transmission, tsval });
        Ok(())
    }

    fn arrive(&mut self, now: u64, flow: u32, transmission: Transmission, tsval: u32) {
        let state = &mut self.flows[flow as usize];
        let own_tsval = state.timestamp(1, now);
        if let Some(acknowledgement) = state.receiver.receive(transmission.start, tsval, own_tsval) {
            self.at(now + self.one_way_ns(), flow, Event::Acknowledged(acknowledgement));
        }
    }

    fn acknowledged(&mut self, now: u64, flow: u32, acknowledgement: &Acknowledgement) -> io::Result<()> {
        let state = &mut self.flows[flow as usize];
        state.echo = acknowledgement.timestamps.0;
        let has_sack = self.config.agreed.sack;
        let sack: &[_] = if has_sack { &acknowledgement.sack } else { &[] };
        if state.sender.acknowledge(acknowledgement.next, sack, has_sack) {
            state.last_progress_ns = now;
        }
        let wire = |offset: u64| state.isn[0].wrapping_add(1).wrapping_add(offset as u32);
        let segment = Segment {
            from_server: true,
            sequence: state.isn[1].wrapping_add(1),
            acknowledgement: wire(acknowledgement.next),
            flags: ACK,
            window: acknowledgement.window,
            timestamps: acknowledgement.timestamps,
            sack: acknowledgement.sack.map(|(start, end)| (wire(start), wire(end))),
            ..Segment::default()
        };
        self.emit(now, flow, segment)?;
        self.pump(now, flow)
    }

    fn timer(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let one_way_ns = self.one_way_ns();
        let state = &mut self.flows[flow as usize];
        if state.closed {
            return Ok(());
        }
        if now - state.last_progress_ns > TIMEOUT_NS.max(6 * one_way_ns) {
            state.sender.time_out();
            state.last_progress_ns = now;
        }
        self.at(now + TIMER_NS, flow, Event::Timer);
        self.pump(now, flow)
    }

    fn closed(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let one_way_ns = self.one_way_ns();
        let state = &mut self.flows[flow as usize];
        let tsval = state.timestamp(1, now - one_way_ns);
        state.echo = tsval;
        let end = state.sender.next;
        let fin_ack = Segment {
            from_server: true,
            sequence: state.isn[1].wrapping_add(1),
            acknowledgement: state.isn[0].wrapping_add(2).wrapping_add(end as u32),
            flags: FIN | ACK,
            window: 24_576,
            timestamps: (tsval, state.timestamp(0, now - 2 * one_way_ns)),
            ..Segment::default()
        };
        self.emit(now, flow, fin_ack)?;
        self.client_sends(now + 20_000, flow, ACK, end + 1, 0)
    }

    /// A segment of the client whose first byte is `offset` bytes after the SYN.
    fn client_sends(&mut self, now: u64, flow: u32, flags: u8, offset: u64, payload_length: u32) -> io::Result<()> {
        let state = &self.flows[flow as usize];
        let after_fin = u32::from(offset > state.sender.next);
        let segment = Segment {
            sequence: state.isn[0].wrapping_add(1).wrapping_add(offset as u32),
            acknowledgement: state.isn[1].wrapping_add(1 + after_fin),
            flags,
            window: 502,
            timestamps: (state.timestamp(0, now), state.echo),
            payload_length,
            ..Segment::default()
        };
        self.emit(now, flow, segment)
    }

    fn emit(&mut self, now: u64, flow: u32, mut segment: Segment) -> io::Result<()> {
        let state = &mut self.flows[flow as usize];
        let id = &mut state.ip_id[usize::from(segment.from_server)];
        segment.ip_id = *id;
        *id = id.wrapping_add(1);
        self.truth.packets += 1;
        self.writer.record(now, &Frame::new(&state.ends, &segment))
    }
}
