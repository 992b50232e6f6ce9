//! Connections that a reading without end may forget: those that ended long ago, and where there is no room, those that have been silent
//! the longest. Who reads a file never does.

use std::collections::HashMap;

use hashbrown::HashTable;

use crate::tcp::flow::memory_budget::{Room, held_bytes};
use crate::tcp::flow::slot::{NONE, Nearby, Slot, State};
use crate::tcp::flow::table::{Shard, spread};

/// Where there is no room, so much of it is made: the share that stays.
const KEPT_SHARE: (usize, usize) = (3, 4);

impl Shard {
    /// Forgets connections that ended before `ended_before_ns`; if the others take more than there is room for, those with the
    /// earliest last packets, open or not. Gives the numbers of their first packets, ascending.
    pub fn forget(&mut self, ended_before_ns: i64, room: &Room) -> Vec<u64> {
        let silent_before_ns = self.silent_before_ns(ended_before_ns, room);
        let is_kept = |slot: &Slot| match &slot.state {
            State::Done(summary) => summary.end_ns >= ended_before_ns.max(silent_before_ns),
            State::Live(connection) if connection.endings.over_since.is_none() => {
                connection.times.end_ns >= silent_before_ns
            }
            // What is under way would still be counted.
            State::Live(connection) => connection.times.end_ns >= ended_before_ns.max(silent_before_ns),
            State::Awaited => true,
        };
        let order = |slot: &Slot| match &slot.state {
            State::Done(summary) => summary.order,
            State::Live(connection) => connection.identity.order,
            State::Awaited => u64::MAX,
        };
        let mut gone: Vec<u64> = self.slots.iter().filter(|slot| !is_kept(slot)).map(order).collect();
        if gone.is_empty() {
            return gone;
        }
        let mut kept: Vec<u64> = self.slots.iter().filter(|slot| is_kept(slot)).map(order).collect();
        gone.sort_unstable();
        kept.sort_unstable();
        self.shared.forgotten.add(&gone, &kept);
        let is_kept: Vec<bool> = self.slots.iter().map(is_kept).collect();
        self.keep_slots(&is_kept);
        gone
    }

    /// Connections whose last packet came before this are too much for the room.
    fn silent_before_ns(&self, ended_before_ns: i64, room: &Room) -> i64 {
        if room.surely_holds(self.slots.len()) {
            return i64::MIN;
        }
        let weight = |slot: &Slot| match &slot.state {
            State::Done(summary) => {
                Some((summary.end_ns, Room::result_bytes())).filter(|(at, _)| *at >= ended_before_ns)
            }
            State::Live(connection) => Some((connection.times.end_ns, held_bytes(connection))),
            State::Awaited => None,
        };
        let mut weights: Vec<(i64, usize)> = self.slots.iter().filter_map(weight).collect();
        if weights.iter().map(|(_, bytes)| bytes).sum::<usize>() <= room.open_bytes(0) {
            return i64::MIN;
        }
        weights.sort_unstable_by_key(|(end_ns, _)| std::cmp::Reverse(*end_ns));
        let mut left = room.open_bytes(0) / KEPT_SHARE.1 * KEPT_SHARE.0;
        let too_much = weights.into_iter().find(|(_, bytes)| {
            let fits = left >= *bytes;
            left = left.saturating_sub(*bytes);
            !fits
        });
        too_much.map_or(i64::MIN, |(end_ns, _)| end_ns.saturating_add(1))
    }

    /// Only slots of which this is true stay.
    pub(super) fn keep_slots(&mut self, is_kept: &[bool]) {
        let places = (0..).zip(is_kept).filter(|(_, is_kept)| **is_kept).map(|(place, _)| place);
        let moved: HashMap<u32, u32> = places.zip(0..).collect();
        let old = std::mem::take(&mut self.slots);
        let kept = (0..).zip(old).filter(|(place, _)| moved.contains_key(place));
        self.slots = kept.map(|(_, slot)| slot).collect();
        for slot in &mut self.slots {
            slot.successor = moved.get(&slot.successor).copied().unwrap_or(NONE);
        }
        let table = std::mem::take(&mut self.table);
        self.table = HashTable::with_capacity(self.slots.len());
        for place in table.iter().filter_map(|place| moved.get(place).copied()) {
            let slots = &self.slots;
            let hash = |&place: &u32| slots.get(place as usize).map_or(0, |slot| spread(slot.hash));
            self.table.insert_unique(hash(&place), place, hash);
        }
        self.ending = self.ending.iter().filter_map(|&(since, place)| Some((since, *moved.get(&place)?))).collect();
        self.nearby = Nearby::default();
        self.weighed = Default::default();
    }
}
