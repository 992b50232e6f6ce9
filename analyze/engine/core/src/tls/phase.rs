//! Which encrypted records of TLS 1.3 belong to the handshake: decided by position, time and length alone.
//!
//! All of them say "application data" on the outside (RFC 8446 section 5.2). What helps: a Finished message has a known
//! length (four bytes of header and one hash), most stacks give each message its own record, and causality: at any
//! capture point the whole server flight passes before the client's Finished does. The rules:
//!
//! * **Client.** After the ServerHello, the first record as long as a lone Finished ends the client's part; what comes
//!   between (its certificate) belongs to the handshake too. If no such record is among the first
//!   [`MAX_CLIENT_FLIGHT`] (messages packed or padded), the first record alone is taken
//!   (not if it is as long as an alert: then the client refused the server's flight). With early data offered, a
//!   record as long as EndOfEarlyData directly before the Finished shows that the server took it; everything before is
//!   early data, hence application data. (If it refused, what the client sent before the ServerHello is early data.)
//! * **Server.** Records that began no later than the client's Finished belong to the handshake. If one of them (not the
//!   first: that is EncryptedExtensions) is as long as a lone Finished, the flight ended with it; what follows is a
//!   session ticket if it is [`TICKET_BYTES`] long, else application data sent early (an HTTP/2 server's settings).
//!   Without the client's Finished, its own Finished ends the flight; if that is not found either, the first record alone
//!   is taken.
//! * **Tickets.** Directly after the client's Finished, records of ticket length are session tickets as far as there are at
//!   least two that differ by no more than one cipher block (stacks send them in pairs), or as they fit a ticket of the
//!   length of the one that resumed this session, or as they began before the client's first application data and the
//!   client offers HTTP, where the server does not speak first. Another single ticket cannot be told from a short answer
//!   and counts as application data.

use crate::tls::record;
use crate::tls::tally::Sealed;

/// Records kept back until they are classified; more than a handshake has.
pub(super) const MAX_RECORDS: usize = 256;

/// How far into the client's records its Finished is looked for.
const MAX_CLIENT_FLIGHT: usize = 16;

/// How far into the server's records its Finished is looked for, and how many tickets it may send.
const MAX_TICKETS: usize = 8;

/// Lengths of a NewSessionTicket message without protection: a 32-byte ticket with the shortest frame to a large one
/// with certificates inside.
const TICKET_BYTES: std::ops::RangeInclusive<u16> = 57..=4096;

/// What a NewSessionTicket message holds besides the ticket (RFC 8446 section 4.6.1): 17 bytes, a nonce, extensions.
const TICKET_FRAME_BYTES: std::ops::RangeInclusive<u16> = 17..=64;

/// Tickets of one pair may differ by one block of the cipher that seals them.
const TICKET_DIFFERENCE_BYTES: u16 = 16;

/// EndOfEarlyData is a bare handshake header.
const END_OF_EARLY_DATA_BYTES: u16 = 4;

/// An alert is level and description.
pub(super) const ALERT_BYTES: u16 = 2;

/// What a connection's hellos tell about its encrypted records.
#[derive(Debug, Clone, Copy)]
pub(super) struct HelloContext {
    /// What protection adds to a record body.
    pub(super) overhead: u16,
    /// Length of the suite's hash.
    pub(super) hash_bytes: u16,
    pub(super) early_data_offered: bool,
    /// Length of the ticket that resumed the session.
    pub(super) ticket_bytes: Option<u16>,
    /// The protocols offered let the server say nothing before the client.
    pub(super) client_speaks_first: bool,
    /// When the ServerHello had passed.
    pub(super) server_hello_ns: i64,
}

impl HelloContext {
    fn finished_length(&self) -> u16 {
        4 + self.hash_bytes + self.overhead
    }

    fn is_finished(&self, record: &Sealed) -> bool {
        record.length == self.finished_length()
    }

    /// True if the record has just the length of an alert.
    pub(super) fn is_alert(&self, record: &Sealed) -> bool {
        record.length == ALERT_BYTES + self.overhead
    }

    fn is_ticket(&self, record: &Sealed) -> bool {
        TICKET_BYTES.contains(&record.length.saturating_sub(self.overhead))
    }
}

/// How the client's encrypted records divide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClientSplit {
    /// Records before this index are early data.
    pub(super) handshake_start: usize,
    /// Records from this index on are application data.
    pub(super) handshake_end: usize,
    /// EndOfEarlyData was seen: the server took the early data.
    pub(super) early_data_accepted: bool,
    /// No later record can change the division.
    pub(super) settled: bool,
}

impl ClientSplit {
    pub(super) fn is_handshake(&self, index: usize) -> bool {
        (self.handshake_start..self.handshake_end).contains(&index)
    }

    /// The record that holds the client's Finished.
    pub(super) fn finished<'a>(&self, records: &'a [Sealed]) -> Option<&'a Sealed> {
        if self.handshake_end == self.handshake_start {
            return None;
        }
        records.get(self.handshake_end - 1).filter(|record| record.passed == record.length)
    }
}

/// Divides the client's encrypted records.
pub(super) fn split_client(records: &[Sealed], context: &HelloContext) -> ClientSplit {
    if context.early_data_offered
        && let Some(split) = after_early_data(records, context)
    {
        return split;
    }
    let first = records.iter().position(|record| record.start_ns >= context.server_hello_ns);
    let Some(first) = first else {
        return ClientSplit { handshake_start: records.len(), handshake_end: records.len(), ..ClientSplit::default() };
    };
    let flight = records.get(first..).unwrap_or_default();
    let length = flight.iter().take(MAX_CLIENT_FLIGHT).position(|record| context.is_finished(record));
    let refused = flight.first().is_some_and(|record| context.is_alert(record));
    ClientSplit {
        handshake_start: first,
        handshake_end: first + length.map_or(usize::from(!refused), |index| index + 1),
        early_data_accepted: false,
        // Early data may still be on its way: its end can show in any later record. And when the first application data
        // began decides what of the server's records can be a ticket.
        settled: !context.early_data_offered
            && (length.is_some_and(|index| index + 1 < flight.len()) || flight.len() > MAX_CLIENT_FLIGHT),
    }
}

fn after_early_data(records: &[Sealed], context: &HelloContext) -> Option<ClientSplit> {
    let end_length = END_OF_EARLY_DATA_BYTES + context.overhead;
    let end = records.windows(2).position(|pair| match pair {
        [end, finished] => end.length == end_length && context.is_finished(finished),
        _ => false,
    })?;
    Some(ClientSplit {
        handshake_start: end,
        handshake_end: end + 2,
        early_data_accepted: true,
        settled: records.len() > end + 2,
    })
}

/// How the server's encrypted records divide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ServerSplit {
    /// Records before this index are the handshake flight.
    flight_end: usize,
    /// Records from the flight's end to here began before the client's Finished: tickets by their length.
    early_end: usize,
    /// Records from `early_end` to here are tickets.
    tickets_end: usize,
    /// No later record can change the division.
    pub(super) settled: bool,
}

impl ServerSplit {
    pub(super) fn is_handshake(&self, index: usize, record: &Sealed, context: &HelloContext) -> bool {
        index < self.flight_end
            || (index < self.early_end && context.is_ticket(record))
            || (self.early_end..self.tickets_end).contains(&index)
    }
}

/// When the client's records began to pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientTimes {
    pub(super) finished_ns: Option<i64>,
    /// The first application data after the Finished.
    pub(super) application_ns: Option<i64>,
}

/// Divides the server's encrypted records.
pub(super) fn split_server(records: &[Sealed], times: ClientTimes, context: &HelloContext) -> ServerSplit {
    let early_end = match times.finished_ns {
        Some(time_ns) => records.iter().position(|record| record.start_ns > time_ns).unwrap_or(records.len()),
        None => records.len(),
    };
    let early = records.get(..early_end).unwrap_or_default();
    let finished = early.iter().skip(1).position(|record| context.is_finished(record)).map(|index| index + 2);
    let (flight_end, early_end) = match (finished, times.finished_ns) {
        (Some(end), Some(_)) => (end, early_end),
        (None, Some(_)) => (early_end, early_end),
        (Some(end), None) => (end, end),
        (None, None) => (records.len().min(1), records.len().min(1)),
    };
    let after = records.get(early_end..).unwrap_or_default();
    let tickets =
        leading_tickets(after, context).max(quiet_tickets(after, times, context)).max(renewed_tickets(after, context));
    ServerSplit {
        flight_end,
        early_end,
        tickets_end: early_end + tickets,
        settled: times.finished_ns.is_some()
            && (times.application_ns.is_some() || !context.client_speaks_first)
            && tickets < after.len()
            && !may_begin_pair(after, context),
    }
}

/// True if the next record decides whether the only one is a ticket.
fn may_begin_pair(records: &[Sealed], context: &HelloContext) -> bool {
    matches!(records, [only] if context.is_ticket(only))
}

/// Records of ticket length before a client that has to speak first did.
fn quiet_tickets(records: &[Sealed], times: ClientTimes, context: &HelloContext) -> usize {
    if !context.client_speaks_first || times.finished_ns.is_none() {
        return 0;
    }
    let quiet = |record: &&Sealed| times.application_ns.is_none_or(|time_ns| record.start_ns <= time_ns);
    records.iter().take(MAX_TICKETS).take_while(quiet).take_while(|record| context.is_ticket(record)).count()
}

/// Records that fit a ticket as long as the one that resumed the session.
fn renewed_tickets(records: &[Sealed], context: &HelloContext) -> usize {
    let Some(ticket_bytes) = context.ticket_bytes else {
        return 0;
    };
    let fits = |record: &&Sealed| {
        let frame = record.length.checked_sub(context.overhead).and_then(|length| length.checked_sub(ticket_bytes));
        frame.is_some_and(|frame| TICKET_FRAME_BYTES.contains(&frame))
    };
    records.iter().take(MAX_TICKETS).take_while(fits).count()
}

/// Both records of TLS 1.3 may be tickets of one kind, whatever the suite.
pub(super) fn is_ticket_pair(first_bytes: u64, bytes: u64) -> bool {
    let may_be = |bytes: u64| u16::try_from(bytes).is_ok_and(|bytes| TICKET_BYTES.contains(&bytes));
    may_be(first_bytes) && may_be(bytes) && first_bytes.abs_diff(bytes) <= u64::from(TICKET_DIFFERENCE_BYTES)
}

/// Bytes behind a ticket are further ones as long as it, each with its header.
pub(super) fn fills_with_tickets(first_bytes: u64, bytes: u64) -> bool {
    let whole = first_bytes + record::HEADER_BYTES;
    bytes.is_multiple_of(whole) && bytes / whole < MAX_TICKETS as u64
}

fn leading_tickets(records: &[Sealed], context: &HelloContext) -> usize {
    let Some(first) = records.first() else {
        return 0;
    };
    let alike =
        |record: &&Sealed| context.is_ticket(record) && record.length.abs_diff(first.length) <= TICKET_DIFFERENCE_BYTES;
    match records.iter().take(MAX_TICKETS).take_while(alike).count() {
        1 => 0,
        count => count,
    }
}
