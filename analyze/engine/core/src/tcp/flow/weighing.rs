//! Weighs the connections of a shard now and then, and makes room: SYNs without a reply that are too many become sums.

use crate::tcp::connection::connection::Connection;
use crate::tcp::flow::memory_budget::{Fullness, Room, Weighed, held_bytes};
use crate::tcp::flow::slot::{Slot, State};
use crate::tcp::flow::table::Shard;
use crate::tcp::flow::unanswered::Attempt;

/// A SYN that was retransmitted within this may still get its reply, where what was read can be read again, in parts.
const REPLY_WITHIN_NS: i64 = 4_000_000_000;

/// Sums leave this share of the open ones' room to SYNs that may still get a reply.
const AWAITED_SHARE: usize = 4;

impl Shard {
    /// Its open connections take more than there is room for.
    pub fn is_overfull(&mut self, room: &Room) -> bool {
        self.fullness(room) == Fullness::Overfull
    }

    /// Whether there is room for its connections. They are weighed only if they may have grown by much since that was asked last.
    pub fn fullness(&mut self, room: &Room) -> Fullness {
        // A look at every eighth connection for each packet at most, so that it costs nothing to speak of.
        let Weighed { slots, packets_since, fullness, .. } = self.weighed;
        let has_grown = self.slots.len() > slots + slots / 8 || packets_since > 8 * slots;
        if fullness != Fullness::Fits || !has_grown || room.surely_holds(self.slots.len()) {
            return fullness;
        }
        let (results, mut open_bytes, unanswered) = self.weights();
        let mut fullness = room.fullness(results, open_bytes);
        if fullness != Fullness::Fits && room.sums(unanswered) {
            self.sum_up(room);
            open_bytes = self.weights().1;
            fullness = room.fullness(results, open_bytes);
        }
        self.weighed = Weighed { slots: self.slots.len(), packets_since: 0, open_bytes, fullness };
        fullness
    }

    /// What its open connections took when they were weighed last.
    pub fn open_bytes(&self) -> usize {
        self.weighed.open_bytes
    }

    /// Connections that are over, what open ones take, and how many of these are SYNs without a reply.
    fn weights(&self) -> (usize, usize, usize) {
        let (mut results, mut open_bytes, mut unanswered) = (0, 0, 0);
        for slot in &self.slots {
            match &slot.state {
                State::Live(connection) => {
                    open_bytes += held_bytes(connection);
                    unanswered += usize::from(is_unanswered(connection));
                }
                State::Done(_) => results += 1,
                State::Awaited => {}
            }
        }
        (results, open_bytes, unanswered)
    }

    /// Sums up SYNs without a reply, those that were silent for longest first.
    fn sum_up(&mut self, room: &Room) {
        let attempt = |slot: &Slot| match &slot.state {
            State::Live(connection) if is_unanswered(connection) => {
                Some((connection.times.end_ns, held_bytes(connection)))
            }
            _ => None,
        };
        let mut awaited: Vec<(i64, usize)> = self.slots.iter().filter_map(attempt).collect();
        awaited.sort_unstable_by_key(|(end_ns, _)| std::cmp::Reverse(*end_ns));
        let Some(&(newest_ns, each_bytes)) = awaited.first() else { return };
        let fit = room.open_bytes(0) / AWAITED_SHARE / each_bytes;
        let Some(&(too_many_ns, _)) = awaited.get(fit) else { return };
        let within_ns = if room.is_read_again() { REPLY_WITHIN_NS } else { 0 };
        let before_ns = too_many_ns.saturating_add(1).min(newest_ns.saturating_sub(within_ns));
        let mut is_kept = vec![true; self.slots.len()];
        for (slot, is_kept) in self.slots.iter().zip(&mut is_kept) {
            if let State::Live(connection) = &slot.state
                && is_unanswered(connection)
                && connection.times.end_ns < before_ns
            {
                self.shared.unanswered.add(&Attempt::of_connection(connection));
                *is_kept = false;
            }
        }
        self.keep_slots(&is_kept);
    }
}

/// It is SYNs of the client alone so far.
fn is_unanswered(connection: &Connection) -> bool {
    let [client, server] = &connection.directions;
    let syns = u64::from(connection.terms.handshake.syn.count);
    syns > 0 && client.packets_so_far() == syns && server.packets_so_far() == 0 && !connection.detailed
}
