//! A connection, field by field. Its directions are `direction`'s, where its bytes went is `ledger`'s.

use crate::output::describe::account::account;
use crate::output::describe::direction;
use crate::output::describe::http2::http2;
use crate::output::describe::ledger::ledger;
use crate::output::describe::outcome::{icmp_errors, outcome, tunnels};
use crate::output::describe::requests::requests;
use crate::output::describe::tls::tls;
use crate::output::describe::verdict::verdict;
use crate::output::describe::visitor::{Abridged, Visitor};
use crate::output::fixed::thousandths;
use crate::output::key::key;
use crate::tcp::events::close::Close;
use crate::tcp::summary::summary::ConnectionSummary;

/// Describes a connection.
pub fn connection(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.integer(key!("id"), Some(u64::from(summary.id)));
    visitor.integer(key!("input"), Some(u64::from(summary.input)));
    visitor.endpoint(key!("client"), summary, 0);
    visitor.endpoint(key!("server"), summary, 1);
    visitor.instant(key!("start_ns"), summary.start_ns);
    visitor.exact_seconds(key!("duration_s"), Some(summary.end_ns - summary.start_ns));
    visitor.integer(key!("first_frame"), Some(u64::from(summary.first_frame)));
    opening_and_closing(summary, visitor);
    visitor.object(key!("vantage"), true);
    visitor.word(key!("side"), Some(summary.vantage.side.name()));
    // An estimate: more digits would be pretence.
    visitor.number(key!("confidence"), Some(thousandths(summary.vantage.confidence)));
    visitor.end();
    offload(summary, visitor);
    let keys = [key!("client_to_server"), key!("server_to_client")];
    for (side, (key, direction)) in keys.into_iter().zip(&summary.directions).enumerate() {
        visitor.object(key, true);
        direction::direction(direction, summary.limits(side), visitor);
        visitor.end();
    }
    if visitor.object(key!("tls"), summary.tls.is_some()) {
        tls(summary.tls.as_deref(), visitor);
        visitor.end();
    }
    requests(summary, visitor);
    let details = summary.details.as_deref();
    let asked_for = summary.tls.as_deref().and_then(|facts| facts.sni.as_deref());
    visitor.text(key!("server_name", IfKnown), asked_for.or(details.and_then(|details| details.host.as_deref())));
    visitor.in_document_only(|visitor| http2(details.and_then(|details| details.http2.as_deref()), visitor));
    ledger(summary, visitor);
    let reached = summary.bounds();
    let listed = if reached.is_empty() { None } else { Some(reached.list().map(|bound| bound.name().to_owned())) };
    visitor.texts(key!("bounds_reached", IfSet), &listed.into_iter().flatten().collect::<Vec<String>>());
    visitor.abridged(Abridged::Outcome, summary, |visitor| outcome(summary.outcome().as_ref(), visitor));
    tunnels(details.and_then(|details| details.tunnels.as_ref()), visitor);
    visitor.abridged(Abridged::IcmpErrors, summary, |visitor| icmp_errors(summary.icmp_errors(), visitor));
    visitor.in_document_only(|visitor| account(summary, visitor));
    visitor.abridged(Abridged::Verdict, summary, |visitor| verdict(summary.verdict().as_ref(), visitor));
}

fn opening_and_closing(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("handshake"), true);
    visitor.flag(key!("complete"), Some(summary.handshake_complete));
    let [syn_retransmissions, syn_ack_retransmissions] = summary.opening_repeats();
    visitor.integer(key!("syn_retransmissions"), syn_retransmissions);
    visitor.integer(key!("syn_ack_retransmissions"), syn_ack_retransmissions);
    visitor.exact_seconds(key!("rtt_s"), summary.handshake_rtt_ns());
    visitor.word(key!("window_scale"), Some(summary.scaling.name()));
    visitor.flag(key!("answered_nearer"), summary.answered_nearer);
    visitor.exact_seconds(key!("client_loop_s", IfKnown), summary.handshake_loops_ns()[0]);
    visitor.exact_seconds(key!("server_loop_s", IfKnown), summary.handshake_loops_ns()[1]);
    visitor.end();
    let close = match summary.close {
        Close::Fin => "fin",
        Close::Reset => "reset",
        Close::Open => "open",
    };
    visitor.word(key!("close"), Some(close));
    visitor.word(key!("reset_by", IfKnown), summary.reset_by.map(|side| if side == 0 { "client" } else { "server" }));
    visitor.exact_seconds(key!("teardown_s", IfKnown), summary.teardown_ns());
}

fn offload(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("offload"), true);
    visitor.flag(key!("coalesced"), Some(summary.directions.iter().any(|direction| direction.extras.superpackets > 0)));
    let largest = summary.directions.iter().map(|direction| u64::from(direction.largest_payload)).max();
    visitor.integer(key!("largest_segment_bytes"), largest);
    visitor.end();
}
