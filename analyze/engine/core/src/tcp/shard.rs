//! The connections of one shard: finds the connection of a packet, begins new ones, puts finished ones away.
//!
//! Packets of a connection always come to the same shard, in order. A finished connection is kept in full for a few
//! seconds (for stragglers), then only its summary stays: memory goes with open connections, not with all there were.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::connection::Connection;
use super::openings::OpeningSeries;
use super::rows::Rows;
use super::summary::ConnectionSummary;
use crate::packet::{Packet, tcp_flags};

/// Finished connections are kept in full for this long,
const STRAGGLER_TIME_NS: i64 = 5_000_000_000;
/// but at most this many of those that were reset (data under way still comes),
const MOST_RESET: usize = 2048;
/// and this many of those whose every byte was acknowledged (a repeated FIN may still come, which a summary can count):
/// few enough to be still in the processor's cache when they are put away.
const MOST_ACKNOWLEDGED: usize = 64;

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
    closing: bool,
    state: State,
}

impl Slot {
    /// Whether the packet has these addresses and ports, and then whether it goes the way of the first packet.
    #[inline]
    fn direction_of(&self, packet: &Packet, bytes: &[u8]) -> Option<bool> {
        let swapped_ports = self.ports.rotate_left(16);
        match &self.addresses_v6 {
            None if packet.ip_version == 4 => {
                if packet.address_key == self.address_key && packet.ports == self.ports {
                    Some(true)
                } else {
                    (packet.address_key == self.address_key.rotate_left(32) && packet.ports == swapped_ports).then_some(false)
                }
            }
            Some(own) if packet.ip_version == 6 => {
                let offset = packet.address_offset as usize;
                let pair = bytes.get(offset..offset + 32)?;
                if packet.ports == self.ports && pair == own.as_slice() {
                    Some(true)
                } else {
                    (packet.ports == swapped_ports && pair[..16] == own[16..] && pair[16..] == own[..16]).then_some(false)
                }
            }
            _ => None,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Shard {
    table: HashTable<u32>,
    slots: Vec<Slot>,
    /// Closed connections by closing time and slot.
    acknowledged: VecDeque<(i64, u32)>,
    reset: VecDeque<(i64, u32)>,
    last: u32,
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

    /// Takes the next packet; `bytes` are those of its chunk, `order` its number among all packets.
    #[inline]
    pub fn packet(&mut self, packet: &Packet, bytes: &[u8], order: u64) {
        let (index, forward) = match self.slots.get(self.last as usize).and_then(|slot| slot.direction_of(packet, bytes)) {
            Some(forward) => (self.last, forward),
            None => self.find_or_begin(packet, bytes, order),
        };
        self.last = index;
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let from_client = forward == slot.first_from_client;
        match &mut slot.state {
            State::Live(connection) => {
                if packet.has(tcp_flags::SYN) && connection.is_followed_by(packet, from_client) {
                    self.replace(index, packet, bytes, order);
                    return;
                }
                let complete = connection.handshake.complete;
                connection.packet(packet, bytes, from_client, &mut self.environment);
                if connection.handshake.complete != complete {
                    self.environment.openings.established(packet);
                }
                if !slot.closing && connection.is_over() {
                    slot.closing = true;
                    let queue = if connection.reset.is_some() { &mut self.reset } else { &mut self.acknowledged };
                    queue.push_back((packet.time_ns, index));
                }
            }
            State::Done(summary) => {
                if packet.has(tcp_flags::SYN) {
                    self.replace(index, packet, bytes, order);
                    return;
                }
                summary.add_straggler(packet, usize::from(!from_client));
            }
        }
        self.put_away(packet.time_ns);
    }

    fn find_or_begin(&mut self, packet: &Packet, bytes: &[u8], order: u64) -> (u32, bool) {
        let slots = &self.slots;
        let found = self.table.find(spread(packet.flow_hash), |&index| {
            slots.get(index as usize).is_some_and(|slot| slot.hash == packet.flow_hash && slot.direction_of(packet, bytes).is_some())
        });
        match found {
            Some(&index) => (index, self.slots[index as usize].direction_of(packet, bytes) == Some(true)),
            None => (self.begin(packet, bytes, order), true),
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
            closing: false,
            state: State::Live(connection),
        }
    }

    /// The addresses and ports of slot `old` are used for another connection, which begins with `packet`.
    #[cold]
    fn replace(&mut self, old: u32, packet: &Packet, bytes: &[u8], order: u64) {
        let index = self.slots.len() as u32;
        let slot = self.new_slot(index, packet, bytes, order);
        self.slots.push(slot);
        if let Some(entry) = self.table.find_mut(spread(packet.flow_hash), |&entry| entry == old) {
            *entry = index;
        }
        finish(&mut self.slots, old, self.environment.fixed_spacing_limit_ns);
        self.last = index;
        self.packet(packet, bytes, order);
    }

    #[inline]
    fn put_away(&mut self, now_ns: i64) {
        for (queue, most) in [(&mut self.acknowledged, MOST_ACKNOWLEDGED), (&mut self.reset, MOST_RESET)] {
            while let Some(&(closed_ns, index)) = queue.front()
                && (now_ns.saturating_sub(closed_ns) > STRAGGLER_TIME_NS || queue.len() > most)
            {
                queue.pop_front();
                finish(&mut self.slots, index, self.environment.fixed_spacing_limit_ns);
            }
        }
    }

    /// Ends all connections and gives their summaries, in order of their first packet within the shard.
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
