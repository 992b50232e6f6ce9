//! The connections of one shard: finds the connection of a packet, begins new ones, puts finished ones away.
//!
//! Packets of a connection always come to the same shard, in order. Of a finished connection only its summary stays, which
//! can count stragglers: memory goes with open connections, not with all there were. When that happens depends on the
//! packets of the connection and their numbers alone, or the results would hang on the number of threads.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::connection::Connection;
use super::duplicates::signature;
use super::openings::OpeningSeries;
use super::rows::Rows;
use super::summary::ConnectionSummary;
use crate::packet::{Packet, tcp_flags};

/// A connection that was reset while data passed is kept in full for so many packets of the capture: data under way still
/// comes. Counted in packets and not in time, so that it is the same whatever the threads and chunks, and memory is bounded.
const STRAGGLERS_WITHIN: u64 = 1 << 17;

/// A step of the capture clock against the hosts' clocks.
#[derive(Debug, Clone, Copy)]
pub struct ClockStep {
    /// Input it was seen in.
    pub input: u16,
    /// When, by the capture clock.
    pub time_ns: i64,
    /// How far the capture clock jumped ahead.
    pub ahead_ns: i64,
}

/// What connections share while their packets are taken.
#[derive(Debug, Default)]
pub struct Environment {
    /// User's limit of oversize spacing.
    pub fixed_spacing_limit_ns: Option<u64>,
    /// SYNs over time.
    pub openings: OpeningSeries,
    /// Per-packet rows.
    pub rows: Rows,
    /// Clock steps, as connections see them.
    pub clock_steps: Vec<ClockStep>,
}

enum State {
    Live(Box<Connection>),
    Done(Box<ConnectionSummary>),
}

struct Slot {
    /// Addresses and ports of the first packet, in its direction.
    address_key: u64,
    addresses_v6: Option<Box<[u8; 32]>>,
    ports: u32,
    hash: u32,
    first_from_client: bool,
    /// Its line in the current [`Order`], if that line's slot is this one.
    line: u32,
    state: State,
}

impl Slot {
    /// The packet that ended the connection may be captured once more.
    fn remember_last(&mut self, packet: &Packet, bytes: &[u8]) {
        if let State::Done(summary) = &mut self.state {
            summary.ended_by = Some((signature(packet, bytes), packet.time_ns));
        }
    }

    /// Whether the packet has these addresses and ports, and then whether it goes the way of the first packet.
    #[inline]
    fn direction_of(&self, packet: &Packet, bytes: &[u8]) -> Option<bool> {
        let swapped_ports = self.ports.rotate_left(16);
        match &self.addresses_v6 {
            None if packet.ip_version == 4 => {
                if packet.address_key == self.address_key && packet.ports == self.ports {
                    Some(true)
                } else {
                    (packet.address_key == self.address_key.rotate_left(32) && packet.ports == swapped_ports)
                        .then_some(false)
                }
            }
            Some(own) if packet.ip_version == 6 => {
                let offset = packet.address_offset as usize;
                let pair = bytes.get(offset..offset + 32)?;
                if packet.ports == self.ports && pair == own.as_slice() {
                    Some(true)
                } else {
                    (packet.ports == swapped_ports && pair[..16] == own[16..] && pair[16..] == own[..16])
                        .then_some(false)
                }
            }
            _ => None,
        }
    }
}

/// The packets of one connection within a chunk.
#[derive(Debug, Clone, Copy)]
struct Line {
    slot: u32,
    first: u32,
    last: u32,
}

/// The packets of a chunk, connection by connection.
#[derive(Debug, Default)]
struct Order {
    lines: Vec<Line>,
    /// For each packet the next one of its connection, [`Order::NONE`] for the last.
    followers: Vec<u32>,
}

impl Order {
    const NONE: u32 = u32::MAX;

    fn clear(&mut self, packets: usize) {
        self.lines.clear();
        self.followers.clear();
        self.followers.resize(packets, Self::NONE);
    }
}

/// Connections that alternate are found here without asking the table.
struct Nearby([u32; Nearby::PLACES]);

impl Nearby {
    const PLACES: usize = 256;

    #[inline]
    fn place(&mut self, hash: u32) -> &mut u32 {
        &mut self.0[hash as usize % Self::PLACES]
    }
}

impl Default for Nearby {
    fn default() -> Self {
        Self([u32::MAX; Self::PLACES])
    }
}

/// See the module.
#[derive(Default)]
pub struct Shard {
    table: HashTable<u32>,
    slots: Vec<Slot>,
    /// Connections reset while data passed, by number of the packet that did it, and slot.
    reset: VecDeque<(u64, u32)>,
    /// Slots of the connections seen last, by the low bits of their hash.
    nearby: Nearby,
    order: Order,
    detail: Vec<u32>,
    /// Shared by its connections.
    pub environment: Environment,
}

/// The hash table wants its entropy in the high bits too.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Shard {
    /// An empty shard; `detail` are the numbers of connections whose packets are wanted one by one.
    pub fn new(fixed_spacing_limit_ns: Option<u64>, detail: Vec<u32>) -> Self {
        let environment = Environment { fixed_spacing_limit_ns, ..Environment::default() };
        Self { detail, environment, ..Self::default() }
    }

    /// Takes a chunk's packets in order; `bytes` are those of the chunk, `first_order` the number of its first packet among
    /// all. `chosen` are the packets of this shard, all of them if none.
    ///
    /// Connections are taken one after the other, each with all its packets of the chunk: its records then stay in the
    /// processor's first cache (a quarter faster where few connections alternate, a third where many do).
    pub fn batch(&mut self, packets: &[Packet], chosen: Option<&[u32]>, bytes: &[u8], first_order: u64) {
        if self.detail.is_empty() {
            let mut order = std::mem::take(&mut self.order);
            order.clear(packets.len());
            match chosen {
                Some(chosen) => {
                    chosen.iter().for_each(|&index| self.line_up(&mut order, packets, index, bytes, first_order))
                }
                None => (0..packets.len() as u32)
                    .for_each(|index| self.line_up(&mut order, packets, index, bytes, first_order)),
            }
            for line in &order.lines {
                let mut slot = line.slot;
                let mut next = line.first;
                while let Some(packet) = packets.get(next as usize) {
                    slot = self.take(slot, packet, bytes, first_order + u64::from(next));
                    next = order.followers[next as usize];
                }
            }
            self.order = order;
        } else {
            // Rows of single packets are wanted in capture order.
            for (packet, number) in packets.iter().zip(first_order..) {
                let slot = self.slot_of(packet, bytes, number);
                self.take(slot, packet, bytes, number);
            }
        }
        self.put_away(first_order + packets.len() as u64);
    }

    /// Puts a packet at the end of its connection's line.
    #[inline]
    fn line_up(&mut self, order: &mut Order, packets: &[Packet], index: u32, bytes: &[u8], first_order: u64) {
        let Some(packet) = packets.get(index as usize) else { return };
        let number = self.slot_of(packet, bytes, first_order + u64::from(index));
        let slot = &mut self.slots[number as usize];
        match order.lines.get_mut(slot.line as usize) {
            Some(line) if line.slot == number => {
                order.followers[line.last as usize] = index;
                line.last = index;
            }
            _ => {
                slot.line = order.lines.len() as u32;
                order.lines.push(Line { slot: number, first: index, last: index });
            }
        }
    }

    #[inline]
    fn slot_of(&mut self, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let index = *self.nearby.place(packet.flow_hash);
        match self.slots.get(index as usize) {
            Some(slot) if slot.direction_of(packet, bytes).is_some() => index,
            _ => {
                let index = self.find_or_begin(packet, bytes, order);
                *self.nearby.place(packet.flow_hash) = index;
                index
            }
        }
    }

    /// Takes the next packet of a slot; returns the slot for the one after it.
    #[inline]
    fn take(&mut self, index: u32, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let Some(slot) = self.slots.get_mut(index as usize) else { return index };
        let forward = slot.direction_of(packet, bytes).unwrap_or(true);
        let from_client = forward == slot.first_from_client;
        match &mut slot.state {
            State::Live(connection) => {
                if packet.has(tcp_flags::SYN) && connection.is_followed_by(packet, from_client) {
                    return self.replace(index, packet, bytes, order);
                }
                if connection.over_since.is_some_and(|since| order - since > STRAGGLERS_WITHIN) {
                    finish(&mut self.slots, index, self.environment.fixed_spacing_limit_ns);
                    return self.take(index, packet, bytes, order);
                }
                let complete = connection.handshake.complete;
                connection.packet(packet, bytes, from_client, &mut self.environment);
                if connection.handshake.complete != complete {
                    self.environment.openings.established(packet);
                }
                if connection.over_since.is_none() && connection.is_over() {
                    connection.over_since = Some(order);
                    if connection.is_cut_short() {
                        self.reset.push_back((order, index));
                    } else if !connection.detailed {
                        finish(&mut self.slots, index, self.environment.fixed_spacing_limit_ns);
                        self.slots[index as usize].remember_last(packet, bytes);
                    }
                }
            }
            State::Done(summary) => {
                if packet.has(tcp_flags::SYN) {
                    return self.replace(index, packet, bytes, order);
                }
                if packet.has(tcp_flags::RST) {
                    self.environment.openings.reset(packet);
                }
                summary.add_straggler(packet, bytes, usize::from(!from_client));
            }
        }
        index
    }

    fn find_or_begin(&mut self, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let slots = &self.slots;
        let found = self.table.find(spread(packet.flow_hash), |&index| {
            slots
                .get(index as usize)
                .is_some_and(|slot| slot.hash == packet.flow_hash && slot.direction_of(packet, bytes).is_some())
        });
        match found {
            Some(&index) => index,
            None => self.begin(packet, bytes, order),
        }
    }

    fn begin(&mut self, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let index = self.slots.len() as u32;
        let slot = self.new_slot(index, packet, bytes, order);
        self.slots.push(slot);
        let slots = &self.slots;
        self.table.insert_unique(spread(packet.flow_hash), index, |&other| spread(slots[other as usize].hash));
        index
    }

    fn new_slot(&self, index: u32, packet: &Packet, bytes: &[u8], order: u64) -> Slot {
        let mut connection = Box::new(Connection::new(index + 1, packet, bytes));
        connection.order = order;
        connection.detailed = self.detail.contains(&connection.id);
        let first_from_client = connection.ports[0] == (packet.ports >> 16) as u16 && {
            let length = if packet.ip_version == 4 { 4 } else { 16 };
            let offset = packet.address_offset as usize;
            bytes.get(offset..offset + length).unwrap_or_default() == &connection.addresses[..length]
        };
        let addresses_v6 = (packet.ip_version == 6).then(|| {
            let mut pair = [0; 32];
            let offset = packet.address_offset as usize;
            pair.copy_from_slice(bytes.get(offset..offset + 32).unwrap_or(&[0; 32]));
            Box::new(pair)
        });
        Slot {
            address_key: packet.address_key,
            addresses_v6,
            ports: packet.ports,
            hash: packet.flow_hash,
            first_from_client,
            line: 0,
            state: State::Live(connection),
        }
    }

    /// The addresses and ports of slot `old` are used for another connection, which begins with `packet`.
    #[cold]
    fn replace(&mut self, old: u32, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let index = self.slots.len() as u32;
        let slot = self.new_slot(index, packet, bytes, order);
        self.slots.push(slot);
        if let Some(entry) = self.table.find_mut(spread(packet.flow_hash), |&entry| entry == old) {
            *entry = index;
        }
        finish(&mut self.slots, old, self.environment.fixed_spacing_limit_ns);
        *self.nearby.place(packet.flow_hash) = index;
        self.take(index, packet, bytes, order)
    }

    #[inline]
    fn put_away(&mut self, order: u64) {
        while let Some(&(since, index)) = self.reset.front()
            && order.saturating_sub(since) > STRAGGLERS_WITHIN
        {
            self.reset.pop_front();
            finish(&mut self.slots, index, self.environment.fixed_spacing_limit_ns);
        }
    }

    /// Ends all connections and gives their summaries, in order of their first packet within the shard.
    #[allow(clippy::vec_box)]
    pub fn finish_all(mut self) -> (Vec<Box<ConnectionSummary>>, Environment) {
        let limit = self.environment.fixed_spacing_limit_ns;
        let summaries = self.slots.drain(..).map(|slot| match slot.state {
            State::Live(mut connection) => Box::new(ConnectionSummary::of(&mut connection, limit)),
            State::Done(summary) => summary,
        });
        (summaries.collect(), self.environment)
    }
}

/// Leaves only the summary of a connection.
fn finish(slots: &mut [Slot], index: u32, fixed_limit_ns: Option<u64>) {
    if let Some(slot) = slots.get_mut(index as usize)
        && let State::Live(connection) = &mut slot.state
    {
        let summary = Box::new(ConnectionSummary::of(connection, fixed_limit_ns));
        slot.state = State::Done(summary);
    }
}
