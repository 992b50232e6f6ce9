//! What passed of one side's application data: a record, or bytes whose records cannot be read.

use crate::tls::tally::Sealed;

/// When a byte passed, and in which frame.
pub type Moment = (i64, u32);

/// A record, or bytes one after another whose records cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: Moment,
    pub(super) end: Moment,
    /// With what protects them.
    pub(super) bytes: u64,
    /// Bytes that came with the last segment.
    pub(super) last_bytes: u64,
    pub(super) is_record: bool,
}

impl Entry {
    pub(super) fn of_record(start: Moment, end: Moment, bytes: u64) -> Self {
        Self { start, end, bytes, last_bytes: bytes, is_record: true }
    }

    pub(super) fn of_sealed(record: &Sealed) -> Self {
        let Sealed { start_ns, start_frame, end_ns, end_frame, length, .. } = *record;
        Self::of_record((start_ns, start_frame), (end_ns, end_frame), u64::from(length))
    }

    /// Adds bytes that follow directly, if neither are records.
    pub(super) fn merge(&mut self, next: &Self) -> bool {
        let merges = !self.is_record && !next.is_record;
        if merges {
            (self.end, self.last_bytes) = (next.end, next.last_bytes);
            self.bytes = self.bytes.saturating_add(next.bytes);
        }
        merges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_cannot_be_read_are_added_to_such_alone() {
        let unread = |time_ns, bytes| Entry { is_record: false, ..Entry::of_record((time_ns, 1), (time_ns, 1), bytes) };
        let mut first = unread(1, 900);
        assert!(first.merge(&unread(5, 40)) && !first.merge(&Entry::of_record((6, 1), (6, 1), 40)));
        assert_eq!((first.bytes, first.start, first.end, first.last_bytes), (940, (1, 1), (5, 1), 40));
    }
}
