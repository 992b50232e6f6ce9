//! What is no TCP: names that were waited for, flows of datagrams, neighbours, protocols.

use crate::dns::lookups::Transport;
use crate::output::fields::field::{Section, field};

pub(super) const LOOKUPS: Section = Section {
    name: "lookup",
    at: &["lookups[]"],
    fields: &[
        field("name", "the name, of the last suffix tried"),
        field("type", "types asked for, joined with `+`: `A+AAAA`"),
        field("transport", "how the answer that was used came").values(|| Transport::NAMES.to_vec()),
        field("client, resolver", "who asked whom"),
        field("asked_ns, last_asked_ns", "when the first and the last query passed"),
        field("tries", "queries of the type asked for most often"),
        field("queries, unanswered_queries", "all queries, and those without a response"),
        field("answered_ns", "when the answer that was used passed").null("without one"),
        field("response_s", "from the query that was answered to that").null("if no reply came"),
        field(
            "waited_s",
            "from the first query to the answer that was used, or to the connection that waited no longer",
        )
        .null("where nobody knows"),
        field("rcode", "`NOERROR`, `NXDOMAIN`, ...: of the answer that was used").null("without one"),
        field("truncated", "a response was cut, and asked for over TCP"),
        field("fragments_lost", "responses whose first fragment came, and not all others"),
        field("icmp_errors", "an ICMP error that came instead of an answer"),
        field("icmp_errors[].type, icmp_errors[].code", "as in its header"),
        field("answers", "addresses"),
        field("searched", "suffixes that were tried before in vain"),
        field("searched_s", "how long that took"),
        field("connections, connections_count", "ids of the first 20 connections that followed, and how many did"),
        field("frames", "first query, and the answer that was used"),
    ],
};

pub(super) const LOOKUP_TOTALS: Section = Section {
    name: "lookup_totals",
    at: &["lookup_totals"],
    fields: &[
        field("lookups, queries", "names that were waited for, and queries for them"),
        field("unanswered, unanswered_lookups", "queries without a response, and names without any"),
        field("refused_by_icmp", "names for which an ICMP error came"),
        field("truncated, over_tcp", "names with a response that was cut, and those answered over TCP"),
        field("searched_in_vain", "suffixes tried in vain"),
        field("answers_to_no_question", "responses that come twice, late, or to nobody's question"),
        field("answers_mismatched", "responses with the numbers of a question, about something else"),
        field("queries_not_kept, answers_not_kept", "messages beyond those kept"),
        field("not_listed", "names that are not in `lookups`"),
        field("rcodes", "names by response code"),
        field("waited, response", "as in `lookups`, over all of them").null("without any"),
        field("rate_limits", "rates at which resolvers answer, whatever is asked"),
        field("rate_limits[].client, rate_limits[].resolver", "who asks whom"),
        field("rate_limits[].queries, rate_limits[].unanswered", "between them"),
        field("rate_limits[].rate_per_s", "queries a second that are answered").unit("1/s"),
        field("rate_limits[].burst", "queries that are answered at once after a pause"),
        field("rate_limits[].from_ns, rate_limits[].to_ns", "when queries were lost to it"),
        field("rate_limits[].confidence", "how sure that is").share(),
    ],
};

pub(super) const WAITS: Section = Section {
    name: "waits",
    at: &["lookup_totals.waited", "lookup_totals.response"],
    fields: &[
        field("count", "how many there are"),
        field("total_s, median_s, p95_s, p99_s, max_s", "their sum and quantiles"),
    ],
};

pub(super) const FLOWS: Section = Section {
    name: "flow",
    at: &["flows[]"],
    fields: &[
        field("id", "number, in order of appearance"),
        field("input, first_frame", "where its first packet is"),
        field("protocol", "`udp`, `quic`, `icmp_echo`, `sctp`, `esp` and others"),
        field(
            "application",
            "what it carries, by what its datagrams hold: `dns`, `rtp`, `iperf3`, `wireguard` and others",
        )
        .null("if that is not recognised"),
        field("client, server", "`address:port`; the address alone of protocols without ports"),
        field("start_ns, duration_s", "first packet, and time to the last"),
        field("unanswered", "the server sent nothing")
            .null("where no response is expected: groups, media, one-way tests"),
        field("tunnel", "the tunnels that it was found in, the outermost first").left_out("if there is none"),
        field("tunnel[].kind, tunnel[].outer, tunnel[].id", "as in a connection's `tunnel`").null("without a number"),
        field("client_to_server, server_to_client", "the two directions"),
        field("requests, unanswered_requests", "requests of echoes, STUN and NTP, and those without a reply")
            .left_out("of other protocols"),
        field("rate_limit", "the rate at which echoes are replied to:").null("if none shows"),
        field("rate_limit.rate_per_s", "replies a second").unit("1/s"),
        field("rate_limit.burst", "replies at once after a pause"),
        field("rate_limit.from_ns, rate_limit.to_ns", "when requests were lost to it"),
        field("rate_limit.confidence", "how sure that is").share(),
        field("icmp_errors", "ICMP errors that quote it, at most 16"),
        field("icmp_errors[].time_ns", "when it passed"),
        field("icmp_errors[].type, icmp_errors[].code", "as in its header"),
        field("icmp_errors[].from", "who sent it"),
        field("icmp_errors[].frame", "its frame"),
        field("icmp_errors[].mtu", "largest packet that goes further").unit("bytes").null("where it names none"),
        field("icmp_errors_not_listed", "more of them"),
        field("quic", "what is known of its connection").null("of other protocols"),
    ],
};

pub(super) const FLOW_DIRECTION: Section = Section {
    name: "flow_direction",
    at: &["flows[].client_to_server", "flows[].server_to_client"],
    fields: &[
        field("packets, payload_bytes, wire_bytes", "packets, bytes behind their headers, bytes of whole frames"),
        field("datagrams", "one for each packet, but for frames that hold several")
            .null("where a frame may hold several"),
        field("rate_bps", "whole frames, first to last").null("with fewer than two packets"),
        field("sequence", "what numbers its datagrams in clear text").null("if nothing does"),
        field("numbered", "datagrams with a number, each once").null("without numbers"),
        field("lost", "numbers that never came").null("without numbers"),
        field("reordered, duplicates", "datagrams behind a later one, and those that came again")
            .null("without numbers"),
        field("jitter_s", "interarrival jitter at the end (RFC 3550)").null("without the sender's clock"),
        field("queue_s", "how far the delay had grown when the first loss showed").null("without losses or a clock"),
        field("rate_limit", "the rate that it arrives at while datagrams are lost:").null("if none shows"),
        field("rate_limit.rate_bps", "whole frames"),
        field("rate_limit.queue_s", "as `queue_s`").null("without the sender's clock"),
        field("rate_limit.from_ns, rate_limit.to_ns", "from the first loss to the last"),
        field("rate_limit.confidence", "how sure that is").share(),
        field("rtt", "round trips of echoes, STUN and NTP:").null("without any"),
        field("rtt.samples", "how many"),
        field("rtt.min_s, rtt.median_s, rtt.p95_s, rtt.max_s", "the shortest, quantiles, the longest"),
    ],
};

pub(super) const TUNNELS: Section = Section {
    name: "tunnel",
    at: &["tunnels[]"],
    fields: &[
        field("kind, id", "as in a connection's `tunnel`").null("if it has no number"),
        field(
            "outer",
            "addresses of the packets around: at the end of the client of the first connection, or of the first flow, and at the other",
        ),
        field("connections, connections_count", "ids of the first 20 connections inside, and how many there are"),
        field("flows, flows_count", "the same of datagram flows inside"),
        field("packets, wire_bytes", "packets of these connections and flows, and their bytes on the wire"),
    ],
};

pub(super) const NEIGHBOURS: Section = Section {
    name: "neighbour",
    at: &["neighbours[]"],
    fields: &[
        field("address, asked_by", "whose link address was asked for, and by whom"),
        field("requests, replies", "requests, and replies to whomever asked"),
        field("unanswered", "requests since the last reply"),
        field("first_ns, last_ns", "when the first and the last request passed"),
        field("first_frame", "frame of the first request"),
    ],
};

pub(super) const PROTOCOLS: Section = Section {
    name: "protocol",
    at: &["protocols[]"],
    fields: &[
        field("protocol", "`tcp`, `udp`, `arp`, ...; of frames that could not be read the reason"),
        field("packets, wire_bytes", "frames, and their bytes on the wire"),
    ],
};
