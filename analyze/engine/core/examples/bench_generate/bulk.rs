//! Bulk uploads as the sending host records them: a small discrete-event simulation of TCP over a lossy path.
//!
//! Each flow has its own bottleneck (100 Mbit/s, 20 ms). The sender does slow start, additive increase, SACK-based fast
//! retransmission with a halved window, and retransmission timeouts; the receiver acknowledges every second segment, at
//! once with SACK blocks while there is a hole. Segments are lost at random on the way out. Events come off the heap in
//! time order, which is the order of the capture.

mod receiver;
mod sender;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;

use crate::frame::flags::{ACK, FIN, SYN};
use crate::frame::{Endpoints, Frame, MSS, Segment};
use crate::random::Random;
use crate::truth::Truth;
use crate::writer::CaptureWriter;
use receiver::{Acknowledgement, Receiver};
use sender::{Sender, Transmission};

const START_NS: u64 = 1_750_000_000_000_000_000;
const MILLISECOND: u64 = 1_000_000;
const ONE_WAY_NS: u64 = 10 * MILLISECOND;
/// A full frame at the host's 1 Gbit/s, and at the bottleneck's 100 Mbit/s.
const HOST_FRAME_NS: u64 = 12_112;
const BOTTLENECK_FRAME_NS: u64 = 121_120;
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
        packets: config.packets,
        loss: config.loss,
    };
    for number in 0..config.flows {
        let flow = Flow::new(number, &mut simulation.random);
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
    ready_scheduled: bool,
    last_progress_ns: u64,
    closed: bool,
}

impl Flow {
    fn new(number: u32, random: &mut Random) -> Self {
        Self {
            ends: Endpoints {
                addresses: [[10, 0, 0, 5], [198, 51, 100, (1 + number % 250) as u8]],
                ports: [40_000 + (number % 20_000) as u16, 5201],
            },
            isn: [random.bits() as u32, random.bits() as u32],
            ip_id: [random.bits() as u16, random.bits() as u16],
            clock: [random.bits() as u32, random.bits() as u32],
            echo: 0,
            sender: Sender::default(),
            receiver: Receiver::default(),
            interface_free_ns: 0,
            bottleneck_free_ns: 0,
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
    packets: u64,
    loss: f64,
}

impl Simulation<'_> {
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
        self.at(now + 2 * ONE_WAY_NS, flow, Event::Opened);
        self.emit(now, flow, syn)
    }

    fn opened(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let state = &mut self.flows[flow as usize];
        let tsval = state.timestamp(1, now - ONE_WAY_NS);
        let sent = state.timestamp(0, now - 2 * ONE_WAY_NS);
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
        let more = self.truth.packets < self.packets;
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
            self.at(now + 2 * ONE_WAY_NS, flow, Event::Closed);
        }
        Ok(())
    }

    fn transmit(&mut self, now: u64, flow: u32, transmission: Transmission) -> io::Result<()> {
        self.truth.data_segments += 1;
        self.truth.payload_bytes += u64::from(MSS);
        self.truth.retransmitted_segments += u64::from(transmission.again);
        self.client_sends(now, flow, ACK, transmission.start, MSS)?;
        if self.random.chance(self.loss) {
            return Ok(());
        }
        let state = &mut self.flows[flow as usize];
        let arrival_ns = (now + ONE_WAY_NS).max(state.bottleneck_free_ns + BOTTLENECK_FRAME_NS);
        state.bottleneck_free_ns = arrival_ns;
        let tsval = state.timestamp(0, now);
        self.at(arrival_ns, flow, Event::Arrival { transmission, tsval });
        Ok(())
    }

    fn arrive(&mut self, now: u64, flow: u32, transmission: Transmission, tsval: u32) {
        let state = &mut self.flows[flow as usize];
        let own_tsval = state.timestamp(1, now);
        if let Some(acknowledgement) = state.receiver.receive(transmission.start, tsval, own_tsval) {
            self.at(now + ONE_WAY_NS, flow, Event::Acknowledged(acknowledgement));
        }
    }

    fn acknowledged(&mut self, now: u64, flow: u32, acknowledgement: &Acknowledgement) -> io::Result<()> {
        let state = &mut self.flows[flow as usize];
        state.echo = acknowledgement.timestamps.0;
        if state.sender.acknowledge(acknowledgement.next, &acknowledgement.sack) {
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
        let state = &mut self.flows[flow as usize];
        if state.closed {
            return Ok(());
        }
        if now - state.last_progress_ns > TIMEOUT_NS {
            state.sender.time_out();
            state.last_progress_ns = now;
        }
        self.at(now + TIMER_NS, flow, Event::Timer);
        self.pump(now, flow)
    }

    fn closed(&mut self, now: u64, flow: u32) -> io::Result<()> {
        let state = &mut self.flows[flow as usize];
        let tsval = state.timestamp(1, now - ONE_WAY_NS);
        state.echo = tsval;
        let end = state.sender.next;
        let fin_ack = Segment {
            from_server: true,
            sequence: state.isn[1].wrapping_add(1),
            acknowledgement: state.isn[0].wrapping_add(2).wrapping_add(end as u32),
            flags: FIN | ACK,
            window: 24_576,
            timestamps: (tsval, state.timestamp(0, now - 2 * ONE_WAY_NS)),
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
