//! What a side has sent of application data and nobody has asked for yet: records, and bytes whose records cannot be read.
//!
//! Until both sides' handshakes are told from data, entries wait one by one; from then on those of one turn become one.

use crate::tls::entry::{Entry, Moment};
use crate::tls::message_filter::Filter;
use crate::tls::spoken::Spoken;
use crate::tls::tally::Sealed;

/// Entries that wait to be classified, for each side; later ones are left out.
const MOST_WAITING: usize = 1024;

/// How entries come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Supply {
    /// Once [`super::conclusion`] has classified them.
    #[default]
    Classified,
    /// As they pass, since some cannot be read ([`super::cut`]); those that cannot are left out.
    Records,
    /// All of them, as they pass.
    All,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    waiting: Vec<Entry>,
    supply: Supply,
    /// The other side has sent something since the last entry.
    interrupted: bool,
    /// Once records are classified as they come.
    filter: Option<Filter>,
    turn: Option<Spoken>,
}

impl Outbox {
    /// Takes a record that is no handshake.
    pub(super) fn classified(&mut self, record: &Sealed) {
        if self.supply == Supply::Classified {
            self.entry(Entry::of_sealed(record));
        }
    }

    /// Takes a record that has passed and may be handshake.
    pub(super) fn passed(&mut self, record: &Sealed) {
        if self.supply != Supply::Classified {
            self.entry(Entry::of_sealed(record));
        }
    }

    /// Takes bytes whose records cannot be read.
    pub(super) fn unread(&mut self, at: Moment, bytes: u64) {
        if self.supply != Supply::Records && bytes > 0 {
            self.entry(Entry { start: at, end: at, bytes, last_bytes: bytes, is_record: false });
        }
    }

    /// From now on records come as they pass; `before` are those that waited to be classified.
    pub(super) fn take_as_they_pass(&mut self, before: &[Sealed]) {
        self.supply = Supply::Records;
        // What could not be read comes after all of them.
        self.waiting.retain(|entry| !entry.is_record);
        self.waiting.splice(..0, before.iter().map(Entry::of_sealed));
    }

    /// The handshake is over: from now on bytes that cannot be read are data.
    pub(super) fn take_all(&mut self) {
        self.supply = Supply::All;
    }

    pub(super) fn waiting(&self) -> &[Entry] {
        &self.waiting
    }

    /// Leaves out what waits and is no data.
    pub(super) fn waiting_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.waiting
    }

    pub(super) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    fn entry(&mut self, entry: Entry) {
        let interrupted = std::mem::take(&mut self.interrupted);
        match &mut self.filter {
            Some(filter) => {
                if let Some(spoken) = filter.spoken(&entry) {
                    self.say(spoken);
                }
            }
            None if !interrupted && self.waiting.last_mut().is_some_and(|last| last.merge(&entry)) => {}
            None if self.waiting.len() < MOST_WAITING => self.waiting.push(entry),
            None => {}
        }
    }

    fn say(&mut self, spoken: Spoken) {
        match &mut self.turn {
            Some(turn) => {
                (turn.end, turn.bytes) = (spoken.end, turn.bytes + spoken.bytes);
                turn.records = turn.records.and(spoken.records);
            }
            None => self.turn = Some(spoken),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_none() && self.waiting.is_empty()
    }

    /// All of it; from now on records are classified as they come.
    pub(super) fn take(&mut self, filter: Filter) -> Vec<Spoken> {
        let filter = self.filter.get_or_insert(filter);
        let waited = std::mem::take(&mut self.waiting);
        waited.iter().filter_map(|entry| filter.spoken(entry)).chain(self.turn.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(length: u16, time_ns: i64) -> Sealed {
        let frame = time_ns as u32;
        Sealed {
            length,
            start_ns: time_ns,
            end_ns: time_ns + 1,
            start_frame: frame,
            end_frame: frame,
            ..Sealed::default()
        }
    }

    #[test]
    fn records_of_a_turn_become_one_once_they_are_classified_as_they_come() {
        let filter = Filter { overhead: 17, hides_alerts: true, ..Filter::default() };
        let mut outbox = Outbox::default();
        (0..3).for_each(|time_ns| outbox.classified(&record(117, time_ns)));
        assert_eq!(outbox.take(filter).iter().map(|spoken| spoken.bytes).collect::<Vec<_>>(), [100, 100, 100]);
        (3..6).for_each(|time_ns| outbox.classified(&record(117, time_ns)));
        let taken = outbox.take(filter);
        assert_eq!((taken.len(), taken[0].bytes, taken[0].start, taken[0].end), (1, 300, (3, 3), (6, 5)));
        assert!(outbox.is_empty());
    }

    #[test]
    fn bytes_that_cannot_be_read_are_one_entry_until_the_other_side_sends() {
        let mut outbox = Outbox::default();
        outbox.take_as_they_pass(&[record(117, 0)]);
        outbox.unread((1, 1), 900);
        outbox.take_all();
        (2..5).for_each(|time_ns| outbox.unread((time_ns, 2), 1000));
        outbox.interrupt();
        outbox.unread((7, 7), 50);
        let entries: Vec<_> = outbox.waiting().iter().map(|entry| (entry.bytes, entry.start.0, entry.end.0)).collect();
        assert_eq!(entries, [(117, 0, 1), (3000, 2, 4), (50, 7, 7)], "none before the handshake is over");
    }

    #[test]
    fn waiting_is_bounded() {
        let mut outbox = Outbox::default();
        (0..5000).for_each(|time_ns| outbox.classified(&record(100, time_ns)));
        assert_eq!(outbox.take(Filter::default()).len(), MOST_WAITING);
    }
}
