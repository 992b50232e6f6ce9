//! What each side has said inside TLS: stretches of application data with their times, from records that were classified. Handshake,
//! tickets, alerts and what HTTP/2 sends of its own (settings, window updates, pings) are no messages.
//!
//! Until the records of both sides are classified they wait one by one; from then on those of one turn become one.

use crate::tls::tally::Sealed;

/// Records that wait to be classified, for each side; later ones are left out.
const MOST_WAITING: usize = 1024;

/// Bytes of an alert, of HTTP/2's SETTINGS acknowledgement, WINDOW_UPDATE and PING (RFC 9113 section 6).
const ALERT_BYTES: u16 = 2;

const HTTP2_CONTROL_BYTES: [u16; 3] = [9, 13, 17];

/// Before its first response a server of HTTP/2 sends settings and window updates, no longer than this.
const MOST_SETTINGS_BYTES: u16 = 64;

/// A stretch of one side's application data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// When its first byte passed, and in which frame.
    pub start: (i64, u32),
    /// The same of its last byte.
    pub end: (i64, u32),
    /// Bytes without what protects them, as far as that is known.
    pub bytes: u64,
}

/// Which records are messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filter {
    /// What protection adds to each.
    pub(super) overhead: u16,
    /// Alerts look like application data (TLS 1.3).
    pub(super) hides_alerts: bool,
    /// The client offers HTTP/2.
    pub(super) http2: bool,
    /// A server that has sent no more than settings so far.
    pub(super) settings_first: bool,
}

impl Filter {
    fn passes(&mut self, bytes: u16) -> bool {
        let is_control =
            self.http2 && (HTTP2_CONTROL_BYTES.contains(&bytes) || self.settings_first && bytes <= MOST_SETTINGS_BYTES);
        if bytes == 0 || self.hides_alerts && bytes == ALERT_BYTES || is_control {
            return false;
        }
        self.settings_first = false;
        true
    }

    fn spoken(&mut self, record: &Sealed) -> Option<Spoken> {
        let bytes = record.length.saturating_sub(self.overhead);
        let Sealed { start_ns, start_frame, end_ns, end_frame, .. } = *record;
        let spoken = Spoken { start: (start_ns, start_frame), end: (end_ns, end_frame), bytes: u64::from(bytes) };
        self.passes(bytes).then_some(spoken)
    }
}

/// What a side has said since it was asked last.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Vec<Sealed>,
    /// Once records are classified as they come.
    filter: Option<Filter>,
    turn: Option<Spoken>,
}

impl Outbox {
    /// Takes a record of application data.
    pub(super) fn record(&mut self, record: &Sealed) {
        let Some(filter) = &mut self.filter else {
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push(*record);
            }
            return;
        };
        let Some(spoken) = filter.spoken(record) else { return };
        match &mut self.turn {
            Some(turn) => (turn.end, turn.bytes) = (spoken.end, turn.bytes + spoken.bytes),
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
        waited.iter().filter_map(|record| filter.spoken(record)).chain(self.turn.take()).collect()
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

    fn bytes(outbox: &mut Outbox, filter: Filter) -> Vec<u64> {
        outbox.take(filter).iter().map(|spoken| spoken.bytes).collect()
    }

    #[test]
    fn records_of_a_turn_become_one_once_they_are_classified_as_they_come() {
        let filter = Filter { overhead: 17, hides_alerts: true, ..Filter::default() };
        let mut outbox = Outbox::default();
        (0..3).for_each(|time_ns| outbox.record(&record(117, time_ns)));
        assert_eq!(bytes(&mut outbox, filter), [100, 100, 100]);
        (3..6).for_each(|time_ns| outbox.record(&record(117, time_ns)));
        let taken = outbox.take(filter);
        assert_eq!((taken.len(), taken[0].bytes, taken[0].start, taken[0].end), (1, 300, (3, 3), (6, 5)));
        assert!(outbox.is_empty());
    }

    #[test]
    fn alerts_and_control_frames_are_no_messages() {
        let filter = Filter { overhead: 17, hides_alerts: true, http2: true, settings_first: true };
        let mut outbox = Outbox::default();
        [40, 9, 13, 500, 13, 2, 40].into_iter().for_each(|length| outbox.record(&record(length + 17, 1)));
        assert_eq!(bytes(&mut outbox, filter), [500, 40], "settings come first");
        let plain = Filter { http2: false, settings_first: false, ..filter };
        let mut outbox = Outbox::default();
        [9, 2, 13].into_iter().for_each(|length| outbox.record(&record(length + 17, 1)));
        assert_eq!(bytes(&mut outbox, plain), [9, 13]);
    }

    #[test]
    fn waiting_is_bounded() {
        let mut outbox = Outbox::default();
        (0..5000).for_each(|time_ns| outbox.record(&record(100, time_ns)));
        assert_eq!(outbox.take(Filter::default()).len(), MOST_WAITING);
    }
}
