//! What is said of requests: the list, totals and quantiles; the same of a server.

use crate::output::describe::endpoint::address;
use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::requests::exchanges::Reason;
use crate::tcp::requests::longest::{Exchange, Quantiles, RequestTotals};
use crate::tcp::requests::servers::{Server, ServerKey};
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::requests::sentence;

pub(super) fn requests(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let found = summary.requests();
    visitor.in_document_only(|visitor| exchanges(found.ok(), visitor));
    visitor.seldom(found.is_ok(), |visitor| totals(found.ok(), visitor));
    visitor.word(key!("requests_reason", IfKnown), found.err().and_then(|reason| told(summary, reason)));
}

fn exchanges(requests: Option<&RequestSummary>, visitor: &mut impl Visitor) {
    let list = requests.map(|requests| requests.longest.list.iter());
    visitor.records(key!("requests"), list, |exchange, visitor| {
        let seconds = |value: fn(&Exchange) -> u64| exchange.and_then(|exchange| i64::try_from(value(exchange)).ok());
        visitor.known_instant(key!("start_ns"), exchange.map(|exchange| exchange.start.0));
        visitor.integer(key!("request_bytes"), exchange.map(|exchange| exchange.request_bytes));
        visitor.exact_seconds(key!("request_s"), seconds(|exchange| exchange.request_ns));
        visitor.exact_seconds(key!("first_byte_s"), seconds(|exchange| exchange.first_byte_ns));
        visitor.integer(key!("response_bytes"), exchange.map(|exchange| exchange.response_bytes));
        visitor.exact_seconds(key!("duration_s"), seconds(Exchange::duration_ns));
        let frames = exchange.map(|exchange| [exchange.start.1, exchange.frames[0], exchange.frames[1]]);
        visitor.integers(key!("frames"), frames.into_iter().flatten().map(u64::from));
    });
}

/// Where no side, or one only, sent data there is nothing to explain.
fn told(summary: &ConnectionSummary, reason: Reason) -> Option<&'static str> {
    let both = summary.directions.iter().all(|direction| direction.data_packets > 0);
    both.then(|| reason.name())
}

fn totals(requests: Option<&RequestSummary>, visitor: &mut impl Visitor) {
    if !visitor.optional_object(key!("request_totals"), requests.is_some()) {
        return;
    }
    let totals = requests.map(|requests| requests.longest.totals());
    let nanoseconds = |value_ns: Option<u64>| value_ns.and_then(|value_ns| i64::try_from(value_ns).ok());
    visitor.integer(key!("count"), totals.map(|totals| totals.count));
    let listed = requests.map(|requests| requests.longest.list.len() as u64);
    visitor.integer(key!("not_listed"), totals.zip(listed).map(|(totals, listed)| totals.count - listed));
    visitor.integer(key!("request_bytes"), totals.map(|totals| totals.request_bytes));
    visitor.integer(key!("response_bytes"), totals.map(|totals| totals.response_bytes));
    visitor.exact_seconds(key!("handshake_s"), nanoseconds(requests.and_then(|requests| requests.handshake_ns.get())));
    visitor.exact_seconds(key!("tls_s"), nanoseconds(requests.and_then(|requests| requests.tls_ns.get())));
    visitor.exact_seconds(key!("request_s"), nanoseconds(totals.map(|totals| totals.request_ns)));
    visitor.exact_seconds(key!("first_byte_s"), nanoseconds(totals.map(|totals| totals.first_byte_ns)));
    visitor.exact_seconds(key!("response_s"), nanoseconds(totals.map(|totals| totals.response_ns)));
    let retransmitting_ns = requests.map(|requests| requests.retransmitting_ns);
    visitor.exact_seconds(key!("retransmitting_s"), nanoseconds(retransmitting_ns));
    visitor.exact_seconds(key!("between_s"), nanoseconds(requests.map(|requests| requests.longest.between_ns())));
    visitor
        .exact_seconds(key!("server_loop_s"), nanoseconds(requests.and_then(|requests| requests.server_loop_ns.get())));
    quantiles(requests.map_or([None; 2], |requests| requests.longest.quantiles()), visitor);
    visitor.word(key!("largest_part"), requests.and_then(RequestSummary::largest).map(|(part, _)| part.name()));
    visitor.text(key!("sentence"), requests.and_then(sentence).as_deref());
    visitor.end();
}

/// Median, 95th and 99th percentile of time to first byte and of duration.
fn quantiles([first_byte, duration]: [Quantiles; 2], visitor: &mut impl Visitor) {
    visitor.seconds(key!("first_byte_median_s"), first_byte.map(|[median, ..]| median));
    visitor.seconds(key!("first_byte_p95_s"), first_byte.map(|[_, p95, _]| p95));
    visitor.seconds(key!("first_byte_p99_s"), first_byte.map(|[.., p99]| p99));
    visitor.seconds(key!("duration_median_s"), duration.map(|[median, ..]| median));
    visitor.seconds(key!("duration_p95_s"), duration.map(|[_, p95, _]| p95));
    visitor.seconds(key!("duration_p99_s"), duration.map(|[.., p99]| p99));
}

/// The same of all connections to one server.
pub(super) fn server(found: Option<&(ServerKey, Server)>, visitor: &mut impl Visitor) {
    let server = found.map(|(_, server)| server);
    let total = |value: fn(&RequestTotals) -> u64| server.map(|server| value(&server.totals));
    let seconds = |value: fn(&RequestTotals) -> u64| total(value).and_then(|value_ns| i64::try_from(value_ns).ok());
    visitor.text(key!("server"), found.map(|(key, _)| address(key)).as_deref());
    visitor.integer(key!("connections"), server.map(|server| server.connections));
    visitor.integer(key!("count"), total(|totals| totals.count));
    visitor.integer(key!("request_bytes"), total(|totals| totals.request_bytes));
    visitor.integer(key!("response_bytes"), total(|totals| totals.response_bytes));
    visitor.exact_seconds(key!("request_s"), seconds(|totals| totals.request_ns));
    visitor.exact_seconds(key!("first_byte_s"), seconds(|totals| totals.first_byte_ns));
    visitor.exact_seconds(key!("response_s"), seconds(|totals| totals.response_ns));
    quantiles(server.map_or([None; 2], |server| server.sketches.clone().quantiles()), visitor);
}
