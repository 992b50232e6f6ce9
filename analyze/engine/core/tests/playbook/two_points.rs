//! A transfer as two capture points of its path show it: a sender with a window, a receiver that acknowledges, a path that queues and loses.
//! Times are nanoseconds, data counts in segments of [`FULL`] bytes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::{FULL, START_NS, Segment, Talk, ack, data, syn, syn_ack};
use crate::captures::Frame;

/// How a sender numbers its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    Zero,
    Constant,
    Counting,
}

/// Where the second capture point is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Second {
    /// At the receiver.
    Receiver,
    /// Behind this share of the way from the sender, and so many routers.
    Router(f64, u8),
}

/// A transfer and its path.
#[derive(Debug, Clone)]
pub struct World {
    pub segments: u32,
    /// The client sends it; else the server.
    pub is_upload: bool,
    pub timestamps: bool,
    pub ids: Ids,
    pub ipv6: bool,
    /// Without queues.
    pub rtt_ns: i64,
    /// What the bottleneck takes for a segment.
    pub serialization_ns: i64,
    /// A packet takes up to so much longer than others.
    pub jitter_ns: i64,
    /// Of a million data packets; of a million acknowledgements.
    pub lost: [u32; 2],
    /// It loses them before the second point; else behind it.
    pub loses_before: bool,
    /// Segments in a frame of the sender's capture, and of the receiver's, at most.
    pub sends_joined: u32,
    pub receives_joined: u32,
    /// An acknowledgement for so many segments.
    pub every: u32,
    pub second: Second,
    /// Segments in flight, at most.
    pub window: u32,
    pub client_port: u16,
    pub seed: u64,
}

/// Numbers that look drawn at random.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Between both, small ones as often as large.
    pub fn any_size(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.below(1 << 30) as f64 / f64::from(1 << 30))
    }
}

/// What a point shows: when, of the sender or the receiver, what, and its identification.
#[derive(Debug, Clone)]
struct Seen {
    at_ns: i64,
    is_of_sender: bool,
    segment: Segment,
    tsval: u32,
    tsecr: u32,
    id: u16,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { index: u32, tsval: u32 },
    Acknowledgement { up_to: u32, sacked: Vec<(u32, u32)>, tsval: u32 },
    DelayedAcknowledgement { up_to: u32 },
    Timeout { una: u32 },
}

/// The run of a [`World`].
struct Run {
    world: World,
    dice: Dice,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    number: u64,
    /// Of the sender, of the second point.
    seen: [Vec<Seen>; 2],
    next_id: [u16; 2],
    /// When the way there and the way back are free, and when their last packet came.
    free_ns: [i64; 2],
    came_ns: [i64; 2],
    /// Of the sender.
    una: u32,
    next: u32,
    cwnd: u32,
    sacked: BTreeSet<u32>,
    again: BTreeSet<u32>,
    recover: u32,
    sender_echoes: u32,
    /// Of the receiver.
    received: u32,
    above: BTreeSet<u32>,
    not_acknowledged: u32,
    receiver_echoes: u32,
}

const HOST_NS: i64 = 15_000;

impl World {
    /// What the sender's capture shows, and what that of the second point does.
    pub fn captures(&self) -> [Vec<Frame>; 2] {
        let run = Run::of(self.clone());
        let share = |point: usize| if point == 0 { 0 } else { self.routers() };
        let mut points = run.seen;
        points.iter_mut().for_each(|seen| seen.sort_by_key(|seen| seen.at_ns));
        let joined =
            if self.second == Second::Receiver { joined(&points[1], self.receives_joined) } else { points[1].clone() };
        points[1] = joined;
        [0, 1].map(|point| self.frames(&points[point], [share(point), self.all_routers() - share(point)]))
    }

    fn routers(&self) -> u8 {
        if let Second::Router(_, routers) = self.second { routers } else { 0 }
    }

    fn all_routers(&self) -> u8 {
        if let Second::Router(_, routers) = self.second { routers + 3 } else { 0 }
    }

    fn frames(&self, seen: &[Seen], [before, behind]: [u8; 2]) -> Vec<Frame> {
        let talk = if self.timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let talk = if self.ipv6 { talk.over_ipv6() } else { talk };
        let (of_sender, of_receiver) = (64 - before, 64 - behind);
        let [client, server] = if self.is_upload { [of_sender, of_receiver] } else { [of_receiver, of_sender] };
        let talk = talk.between(1, self.client_port, 2, 443).with_ttl(client, server);
        let talk = seen.iter().fold(talk, |talk, seen| {
            let side = usize::from(seen.is_of_sender != self.is_upload);
            let segment = seen.segment.clone().tsval(seen.tsval).tsecr(seen.tsecr).id(seen.id);
            talk.line(side, seen.at_ns as f64 / 1e6, segment)
        });
        // Times that a fraction of milliseconds cannot say.
        talk.frames()
            .iter()
            .zip(seen)
            .map(|(frame, seen)| Frame { time_ns: START_NS + seen.at_ns, ..frame.clone() })
            .collect()
    }
}

/// Neighbours that come at once in frames of several segments.
fn joined(seen: &[Seen], most: u32) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for one in seen {
        let end = |seen: &Seen| seen.segment.start.unwrap_or(0) + i64::from(seen.segment.length);
        if let Some(last) = all.last_mut().filter(|last| {
            one.segment.length > 0
                && last.segment.length > 0
                && last.is_of_sender == one.is_of_sender
                && Some(end(last)) == one.segment.start
                && (last.tsval, last.tsecr) == (one.tsval, one.tsecr)
                && one.at_ns - last.at_ns < 60_000
                && (one.id == last.id || one.id == last.id.wrapping_add((last.segment.length / FULL) as u16))
                && last.segment.length + one.segment.length <= most * FULL
        }) {
            last.segment.length += one.segment.length;
            last.at_ns = one.at_ns;
        } else {
            all.push(one.clone());
        }
    }
    all
}

impl Run {
    fn of(world: World) -> Self {
        let dice = Dice(world.seed);
        let mut run = Self {
            dice,
            events: BinaryHeap::new(),
            number: 0,
            seen: [Vec::new(), Vec::new()],
            next_id: [100, 5_000],
            free_ns: [0; 2],
            came_ns: [0; 2],
            una: 0,
            next: 0,
            cwnd: 10,
            sacked: BTreeSet::new(),
            again: BTreeSet::new(),
            recover: 0,
            sender_echoes: 0,
            received: 0,
            above: BTreeSet::new(),
            not_acknowledged: 0,
            receiver_echoes: 0,
            world,
        };
        let mut now_ns = run.open();
        run.send(now_ns);
        while let Some(Reverse((at_ns, _, event))) = run.events.pop() {
            now_ns = now_ns.max(at_ns);
            run.happens(now_ns, event);
        }
        run
    }

    /// The handshake, which loses nothing; when the sender may send.
    fn open(&mut self) -> i64 {
        let is_upload = self.world.is_upload;
        let opening: [(bool, Segment); 3] = [(is_upload, syn()), (!is_upload, syn_ack()), (is_upload, ack(0))];
        let mut at_ns = 1_000_000;
        for (is_of_sender, segment) in opening {
            let (tsval, id) = (self.tsval(at_ns, is_of_sender), self.id(is_of_sender));
            let tsecr = if is_of_sender { self.sender_echoes } else { self.receiver_echoes };
            let came_ns = self.pass(at_ns, is_of_sender, &segment, [tsval, tsecr], id, true).unwrap_or(at_ns);
            *if is_of_sender { &mut self.receiver_echoes } else { &mut self.sender_echoes } = tsval;
            at_ns = came_ns + HOST_NS;
        }
        at_ns + 300_000
    }

    fn tsval(&self, now_ns: i64, is_of_sender: bool) -> u32 {
        (now_ns / 1_000_000) as u32 + if is_of_sender { 1_000_000 } else { 77_000_000 }
    }

    fn id(&mut self, is_of_sender: bool) -> u16 {
        let next = &mut self.next_id[usize::from(is_of_sender)];
        match self.world.ids {
            Ids::Zero => 0,
            Ids::Constant => 4711,
            Ids::Counting => {
                *next = next.wrapping_add(1).max(1);
                *next
            }
        }
    }

    fn at(&mut self, at_ns: i64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at_ns, self.number, event)));
    }

    /// A packet passes both points, or one; when it arrives, if it does.
    fn pass(
        &mut self,
        now_ns: i64,
        is_of_sender: bool,
        segment: &Segment,
        [tsval, tsecr]: [u32; 2],
        id: u16,
        is_safe: bool,
    ) -> Option<i64> {
        let way = usize::from(!is_of_sender);
        let world = &self.world;
        let takes_ns = if segment.length > 0 { world.serialization_ns } else { world.serialization_ns / 20 };
        let is_lost = !is_safe && self.dice.below(1_000_000) < u64::from(world.lost[way]);
        let jitter_ns = self.dice.below(world.jitter_ns.max(1) as u64) as i64;
        let left_ns = now_ns.max(self.free_ns[way]) + takes_ns;
        self.free_ns[way] = left_ns;
        let came_ns = (left_ns + world.rtt_ns / 2 + jitter_ns).max(self.came_ns[way] + 1_000);
        self.came_ns[way] = came_ns;
        let share = if let Second::Router(share, _) = world.second { share } else { 1.0 };
        let part = |share: f64| now_ns + ((came_ns - now_ns) as f64 * share) as i64;
        let seen = |at_ns: i64| Seen { at_ns, is_of_sender, segment: segment.clone(), tsval, tsecr, id };
        // The first part of the sender's way is the last of the receiver's.
        let loses_before_far = is_lost && world.loses_before == is_of_sender;
        if is_of_sender {
            self.seen[0].push(seen(now_ns));
            if !loses_before_far && (!is_lost || share < 1.0) {
                self.seen[1].push(seen(part(share)));
            }
        } else {
            let is_seen_there = share == 1.0 || !is_lost || world.loses_before;
            if is_seen_there {
                self.seen[1].push(seen(part(1.0 - share)));
            }
            if !is_lost {
                self.seen[0].push(seen(came_ns));
            }
        }
        (!is_lost).then_some(came_ns)
    }

    fn send_segment(&mut self, now_ns: i64, index: u32) {
        let (tsval, id) = (self.tsval(now_ns, true), self.id(true));
        let segment = data(i64::from(index) * i64::from(FULL), FULL).without_push().acking(0);
        if let Some(came_ns) = self.pass(now_ns, true, &segment, [tsval, self.sender_echoes], id, false) {
            self.at(came_ns, Event::Data { index, tsval });
        }
        self.at(now_ns + self.timeout_ns(), Event::Timeout { una: index });
    }

    fn timeout_ns(&self) -> i64 {
        self.world.rtt_ns + self.world.serialization_ns * i64::from(self.world.window) + 200_000_000
    }

    fn in_flight(&self) -> u32 {
        self.next - self.una - self.sacked.len() as u32
    }

    fn send(&mut self, now_ns: i64) {
        let first = self.seen[0].len();
        while self.next < self.world.segments && self.in_flight() < self.cwnd.min(self.world.window) {
            self.send_segment(now_ns, self.next);
            self.next += 1;
        }
        // Offload: what leaves at once is one frame in the sender's capture.
        let sent: Vec<Seen> = self.seen[0].drain(first..).collect();
        let most = self.world.sends_joined;
        self.seen[0].extend(joined(&sent, most));
    }

    fn happens(&mut self, now_ns: i64, event: Event) {
        match event {
            Event::Data { index, tsval } => self.on_data(now_ns, index, tsval),
            Event::DelayedAcknowledgement { up_to } if self.received == up_to && self.not_acknowledged > 0 => {
                self.acknowledge(now_ns);
            }
            Event::DelayedAcknowledgement { .. } => {}
            Event::Acknowledgement { up_to, sacked, tsval } => self.on_acknowledgement(now_ns, up_to, &sacked, tsval),
            Event::Timeout { una } => {
                if self.una == una && self.una < self.next {
                    self.cwnd = 2;
                    self.recover = self.next;
                    self.again.clear();
                    self.again.insert(una);
                    self.send_segment(now_ns, una);
                }
            }
        }
    }

    fn on_data(&mut self, now_ns: i64, index: u32, tsval: u32) {
        let is_next = index == self.received;
        if index >= self.received {
            self.above.insert(index);
        }
        if is_next && self.not_acknowledged == 0 {
            self.receiver_echoes = tsval;
        }
        while self.above.remove(&self.received) {
            self.received += 1;
            self.not_acknowledged += 1;
        }
        if !is_next || !self.above.is_empty() || self.not_acknowledged >= self.world.every {
            self.acknowledge(now_ns + HOST_NS);
        } else {
            self.at(now_ns + 40_000_000, Event::DelayedAcknowledgement { up_to: self.received });
        }
    }

    fn acknowledge(&mut self, now_ns: i64) {
        self.not_acknowledged = 0;
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for &index in &self.above {
            match blocks.last_mut().filter(|block| block.1 == index) {
                Some(block) => block.1 += 1,
                None => blocks.push((index, index + 1)),
            }
        }
        blocks.reverse();
        blocks.truncate(3);
        let bytes = |index: u32| i64::from(index) * i64::from(FULL);
        let segment = blocks
            .iter()
            .fold(ack(bytes(self.received)), |segment, &(start, end)| segment.sack(bytes(start), bytes(end)));
        let (tsval, id, echoes) = (self.tsval(now_ns, false), self.id(false), self.receiver_echoes);
        if let Some(came_ns) = self.pass(now_ns, false, &segment, [tsval, echoes], id, false) {
            self.at(came_ns, Event::Acknowledgement { up_to: self.received, sacked: blocks, tsval });
        }
    }

    fn on_acknowledgement(&mut self, now_ns: i64, up_to: u32, sacked: &[(u32, u32)], tsval: u32) {
        self.sender_echoes = tsval;
        if up_to > self.una {
            self.cwnd += up_to - self.una;
            self.una = up_to;
            self.sacked = self.sacked.split_off(&up_to);
            self.at(now_ns + self.timeout_ns(), Event::Timeout { una: up_to });
        }
        sacked.iter().for_each(|&(start, end)| self.sacked.extend(start.max(self.una)..end));
        let later_ns = now_ns + HOST_NS;
        // Three above it were reported: it was lost.
        let is_lost = |run: &Self, index: u32| run.sacked.range(index..).count() >= 3 && !run.sacked.contains(&index);
        if self.una >= self.recover {
            self.again.clear();
        }
        let lost: Vec<u32> = (self.una..self.next)
            .filter(|&index| !self.again.contains(&index))
            .take_while(|&index| is_lost(self, index) || self.sacked.contains(&index))
            .filter(|&index| is_lost(self, index))
            .collect();
        for index in lost {
            if self.una >= self.recover {
                self.recover = self.next;
                self.cwnd = (self.cwnd / 2).max(4);
            }
            self.again.insert(index);
            self.send_segment(later_ns, index);
        }
        self.send(later_ns);
    }
}
