//! Two directions read together: what was negotiated, and which records it makes handshake.
//!
//! Rule: docs/methods.md, "TLS without keys".

use crate::tls::hello::ServerHello;
use crate::tls::names;
use crate::tls::overhead::{self, Overhead};
use crate::tls::phase::{self, ClientSplit, ClientTimes, HelloContext, ServerSplit};
use crate::tls::record::ContentType;
use crate::tls::side::{ClientOutcome, RecordSide};
use crate::tls::tally::{Sealed, Tally};

/// Protection assumed for classifying records of a TLS 1.3 suite that is not known: a 16-byte tag and the type byte.
pub(super) const USUAL_TLS13_OVERHEAD: u16 = 17;

/// The two directions by what they say, which need not be what the capture's first packets made of them.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) client: Option<&'a RecordSide>,
    pub(super) server: Option<&'a RecordSide>,
}

/// Version and suite, once a ServerHello told them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Negotiated {
    pub(super) version: u16,
    pub(super) cipher: u16,
    pub(super) compressed: bool,
}

impl Negotiated {
    pub(super) fn of(server: &RecordSide) -> Option<Self> {
        Self::of_hello(server.assembler.messages.server_hello.as_ref())
    }

    /// What a ServerHello says.
    pub(super) fn of_hello(hello: Option<&ServerHello>) -> Option<Self> {
        let hello = hello?;
        Some(Self { version: hello.version, cipher: hello.cipher, compressed: hello.compression != 0 })
    }

    pub(super) fn is_tls13(&self) -> bool {
        names::is_tls13(self.version)
    }

    pub(super) fn overhead(&self) -> Option<Overhead> {
        overhead::of(self.version, self.cipher)
    }
}

/// What the records of both directions come to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conclusion {
    pub(super) client: Tally,
    pub(super) server: Tally,
    pub(super) outcome: ClientOutcome,
    /// The last record of the direction is an encrypted alert by its length.
    pub(super) client_alert: bool,
    pub(super) server_alert: bool,
}

impl Pair<'_> {
    pub(super) fn negotiated(&self) -> Option<Negotiated> {
        self.server.and_then(Negotiated::of)
    }

    fn context(&self) -> Option<HelloContext> {
        let negotiated = self.negotiated().filter(Negotiated::is_tls13)?;
        let hello = self.client.and_then(|client| client.assembler.messages.client_hello.as_ref());
        Some(HelloContext {
            overhead: negotiated.overhead().map_or(USUAL_TLS13_OVERHEAD, |overhead| overhead.bytes),
            hash_bytes: overhead::tls13_hash_bytes(negotiated.cipher).unwrap_or(32),
            early_data_offered: hello.is_some_and(|hello| hello.early_data),
            ticket_bytes: hello.and_then(|hello| hello.ticket_bytes).filter(|_| self.resumed()),
            client_speaks_first: hello.is_some_and(|hello| hello.offers_http()),
            server_hello_ns: self.server.and_then(|server| server.server_hello_ns).unwrap_or(i64::MIN),
        })
    }

    fn resumed(&self) -> bool {
        self.server.and_then(|server| server.assembler.messages.server_hello.as_ref()).is_some_and(|hello| hello.psk)
    }

    /// Reads the records as they stand.
    pub(super) fn conclude(&self) -> Conclusion {
        let context = self.context();
        let client = self.client.map(RecordLedger::of).unwrap_or_default();
        let server = self.server.map(RecordLedger::of).unwrap_or_default();
        let mut conclusion = Conclusion { client: client.tally, server: server.tally, ..Conclusion::default() };
        let Some(context) = context else {
            client.undecided.iter().for_each(|record| conclusion.client.add_application(record));
            server.undecided.iter().for_each(|record| conclusion.server.add_application(record));
            return conclusion;
        };
        let settled = self.client.and_then(|client| client.client_outcome);
        let (outcome, split) = fold_client(&client.undecided, &context, &mut conclusion.client);
        conclusion.outcome = settled.unwrap_or(outcome);
        let server_split = fold_server(&server.undecided, &conclusion.outcome, &context, &mut conclusion.server);
        let client_last = client.last_application(|index, _| split.is_handshake(index));
        let server_last = server.last_application(|index, record| server_split.is_handshake(index, record, &context));
        conclusion.client_alert = recount_alert(client_last, &context, &mut conclusion.client);
        conclusion.server_alert = recount_alert(server_last, &context, &mut conclusion.server);
        conclusion
    }
}

/// One direction's counters with its unfinished record.
#[derive(Clone, Default)]
struct RecordLedger {
    tally: Tally,
    /// Records that say "application data" and may be handshake (TLS 1.3).
    undecided: Vec<Sealed>,
    /// The last record, if it is application data by its type and complete.
    last: Option<Sealed>,
}

impl RecordLedger {
    fn of(side: &RecordSide) -> Self {
        let undecided = side.undecided.clone().unwrap_or_default();
        let mut ledger = Self { tally: side.tally, undecided, last: side.last_application };
        let Some((content_type, record)) = side.unfinished() else {
            return ledger;
        };
        match content_type {
            ContentType::Application if !ledger.undecided.is_empty() => ledger.undecided.push(record),
            ContentType::Application => ledger.tally.add_application(&record),
            ContentType::Alert | ContentType::Heartbeat => ledger.tally.add_control(&record),
            _ => ledger.tally.add_handshake(&record),
        }
        ledger.last = None;
        ledger
    }

    /// The last record, unless it was classified as handshake.
    fn last_application(&self, is_handshake: impl Fn(usize, &Sealed) -> bool) -> Option<Sealed> {
        let index = self.undecided.len().wrapping_sub(1);
        let handshake = self.undecided.get(index).is_some_and(|record| is_handshake(index, record));
        self.last.filter(|_| !handshake)
    }
}

/// Classifies what can be classified for good, so that the records need not be kept.
pub(super) fn settle(client: Option<&mut RecordSide>, server: Option<&mut RecordSide>) {
    let pair = Pair { client: client.as_deref(), server: server.as_deref() };
    let Some(negotiated) = pair.negotiated() else {
        return;
    };
    let Some(context) = pair.context().filter(|_| negotiated.is_tls13()) else {
        [client, server].into_iter().flatten().for_each(settle_as_application);
        return;
    };
    let mut outcome = None;
    if let Some(client) = client {
        settle_client(client, &context);
        outcome = client.client_outcome;
    }
    if let (Some(server), Some(outcome)) = (server, outcome) {
        settle_server(server, &outcome, &context);
    }
}

fn settle_as_application(side: &mut RecordSide) {
    for record in side.undecided.take().unwrap_or_default() {
        side.tally.add_application(&record);
        side.outbox.classified(&record);
    }
}

/// Sends out the records that are no handshake.
fn send_out(side: &mut RecordSide, records: &[Sealed], is_handshake: impl Fn(usize, &Sealed) -> bool) {
    let messages = records.iter().enumerate().filter(|(index, record)| !is_handshake(*index, record));
    messages.for_each(|(_, record)| side.outbox.classified(record));
}

/// Sends out what is still not classified for good, as it stands. To be called once, when nothing follows.
pub(super) fn finish(client: &mut RecordSide, server: &mut RecordSide) {
    let context = Pair { client: Some(client), server: Some(server) }.context();
    let Some(context) = context else {
        [client, server].into_iter().for_each(settle_as_application);
        return;
    };
    let mut outcome = client.client_outcome;
    if let Some(undecided) = client.undecided.take() {
        let (found, split) = fold_client(&undecided, &context, &mut Tally::default());
        outcome.get_or_insert(found);
        send_out(client, &undecided, |index, _| split.is_handshake(index));
    }
    if let Some(undecided) = server.undecided.take() {
        let split = fold_server(&undecided, &outcome.unwrap_or_default(), &context, &mut Tally::default());
        send_out(server, &undecided, |index, record| split.is_handshake(index, record, &context));
    }
}

fn settle_client(client: &mut RecordSide, context: &HelloContext) {
    let Some(undecided) = client.undecided.take() else {
        return;
    };
    let mut tally = client.tally;
    let (outcome, split) = fold_client(&undecided, context, &mut tally);
    if split.settled || undecided.len() >= phase::MAX_RECORDS {
        client.tally = tally;
        client.client_outcome = Some(outcome);
        send_out(client, &undecided, |index, _| split.is_handshake(index));
    } else {
        client.undecided = Some(undecided);
    }
}

fn settle_server(server: &mut RecordSide, outcome: &ClientOutcome, context: &HelloContext) {
    let Some(undecided) = server.undecided.take() else {
        return;
    };
    let mut tally = server.tally;
    let split = fold_server(&undecided, outcome, context, &mut tally);
    if split.settled || undecided.len() >= phase::MAX_RECORDS {
        server.tally = tally;
        send_out(server, &undecided, |index, record| split.is_handshake(index, record, context));
    } else {
        server.undecided = Some(undecided);
    }
}

fn fold_client(records: &[Sealed], context: &HelloContext, tally: &mut Tally) -> (ClientOutcome, ClientSplit) {
    let split = phase::split_client(records, context);
    for (index, record) in records.iter().enumerate() {
        match split.is_handshake(index) {
            true => tally.add_handshake(record),
            false => tally.add_application(record),
        }
    }
    let outcome = ClientOutcome {
        finished_ns: split.finished(records).map(|record| (record.start_ns, record.end_ns)),
        application_ns: records.get(split.handshake_end).map(|record| record.start_ns),
        early_data_sent: context.early_data_offered && split.handshake_start > 0,
        early_data_accepted: split.early_data_accepted,
    };
    (outcome, split)
}

fn fold_server(records: &[Sealed], outcome: &ClientOutcome, context: &HelloContext, tally: &mut Tally) -> ServerSplit {
    let times = ClientTimes {
        finished_ns: outcome.finished_ns.map(|(start_ns, _)| start_ns),
        application_ns: outcome.application_ns,
    };
    let split = phase::split_server(records, times, context);
    for (index, record) in records.iter().enumerate() {
        match split.is_handshake(index, record, context) {
            true => tally.add_handshake(record),
            false => tally.add_application(record),
        }
    }
    split
}

/// A direction whose last record has just the length of an alert closed with one: two bytes of application data would
/// look the same, and are rarer.
fn recount_alert(last: Option<Sealed>, context: &HelloContext, tally: &mut Tally) -> bool {
    let alert = last.filter(|record| context.is_alert(record));
    if let Some(record) = &alert {
        tally.application_was_control(record);
    }
    alert.is_some()
}
