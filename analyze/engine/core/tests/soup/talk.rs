//! Bytes to what one or two connections send: mostly what stacks do, by runs of steady traffic, and everything that leads away
//! from it: loss on either side of the capture, reordering, SACK and D-SACK, offload, wraps, resets, reuse of ports, frames that
//! are captured twice, starts in mid-stream, closed windows, keep-alives, congestion marks, clocks that are set.
//!
//! The first bytes decide on the connections, then each step takes some bytes until none are left or the capture is long enough.

use vmtrace_core::packet::tcp_flags::{ACK, CWR, ECE, FIN, PSH, RST, SYN};

use super::dice::Dice;
use super::packets::{Capture, Offers, Path, Segment};
use super::stream::{Content, bytes_at};

/// The state is compared after every packet: enough for a few rounds.
const MOST_PACKETS: usize = 180;
const START_NS: i64 = 1_700_000_000_000_000_000;
pub(super) const US: i64 = 1_000;
pub(super) const MS: i64 = 1_000_000;
/// As much of a payload is captured: records and their headers.
const MOST_CAPTURED: usize = 1500;

/// A capture and how it is to be analysed.
pub struct Soup {
    pub capture: Capture,
    /// The user's limit of unusually long pause.
    pub limit_ns: Option<u64>,
    /// Packets of a chunk, where several are taken at once.
    pub chunk: usize,
    /// One or two.
    pub connections: u8,
}

/// Makes the soup of these bytes.
pub fn soup(data: &[u8]) -> Soup {
    let mut dice = Dice::new(data);
    let setting = dice.byte();
    let limit_ns = (setting % 8 == 7).then_some(30_000_000);
    let chunk = [7, 2, 16, 40][usize::from(setting / 8 % 4)];
    let count = if setting / 32 % 4 == 3 { 2 } else { 1 };
    let mut kitchen = Kitchen { capture: Capture::default(), now_ns: START_NS, clock_ns: 0, held: None };
    let mut talks: Vec<Talk> = (0..count).map(|number| Talk::new(number, &mut dice)).collect();
    for talk in &mut talks {
        talk.begin(&mut dice, &mut kitchen);
    }
    while !dice.is_used_up() && kitchen.capture.packets.len() < MOST_PACKETS {
        let number = if count == 2 { usize::from(dice.below(2)) } else { 0 };
        talks[number].step(&mut dice, &mut kitchen);
    }
    kitchen.let_go();
    Soup { capture: kitchen.capture, limit_ns, chunk, connections: count }
}

/// Where frames are recorded.
pub(super) struct Kitchen {
    capture: Capture,
    pub(super) now_ns: i64,
    /// How far the capture's clock was set.
    clock_ns: i64,
    /// A frame that another one overtakes.
    held: Option<(Path, Segment)>,
}

impl Kitchen {
    fn record(&mut self, path: Path, mut segment: Segment) {
        segment.time_ns = self.now_ns + self.clock_ns;
        self.capture.push(path, &segment);
        self.let_go();
    }

    fn let_go(&mut self) {
        if let Some((path, mut segment)) = self.held.take() {
            segment.time_ns = self.now_ns + self.clock_ns;
            self.capture.push(path, &segment);
        }
    }
}

/// One direction: what its side has sent, and what its peer has received of it.
#[derive(Clone, Default)]
pub(super) struct Lane {
    pub(super) isn: u32,
    /// Offset of the next byte; a FIN takes one.
    pub(super) next: u64,
    /// Offset up to which the peer has acknowledged.
    una: u64,
    /// What the peer has received, sorted and apart.
    received: Vec<(u64, u64)>,
    /// What it received twice, to be reported.
    pub(super) twice: Option<(u64, u64)>,
    id: u16,
    /// By how much the identifications rise; 0 where there are none.
    id_step: u16,
    ticks: u32,
    window: u16,
    ttl: u8,
}

impl Lane {
    fn sequence(&self, offset: u64) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(offset as u32)
    }

    pub(super) fn receive(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        if self.received.iter().any(|&(from, to)| from <= start && end <= to) || end <= self.in_order() {
            self.twice = Some((start, end));
            return;
        }
        self.received.push((start, end));
        self.received.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for &(from, to) in &self.received {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.received = joined;
    }

    /// Offset up to which the peer has everything.
    fn in_order(&self) -> u64 {
        self.received.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| *end)
    }

    /// The first bytes that the peer has not received.
    fn first_hole(&self) -> Option<(u64, u64)> {
        let start = self.in_order();
        let end = self.received.iter().map(|(from, _)| *from).find(|from| *from > start).unwrap_or(self.next);
        (start < end).then_some((start, end))
    }
}

pub(super) struct Talk {
    path: Path,
    pub(super) lanes: [Lane; 2],
    mss: u16,
    timestamps: bool,
    sack: bool,
    scale: Option<u8>,
    ecn: bool,
    content: Content,
    pub(super) rtt_ns: i64,
    /// The last frame of each side.
    last: [Option<Segment>; 2],
    /// A side whose packets the capture does not show.
    pub(super) hidden: Option<usize>,
}

impl Talk {
    fn new(number: u8, dice: &mut Dice) -> Self {
        let (first, second) = (dice.byte(), dice.byte());
        let has = |bit: u8| first >> bit & 1 == 1;
        let content = [Content::Cut, Content::Plain, Content::Tls, Content::Dns][usize::from(second % 4)];
        let port = match content {
            Content::Dns => 53,
            _ => 443,
        };
        let lane = |isn: u32, ttl| Lane {
            isn,
            id: 1000,
            id_step: u16::from(!has(0)),
            ticks: 5_000,
            window: 500,
            ttl,
            ..Lane::default()
        };
        // Next to the end of the number space, or far from it.
        let isn = if has(1) { 0xffff_f000 } else { 70_000 };
        Self {
            path: Path { ipv6: has(2), hosts: [1 + number, 9], ports: [40_000 + u16::from(number) * 2, port] },
            lanes: [lane(isn, 64), lane(isn ^ 0x5000, if has(3) { 57 } else { 64 })],
            mss: if has(4) { 536 } else { 1460 },
            timestamps: !has(5),
            sack: !has(6),
            scale: (!has(7)).then_some(7),
            ecn: second / 4 % 4 == 3,
            content,
            rtt_ns: [10 * MS, 200 * US, 60 * MS, 300 * MS][usize::from(second / 16 % 4)],
            last: [None, None],
            hidden: None,
        }
    }

    fn begin(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        match dice.below(8) {
            5 => {}
            6 => self.open(dice, kitchen, [true, false]),
            7 => self.open(dice, kitchen, [false, true]),
            _ => self.open(dice, kitchen, [true, true]),
        }
    }

    /// SYN, SYN-ACK and ACK, as far as the capture shows the first two.
    fn open(&mut self, dice: &mut Dice, kitchen: &mut Kitchen, shown: [bool; 2]) {
        let near_ns = [self.rtt_ns, self.rtt_ns / 50, self.rtt_ns / 2][usize::from(dice.below(3))];
        if shown[0] {
            self.syn(0, kitchen);
        }
        kitchen.now_ns += near_ns;
        if shown[1] {
            self.syn(1, kitchen);
        }
        kitchen.now_ns += self.rtt_ns - near_ns + 20 * US;
        self.acknowledge(0, kitchen, false);
    }

    fn syn(&mut self, side: usize, kitchen: &mut Kitchen) {
        let marks = match (self.ecn, side) {
            (false, _) => 0,
            (true, 0) => ECE | CWR,
            (true, _) => ECE,
        };
        let mut segment = self.segment(side, 0, 0, SYN | marks | if side == 1 { ACK } else { 0 });
        segment.sequence = self.lanes[side].isn;
        segment.offers = Some(Offers { mss: self.mss, scale: self.scale, sack: self.sack });
        self.record(side, kitchen, segment);
    }

    /// A segment of `side` from `offset` on.
    pub(super) fn segment(&mut self, side: usize, offset: u64, length: u32, flags: u16) -> Segment {
        let (timestamps, content) = (self.timestamps, self.content);
        let echoed = self.lanes[1 - side].ticks;
        let acknowledgement = self.lanes[1 - side].sequence(self.lanes[1 - side].una);
        let segments = length.div_ceil(u32::from(self.mss)).max(1) as u16;
        let lane = &mut self.lanes[side];
        let ip_id = lane.id;
        lane.id = lane.id.wrapping_add(lane.id_step * segments);
        Segment {
            time_ns: 0,
            flags,
            sequence: lane.sequence(offset),
            acknowledgement: if flags & ACK != 0 { acknowledgement } else { 0 },
            payload: bytes_at(content, side, offset, length, MOST_CAPTURED),
            payload_length: length,
            window: lane.window,
            timestamps: timestamps.then_some((lane.ticks, echoed)),
            sack: Vec::new(),
            offers: None,
            ip_id: if lane.id_step == 0 { 0 } else { ip_id },
            ttl: lane.ttl,
        }
    }

    pub(super) fn record(&mut self, side: usize, kitchen: &mut Kitchen, segment: Segment) {
        let path = if side == 0 { self.path } else { self.path.reversed() };
        self.last[side] = Some(segment.clone());
        if self.hidden != Some(side) {
            kitchen.record(path, segment);
        }
    }

    /// Payload of a full segment.
    fn full(&self) -> u32 {
        u32::from(self.mss) - if self.timestamps { 12 } else { 0 }
    }

    fn step(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        let side = usize::from(dice.one_in(4) || self.lanes[0].next == 0);
        match dice.below(44) {
            0..=11 => self.run(side, dice, kitchen),
            12..=15 => self.delay(dice, kitchen),
            16..=18 => self.acknowledge(1 - side, kitchen, false),
            19..=21 => self.acknowledge(1 - side, kitchen, true),
            22..=25 => self.repair(side, dice, kitchen),
            26 => self.send_again(side, dice, kitchen),
            27..=28 => self.overtaken(side, dice, kitchen),
            29..=30 => self.captured_twice(side, dice, kitchen),
            31 => self.empty_at(side, dice, kitchen),
            32 => self.change_window(1 - side, dice, kitchen),
            33 => self.probe(side, kitchen),
            34 => self.lose_before(side, dice),
            35 => self.finish(side, dice, kitchen),
            36 => self.write(side, dice, kitchen),
            37 => self.marks(side, dice, kitchen),
            38 => self.clocks(side, dice, kitchen),
            39 => self.both_speak(dice, kitchen),
            40 => self.beyond(side, dice, kitchen),
            41 => self.reset(side, dice, kitchen),
            42 => self.again_from_the_start(dice, kitchen),
            _ => self.odd(side, dice, kitchen),
        }
    }

    fn delay(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let some = i64::from(byte / 16) + 1;
        kitchen.now_ns += match byte % 16 {
            0..=4 => some * 40 * US,
            5..=8 => self.rtt_ns * some / 4,
            9 => self.rtt_ns,
            10 => some * 20 * MS,
            11 => 40 * MS + some * US,
            12 => 200 * MS + some * 30 * MS,
            13 => some * 400 * MS,
            14 => -some * 100 * US,
            _ => some * 7_000 * MS,
        };
        let ticks = (kitchen.now_ns - START_NS) / MS;
        for lane in &mut self.lanes {
            lane.ticks = lane.ticks.max(5_000_u32.wrapping_add(ticks as u32));
        }
    }

    /// In-order data with acknowledgements, as bulk transfers go; some of it lost before or behind the capture point.
    pub(super) fn run(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (count, shape, losses) = (1 + dice.below(12), dice.byte(), dice.byte());
        let frames = if shape % 8 == 7 { 1 + u32::from(shape / 8 % 20) } else { 1 };
        let every = 1 + shape / 64;
        let gap_ns = [12 * US, 100 * US, 900 * US, 4 * MS][usize::from(shape / 8 % 4)];
        for number in 0..count {
            let lost = losses > 127 && losses & 0x7f == number * 9;
            self.data(side, self.full() * frames, if number + 1 == count { PSH } else { 0 }, lost, kitchen);
            kitchen.now_ns += gap_ns;
            if number % every == every - 1 && shape % 8 != 6 {
                self.acknowledge(1 - side, kitchen, true);
            }
        }
    }

    /// The next data; `lost` on its way from the capture point to the receiver.
    pub(super) fn data(&mut self, side: usize, length: u32, flags: u16, lost: bool, kitchen: &mut Kitchen) {
        let start = self.lanes[side].next;
        let end = start + u64::from(length);
        let segment = self.segment(side, start, length, ACK | flags);
        self.lanes[side].next = end;
        if !lost {
            self.lanes[side].receive(start, end);
        }
        self.record(side, kitchen, segment);
    }

    /// `side` acknowledges: everything it has, or what it had acknowledged before with what is new in SACK blocks.
    pub(super) fn acknowledge(&mut self, side: usize, kitchen: &mut Kitchen, all: bool) {
        let sack = self.sack;
        let lane = &mut self.lanes[1 - side];
        if all {
            lane.una = lane.una.max(lane.in_order());
        }
        let (una, twice) = (lane.una, lane.twice.take());
        let above = lane.received.iter().rev().filter(|(from, _)| *from > una);
        let blocks = twice.iter().chain(above).take(if self.timestamps { 3 } else { 4 });
        let blocks: Vec<_> = blocks.map(|&(from, to)| (lane.sequence(from), lane.sequence(to))).collect();
        let offset = self.lanes[side].next;
        let mut segment = self.segment(side, offset, 0, ACK);
        if sack {
            segment.sack = blocks;
        }
        self.record(side, kitchen, segment);
    }

    /// What the receiver misses is retransmitted, all or a segment of it.
    fn repair(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let Some((start, end)) = self.lanes[side].first_hole() else { return self.run(side, dice, kitchen) };
        let byte = dice.byte();
        let most = self.full() * if byte % 4 == 3 { 8 } else { 1 };
        let length = (end - start).min(u64::from(most)) as u32;
        let segment = self.segment(side, start, length, ACK | if byte / 4 % 4 == 3 { PSH } else { 0 });
        if byte / 16 % 4 != 3 {
            self.lanes[side].receive(start, start + u64::from(length));
        }
        self.record(side, kitchen, segment);
        if (byte / 64).is_multiple_of(2) {
            kitchen.now_ns += 150 * US;
            self.acknowledge(1 - side, kitchen, true);
        }
    }

    /// Something that had arrived is retransmitted.
    pub(super) fn send_again(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let back = u64::from(self.full()) * u64::from(1 + dice.below(6));
        let start = self.lanes[side].next.saturating_sub(back);
        let length = (self.lanes[side].next - start).min(u64::from(self.full())) as u32;
        if length == 0 {
            return;
        }
        let segment = self.segment(side, start, length, ACK);
        self.lanes[side].receive(start, start + u64::from(length));
        self.record(side, kitchen, segment);
    }

    /// The next data, which frames behind it overtake.
    fn overtaken(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        kitchen.let_go();
        let (start, length) = (self.lanes[side].next, self.full());
        let segment = self.segment(side, start, length, ACK);
        self.lanes[side].next += u64::from(length);
        let path = if side == 0 { self.path } else { self.path.reversed() };
        for _ in 0..=dice.below(3) {
            self.data(side, length, 0, false, kitchen);
        }
        self.lanes[side].receive(start, start + u64::from(length));
        kitchen.held = Some((path, segment));
    }

    fn captured_twice(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let Some(mut segment) = self.last[side].clone() else { return };
        let byte = dice.byte();
        kitchen.now_ns += [0, 3 * US, 800 * US, 12 * MS][usize::from(byte % 4)];
        segment.ttl -= byte / 4 % 2;
        self.record(side, kitchen, segment);
    }

    /// A keep-alive, or another empty segment below or above what was sent.
    fn empty_at(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let next = self.lanes[side].next;
        let offset = match byte % 4 {
            0 | 1 => next.wrapping_sub(1),
            2 => next.saturating_sub(u64::from(byte)),
            _ => next + u64::from(byte) * 100,
        };
        let segment = self.segment(side, offset, u32::from(byte / 4 % 4 == 3), ACK);
        self.record(side, kitchen, segment);
    }

    /// A window that closes may be probed at once.
    fn change_window(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        self.lanes[side].window = [500, 0, 0, 1, 20, 2_000, u16::MAX][usize::from(byte % 7)];
        self.acknowledge(side, kitchen, true);
        if self.lanes[side].window == 0 && !(byte / 8).is_multiple_of(4) {
            kitchen.now_ns += i64::from(byte) * 100 * US;
            let flags = if (byte / 32).is_multiple_of(2) { PSH } else { 0 };
            self.data(1 - side, 1, flags, true, kitchen);
        }
    }

    /// One new byte, as into a closed window.
    fn probe(&mut self, side: usize, kitchen: &mut Kitchen) {
        self.data(side, 1, 0, self.lanes[1 - side].window == 0, kitchen);
    }

    /// Packets get lost before the capture point.
    fn lose_before(&mut self, side: usize, dice: &mut Dice) {
        let (count, length) = (u16::from(1 + dice.below(4)), self.full());
        let lane = &mut self.lanes[side];
        lane.next += u64::from(count) * u64::from(length);
        lane.id = lane.id.wrapping_add(lane.id_step * count);
    }

    pub(super) fn finish(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (start, length) = (self.lanes[side].next, [0, 0, 300][usize::from(dice.below(3))]);
        let segment = self.segment(side, start, length, ACK | FIN);
        self.lanes[side].next += u64::from(length) + 1;
        let end = self.lanes[side].next;
        self.lanes[side].receive(start, end);
        self.record(side, kitchen, segment);
    }

    /// Less than a full segment.
    fn write(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let length = [1, 5, 100, 700, self.full() - 1, self.full() + 1, 2 * self.full() + 9][usize::from(byte % 7)];
        self.data(side, length, if byte / 8 % 4 == 3 { 0 } else { PSH }, false, kitchen);
    }

    fn marks(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (length, marks) = (self.full(), [ECE, CWR, ECE | CWR][usize::from(dice.below(3))]);
        self.data(side, length, marks, false, kitchen);
    }

    /// A clock is set, or identifications, the time to live or options change.
    fn clocks(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let lane = &mut self.lanes[side];
        match byte % 6 {
            0 => kitchen.clock_ns += i64::from(byte) * 3 * MS,
            1 => kitchen.clock_ns -= i64::from(byte) * MS,
            2 => lane.ticks = lane.ticks.wrapping_add(u32::from(byte) * 100),
            3 => lane.id = lane.id.wrapping_mul(31).wrapping_add(7),
            4 => lane.ttl = 40 + byte / 8,
            _ => lane.id_step = (lane.id_step + 1) % 3,
        }
    }

    /// A request and a response.
    fn both_speak(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        for side in [0, 1] {
            self.data(side, 200 + u32::from(dice.byte()), PSH, false, kitchen);
            kitchen.now_ns += self.rtt_ns / 2;
            let lane = &mut self.lanes[side];
            lane.una = lane.in_order();
        }
        self.acknowledge(0, kitchen, true);
    }

    /// It is acknowledged, or reported, what the capture has not seen.
    fn beyond(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let (start, end) = (self.lanes[side].next, self.lanes[side].next + u64::from(byte) * 50);
        let mut segment = self.segment(1 - side, self.lanes[1 - side].next, 0, ACK);
        let lane = &self.lanes[side];
        if byte.is_multiple_of(2) {
            segment.acknowledgement = lane.sequence(end);
        } else {
            segment.sack = vec![(lane.sequence(start), lane.sequence(end))];
        }
        self.record(1 - side, kitchen, segment);
    }

    pub(super) fn reset(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let with_ack = if dice.one_in(3) { 0 } else { ACK };
        let segment = self.segment(side, self.lanes[side].next, 0, RST | with_ack);
        self.record(side, kitchen, segment);
    }

    /// Another SYN: retransmitted, or of another connection with the same addresses and ports.
    fn again_from_the_start(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        if !byte.is_multiple_of(4) {
            for lane in &mut self.lanes {
                let &mut Lane { isn, id, id_step, ticks, ttl, .. } = lane;
                let isn = isn.wrapping_add(500_000 + u32::from(byte));
                *lane = Lane { isn, id, id_step, ticks, ttl, window: 500, ..Lane::default() };
            }
        }
        kitchen.now_ns += i64::from(byte / 4) * 50 * MS;
        self.open(dice, kitchen, [true, byte % 8 != 5]);
    }

    /// Numbers that no stack would send, and what devices on the way make of those that it did.
    fn odd(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        match dice.below(12) {
            8.. => self.strange(side, dice, kitchen),
            4 => self.strays(side, dice, kitchen),
            5 => self.foreign_blocks(side, dice, kitchen),
            6 => self.padded(side, dice, kitchen),
            7 => self.miss(side, dice, kitchen),
            _ => self.odd_numbers(side, dice, kitchen),
        }
    }

    /// Packets far outside every window, which go on with each other or do not.
    fn strays(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (off, shape, length) = (dice.word(), dice.byte(), u32::from(dice.byte()) * 4);
        for number in 0..u32::from(shape % 5) + 1 {
            let mut segment = self.segment(side, self.lanes[side].next, length, ACK);
            let step = if shape / 8 % 2 == 0 { number * length } else { 0 };
            segment.sequence = segment.sequence.wrapping_add(off).wrapping_add(step);
            if shape / 16 % 4 == 3 {
                segment.acknowledgement = segment.acknowledgement.wrapping_sub(off).wrapping_add(number);
            }
            self.record(side, kitchen, segment);
            if shape / 64 == 3 {
                self.acknowledge(side, kitchen, true);
            }
        }
    }

    /// Reports on numbers that a device has changed and left in the option.
    fn foreign_blocks(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let mut segment = self.segment(1 - side, self.lanes[1 - side].next, 0, ACK);
        let (start, length) = (dice.word(), 1 + u32::from(dice.byte()) * 100);
        segment.sack = vec![(start, start.wrapping_add(length))];
        self.record(1 - side, kitchen, segment);
    }

    /// Zeros without PSH: padding, or, where the side counts them, data.
    fn padded(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let byte = dice.byte();
        let length = 1 + u32::from(byte % 7);
        let start = self.lanes[side].next;
        let mut segment = self.segment(side, start, length, ACK);
        segment.payload = vec![0; if byte / 8 % 4 == 3 { 0 } else { length as usize }];
        if byte / 32 % 4 == 3 {
            self.lanes[side].next += u64::from(length);
            self.lanes[side].receive(start, start + u64::from(length));
        }
        self.record(side, kitchen, segment);
    }

    /// The capture misses any number of windows, of one side or of both.
    fn miss(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (windows, shape) = (u64::from(dice.byte()) * 40_000, dice.byte());
        for side in [side, 1 - side].into_iter().take(1 + usize::from(shape % 2)) {
            let lane = &mut self.lanes[side];
            let start = lane.next;
            lane.next += windows;
            let end = lane.next;
            lane.receive(start, end);
            lane.una = lane.una.max(lane.in_order());
        }
        self.run(side, dice, kitchen);
    }

    fn odd_numbers(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let length = u32::from(dice.byte()) * 8;
        let mut segment = self.segment(side, self.lanes[side].next, length, u16::from(dice.byte()) & !SYN);
        match dice.below(4) {
            0 => segment.sequence = segment.sequence.wrapping_add(dice.word()),
            1 => segment.acknowledgement = segment.acknowledgement.wrapping_add(dice.word()),
            2 => segment.timestamps = segment.timestamps.map(|(tsval, tsecr)| (tsval ^ dice.word(), tsecr)),
            _ => segment.timestamps = None,
        }
        self.record(side, kitchen, segment);
    }
}
