//! Application data where a snap length cut records before the handshake was over: which records and bytes are data, and whether they
//! are those of HTTP/2.
//!
//! A client's records mostly begin a segment, so that their headers are there; a server's flight does not. Hence the client's
//! records say when the handshake is over, and bytes that cannot be read count from then on. Whether HTTP/2 was chosen shows in its
//! settings and their acknowledgement, until which entries wait.
//!
//! Rule: docs/methods.md, "Records that a snap length cut".

use crate::tls::conclusion::{Negotiated, Pair, USUAL_TLS13_OVERHEAD};
use crate::tls::entry::{Entry, Moment};
use crate::tls::message_filter::{MOST_PREFACE_BYTES, MOST_REQUEST_BYTES, MOST_SETTINGS_BYTES};
use crate::tls::side::RecordSide;
use crate::tls::{chosen, phase};

/// Records of a client before its Finished (certificate, its proof), and that itself.
const MOST_FLIGHT: usize = 4;

/// A Finished of TLS 1.3 with SHA-256 and SHA-384, protected.
const FINISHED_BYTES: [u64; 2] = [53, 69];

/// What protection adds before TLS 1.3 with AES-GCM (RFC 5288 section 3).
const USUAL_OVERHEAD: u16 = 24;

/// A Finished up to TLS 1.2 without protection (RFC 5246 section 7.4.9), and the most that stream ciphers add.
const OLD_FINISHED_BYTES: u16 = 16;

/// The preface of HTTP/2 with empty settings: its client sends no less first (RFC 9113 section 3.4).
const LEAST_PREFACE_BYTES: u64 = 33;

/// An acknowledgement of settings, alone or with a window update.
const SETTINGS_ACKNOWLEDGED_BYTES: [u64; 2] = [9, 22];

/// The same of a server, and window updates.
const SERVER_CONTROL_BYTES: [u64; 4] = [9, 13, 22, 26];

/// From the server's first byte to the client's Finished passes a round trip from here to the client, and what the client computes.
const HANDSHAKE_TO_LOOP: i64 = 2;

/// A client of HTTP/2 sends no more requests before it acknowledges settings.
const REQUESTS_BEFORE_ACKNOWLEDGEMENT: usize = 3;

/// What the records of such a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutRecords {
    pub(super) http2: bool,
    pub(super) is_tls13: bool,
    pub(super) overhead: u16,
}

/// How far such a connection has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is none: nothing was cut, or only once all was classified as it came.
    #[default]
    No,
    /// The handshake goes on, or its end was not captured.
    Handshake,
    /// The handshake is over, which took the client so long from the server's first byte on.
    Data { loop_us: u32 },
    /// It is known what data is.
    Known(CutRecords),
}

impl Cut {
    /// Looks at what both sides have sent. `finish`: nothing follows.
    pub(super) fn follow(self, client: &mut RecordSide, server: &mut RecordSide, finish: bool) -> Self {
        match self {
            Self::No => begin(client, server).follow(client, server, finish),
            Self::Handshake => match ends_handshake(client, server) {
                Some(end_ns) => {
                    client.outbox.take_all();
                    server.outbox.take_all();
                    data(server, end_ns).follow(client, server, finish)
                }
                None => self,
            },
            Self::Data { loop_us } => {
                known(client, server, i64::from(loop_us) * 1000, finish).map_or(self, Self::Known)
            }
            Self::Known(_) => self,
        }
    }
}

/// What waited to be classified comes first; a client's records that were classified already say when its handshake ended.
fn begin(client: &mut RecordSide, server: &mut RecordSide) -> Cut {
    let ended = client.undecided.is_none();
    for side in [&mut *client, &mut *server] {
        match side.undecided.as_deref() {
            Some(undecided) => side.outbox.take_as_they_pass(undecided),
            None => side.outbox.take_all(),
        }
    }
    if !ended {
        return Cut::Handshake;
    }
    let end_ns =
        client.client_outcome.and_then(|outcome| outcome.finished_ns).map_or(i64::MIN, |(start_ns, _)| start_ns);
    server.outbox.waiting_mut().retain(|entry| entry.start.0 > end_ns);
    server.outbox.take_all();
    data(server, end_ns)
}

fn data(server: &RecordSide, end_ns: i64) -> Cut {
    let loop_us = end_ns.saturating_sub(server.start_ns) / 1000;
    Cut::Data { loop_us: u32::try_from(loop_us.max(0)).unwrap_or(u32::MAX) }
}

/// TLS before 1.3, by the ServerHello or by messages that 1.3 encrypts.
fn is_older(client: &RecordSide, server: &RecordSide) -> bool {
    let hello = server.assembler.messages.server_hello.as_ref().filter(|hello| !hello.cut);
    let by_hello = Negotiated::of_hello(hello).map(|negotiated| !negotiated.is_tls13());
    by_hello.unwrap_or(client.is_older || server.is_older)
}

/// When the client sent its Finished, or data: what was handshake before is left out.
fn ends_handshake(client: &mut RecordSide, server: &mut RecordSide) -> Option<i64> {
    let is_older = is_older(client, server);
    let end =
        if is_older { client.outbox.waiting().first().map(|entry| entry.start) } else { take_finished(client, server) };
    end.into_iter().for_each(|end| server.outbox.waiting_mut().retain(|entry| entry.start > end));
    end.map(|(end_ns, _)| end_ns)
}

/// Leaves out the client's flight of TLS 1.3: when its Finished began.
fn take_finished(client: &mut RecordSide, server: &RecordSide) -> Option<Moment> {
    let entries = client.outbox.waiting();
    let flight = entries.iter().position(|entry| entry.start.0 >= server.start_ns)?;
    let is_finished = |entry: &Entry| entry.is_record && FINISHED_BYTES.contains(&entry.bytes);
    let finished = flight + entries.iter().skip(flight).take(MOST_FLIGHT).position(is_finished)?;
    let start = entries.get(finished)?.start;
    // What could not be read before may have held the Finished.
    let is_read = client.lost.is_none_or(|lost| lost.time_ns >= start.0);
    is_read.then(|| client.outbox.waiting_mut().drain(flight..=finished)).map(|_| start)
}

fn known(client: &mut RecordSide, server: &mut RecordSide, loop_ns: i64, finish: bool) -> Option<CutRecords> {
    let is_tls13 = !is_older(client, server);
    let overhead = overhead(client, server, is_tls13);
    let pair = Pair { client: Some(client), server: Some(server) };
    let chosen = chosen::is_http2(&pair).or_else(|| shows_http2(client, server, overhead, loop_ns));
    let http2 = chosen.or_else(|| finish.then_some(false))?;
    if is_tls13 {
        leave_out_tickets(client, server, loop_ns);
    }
    Some(CutRecords { http2, is_tls13, overhead })
}

fn leave_out_tickets(client: &mut RecordSide, server: &mut RecordSide, loop_ns: i64) {
    let tickets = tickets(client.outbox.waiting(), server.outbox.waiting(), loop_ns);
    server.outbox.waiting_mut().drain(..tickets);
    let hidden =
        server.outbox.waiting().first().filter(|entry| tickets == 0 && !entry.is_record).map(|entry| entry.start);
    // Which of these bytes are tickets is not known: what was requested before them is left out.
    hidden.into_iter().for_each(|start| client.outbox.waiting_mut().retain(|entry| entry.start > start));
}

fn overhead(client: &RecordSide, server: &RecordSide, is_tls13: bool) -> u16 {
    if is_tls13 {
        return USUAL_TLS13_OVERHEAD;
    }
    let finished = client.finished_bytes.or(server.finished_bytes);
    finished.and_then(|bytes| bytes.checked_sub(OLD_FINISHED_BYTES)).unwrap_or(USUAL_OVERHEAD)
}

/// Whether the lengths of the first records are those of HTTP/2; none until they show.
fn shows_http2(client: &RecordSide, server: &RecordSide, overhead: u16, loop_ns: i64) -> Option<bool> {
    let plain = |entry: &Entry| entry.bytes.saturating_sub(u64::from(overhead));
    let is_record = |entry: &&Entry, lengths: &[u64]| entry.is_record && lengths.contains(&plain(entry));
    let (first, later) = client.outbox.waiting().split_first()?;
    if plain(first) < LEAST_PREFACE_BYTES {
        return Some(false);
    }
    let replies = server.outbox.waiting();
    let replies = replies.get(tickets(client.outbox.waiting(), replies, loop_ns)..).unwrap_or_default();
    let acknowledges = later.iter().any(|entry| is_record(&entry, &SETTINGS_ACKNOWLEDGED_BYTES));
    if acknowledges || replies.iter().any(|entry| is_record(&entry, &SERVER_CONTROL_BYTES)) {
        return Some(true);
    }
    let heard =
        replies.first().filter(|first| replies.len() > 1 || !phase::is_ticket_pair(first.bytes, first.bytes))?;
    let may_be_settings = plain(first) <= MOST_PREFACE_BYTES && heard.is_record && plain(heard) <= MOST_SETTINGS_BYTES;
    if may_be_settings && later.first().is_some_and(|entry| entry.start < heard.start) {
        return Some(true);
    }
    // Settings may cross requests on their way.
    let most = if may_be_settings { REQUESTS_BEFORE_ACKNOWLEDGEMENT } else { 1 };
    let asks_again = |entry: &&Entry| entry.start > heard.start && plain(entry) <= MOST_REQUEST_BYTES;
    (later.iter().filter(asks_again).count() >= most).then_some(false)
}

/// Session tickets that a server of TLS 1.3 sends first, at least two that are equally long, without a word of the client in
/// between unless the first was unasked for. A client that speaks sooner than it could hear the first goes on with its request. Each is a record that can be read, or all are in one segment behind the first.
fn tickets(requests: &[Entry], entries: &[Entry], loop_ns: i64) -> usize {
    let Some((first, later)) = entries.split_first() else { return 0 };
    let unasked = requests.first().is_none_or(|request| request.start > first.start);
    let heard_ns = first.start.0.saturating_add(loop_ns / HANDSHAKE_TO_LOOP);
    let next = requests.iter().map(|request| request.start).find(|start| *start > first.start && start.0 >= heard_ns);
    let in_time = |entry: &Entry| unasked || next.is_none_or(|next| entry.start < next);
    let is_ticket = |entry: &Entry| entry.is_record && phase::is_ticket_pair(first.bytes, entry.bytes);
    let alike = later.iter().take_while(|entry| is_ticket(entry) && in_time(entry)).count();
    match later.first() {
        _ if !is_ticket(first) => 0,
        _ if alike > 0 => 1 + alike,
        Some(rest) if fills_up(first, rest) => 2,
        _ => 0,
    }
}

/// The rest of the segment that begins with a ticket is full of such.
fn fills_up(first: &Entry, rest: &Entry) -> bool {
    !rest.is_record && rest.start == first.end && phase::fills_with_tickets(first.bytes, rest.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time_ns: i64, bytes: u64) -> Entry {
        Entry::of_record((time_ns, 1), (time_ns, 1), bytes)
    }

    #[test]
    fn tickets_come_in_pairs() {
        let unread = |bytes| Entry { is_record: false, ..record(1, bytes) };
        let of = |entries: &[Entry]| tickets(&[record(0, 90)], entries, 0);
        assert_eq!(of(&[record(1, 266), record(2, 266), record(3, 900)]), 2);
        assert_eq!(of(&[record(1, 255), unread(260), record(3, 900)]), 2, "in one segment");
        assert_eq!(of(&[record(1, 255), unread(1000)]), 0, "a response of several records");
        assert_eq!([of(&[record(1, 266), record(2, 900)]), of(&[]), of(&[record(1, 40), record(2, 40)])], [0; 3]);
    }

    #[test]
    fn equal_responses_to_two_requests_are_no_tickets() {
        let entries = [record(1, 266), record(5, 266)];
        assert_eq!(tickets(&[record(0, 90), record(3, 90)], &entries, 0), 0);
        assert_eq!(tickets(&[record(2, 90), record(3, 90)], &entries, 0), 2, "the first was unasked for");
    }

    #[test]
    fn a_client_that_cannot_have_heard_the_first_ticket_goes_on_with_its_request() {
        let (upload, entries) = ([record(0, 90), record(3, 16_401)], [record(1, 266), record(5, 266)]);
        assert_eq!([0, 4, 6].map(|loop_ns| tickets(&upload, &entries, loop_ns)), [0, 0, 2]);
    }
}
