//! What is said of a connection, field by field in the order of the JSON contract `vmtrace.analysis/1`.

use crate::tcp::arrival::Kind;
use crate::tcp::connection::Close;
use crate::tcp::loss::Trigger;
use crate::tcp::moments::Moments;
use crate::tcp::rtt::REJECTED_NAMES;
use crate::tcp::summary::{ConnectionSummary, DirectionSummary, Durations, SpacingSummary};
use crate::tls::{EarlyData, TlsFacts};

/// Takes the description. Every method is called for every connection in the same order, whatever is known of it, except
/// inside an object that [`Visitor::object`] declines.
pub trait Visitor {
    /// An object begins; false if its fields are not wanted because it is absent.
    fn object(&mut self, key: &'static str, present: bool) -> bool;
    /// The object ends.
    fn end(&mut self);
    /// An integer.
    fn integer(&mut self, key: &'static str, value: Option<u64>);
    /// An instant, Unix nanoseconds.
    fn instant(&mut self, key: &'static str, value: i64);
    /// A duration given in nanoseconds, told in seconds.
    fn seconds(&mut self, key: &'static str, value_ns: Option<f64>);
    /// A duration of whole nanoseconds, told in seconds.
    fn exact_seconds(&mut self, key: &'static str, value_ns: Option<i64>);
    /// A share, a mean, a rate.
    fn number(&mut self, key: &'static str, value: Option<f64>);
    /// A text.
    fn text(&mut self, key: &'static str, value: Option<&str>);
    /// Yes or no.
    fn flag(&mut self, key: &'static str, value: Option<bool>);
    /// A list of texts.
    fn texts(&mut self, key: &'static str, values: &[String]);
    /// Reasons by field.
    fn reasons(&mut self, key: &'static str, reasons: &mut dyn Iterator<Item = (&'static str, &'static str)>);
    /// The anomalies of a direction's spacing.
    fn anomalies(&mut self, spacing: Option<&SpacingSummary>);
    /// A list or value that a later stage fills; empty or null.
    fn unfilled(&mut self, key: &'static str, list: bool);
}

/// `address:port`, IPv6 in brackets.
pub fn endpoint(summary: &ConnectionSummary, side: usize) -> String {
    let port = summary.ports[side];
    if summary.ip_version == 4 {
        let start = side * 4;
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&summary.addresses[start..start + 4]);
        format!("{}:{port}", std::net::Ipv4Addr::from(bytes))
    } else {
        let start = side * 16;
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&summary.addresses[start..start + 16]);
        format!("[{}]:{port}", std::net::Ipv6Addr::from(bytes))
    }
}

/// Describes a connection.
pub fn connection(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.integer("id", Some(u64::from(summary.id)));
    visitor.integer("input", Some(u64::from(summary.input)));
    visitor.text("client", Some(&endpoint(summary, 0)));
    visitor.text("server", Some(&endpoint(summary, 1)));
    visitor.instant("start_ns", summary.start_ns);
    visitor.exact_seconds("duration_s", Some(summary.end_ns - summary.start_ns));
    visitor.integer("first_frame", Some(u64::from(summary.first_frame)));
    opening_and_closing(summary, visitor);
    visitor.object("vantage", true);
    visitor.text("side", Some(summary.vantage.side.name()));
    visitor.number("confidence", Some(summary.vantage.confidence));
    visitor.end();
    offload(summary, visitor);
    for (key, direction) in ["client_to_server", "server_to_client"].into_iter().zip(&summary.directions) {
        visitor.object(key, true);
        self::direction(direction, visitor);
        visitor.end();
    }
    if visitor.object("tls", summary.tls.is_some()) {
        tls(summary.tls.as_deref(), visitor);
        visitor.end();
    }
    ledger(summary, visitor);
    visitor.unfilled("verdict", false);
}

fn opening_and_closing(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object("handshake", true);
    visitor.flag("complete", Some(summary.handshake_complete));
    visitor.integer("syn_retransmissions", Some(u64::from(summary.directions[0].loss.syn)));
    visitor.integer("syn_ack_retransmissions", Some(u64::from(summary.directions[1].loss.syn)));
    visitor.exact_seconds("rtt_s", summary.handshake_rtt_ns);
    visitor.exact_seconds("client_loop_s", summary.handshake_loops_ns[0]);
    visitor.exact_seconds("server_loop_s", summary.handshake_loops_ns[1]);
    visitor.end();
    let close = match summary.close {
        Close::Fin => "fin",
        Close::Reset => "reset",
        Close::Open => "open",
    };
    visitor.text("close", Some(close));
    visitor.text("reset_by", summary.reset_by.map(|side| if side == 0 { "client" } else { "server" }));
    visitor.exact_seconds("teardown_s", summary.teardown_ns);
}

fn offload(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object("offload", true);
    visitor.flag("coalesced", Some(summary.directions.iter().any(|direction| direction.superpackets > 0)));
    let largest = summary.directions.iter().map(|direction| u64::from(direction.largest_payload)).max();
    visitor.integer("largest_segment_bytes", largest);
    visitor.end();
}

/// Describes a direction.
pub fn direction(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    visitor.integer("packets", Some(summary.packets));
    visitor.integer("wire_bytes", Some(summary.wire_bytes));
    visitor.integer("data_packets", Some(summary.data_packets));
    visitor.integer("data_segments", Some(summary.data_segments));
    visitor.integer("payload_bytes", Some(summary.payload_bytes));
    visitor.integer("unique_payload_bytes", Some(summary.unique_payload_bytes));
    visitor.integer("segment_size_bytes", (summary.data_packets > 0).then_some(u64::from(summary.segment_size)));
    visitor.number("goodput_bps", summary.goodput_bps());
    visitor.exact_seconds("data_time_s", summary.data_time_ns.map(|time| time as i64));
    loss(summary, visitor);
    round_trips(summary, visitor);
    spacing(&summary.spacing, visitor);
    window(summary, visitor);
    visitor.object("flight", true);
    visitor.number("mean_bytes", summary.flight.map(|(mean, _)| mean));
    visitor.integer("max_bytes", summary.flight.map(|(_, max)| max));
    visitor.end();
    visitor.unfilled("limits", true);
    visitor.reasons("not_measured", &mut summary.not_measured());
}

fn loss(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let counters = &summary.loss;
    let count = |value: u32| Some(u64::from(value));
    let trigger = |trigger: Trigger| count(counters.by_trigger[trigger as usize]);
    visitor.object("loss", true);
    visitor.integer("retransmitted_segments", count(counters.retransmitted));
    visitor.integer("retransmitted_bytes", Some(counters.retransmitted_bytes));
    visitor.object("by_trigger", true);
    for kind in [Trigger::Fast, Trigger::Rto, Trigger::Tlp, Trigger::Rack] {
        visitor.integer(kind.name(), trigger(kind));
    }
    visitor.integer("syn", count(counters.syn));
    visitor.integer("fin", count(counters.fin));
    visitor.integer("probe", count(counters.probes));
    visitor.integer(Trigger::Unknown.name(), trigger(Trigger::Unknown));
    visitor.end();
    visitor.integer("spurious_segments", count(counters.spurious));
    visitor.integer("reordered_segments", count(counters.reordered));
    visitor.integer("network_duplicates", count(counters.network_duplicates));
    visitor.integer("lost_segments_inferred", Some(summary.lost_inferred()));
    visitor.integer("lost_segments_ipid", summary.lost_by_identification);
    visitor.number("retransmission_rate", summary.retransmission_rate());
    visitor.number("loss_rate", summary.loss_rate());
    visitor.text("caveat", summary.loss_caveat());
    visitor.end();
}

fn statistics(moments: Option<&Moments>, visitor: &mut impl Visitor) {
    visitor.seconds("mean_s", moments.and_then(Moments::mean_ns));
    visitor.seconds("stddev_s", moments.and_then(Moments::stddev_ns));
}

fn round_trips(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let trips = summary.round_trips.as_ref();
    let moments = trips.map(|trips| &trips.moments);
    let quantile = |index: usize| trips.map(|trips: &Durations<3>| trips.quantiles_ns[index]);
    visitor.object("rtt", true);
    visitor.text("method", trips.map(|_| "sequence"));
    visitor.integer("samples", Some(moments.map_or(0, |moments| moments.count)));
    visitor.seconds("min_s", moments.map(|moments| moments.min_ns as f64));
    statistics(moments, visitor);
    visitor.seconds("median_s", quantile(0));
    visitor.seconds("p95_s", quantile(1));
    visitor.seconds("p99_s", quantile(2));
    visitor.seconds("max_s", moments.map(|moments| moments.max_ns as f64));
    visitor.object("rejected", true);
    for (name, &count) in REJECTED_NAMES.into_iter().zip(&summary.rejected) {
        visitor.integer(name, Some(u64::from(count)));
    }
    visitor.end();
    visitor.end();
}

fn spacing(summary: &SpacingSummary, visitor: &mut impl Visitor) {
    let moments = summary.durations.as_ref().map(|durations| &durations.moments);
    let quantile = |index: usize| summary.durations.as_ref().map(|durations| durations.quantiles_ns[index]);
    visitor.object("spacing", true);
    visitor.integer("samples", Some(moments.map_or(0, |moments| moments.count)));
    visitor.seconds("mean_s", moments.and_then(Moments::mean_ns));
    visitor.seconds("median_s", quantile(0));
    visitor.seconds("stddev_s", moments.and_then(Moments::stddev_ns));
    visitor.seconds("p99_s", quantile(1));
    visitor.seconds("max_s", moments.map(|moments| moments.max_ns as f64));
    visitor.integer("oversize", moments.map(|_| summary.oversize));
    visitor.exact_seconds("oversize_time_s", moments.map(|_| summary.oversize_time_ns as i64));
    visitor.exact_seconds("oversize_threshold_s", moments.map(|_| summary.oversize_threshold_ns as i64));
    visitor.text("oversize_rule", moments.map(|_| if summary.fixed_threshold { "fixed" } else { "adaptive" }));
    visitor.anomalies(moments.map(|_| summary));
    visitor.end();
}

fn window(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let summary = &direction.window;
    visitor.object("window", true);
    visitor.integer("scale", summary.scale.map(u64::from));
    visitor.integer("min_bytes", summary.extremes.map(|(min, _, _)| min));
    visitor.number("mean_bytes", summary.extremes.map(|(_, mean, _)| mean));
    visitor.integer("max_bytes", summary.extremes.map(|(_, _, max)| max));
    visitor.integer("zero_windows", Some(summary.zero_windows));
    visitor.exact_seconds("zero_window_time_s", Some(summary.zero_time_ns as i64));
    visitor.exact_seconds("limited_time_s", summary.limited_ns.map(|time| time as i64));
    visitor.number("limited_fraction", direction.limited_fraction());
    visitor.end();
}

fn early_data(facts: &TlsFacts) -> &'static str {
    match facts.early_data {
        EarlyData::None => "none",
        EarlyData::Offered => "offered",
        EarlyData::Sent => "sent",
        EarlyData::Accepted => "accepted",
    }
}

fn tls(facts: Option<&TlsFacts>, visitor: &mut impl Visitor) {
    let text = |field: fn(&TlsFacts) -> &Option<String>| facts.and_then(|facts| field(facts).as_deref());
    visitor.text("version", text(|facts| &facts.version));
    visitor.text("cipher", text(|facts| &facts.cipher));
    visitor.text("sni", text(|facts| &facts.sni));
    visitor.text("alpn", text(|facts| &facts.alpn));
    visitor.texts("alpn_offered", facts.map_or(&[], |facts| &facts.alpn_offered));
    visitor.flag("resumed", facts.and_then(|facts| facts.resumed));
    visitor.flag("hello_retry", facts.map(|facts| facts.hello_retry));
    visitor.text("early_data", facts.map(early_data));
    visitor.flag("handshake_complete", facts.map(|facts| facts.handshake_complete));
    visitor.seconds("handshake_s", facts.and_then(|facts| facts.handshake_s).map(|seconds| seconds * 1e9));
    visitor.integer("handshake_round_trips", facts.and_then(|facts| facts.handshake_round_trips).map(u64::from));
    visitor.integer("client_handshake_bytes", facts.and_then(|facts| facts.client_handshake_bytes));
    visitor.integer("server_handshake_bytes", facts.and_then(|facts| facts.server_handshake_bytes));
    visitor.integer("certificate_bytes", facts.and_then(|facts| facts.certificate_bytes));
    visitor.integer("records", facts.and_then(|facts| facts.records));
    visitor.integer("record_overhead_bytes", facts.and_then(|facts| facts.record_overhead_bytes));
    visitor.integer("application_bytes", facts.and_then(|facts| facts.application_bytes));
    visitor.integer("bytes_before_tls", facts.map(|facts| facts.bytes_before_tls));
    visitor.flag("padding_unknown", facts.map(|facts| facts.padding_unknown));
    visitor.texts("alerts", facts.map_or(&[], |facts| &facts.alerts));
    visitor.reasons("not_measured", &mut facts.into_iter().flat_map(|facts| facts.not_measured.iter().copied()));
}

/// Every wire byte is in exactly one part (methods, section 6.10).
fn ledger(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let sum = |field: fn(&DirectionSummary) -> u64| summary.directions.iter().map(field).sum::<u64>();
    let wire = sum(|direction| direction.ledger.total());
    let payload = sum(|direction| direction.ledger.payload);
    let handshake = sum(|direction| direction.stream.tls_handshake).min(payload);
    let record = sum(|direction| direction.stream.tls_record).min(payload - handshake);
    let application = payload - handshake - record;
    visitor.object("ledger", true);
    visitor.integer("wire_bytes", Some(wire));
    visitor.integer("link_bytes", Some(sum(|direction| direction.ledger.link)));
    visitor.integer("ip_bytes", Some(sum(|direction| direction.ledger.ip)));
    visitor.integer("tcp_header_bytes", Some(sum(|direction| direction.ledger.tcp_header)));
    visitor.integer("tcp_option_bytes", Some(sum(|direction| direction.ledger.tcp_options)));
    visitor.integer("pure_ack_bytes", Some(sum(|direction| direction.ledger.pure_acknowledgements)));
    visitor.integer("retransmitted_bytes", Some(sum(|direction| direction.ledger.retransmitted)));
    visitor.integer("tls_handshake_bytes", Some(handshake));
    visitor.integer("tls_record_bytes", Some(record));
    visitor.integer("application_bytes", Some(application));
    visitor.number("overhead_ratio", (application > 0).then(|| (wire - application) as f64 / application as f64));
    visitor.end();
}

/// Name of a packet kind.
pub fn kind_name(kind: Kind) -> &'static str {
    crate::tcp::arrival::KIND_NAMES[kind as usize]
}
