//! What is said of TLS.

use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tls::facts::{EarlyData, TlsFacts};

pub(super) fn tls(facts: Option<&TlsFacts>, visitor: &mut impl Visitor) {
    let text = |field: fn(&TlsFacts) -> &Option<String>| facts.and_then(|facts| field(facts).as_deref());
    visitor.text(key!("version"), text(|facts| &facts.version));
    visitor.text(key!("cipher"), text(|facts| &facts.cipher));
    visitor.text(key!("sni"), text(|facts| &facts.sni));
    visitor.text(key!("alpn"), text(|facts| &facts.alpn));
    visitor.texts(key!("alpn_offered", IfKnown), facts.map_or(&[], |facts| &facts.alpn_offered));
    visitor.flag(key!("resumed"), facts.and_then(|facts| facts.resumed));
    visitor.flag(key!("hello_retry"), facts.map(|facts| facts.hello_retry));
    visitor.word(key!("early_data"), facts.map(early_data));
    visitor.flag(key!("handshake_complete"), facts.map(|facts| facts.handshake_complete));
    visitor.seconds(key!("handshake_s"), facts.and_then(|facts| facts.handshake_s).map(|seconds| seconds * 1e9));
    visitor.integer(key!("handshake_round_trips"), facts.and_then(|facts| facts.handshake_round_trips).map(u64::from));
    visitor.integer(key!("client_handshake_bytes"), facts.and_then(|facts| facts.client_handshake_bytes));
    visitor.integer(key!("server_handshake_bytes"), facts.and_then(|facts| facts.server_handshake_bytes));
    visitor.integer(key!("certificate_bytes"), facts.and_then(|facts| facts.certificate_bytes));
    visitor.texts(key!("certificate_names", IfSet), facts.map_or(&[], |facts| &facts.certificate_names));
    visitor.integer(
        key!("certificate_names_not_listed", IfSet),
        facts.map(|facts| u64::from(facts.certificate_names_not_listed)),
    );
    visitor.integer(key!("records"), facts.and_then(|facts| facts.records));
    visitor.integer(key!("record_overhead_bytes"), facts.and_then(|facts| facts.record_overhead_bytes));
    visitor.integer(key!("application_bytes"), facts.and_then(|facts| facts.application_bytes));
    visitor.integer(key!("bytes_before_tls", IfSet), facts.map(|facts| facts.bytes_before_tls));
    visitor.flag(key!("padding_unknown", IfSet), facts.map(|facts| facts.padding_unknown));
    visitor.texts(key!("alerts"), facts.map_or(&[], |facts| &facts.alerts));
    visitor
        .reasons(key!("not_measured", IfKnown), facts.into_iter().flat_map(|facts| facts.not_measured.iter().copied()));
}

fn early_data(facts: &TlsFacts) -> &'static str {
    match facts.early_data {
        EarlyData::None => "none",
        EarlyData::Offered => "offered",
        EarlyData::Sent => "sent",
        EarlyData::Accepted => "accepted",
    }
}
