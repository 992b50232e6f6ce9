//! Which records of application data are messages: alerts, and what HTTP/2 sends of its own (settings, window updates, pings), are none.

use crate::tls::entry::Entry;
use crate::tls::phase::ALERT_BYTES;
use crate::tls::spoken::{Records, Spoken};

/// Bytes of HTTP/2's SETTINGS acknowledgement, WINDOW_UPDATE, and PING or GOAWAY (RFC 9113 section 6).
const HTTP2_CONTROL_BYTES: [u64; 3] = [9, 13, 17];

/// Several window updates in one record: so many of 13 bytes. A request may be as long.
const WINDOW_UPDATES_BYTES: [u64; 3] = [26, 39, 52];

/// Longer records begin no request of HTTP/2: they are bodies, or full. A head has its frame and some fields.
pub(super) const MOST_REQUEST_BYTES: u64 = 1024;

const REQUEST_BYTES: std::ops::RangeInclusive<u64> = 18..=MOST_REQUEST_BYTES;

/// The preface of HTTP/2 with settings and a window update takes no more: more holds a request, too.
pub(super) const MOST_PREFACE_BYTES: u64 = 90;

/// "HTTP/1.1 100 Continue" with its line ends.
pub const CONTINUE_BYTES: u64 = 25;

/// A HEADERS frame of HTTP/2 with ":status: 100" alone, by the encoding of its value.
const HTTP2_CONTINUE_BYTES: [u64; 2] = [14, 15];

/// A server's first record of HTTP/2 is its settings, with window updates and acknowledgements, if it is no longer.
pub(super) const MOST_SETTINGS_BYTES: u64 = 80;

/// Before its first response, the records of a server that are no longer are of that kind, too.
const MOST_EARLY_CONTROL_BYTES: u64 = 30;

/// See the module; for one side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filter {
    /// What protection adds to each record.
    pub(super) overhead: u16,
    /// Alerts look like application data (TLS 1.3).
    pub(super) hides_alerts: bool,
    /// HTTP/2 was chosen, or may have been.
    pub(super) http2: bool,
    /// HTTP/1 may have been chosen.
    pub(super) http1: bool,
    /// It is the server's.
    pub(super) is_server: bool,
    /// Records there were.
    pub(super) seen: u64,
    /// One of them was a message.
    pub(super) has_spoken: bool,
    /// Of a client of HTTP/2: length of its first request. HPACK makes later ones shorter (RFC 7541).
    pub(super) head_bytes: u64,
}

impl Filter {
    pub(super) fn spoken(&mut self, entry: &Entry) -> Option<Spoken> {
        let Entry { start, end, bytes, is_record, .. } = *entry;
        if !is_record {
            self.seen += 1;
            self.has_spoken = true;
            return Some(Spoken { start, end, bytes, records: Records::unread(entry, self.http2) });
        }
        let bytes = bytes.saturating_sub(u64::from(self.overhead));
        let passes = self.passes(bytes);
        self.seen += 1;
        self.has_spoken |= passes;
        passes.then(|| Spoken { start, end, bytes, records: self.records(bytes) })
    }

    fn passes(&self, bytes: u64) -> bool {
        let is_alert = self.hides_alerts && bytes == u64::from(ALERT_BYTES);
        let is_control = self.http2 && (HTTP2_CONTROL_BYTES.contains(&bytes) || self.is_early_control(bytes));
        bytes > 0 && !is_alert && !is_control
    }

    fn is_early_control(&self, bytes: u64) -> bool {
        let most_bytes = if self.seen == 0 { MOST_SETTINGS_BYTES } else { MOST_EARLY_CONTROL_BYTES };
        let is_continue = bytes == CONTINUE_BYTES || HTTP2_CONTINUE_BYTES.contains(&bytes);
        self.is_server && !self.has_spoken && bytes <= most_bytes && !is_continue
    }

    fn records(&mut self, bytes: u64) -> Records {
        let is_continue = self.http1 && bytes == CONTINUE_BYTES || self.http2 && HTTP2_CONTINUE_BYTES.contains(&bytes);
        Records {
            http2: self.http2,
            requests: u16::from(self.http2 && !self.is_server && self.may_be_request(bytes)),
            has_body: self.http2 && bytes > MOST_REQUEST_BYTES,
            window_updates: self.http2 && WINDOW_UPDATES_BYTES.contains(&bytes),
            is_continue: self.is_server && is_continue,
            last_bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
            ..Records::default()
        }
    }

    /// A record no longer than the first request may be another; a longer one is a body, or the first with its preface.
    fn may_be_request(&mut self, bytes: u64) -> bool {
        let is_preface = self.seen == 1 && bytes <= MOST_PREFACE_BYTES;
        if is_preface || !REQUEST_BYTES.contains(&bytes) {
            return false;
        }
        let is_first = self.head_bytes == 0;
        self.head_bytes = if is_first { bytes } else { self.head_bytes };
        bytes <= self.head_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(filter: &mut Filter, lengths: &[u64]) -> Vec<Spoken> {
        lengths.iter().filter_map(|bytes| filter.spoken(&Entry::of_record((1, 1), (2, 2), bytes + 17))).collect()
    }

    fn bytes(mut filter: Filter, lengths: &[u64]) -> Vec<u64> {
        taken(&mut filter, lengths).iter().map(|spoken| spoken.bytes).collect()
    }

    fn records(mut filter: Filter, lengths: &[u64]) -> Records {
        let all = taken(&mut filter, lengths);
        all.iter().map(|spoken| spoken.records).reduce(Records::and).expect("one")
    }

    const HTTP_2: Filter = Filter {
        overhead: 17,
        hides_alerts: true,
        http2: true,
        http1: true,
        is_server: false,
        seen: 0,
        has_spoken: false,
        head_bytes: 0,
    };

    const SERVER: Filter = Filter { is_server: true, ..HTTP_2 };

    #[test]
    fn alerts_and_control_frames_are_no_messages() {
        assert_eq!(bytes(SERVER, &[40, 9, 13, 500, 13, 2, 40]), [500, 40], "settings come first");
        assert_eq!(bytes(SERVER, &[62, 22, 50, 10, 22]), [50, 10, 22], "a short response after them is one");
        let http_1 = Filter { http2: false, ..SERVER };
        assert_eq!(bytes(http_1, &[9, 2, 13]), [9, 13]);
    }

    #[test]
    fn records_no_longer_than_the_first_request_may_be_requests() {
        assert_eq!(records(HTTP_2, &[64, 47, 9, 21]).requests, 2, "preface and settings are none");
        assert_eq!(records(HTTP_2, &[64, 47, 309]).requests, 1, "a body is none");
        assert_eq!(records(HTTP_2, &[64, 47, 8]).requests, 1, "too short");
        assert_eq!(records(HTTP_2, &[64, 47, 16_384, 30, 16_384, 40]).requests, 1, "ends of frames of a body");
        assert_eq!(records(HTTP_2, &[150, 300]).requests, 1, "a preface with priorities");
        assert_eq!(records(Filter { http2: false, ..HTTP_2 }, &[64, 47]).requests, 0);
    }

    #[test]
    fn lengths_reveal_window_updates_and_more_to_come() {
        assert!(records(HTTP_2, &[26, 39]).window_updates && !records(HTTP_2, &[26, 40]).window_updates);
        assert!(records(SERVER, &[16_384, 36, 16_384, 16_384, 36]).repeats);
        assert!(!records(SERVER, &[16_384, 36, 16_384, 700]).repeats);
    }

    #[test]
    fn an_interim_response_is_known_by_its_length() {
        assert!(records(SERVER, &[70, 25]).is_continue && records(SERVER, &[70, 14]).is_continue);
        assert!(!records(SERVER, &[100, 25, 25]).is_continue && !records(SERVER, &[70, 90]).is_continue);
        assert!(!records(HTTP_2, &[25]).is_continue, "a client sends none");
    }
}
