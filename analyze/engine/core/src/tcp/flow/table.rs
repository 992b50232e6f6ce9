//! The connections of one shard: finds the connection of a packet, begins new ones, puts finished ones away.
//!
//! Packets of a connection always come to the same shard, in order. Of a finished connection only its summary stays, which
//! can count stragglers: memory goes with open connections, not with all there were. When that happens depends on the
//! packets of the connection and their numbers alone, or the results would hang on the number of threads.

use crate::tcp::connection::{checksums, on_packet, steady};
use crate::tcp::flow::{resumed, taken_over};
use crate::tcp::summary::{stragglers, summarize};
use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::decode::hash::GOLDEN;
use crate::http2::Http2Reader;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::doubtful::DoubtfulPackets;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::rtt_lengthened::stalled_trips;
use crate::tcp::flow::by_flow::{Lines, Link};
use crate::tcp::flow::forgotten::Forgotten;
use crate::tcp::flow::memory_budget::Weighed;
use crate::tcp::flow::orders::Orders;
use crate::tcp::flow::selection::Detail;
use crate::tcp::flow::slot::{KnownLine, NONE, Nearby, Slot, State};
use crate::tcp::flow::unanswered::Unanswered;
use crate::tcp::gaps::state::shortest_gap_ns;
use crate::tcp::stats::pool::Pool;
use crate::tcp::summary::capture_faults::CaptureFaults;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::factors::{reassignments, round_rules};

/// A connection that was reset while data passed, of which everything comes twice, or whose repeats may still be answered,
/// is kept in full for so many packets of the capture: what is under way still comes. Counted in packets and not in time, so
/// that it is the same whatever the threads and chunks, and memory is bounded.
const STRAGGLERS_WITHIN: u64 = 1 << 17;

/// See the module.
#[derive(Clone, Default)]
pub struct Shard {
    pub(super) table: HashTable<u32>,
    pub(super) slots: Vec<Slot>,
    /// Connections that are over while something is under way, by number of the packet that ended them, and slot.
    pub(super) ending: VecDeque<(u64, u32)>,
    pub(super) nearby: Nearby,
    /// The lines of the chunk in hand.
    found: Vec<KnownLine>,
    detail: Detail,
    pub(super) weighed: Weighed,
    /// Shared by its connections.
    pub shared: Shared,
}

/// What connections of a shard share, and what those that are over have left.
#[derive(Clone, Default)]
pub struct Shared {
    /// What they share while their packets are taken.
    pub environment: Environment,
    /// What finished connections show of the captures.
    pub faults: CaptureFaults,
    /// Which connections are gone.
    pub forgotten: Forgotten,
    /// SYNs without a reply that are no connections of their own.
    pub unanswered: Unanswered,
    /// Their records, for others.
    spares: Pool<Connection>,
}

impl Shared {
    /// Adds what connections of another shard, or part, have left.
    pub fn merge(&mut self, other: Self) {
        self.environment.openings.merge(other.environment.openings);
        self.environment.clock_steps.extend(other.environment.clock_steps);
        self.faults.merge(&other.faults);
        self.unanswered.merge(other.unanswered);
    }

    /// Keeps the records of a connection that is over.
    fn leave(&mut self, mut connection: Box<Connection>) {
        for direction in &mut connection.directions {
            direction.live.take().into_iter().for_each(|live| self.environment.lives.leave(live));
        }
        connection.watch.standstills.take().into_iter().for_each(|one| self.environment.standstills.leave(one));
        self.spares.leave(connection);
    }
}

/// The hash table wants its entropy in the high bits too.
#[inline]
pub(super) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(GOLDEN)
}

impl Shard {
    /// An empty shard.
    pub fn new(fixed_spacing_limit_ns: Option<u64>, detail: Detail) -> Self {
        let environment = Environment {
            fixed_spacing_limit_ns,
            round_rules: round_rules(),
            reassignments: reassignments(),
            ..Environment::default()
        };
        Self { detail, shared: Shared { environment, ..Shared::default() }, ..Self::default() }
    }

    /// Takes those of a chunk's packets that stand in lines of shard number `shard`; `bytes` are those of the chunk,
    /// `first_order` the number of its first packet among all.
    ///
    /// Connections are taken one after the other, each with all its packets of the chunk: its records then stay in the
    /// processor's first cache (a quarter faster where few connections alternate, a third where many do).
    pub fn batch(&mut self, packets: &[Packet], lines: &Lines, shard: usize, bytes: &[u8], first_order: u64) {
        self.batch_at(packets, lines, shard, bytes, Orders::from(first_order));
    }

    /// The same of packets between which others passed that are analysed elsewhere.
    pub fn batch_at(&mut self, packets: &[Packet], lines: &Lines, shard: usize, bytes: &[u8], orders: Orders<'_>) {
        if self.detail.is_empty() {
            // All are found before any is taken: connections are numbered in order of their first packet.
            let mut found = std::mem::take(&mut self.found);
            let firsts = lines.of_shard(shard).iter();
            found.extend(firsts.filter_map(|&first| self.find_line(packets, first, bytes)));
            found.drain(..).for_each(|line| self.take_line(line, lines, packets, bytes, orders));
            self.found = found;
        } else {
            // Rows of single packets are wanted in capture order.
            for (index, packet) in packets.iter().enumerate() {
                if !self.detail.takes(packet.flow_hash) {
                    continue;
                }
                let (slot, from_client) = self.find_or_begin(packet, bytes);
                self.take(slot, packet, bytes, from_client, orders.at(index));
            }
        }
        self.put_away(orders.end(packets.len()));
        self.weighed.packets_since += packets.len();
    }

    /// The connection of the line that begins with packet `first`.
    fn find_line(&mut self, packets: &[Packet], first: u32, bytes: &[u8]) -> Option<KnownLine> {
        let packet = packets.get(first as usize)?;
        let recent = *self.nearby.place(packet.flow_hash);
        let known = self.slots.get(recent as usize).and_then(|slot| slot.sent_by_client(packet, bytes));
        let (slot, from_client) = match known {
            Some(from_client) => (recent, from_client),
            None => self.find_or_begin(packet, bytes),
        };
        *self.nearby.place(packet.flow_hash) = slot;
        Some(KnownLine { slot, first, from_client })
    }

    /// Takes the packets of a line. What a steady connection carries needs no look at its slot.
    fn take_line(&mut self, line: KnownLine, lines: &Lines, packets: &[Packet], bytes: &[u8], orders: Orders<'_>) {
        let mut slot = line.slot;
        while let Some(Slot { successor, .. }) = self.slots.get(slot as usize)
            && *successor != NONE
        {
            slot = *successor;
        }
        let mut link = Link::new(line.first, false);
        loop {
            if let Some(Slot { state: State::Live(connection), .. }) = self.slots.get_mut(slot as usize)
                && slot == line.slot
                && steady::is_steady(connection)
            {
                let shortest_ns = shortest_gap_ns(self.shared.environment.fixed_spacing_limit_ns);
                let telling_bits = steady::telling_bits(connection);
                while let Some(packet) = packets.get(link.index())
                    && packet.flags & telling_bits == 0
                {
                    let environment = &mut self.shared.environment;
                    let side = usize::from(link.is_reverse() == line.from_client);
                    checksums::sample(&mut connection.directions[side], packet, bytes);
                    let is_steady = match side {
                        0 => steady::steady_packet::<0>(connection, packet, bytes, shortest_ns, environment),
                        _ => steady::steady_packet::<1>(connection, packet, bytes, shortest_ns, environment),
                    };
                    link = lines.after(link);
                    if !is_steady {
                        break;
                    }
                }
            }
            let Some(packet) = packets.get(link.index()) else { return };
            // The client of a connection that took over the addresses may be the other side.
            let own = self.slots.get(slot as usize).filter(|_| slot != line.slot);
            let by_line = link.is_reverse() != line.from_client;
            let from_client = own.and_then(|own| own.sent_by_client(packet, bytes)).unwrap_or(by_line);
            slot = self.take(slot, packet, bytes, from_client, orders.at(link.index()));
            link = lines.after(link);
        }
    }

    /// Takes the next packet of a slot; returns the slot for the one after it.
    fn take(&mut self, index: u32, packet: &Packet, bytes: &[u8], from_client: bool, order: u64) -> u32 {
        let Some(slot) = self.slots.get_mut(index as usize) else { return index };
        match &mut slot.state {
            State::Awaited => {
                let number = self.detail.number(order, index + 1);
                let mut connection = self.shared.spares.place(|| Connection::new(number, packet, bytes));
                connection.identity.order = order;
                connection.detailed = self.detail.wants(number);
                if self.shared.environment.keys.any() {
                    connection.streams.http2 = Some(Box::new(Http2Reader::sealed(&self.shared.environment.keys)));
                }
                slot.state = State::Live(connection);
                return self.take(index, packet, bytes, from_client, order);
            }
            State::Live(connection) => {
                if let Some(held) = taken_over::taken_over(connection, packet, usize::from(!from_client)) {
                    return self.take_over(index, held, packet, bytes, from_client, order);
                }
                let is_late = connection.endings.over_since.is_some_and(|since| order - since > STRAGGLERS_WITHIN);
                // Whether a SYN begins another connection is asked of the summary then.
                let asks_summary = connection.endings.over_but_for_rows && packet.has(tcp_flags::SYN);
                if is_late || asks_summary || resumed::is_followed_by(connection, packet, from_client) {
                    finish(&mut self.slots, index, &mut self.shared);
                    return self.take(index, packet, bytes, from_client, order);
                }
                let complete = connection.terms.handshake.complete;
                checksums::sample(&mut connection.directions[usize::from(!from_client)], packet, bytes);
                on_packet::on_packet(connection, packet, bytes, from_client, &mut self.shared.environment);
                if connection.terms.handshake.complete != complete {
                    self.shared.environment.openings.established(packet);
                }
                if connection.endings.over_since.is_none() && resumed::is_over(connection) {
                    connection.endings.over_since = Some(order);
                    if resumed::is_cut_short(connection)
                        || connection.doubts.two_points.is_some()
                        || resumed::awaits_answers(connection)
                    {
                        self.ending.push_back((order, index));
                    } else if connection.detailed {
                        connection.endings.over_but_for_rows = true;
                    } else {
                        finish(&mut self.slots, index, &mut self.shared);
                        self.slots[index as usize].remember_last(packet, bytes);
                    }
                }
            }
            State::Done(summary) => {
                if let Some(mut connection) =
                    resumed::resumed_by(summary, packet, bytes, from_client, &mut self.shared.spares)
                {
                    connection.detailed = self.detail.wants(connection.identity.id);
                    slot.state = State::Live(connection);
                    return self.take(index, packet, bytes, from_client, order);
                }
                let is_own = resumed::is_answered_again_by(summary, packet, from_client)
                    || resumed::began_with(summary, packet, from_client);
                if packet.has(tcp_flags::SYN) && !is_own {
                    return self.replace(index, packet, bytes, order);
                }
                if packet.has(tcp_flags::RST) {
                    self.shared.environment.openings.reset(packet);
                }
                if stragglers::add_straggler(summary, packet, bytes, usize::from(!from_client)) {
                    self.shared.faults.at(summary.input).duplicates += 1;
                }
            }
        }
        index
    }

    /// The slot of a packet, and whether the client sent it.
    fn find_or_begin(&mut self, packet: &Packet, bytes: &[u8]) -> (u32, bool) {
        let slots = &self.slots;
        let mut from_client = None;
        let found = self.table.find(spread(packet.flow_hash), |&index| {
            from_client = slots
                .get(index as usize)
                .filter(|slot| slot.hash == packet.flow_hash)
                .and_then(|slot| slot.sent_by_client(packet, bytes));
            from_client.is_some()
        });
        match (found, from_client) {
            (Some(&index), Some(from_client)) => (index, from_client),
            _ => self.begin(packet, bytes),
        }
    }

    fn begin(&mut self, packet: &Packet, bytes: &[u8]) -> (u32, bool) {
        let index = self.slots.len() as u32;
        let (slot, from_client) = Slot::new(packet, bytes);
        self.slots.push(slot);
        let slots = &self.slots;
        self.table.insert_unique(spread(packet.flow_hash), index, |&other| spread(slots[other as usize].hash));
        (index, from_client)
    }

    /// The addresses and ports of slot `old`, whose connection is finished, are used for another connection, which begins
    /// with `packet`.
    #[cold]
    fn replace(&mut self, old: u32, packet: &Packet, bytes: &[u8], order: u64) -> u32 {
        let index = self.slots.len() as u32;
        let (slot, from_client) = Slot::new(packet, bytes);
        self.slots.push(slot);
        self.succeed(old, index, packet.flow_hash);
        self.take(index, packet, bytes, from_client, order)
    }

    /// The connection of slot `new` uses the addresses and ports of `old` from now on.
    fn succeed(&mut self, old: u32, new: u32, flow_hash: u32) {
        if let Some(entry) = self.table.find_mut(spread(flow_hash), |&entry| entry == old) {
            *entry = new;
        }
        self.slots[old as usize].successor = new;
        let recent = self.nearby.place(flow_hash);
        if *recent == old {
            *recent = new;
        }
    }

    /// The same, of a connection whose SYN is not in the capture: `held` are packets of it that came before `packet`, of the side that
    /// sent that and of the other.
    #[cold]
    fn take_over(
        &mut self,
        old: u32,
        held: [Option<DoubtfulPackets>; 2],
        packet: &Packet,
        bytes: &[u8],
        from_client: bool,
        order: u64,
    ) -> u32 {
        let side = usize::from(!from_client);
        if let Some(Slot { state: State::Live(connection), .. }) = self.slots.get_mut(old as usize) {
            // They are no strays.
            for (side, held) in [side, 1 - side].into_iter().zip(held) {
                let unacceptable = &mut connection.directions[side].loss.unacceptable;
                *unacceptable = unacceptable.saturating_sub(held.map_or(0, |held| u32::from(held.in_row)));
            }
        }
        finish(&mut self.slots, old, &mut self.shared);
        let index = self.slots.len() as u32;
        let Some(before) = self.slots.get(old as usize) else { return old };
        let State::Done(summary) = &before.state else { return old };
        let number = self.detail.number(order, index + 1);
        let mut connection = self.shared.spares.place(|| Connection::new(number, packet, bytes));
        (connection.identity.addresses, connection.identity.ports) = (summary.addresses, summary.ports);
        (connection.identity.order, connection.detailed) = (order, self.detail.wants(number));
        let slot = Slot {
            address_key: before.address_key,
            addresses_v6: before.addresses_v6.clone(),
            ports: before.ports,
            hash: before.hash,
            successor: NONE,
            state: State::Awaited,
        };
        let first = held.iter().flatten().map(|held| &held.first).min_by_key(|first| (first.time_ns, first.frame));
        if let Some(first) = first {
            (connection.times.start_ns, connection.times.end_ns) = (first.time_ns, first.time_ns);
            (connection.identity.input, connection.identity.first_frame) = (first.input, first.frame);
        }
        on_packet::take_held(&mut connection, side, held, &mut self.shared.environment);
        self.slots.push(Slot { state: State::Live(connection), ..slot });
        self.succeed(old, index, packet.flow_hash);
        self.take(index, packet, bytes, from_client, order)
    }

    #[inline]
    fn put_away(&mut self, order: u64) {
        while let Some(&(since, index)) = self.ending.front()
            && order.saturating_sub(since) > STRAGGLERS_WITHIN
        {
            self.ending.pop_front();
            // It may have gone on meanwhile.
            if self.is_over_since(index, since) {
                finish(&mut self.slots, index, &mut self.shared);
            }
        }
    }

    fn is_over_since(&self, index: u32, since: u64) -> bool {
        matches!(
            self.slots.get(index as usize).map(|slot| &slot.state),
            Some(State::Live(connection)) if connection.endings.over_since == Some(since)
        )
    }

    /// The connections in progress, for tests that compare two ways to one state.
    #[doc(hidden)]
    pub fn in_progress(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().filter_map(|slot| match &mut slot.state {
            State::Live(connection) => Some(&mut **connection),
            State::Awaited | State::Done(_) => None,
        })
    }

    /// What is left of those that are over, for the same tests.
    #[doc(hidden)]
    pub fn finished(&self) -> impl Iterator<Item = &ConnectionSummary> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            State::Done(summary) => Some(&**summary),
            State::Awaited | State::Live(_) => None,
        })
    }

    /// Ends all connections and gives their summaries, in order of their first packet within the shard.
    #[allow(clippy::vec_box)]
    pub fn finish_all(mut self) -> (Vec<Box<ConnectionSummary>>, Shared) {
        (0..self.slots.len() as u32).for_each(|index| finish(&mut self.slots, index, &mut self.shared));
        let summaries = self.slots.into_iter().filter_map(|slot| match slot.state {
            State::Done(summary) => Some(summary),
            State::Awaited | State::Live(_) => None,
        });
        (summaries.collect(), self.shared)
    }
}

/// Leaves only the summary of a connection.
fn finish(slots: &mut [Slot], index: u32, shared: &mut Shared) {
    if let Some(slot) = slots.get_mut(index as usize)
        && let State::Live(connection) = &mut slot.state
    {
        let summary = summarize::summary_of(connection, &shared.environment);
        shared.faults.count(&summary);
        if connection.detailed {
            shared.environment.rows.mark_stalled(connection.identity.id, stalled_trips(connection));
        }
        if let State::Live(connection) = std::mem::replace(&mut slot.state, State::Done(summary)) {
            shared.leave(connection);
        }
    }
}
