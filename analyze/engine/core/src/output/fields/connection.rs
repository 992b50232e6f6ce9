//! A connection, its TLS, and where its bytes went.

use crate::output::fields::direction::factors;
use crate::output::fields::field::{Section, field};
use crate::tcp::events::bounds::ListBound;
use crate::tcp::events::owner::Owner;

pub(super) const CONNECTION: Section = Section {
    name: "connection",
    at: &["connections[]"],
    fields: &[
        field("id", "number for `--connection`, in order of appearance"),
        field("input", "index in `inputs` of the file that it was first seen in"),
        field("client, server", "`address:port`, IPv6 in brackets; who opened it, as far as the capture shows"),
        field("start_ns", "first frame"),
        field("duration_s", "first to last frame; it and `start_ns` are 0 if the capture gives no packet a time"),
        field("first_frame", "number of the first frame in its file"),
        field("handshake", "the TCP handshake:"),
        field("handshake.complete", "SYN, SYN/ACK and ACK are in the capture"),
        field("handshake.syn_retransmissions, handshake.syn_ack_retransmissions", "retransmissions")
            .null("if the handshake is not in the capture"),
        field("handshake.rtt_s", "round-trip time of the handshake")
            .null("where one of its steps was not seen, or [recorded late](methods.md#syn-recorded-late)"),
        field(
            "handshake.window_scale",
            "`agreed`, `not_offered` (by the client), `offered_not_agreed` (one SYN has the option, the other has not), `unknown`",
        )
        .values(|| vec!["agreed", "not_offered", "offered_not_agreed", "unknown"]),
        field("handshake.answered_nearer", "a device nearer than the host that acknowledges data replied to the SYN")
            .null("if too little is known"),
        field("handshake.client_loop_s", "from the capture point to the client and back"),
        field("handshake.server_loop_s", "from the capture point to the server and back"),
        field("close", "`fin`, `reset`, or `open`: the end is not in the capture")
            .values(|| vec!["fin", "reset", "open"]),
        field("reset_by", "who sent the first reset").values(|| vec!["client", "server"]).left_out("if nobody did"),
        field("teardown_s", "first FIN to the acknowledgement of the last, or to the reset"),
        field("vantage", "where the capture was made:"),
        field("vantage.side", "at which side").values(|| vec!["client", "server", "middle", "unknown"]),
        field("vantage.confidence", "how sure that is").share(),
        field("offload", "segmentation offload:"),
        field("offload.coalesced", "frames hold several segments"),
        field("offload.largest_segment_bytes", "largest payload of a frame"),
        field("client_to_server, server_to_client", "the two directions"),
        field("tls", "the TLS inside").null("if none was recognised"),
        field("requests", "requests and responses in time order; of more than 16 those that took longest")
            .null("where the packets show none, or not which response belongs to which request"),
        field("request_totals", "sums over all of them").left_out("without `requests`"),
        field("requests_reason", "why `requests` is null although both sides sent data").values(|| {
            vec!["no_exchange", "overlapping", "unprompted", "ssh", "snap_length", "missing_packets", "no_time"]
        }),
        field("server_name", "what its client calls the server: the name in TLS (`sni`), else the host of its first HTTP/1 request")
            .left_out("if neither was read"),
        field("http2", "frames of HTTP/2, in clear text or opened by keys").left_out("where none were read"),
        field("ledger", "where its bytes went"),
        field(
            "bounds_reached",
            "lists that were full, so that the oldest entries were forgotten ([methods.md](methods.md#bounds-of-what-is-remembered))",
        )
        .values(|| ListBound::ALL.map(ListBound::name).to_vec()),
        field("outcome", "what became of it")
            .null("if it opened, moved its data and ended, and for one that the capture cut"),
        field("tunnel", "the tunnels that it was found in, the outermost first").left_out("if there is none"),
        field("tunnel[].kind", "such as `vxlan`, `geneve`, `gre`, `fou`"),
        field("tunnel[].outer", "addresses of the packets around it: at the client's end, at the server's"),
        field("tunnel[].id", "network identifier, key or session").null("if it has none"),
        field("icmp_errors", "ICMP errors that quote it, at most 16 ([verdict.md](verdict.md#what-became-of-a-connection))"),
        field("icmp_errors[].time_ns", "when it passed"),
        field("icmp_errors[].type, icmp_errors[].code", "as in its header"),
        field("icmp_errors[].from", "who sent it"),
        field("icmp_errors[].frame", "its frame"),
        field("icmp_errors[].mtu", "largest packet that goes further").unit("bytes").null("where it names none"),
        field("icmp_errors_not_listed", "more of them"),
        field("account", "where its time went, the longest first: it adds up to `duration_s` ([verdict.md](verdict.md#the-account))"),
        field("account[].owner", "whose time it was").values(|| Owner::ALL.map(Owner::name).to_vec()),
        field("account[].kind", "what it was spent on: a factor").values(factors),
        field("account[].time_s", "how long"),
        field("account[].saves_s", "by how much shorter it would have been without ([verdict.md](verdict.md#savings))")
            .null("if that is not known"),
        field(
            "icmp_errors_related",
            "ICMP errors that reached its client or server and quote a number that it sent, under other addresses or ports",
        )
        .left_out("if there are none"),
        field("icmp_errors_related[].time_ns", "when it passed"),
        field("icmp_errors_related[].type, icmp_errors_related[].code", "as in its header"),
        field("icmp_errors_related[].from", "who sent it"),
        field("icmp_errors_related[].frame", "its frame"),
        field("icmp_errors_related[].mtu", "largest packet that goes further").unit("bytes").null("where it names none"),
        field("icmp_errors_related[].quotes", "source and destination of the quoted segment"),
        field("icmp_errors_related_not_listed", "more of them"),
        field("lookup", "index in `lookups` of the name that was waited for before it")
            .null("without, and where that is not listed"),
        field("verdict", "why it was slow").null("for a transfer of fewer than ten data packets"),
    ],
};

pub(super) const TLS: Section = Section {
    name: "tls",
    at: &["connections[].tls"],
    fields: &[
        field("version, cipher", "as agreed on").null("if not captured"),
        field("sni", "server name asked for").null("if there is none"),
        field("alpn", "protocol agreed on").null("if there is none"),
        field("alpn_offered", "protocols that the client offered"),
        field("resumed", "an earlier session was resumed").null("if that does not show"),
        field("hello_retry", "the server asked for another client hello"),
        field("early_data", "of TLS 1.3").values(|| vec!["none", "offered", "sent", "accepted"]),
        field("handshake_complete", "the handshake was seen to its end"),
        field("handshake_s, handshake_round_trips", "from the client hello until application data may flow")
            .null("with a reason in `not_measured`"),
        field("client_handshake_bytes, server_handshake_bytes", "of handshake messages").null("if not captured"),
        field("certificate_bytes", "of the certificates among them").null("if they are encrypted or not captured"),
        field(
            "certificate_names",
            "host names in the server's certificate (common name, then alternative names; the first eight), where it is not encrypted",
        ),
        field("certificate_names_not_listed", "how many more"),
        field("records", "number of records").null("with a reason in `not_measured`"),
        field("record_overhead_bytes", "headers, nonces and tags of all records")
            .null("with a reason in `not_measured`"),
        field("application_bytes", "payload inside").null("with a reason in `not_measured`"),
        field("bytes_before_tls", "of the stream, such as a CONNECT request"),
        field("padding_unknown", "CBC padding cannot be seen: `application_bytes` is an upper bound"),
        field("alerts", "in order"),
        field("not_measured", "why a field is null, by field").left_out("if all was measured"),
    ],
};

pub(super) const LEDGER: Section = Section {
    name: "ledger",
    at: &["connections[].ledger"],
    fields: &[
        field("wire_bytes", "all frames of the connection"),
        field(
            "link_bytes, ip_bytes, tcp_header_bytes, tcp_option_bytes",
            "headers of frames that are in no other part",
        ),
        field("pure_ack_bytes, retransmitted_bytes", "whole frames"),
        field("tls_handshake_bytes, tls_record_bytes, application_bytes", "payload, by what it is"),
        field("overhead_ratio", "(`wire_bytes` - `application_bytes`) / `application_bytes`")
            .null("without application bytes"),
        field(
            "tls_record_is_least",
            "not all that protects TLS records could be known from what is inside, so that it counts as application: `tls_record_bytes` and `overhead_ratio` are lower bounds, `application_bytes` is an upper one. Where `tls.record_overhead_bytes` is null, `tls.not_measured` says why; else padding cannot be seen",
        ),
    ],
};
