//! Requests and responses: of a connection, and of all connections to a server.

use crate::output::fields::field::{Section, field};

const FIRST_BYTE: &str = "first_byte_median_s, first_byte_p95_s, first_byte_p99_s";
const DURATION: &str = "duration_median_s, duration_p95_s, duration_p99_s";

pub(super) const REQUESTS: Section = Section {
    name: "exchange",
    at: &["connections[].requests[]"],
    fields: &[
        field("start_ns", "first byte of the request passed"),
        field("request_bytes, response_bytes", "inside TLS without what protects the records"),
        field("request_s", "first to last byte of the request"),
        field("first_byte_s", "last byte of the request to first byte of the response, at the capture point"),
        field("duration_s", "first byte of the request to last byte of the response"),
        field("frames", "request's first byte, response's first byte, response's last byte"),
    ],
};

pub(super) const REQUEST_TOTALS: Section = Section {
    name: "request_totals",
    at: &["connections[].request_totals"],
    fields: &[
        field("count", "exchanges"),
        field("not_listed", "those not in `requests`"),
        field("request_bytes, response_bytes", "of all"),
        field("handshake_s, tls_s", "the two handshakes").null("if there was none, or it was not captured"),
        field("request_s, first_byte_s, response_s", "sums over all exchanges"),
        field("retransmitting_s", "of `first_byte_s`, what passed while requests were retransmitted"),
        field("between_s", "from the end of each response to the next request"),
        field(
            "server_loop_s",
            "shortest round trip from the capture point to the server and back: what of each first byte is the path's",
        )
        .null("if it does not show"),
        field(FIRST_BYTE, "time to first byte of all exchanges").null("without exchanges"),
        field(DURATION, "duration of all exchanges").null("without exchanges"),
        field("largest_part", "the part with more than half of the time")
            .values(|| vec!["handshake", "tls", "request", "first_byte", "retransmission", "response", "between"])
            .null("if none has"),
        field("sentence", "the same in a sentence").null("without such a part"),
    ],
};

pub(super) const REQUEST_SERVERS: Section = Section {
    name: "request_server",
    at: &["request_servers[]"],
    fields: &[
        field("server", "`address:port`"),
        field("connections, count", "connections with requests; their exchanges"),
        field("request_bytes, response_bytes", "of all"),
        field("request_s, first_byte_s, response_s", "sums over all exchanges"),
        field(FIRST_BYTE, "time to first byte").null("without exchanges"),
        field(DURATION, "duration").null("without exchanges"),
    ],
};
