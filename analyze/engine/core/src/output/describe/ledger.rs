//! Where the bytes of a connection went.

use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::summary::summary::{ConnectionSummary, DirectionSummary};
use crate::tls::facts::TlsFacts;

/// Every wire byte is in exactly one part (docs/methods.md, section 9).
pub(super) fn ledger(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let sum = |field: fn(&DirectionSummary) -> u64| summary.directions.iter().map(field).sum::<u64>();
    let wire = sum(|direction| direction.ledger.total());
    let payload = sum(|direction| direction.ledger.payload);
    let handshake =
        sum(|direction| direction.extras.stream.as_ref().map_or(0, |stream| stream.tls_handshake)).min(payload);
    let record = sum(|direction| direction.extras.stream.as_ref().map_or(0, |stream| stream.tls_record))
        .min(payload - handshake);
    let application = payload - handshake - record;
    visitor.object(key!("ledger"), true);
    visitor.integer(key!("wire_bytes"), Some(wire));
    visitor.integer(key!("link_bytes"), Some(sum(|direction| direction.ledger.link)));
    visitor.integer(key!("ip_bytes"), Some(sum(|direction| direction.ledger.ip)));
    visitor.integer(key!("tcp_header_bytes"), Some(sum(|direction| direction.ledger.tcp_header)));
    visitor.integer(key!("tcp_option_bytes"), Some(sum(|direction| direction.ledger.tcp_options)));
    visitor.integer(key!("pure_ack_bytes"), Some(sum(|direction| direction.ledger.pure_acknowledgements)));
    visitor.integer(key!("retransmitted_bytes"), Some(sum(|direction| direction.ledger.retransmitted)));
    visitor.integer(key!("tls_handshake_bytes"), Some(handshake));
    visitor.integer(key!("tls_record_bytes"), Some(record));
    visitor.integer(key!("application_bytes"), Some(application));
    visitor.number(key!("overhead_ratio"), (application > 0).then(|| (wire - application) as f64 / application as f64));
    let is_least = |facts: &TlsFacts| facts.record_overhead_bytes.is_none() || facts.padding_unknown;
    visitor.flag(key!("tls_record_is_least", IfSet), summary.tls.as_deref().map(is_least));
    visitor.end();
}
