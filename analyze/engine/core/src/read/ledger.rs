//! What is learnt of an input while it is read: counts, times and damage. Keeps every list bounded.
//!
//! Rule: docs/methods.md, "Records without a time".

use crate::read::input_facts::{Damage, InputFacts};
use crate::read::record::Record;

/// Damaged stretches that are listed one by one.
const MAX_DAMAGES: usize = 1000;

/// Unknown block types that are counted one by one.
const MAX_BLOCK_TYPES: usize = 64;

/// Link types that are listed.
const MAX_LINK_TYPES: usize = 64;

/// TLS key log text that is kept.
const MAX_KEY_LOG_BYTES: usize = 16 << 20;

/// A step back in time of more than this is a clock step, less is disorder between processors.
const CLOCK_STEP_NS: i64 = 1_000_000_000;

/// The last time of an interface that has not been seen.
const NEVER: i64 = i64::MIN + CLOCK_STEP_NS;

/// The facts of one input as they grow.
#[derive(Default)]
pub(super) struct InputLedger {
    /// The facts so far.
    pub facts: InputFacts,
    /// Sections and interfaces there were.
    pub headers: u64,
    unlisted_damages: u64,
    unlisted_bytes: u64,
    unlisted_from: u64,
    /// Time of the last record by interface.
    last_ns: Vec<i64>,
}

impl InputLedger {
    /// The facts so far, with the damage that was too much to list summed up in a last entry.
    pub fn facts(&self) -> InputFacts {
        let mut facts = self.facts.clone();
        if self.unlisted_damages > 0 {
            facts.damage.push(Damage {
                offset: self.unlisted_from,
                skipped_bytes: self.unlisted_bytes,
                what: format!("{} more damaged places from here on", self.unlisted_damages),
            });
        }
        facts
    }

    /// Forgets what was read so far, but for what interfaces declare.
    pub fn forget_packets(&mut self) {
        let Self { facts, headers, .. } = std::mem::take(self);
        let InputFacts { format, link_types, time_resolution_s, snap_length, .. } = facts;
        self.facts = InputFacts { format, link_types, time_resolution_s, snap_length, ..InputFacts::default() };
        self.headers = headers;
    }

    /// Notes a stretch that could not be used. Neighbours with the same complaint become one.
    pub fn damage(&mut self, offset: u64, skipped_bytes: u64, what: &str) {
        if let Some(last) = self.facts.damage.last_mut()
            && self.unlisted_damages == 0
            && skipped_bytes > 0
            && last.offset + last.skipped_bytes == offset
            && last.what == what
        {
            last.skipped_bytes += skipped_bytes;
            return;
        }
        if self.facts.damage.len() < MAX_DAMAGES {
            self.facts.damage.push(Damage { offset, skipped_bytes, what: what.to_owned() });
            return;
        }
        if self.unlisted_damages == 0 {
            self.unlisted_from = offset;
        }
        self.unlisted_damages += 1;
        self.unlisted_bytes += skipped_bytes;
    }

    /// Counts the records of a chunk. Runs once for every record.
    pub fn count(&mut self, records: &[Record]) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        let (mut captured, mut wire) = (0_u64, 0_u64);
        let (mut previous_ns, mut orderly) = (first.time_ns, first.time_ns != Record::NO_TIME);
        for record in records {
            captured += u64::from(record.captured_length);
            wire += u64::from(record.original_length);
            orderly &= record.time_ns >= previous_ns && record.interface == first.interface;
            previous_ns = record.time_ns;
        }
        self.facts.packets += records.len() as u64;
        self.facts.captured_bytes += captured;
        self.facts.wire_bytes += wire;
        if orderly {
            self.enter(first);
            self.leave(first.interface, last.time_ns);
        } else {
            self.count_times(records);
        }
    }

    /// Times that fall, or of several interfaces.
    fn count_times(&mut self, records: &[Record]) {
        let mut interface = records.first().map_or(0, |record| record.interface);
        let mut last_ns = i64::MAX;
        for record in records {
            if record.time_ns < last_ns || record.interface != interface {
                self.leave(interface, last_ns);
                interface = record.interface;
                last_ns = self.enter(record);
            } else {
                last_ns = record.time_ns;
            }
        }
        self.leave(interface, last_ns);
    }

    /// A run of records with rising times ends: `last_ns` is its latest, or `i64::MAX` for none.
    fn leave(&mut self, interface: u16, last_ns: i64) {
        if last_ns == i64::MAX || last_ns == Record::NO_TIME {
            return;
        }
        self.facts.end_ns = self.facts.end_ns.max(Some(last_ns));
        if let Some(last) = self.last_ns.get_mut(usize::from(interface)) {
            *last = last_ns.max(NEVER);
        }
    }

    /// A run of records with rising times begins with this one: its time, or `i64::MAX` if it has none.
    fn enter(&mut self, record: &Record) -> i64 {
        let time_ns = record.time_ns;
        if time_ns == Record::NO_TIME {
            self.facts.packets_without_time += 1;
            return i64::MAX;
        }
        let last_ns = last_time(&mut self.last_ns, record.interface);
        self.facts.clock_steps_back += u64::from(time_ns < last_ns - CLOCK_STEP_NS);
        self.facts.start_ns = Some(self.facts.start_ns.map_or(time_ns, |start_ns| start_ns.min(time_ns)));
        time_ns
    }

    /// Time of the last packet of an interface, as far as they were counted.
    pub fn last_ns(&self, interface: u16) -> Option<i64> {
        self.last_ns.get(usize::from(interface)).copied().filter(|last_ns| *last_ns != NEVER)
    }

    /// Notes what an interface (or a pcap file) declares; a snap length or resolution of `None` says nothing.
    pub fn interface(&mut self, link_type: u16, snap_length: Option<u32>, resolution_s: f64) {
        self.headers += 1;
        let facts = &mut self.facts;
        let first = facts.link_types.is_empty();
        if !facts.link_types.contains(&link_type) && facts.link_types.len() < MAX_LINK_TYPES {
            facts.link_types.push(link_type);
        }
        facts.time_resolution_s = if first { resolution_s } else { facts.time_resolution_s.min(resolution_s) };
        facts.snap_length = if first { snap_length } else { facts.snap_length.zip(snap_length).map(|(a, b)| a.max(b)) };
    }

    /// Counts a block that is passed over.
    pub fn unknown_block(&mut self, block_type: u32) {
        let blocks = &mut self.facts.unknown_blocks;
        let full = blocks.len() >= MAX_BLOCK_TYPES;
        let known = blocks.iter().any(|(number, _)| *number == block_type);
        let number = if full && !known { u32::MAX } else { block_type };
        match blocks.iter_mut().find(|(known, _)| *known == number) {
            Some((_, count)) => *count += 1,
            None => blocks.push((number, 1)),
        }
    }

    /// Keeps TLS key log text; `false` if it is too much.
    pub fn key_log(&mut self, text: &[u8]) -> bool {
        let log = &mut self.facts.tls_key_log;
        if log.len() + text.len() >= MAX_KEY_LOG_BYTES {
            return false;
        }
        log.extend_from_slice(text);
        if log.last().is_some_and(|byte| *byte != b'\n') {
            log.push(b'\n');
        }
        true
    }
}

fn last_time(times: &mut Vec<i64>, interface: u16) -> i64 {
    let index = usize::from(interface);
    if index >= times.len() {
        times.resize(index + 1, NEVER);
    }
    times.get(index).copied().unwrap_or(NEVER)
}
