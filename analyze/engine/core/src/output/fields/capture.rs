//! The document itself, its inputs, and what several connections show together.

use crate::output::fields::field::{Section, field};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::verdict::factors::RULES;

pub(super) const DOCUMENT: Section = Section {
    name: "document",
    at: &[""],
    fields: &[
        field("schema", "`vmtrace.analysis/1`").values(|| vec!["vmtrace.analysis/1"]),
        field("vmtrace", "version of vmtrace that wrote it"),
        field("interrupted", "reading was stopped before the end: the numbers are about the part that was read"),
        field("memory_exhausted", "there was no memory for more (`--memory`): the numbers are about the part that was read")
            .left_out("if false"),
        field("reasons", "what the keys stand for that `not_measured` and `caveat` give"),
        field("inputs", "the files that were read"),
        field("outcomes", "connections that did not open, did not move their data or did not end well, by kind"),
        field(
            "unanswered_syns",
            "attempts to open a connection, of SYNs without a reply, that are not among `connections`: one each was too much memory",
        )
        .left_out("if there are none"),
        field("connections", "all connections"),
        field("shared_limits", "limits that several connections share"),
        field("shared_limits_not_listed", "those beyond the 100 of the highest rates"),
        field("request_servers", "requests of all connections by server").left_out("if no requests were seen"),
        field(
            "lookups",
            "names that were waited for: the 1,000 slowest and those with unanswered queries, in order of time",
        ),
        field("lookup_totals", "all of them together").null("if nothing was looked up"),
        field("flows", "flows of datagrams in order of their first packets, at most 10,000"),
        field("flows_not_listed", "what is in none of them:"),
        field("flows_not_listed.flows", "flows beyond those listed"),
        field("flows_not_listed.packets, flows_not_listed.wire_bytes", "of these, and of flows that are not kept"),
        field("flows_not_listed.packets_of_unknown_flows", "packets of flows beyond the 131,072 that are kept"),
        field("flows_not_listed.packets_without_numbers", "packets of flows whose numbers there was no room for"),
        field("tunnels", "tunnels that connections and flows were found in, at most 1,000, the most bytes first"),
        field("tunnels_not_listed", "more of them"),
        field("neighbours", "who asked for whom on the link (ARP, neighbour discovery), at most 1,000"),
        field("neighbours_not_listed", "more of them"),
        field("neighbour_requests_not_kept", "requests of pairs beyond 16,384"),
        field("icmp_errors_of_no_flow", "ICMP errors that quote no TCP segment and no flow that is kept"),
        field("protocols", "frames by protocol: together all that was read, but for what a filter left out"),
    ],
};

pub(super) const INPUTS: Section = Section {
    name: "input",
    at: &["inputs[]"],
    fields: &[
        field(
            "path",
            "name as given (bytes that are no UTF-8 as U+FFFD); `<stdin>` is standard input, `<bytes>` and `<stream>` are what a program handed over",
        ),
        field("format", "`pcap`, `pcapng`, `snoop`, `erf`").null("if the input could not be read"),
        field("compression", "`gzip`, `zstd`, `xz`, `lz4`, `bzip2`").null("if it is not compressed"),
        field("link_types", "names of the LINKTYPE registry, in order of appearance"),
        field("time_resolution_s", "finest resolution of the interfaces").null("if it is not known"),
        field("packets", "frames in the file"),
        field("tcp_packets", "frames that gave a TCP segment"),
        field("captured_bytes", "of all frames: what the file holds"),
        field("wire_bytes", "of all frames: what crossed the wire"),
        field("snap_length_bytes", "most of a frame that was captured").null("if unlimited or unknown"),
        field("start_ns, end_ns", "times of the earliest and the latest frame").null("if no frame has a time"),
        field("undecoded_packets", "number of frames that gave no TCP segment, by reason"),
        field(
            "unread_tunnels",
            "frames of tunnels and link layers that are not read ([methods.md](methods.md#tunnels-on-any-port))",
        )
        .left_out("if there are none"),
        field("unread_tunnels[].look", "what they look like"),
        field("unread_tunnels[].packets", "how many"),
        field("unread_tunnels[].bytes", "their length on the wire").unit("bytes"),
        field("unread_tunnels[].ports", "UDP ports that they went to, at most 16"),
        field("damage", "stretches of the file that were passed over"),
        field("damage[].offset", "where, in the decompressed file").unit("bytes"),
        field("damage[].skipped_bytes", "how many were passed over"),
        field("damage[].what", "what is wrong there"),
        field("out_of_time_order", "records earlier than one before them:"),
        field("out_of_time_order.records", "those put in order of time"),
        field("out_of_time_order.largest_step_s", "the largest step back").null("if there was none"),
        field("out_of_time_order.left", "those that came too late for that"),
        field("out_of_time_order.appended", "captures behind another one in the file that overlap it, read in order of time")
            .left_out("if 0"),
        field(
            "out_of_time_order.appended_left",
            "those of them that were read one behind the other, for parts of the file cannot be read by themselves",
        )
        .left_out("if 0"),
        field("capture", "how complete the capture is:"),
        field("capture.dropped_by_kernel, capture.dropped_by_interface", "packets, as the file reports")
            .null("if it does not"),
        field(
            "capture.packets_without_time",
            "packets that the file gives no time, or an impossible one; they take that of the packet before",
        ),
        field("capture.unseen_acked_bytes", "acknowledged, but in no frame")
            .null("if of every connection one direction alone is there"),
        field("capture.one_direction_connections", "connections of which one direction alone is in the capture"),
        field("capture.duplicates", "frames captured twice, left out of the analysis"),
        field("capture.reordered", "frames stored in another order than they passed"),
        field("capture.bad_checksums", "the sum of `loss.bad_checksums` of the connections").left_out("if there are none"),
        field("capture.clock_steps", "steps of the capture's clock"),
        field("capture.lag_s", "packets of some hosts were recorded so much later than those of others, at most")
            .left_out("if none were"),
        field(
            "capture.lag_removed",
            "that was taken away; false where the input cannot be read twice (standard input): then times and what follows from them are wrong",
        )
        .left_out("without `lag_s`"),
        field(
            "capture.clock_offset_s",
            "the input holds packets of another capture point, whose clock is ahead by so much (negative: behind) of that at the host which sent most; they are left out",
        )
        .signed()
        .left_out("if it does not"),
        field("capture.copies_may_be_missed", "the points are so far apart that not all copies were found"),
    ],
};

pub(super) const OUTCOMES: Section = Section {
    name: "outcome_group",
    at: &["outcomes[]"],
    fields: &[
        field("kind", "what became of them").values(|| OutcomeKind::ALL.map(OutcomeKind::name).to_vec()),
        field("connections", "how many connections came to that"),
        field("servers", "by address and port of the server, most connections first, at most 100"),
        field("servers[].server", "`address:port`"),
        field("servers[].connections", "connections to it"),
        field("servers[].ids", "the first 20 of them"),
        field("servers[].sentence", "the outcome of the first").null("if it has none"),
        field("servers_not_listed, connections_not_listed", "more servers, and the connections to them"),
    ],
};

pub(super) const UNANSWERED_SYNS: Section = Section {
    name: "unanswered_syns",
    at: &["unanswered_syns"],
    fields: &[
        field("attempts, syns", "how many attempts, and their SYNs"),
        field("first_ns, last_ns", "when the first and the last of these passed"),
        field("sources", "by address of the client, most attempts first, at most 100"),
        field("sources[].source", "the address"),
        field("attempts_of_others", "attempts of further sources"),
        field("servers", "by address and port of the server, most attempts first, at most 100"),
        field("servers[].server", "`address:port`"),
        field("attempts_to_others", "attempts to further servers"),
        field("sources[].attempts, servers[].attempts, sources[].syns, servers[].syns", "as above"),
        field(
            "sources[].first_ns, servers[].first_ns, sources[].last_ns, servers[].last_ns",
            "when the first and the last passed",
        ),
    ],
};

pub(super) const SHARED_LIMITS: Section = Section {
    name: "shared_limit",
    at: &["shared_limits[]"],
    fields: &[
        field("connections", "ids of the connections, in rising order"),
        field("kind", "what it is")
            .values(|| RULES.iter().filter(|rule| rule.shared.is_some()).map(|rule| rule.factor.name()).collect()),
        field("rate_bps", "what they reach together, in bytes of IP packets"),
        field("burst_bytes", "what passed beyond that before").null("of a bottleneck, or where it does not show"),
        field("from_ns, to_ns", "when it held"),
        field("confidence", "how sure that is").share(),
    ],
};
