//! What is said of requests: the list is the visitor's, totals and quantiles stand here.

use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::requests::exchanges::Reason;
use crate::tcp::requests::longest::Quantiles;
use crate::tcp::requests::servers::Server;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::requests::sentence;

pub(super) fn requests(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let found = summary.requests();
    visitor.requests(found.ok());
    visitor.seldom(found.is_ok(), |visitor| totals(found.ok(), visitor));
    visitor.word(key!("requests_reason", IfKnown), found.err().and_then(|reason| told(summary, reason)));
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
    let totals = requests.map(|requests| &requests.longest.totals);
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
pub(crate) fn server(server: &Server, visitor: &mut impl Visitor) {
    let totals = &server.totals;
    let nanoseconds = |value_ns: u64| i64::try_from(value_ns).ok();
    visitor.integer(key!("connections"), Some(server.connections));
    visitor.integer(key!("count"), Some(totals.count));
    visitor.integer(key!("request_bytes"), Some(totals.request_bytes));
    visitor.integer(key!("response_bytes"), Some(totals.response_bytes));
    visitor.exact_seconds(key!("request_s"), nanoseconds(totals.request_ns));
    visitor.exact_seconds(key!("first_byte_s"), nanoseconds(totals.first_byte_ns));
    visitor.exact_seconds(key!("response_s"), nanoseconds(totals.response_ns));
    quantiles(server.sketches.clone().quantiles(), visitor);
}
