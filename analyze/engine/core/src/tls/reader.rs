//! The facts read off the two directions: what each field is, or why it could not be measured.

use crate::tls::conclusion::{Conclusion, Negotiated, Pair};
use crate::tls::facts::{EarlyData, TlsFacts};
use crate::tls::handshake::Messages;
use crate::tls::names;
use crate::tls::overhead::Overhead;
use crate::tls::side::{Alert, RecordSide};

const NO_SERVER_HELLO: &str = "the ServerHello was not captured";

const NO_CLIENT_HELLO: &str = "the ClientHello was not captured";

const ENCRYPTED: &str = "TLS 1.3 encrypts it";

const NOT_FINISHED: &str = "the end of the handshake was not seen";

/// Reads the facts; `inexact` says why records cannot be counted for a reason outside the record streams.
pub(super) fn read(pair: Pair<'_>, inexact: Option<&'static str>) -> TlsFacts {
    let reader = Reader::new(pair, inexact);
    let mut facts = reader.blank();
    reader.hellos(&mut facts);
    reader.handshake(&mut facts);
    reader.certificate(&mut facts);
    reader.handshake_bytes(&mut facts);
    reader.records(&mut facts);
    facts
}

struct Reader<'a> {
    pair: Pair<'a>,
    inexact: Option<&'static str>,
    client: Messages,
    server: Messages,
    negotiated: Option<Negotiated>,
    conclusion: Conclusion,
}

impl<'a> Reader<'a> {
    fn new(pair: Pair<'a>, inexact: Option<&'static str>) -> Self {
        let messages =
            |side: Option<&RecordSide>| side.map(|side| side.assembler.messages_so_far()).unwrap_or_default();
        let (client, server) = (messages(pair.client), messages(pair.server));
        let negotiated = pair.negotiated().or_else(|| Negotiated::of_hello(server.server_hello.as_ref()));
        Self { pair, inexact, client, server, negotiated, conclusion: pair.conclude() }
    }

    fn is_tls13(&self) -> bool {
        self.negotiated.is_some_and(|negotiated| negotiated.is_tls13())
    }

    fn blank(&self) -> TlsFacts {
        let start_offset = |side: Option<&RecordSide>| side.map_or(0, |side| side.start_offset);
        TlsFacts {
            version: None,
            cipher: None,
            sni: None,
            alpn: None,
            alpn_offered: Vec::new(),
            resumed: None,
            hello_retry: self.server.hello_retry,
            early_data: EarlyData::None,
            handshake_complete: false,
            handshake_s: None,
            handshake_round_trips: None,
            client_handshake_bytes: None,
            server_handshake_bytes: None,
            certificate_bytes: None,
            certificate_names: Vec::new(),
            certificate_names_not_listed: 0,
            records: None,
            record_overhead_bytes: None,
            application_bytes: None,
            padding_unknown: false,
            bytes_before_tls: start_offset(self.pair.client).saturating_add(start_offset(self.pair.server)),
            alerts: self.alerts(),
            not_measured: Vec::new(),
        }
    }

    fn alerts(&self) -> Vec<String> {
        let sides = [
            ("client", self.pair.client, self.conclusion.client_alert),
            ("server", self.pair.server, self.conclusion.server_alert),
        ];
        let mut texts = Vec::new();
        for (who, side, encrypted_last) in sides {
            let seen = side.map(|side| side.alerts.as_slice()).unwrap_or_default();
            let last = encrypted_last.then_some(&Alert::Encrypted);
            texts.extend(seen.iter().chain(last).map(|alert| match alert {
                Alert::Plain(description) => format!("{who}: {}", names::alert(*description)),
                Alert::Encrypted => format!("{who}: encrypted alert"),
            }));
        }
        texts
    }

    fn hellos(&self, facts: &mut TlsFacts) {
        self.client_hello(facts);
        match &self.negotiated {
            None => {
                for field in ["version", "cipher", "alpn", "resumed"] {
                    facts.not_measured.push((field, NO_SERVER_HELLO));
                }
                return;
            }
            Some(negotiated) => {
                facts.version = Some(names::version(negotiated.version));
                facts.cipher = Some(names::cipher(negotiated.cipher));
            }
        }
        let hello = self.server.server_hello.as_ref();
        let cut = hello.is_some_and(|hello| hello.cut);
        if cut && !self.is_tls13() {
            facts.version = None;
            facts.not_measured.push(("version", "the ServerHello was not captured to its end"));
        }
        facts.alpn = hello.and_then(|hello| hello.alpn.clone());
        if self.is_tls13() {
            facts.not_measured.push(("alpn", ENCRYPTED));
        } else if cut && facts.alpn.is_none() {
            facts.not_measured.push(("alpn", "the ServerHello was not captured to its end"));
        }
        facts.resumed = self.resumed();
        if facts.resumed.is_none() {
            facts.not_measured.push(("resumed", "too little of the handshake was captured"));
        }
    }

    fn client_hello(&self, facts: &mut TlsFacts) {
        let Some(hello) = &self.client.client_hello else {
            facts.not_measured.push(("sni", NO_CLIENT_HELLO));
            facts.not_measured.push(("alpn_offered", NO_CLIENT_HELLO));
            return;
        };
        facts.sni.clone_from(&hello.sni);
        facts.alpn_offered.clone_from(&hello.alpn);
        if hello.cut && hello.sni.is_none() {
            facts.not_measured.push(("sni", "the ClientHello was not captured to its end"));
        }
        if hello.cut && hello.alpn.is_empty() {
            facts.not_measured.push(("alpn_offered", "the ClientHello was not captured to its end"));
        }
        let outcome = &self.conclusion.outcome;
        facts.early_data = match hello.early_data {
            false => EarlyData::None,
            true if outcome.early_data_accepted => EarlyData::Accepted,
            true if outcome.early_data_sent => EarlyData::Sent,
            true => EarlyData::Offered,
        };
    }

    fn resumed(&self) -> Option<bool> {
        let hello = self.server.server_hello.as_ref()?;
        if self.is_tls13() {
            return Some(hello.psk);
        }
        if self.server.server_hello_done || self.server.certificate_bytes.is_some() {
            return Some(false);
        }
        let changed = self.pair.server.is_some_and(|side| side.cipher_changed);
        let echoed = self
            .client
            .client_hello
            .as_ref()
            .is_some_and(|offer| !offer.session_id.is_empty() && offer.session_id == hello.session_id);
        match (changed && !self.server.incomplete, echoed) {
            (true, _) | (_, true) => Some(true),
            _ => None,
        }
    }

    fn handshake(&self, facts: &mut TlsFacts) {
        let end_ns = self.handshake_end_ns();
        facts.handshake_complete = end_ns.is_some();
        let start_ns = self.pair.client.filter(|_| self.client.client_hello.is_some()).map(|side| side.start_ns);
        let elapsed_ns = start_ns.zip(end_ns).and_then(|(start, end)| end.checked_sub(start));
        facts.handshake_s = elapsed_ns.filter(|elapsed| *elapsed >= 0).map(|elapsed| elapsed as f64 / 1e9);
        if facts.handshake_s.is_none() {
            let reason = match (start_ns, end_ns) {
                (None, _) => NO_CLIENT_HELLO,
                (_, None) => NOT_FINISHED,
                _ => "the capture clock went back during the handshake",
            };
            facts.not_measured.push(("handshake_s", reason));
        }
        facts.handshake_round_trips = end_ns.and_then(|_| self.round_trips(facts.resumed));
        if facts.handshake_round_trips.is_none() {
            let reason = if end_ns.is_some() { "too little of the handshake was captured" } else { NOT_FINISHED };
            facts.not_measured.push(("handshake_round_trips", reason));
        }
    }

    fn round_trips(&self, resumed: Option<bool>) -> Option<u32> {
        if self.is_tls13() {
            return Some(1 + u32::from(self.server.hello_retry));
        }
        resumed.map(|resumed| if resumed { 1 } else { 2 })
    }

    /// When the last byte of the last Finished passed.
    fn handshake_end_ns(&self) -> Option<i64> {
        if self.is_tls13() {
            return self.conclusion.outcome.finished_ns.map(|(_, end_ns)| end_ns);
        }
        let client = self.pair.client?.finished_ns?;
        let server = self.pair.server?.finished_ns?;
        Some(client.max(server))
    }

    fn certificate(&self, facts: &mut TlsFacts) {
        facts.certificate_bytes = self.server.certificate_bytes;
        if facts.certificate_bytes.is_some() {
            match &self.server.certificate_names {
                Some(found) => {
                    facts.certificate_names.clone_from(&found.names);
                    facts.certificate_names_not_listed = found.more;
                }
                None => facts.not_measured.push(("certificate_names", "the certificate was not captured")),
            }
            return;
        }
        let past_it = self.server.server_hello_done || self.pair.server.is_some_and(|side| side.cipher_changed);
        let reason = match self.negotiated {
            None => NO_SERVER_HELLO,
            Some(_) if self.is_tls13() => ENCRYPTED,
            Some(_) if past_it && !self.server.incomplete => {
                facts.certificate_bytes = Some(0);
                return;
            }
            Some(_) => "the server's flight was not captured to its end",
        };
        facts.not_measured.push(("certificate_bytes", reason));
    }

    fn handshake_bytes(&self, facts: &mut TlsFacts) {
        let end_ns = self.handshake_end_ns();
        let exact = |side: Option<&RecordSide>| match side {
            Some(side) if !side.assembler.hello_begun => Err("the hello was not captured"),
            Some(side) => match side.lost {
                Some(lost) if end_ns.is_none_or(|end_ns| lost.time_ns <= end_ns) => Err(lost.reason),
                _ => Ok(()),
            },
            None => Err("the direction was not captured"),
        };
        match exact(self.pair.client) {
            Ok(()) => facts.client_handshake_bytes = Some(self.conclusion.client.handshake_bytes),
            Err(reason) => facts.not_measured.push(("client_handshake_bytes", reason)),
        }
        match exact(self.pair.server) {
            Ok(()) => facts.server_handshake_bytes = Some(self.conclusion.server.handshake_bytes),
            Err(reason) => facts.not_measured.push(("server_handshake_bytes", reason)),
        }
    }

    fn records(&self, facts: &mut TlsFacts) {
        let sides = [self.pair.client, self.pair.server];
        if let Some(reason) = self.why_inexact() {
            for field in ["records", "record_overhead_bytes", "application_bytes"] {
                facts.not_measured.push((field, reason));
            }
            return;
        }
        facts.records = Some(sides.into_iter().flatten().map(|side| side.records).sum());
        match self.overhead() {
            Ok(overhead) => {
                let tallies = [&self.conclusion.client, &self.conclusion.server];
                facts.padding_unknown = overhead.is_minimum;
                facts.record_overhead_bytes = Some(tallies.iter().map(|tally| tally.overhead_bytes(overhead)).sum());
                facts.application_bytes = Some(tallies.iter().map(|tally| tally.application_bytes(overhead)).sum());
            }
            Err(reason) => {
                facts.not_measured.push(("record_overhead_bytes", reason));
                facts.not_measured.push(("application_bytes", reason));
            }
        }
        if self.negotiated.is_some_and(|negotiated| negotiated.compressed) {
            facts.application_bytes = None;
            facts.not_measured.push(("application_bytes", "TLS compression is in use"));
        }
    }

    fn overhead(&self) -> Result<Overhead, &'static str> {
        let negotiated = self.negotiated.ok_or(NO_SERVER_HELLO)?;
        negotiated.overhead().ok_or("the overhead of the cipher suite is not known")
    }

    /// Why records cannot be counted.
    fn why_inexact(&self) -> Option<&'static str> {
        let sides = || [self.pair.client, self.pair.server].into_iter().flatten();
        let lost = sides().find_map(|side| side.lost).map(|lost| lost.reason);
        let began_late = sides().any(|side| !side.assembler.hello_begun && side.start_offset > 0);
        lost.or(began_late.then_some("the capture began inside a record")).or(self.inexact)
    }
}
