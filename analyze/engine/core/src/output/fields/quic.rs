//! QUIC of a datagram flow.

use crate::output::fields::field::{Section, field};

const WITHOUT_KEYS: &str = "without keys that fit";

fn ends() -> Vec<&'static str> {
    vec!["client", "server"]
}

pub(super) const QUIC: Section = Section {
    name: "quic",
    at: &["flows[].quic"],
    fields: &[
        field("version", "`1`, `2`, or its number").null("if no long header was captured"),
        field("sni", "server name asked for").null("if it was not read"),
        field("alpn", "protocol chosen, as far as keys show it, or the only one offered").null("if neither is known"),
        field("alpn_offered", "protocols that the client offered"),
        field("initials", "Initials of both ends:"),
        field("initials.*", "how many").values(ends),
        field("initials.span_s", "from the client's first to its last").null("if it sent none"),
        field("retry", "the server asked the client to prove its address"),
        field("version_negotiation", "versions that the server offered instead"),
        field("handshake_s", "from the client's first Initial to its first packet with a short header")
            .null("if either is not in the capture"),
        field("handshake_round_trips", "round trips that it needed").null("if its end is not in the capture"),
        field("handshake_rtt", "the halves of its first round trip:"),
        field("handshake_rtt.server_s", "from Initial to reply").null("if that is not known"),
        field("handshake_rtt.client_s", "from there to the client's next datagram").null("if there was none"),
        field("amplification_wait_s", "how long the server's first flight was held back until it knew the address")
            .null("if the server's reply is not in the capture"),
        field("spin_rtt", "round trips by the spin bit:"),
        field("spin_rtt.samples", "how many"),
        field("spin_rtt.min_s, spin_rtt.median_s, spin_rtt.max_s", "of these").null("with a `reason`"),
        field("spin_rtt.stretched", "those of twice the shortest").null("with a `reason`"),
        field("spin_rtt.stretched.idle", "nobody sent for half of it"),
        field("spin_rtt.stretched.client, spin_rtt.stretched.server", "in this end's half"),
        field("spin_rtt.reason", "why there are none").null("if there are"),
        field("connection_ids", "ids that packets carry:"),
        field("connection_ids.first_destination", "where the client's first Initial went, hexadecimal")
            .null("if none was captured"),
        field("connection_ids.*", "to this end").values(ends),
        field("connection_ids.*.bytes", "their length").values(ends).null("if it is not known"),
        field("connection_ids.*.used", "how many").values(ends),
        field("close", "how it was closed").null("if it was not, as far as could be read"),
        field("close.by", "who closed it").values(ends),
        field("close.kind", "in which way").values(|| vec!["transport", "application", "stateless_reset"]),
        field("close.code", "number of the error").null("of a stateless reset"),
        field("close.error", "its name").null("if it has none"),
        field("close.reason", "the reason phrase"),
        field("close.time_ns", "when it passed"),
        field("fallback_connection", "TCP connection to the same address and port that followed within a minute")
            .null("of a flow with a reply, and if there was none"),
        field("packets", "packets by their numbers").null(WITHOUT_KEYS),
        field("packets.*", "of this end").values(ends),
        field("packets.*.sent", "numbers used, seen or not").values(ends),
        field("packets.*.seen", "without copies").values(ends),
        field("packets.*.missed_by_capture", "not seen, but acknowledged").values(ends),
        field("lost", "losses by packet numbers").null(WITHOUT_KEYS),
        field("lost.*", "of this end's packets").values(ends),
        field("lost.*.before_capture_point", "never seen, never acknowledged").values(ends),
        field("lost.*.before_capture_point_one_rtt", "of these with short headers").values(ends),
        field("lost.*.behind_capture_point", "seen, not acknowledged though later ones were").values(ends),
        field("acknowledged_rtt", "round trips by acknowledgements").null(WITHOUT_KEYS),
        field("acknowledged_rtt.*", "of this end's packets").values(ends),
        field("acknowledged_rtt.*.samples", "how many").values(ends),
        field("acknowledged_rtt.*.min_s, acknowledged_rtt.*.median_s, acknowledged_rtt.*.max_s", "with ACK delay")
            .values(ends)
            .null("without a sample"),
        field("acknowledged_rtt.*.smoothed_s, acknowledged_rtt.*.variation_s", "at the end, as RFC 9002 has it")
            .values(ends)
            .null("without a sample"),
        field("acknowledged_rtt.*.ack_delay_s", "median that the peer declared")
            .values(ends)
            .null("if it declared none"),
        field("flow_control", "windows of streams and of the connection").null(WITHOUT_KEYS),
        field("flow_control.*", "of this end's data").values(ends),
        field("flow_control.*.limited_s", "time that it stood at a window").values(ends),
        field("flow_control.*.times", "how often").values(ends),
        field("flow_control.*.window_bytes", "the window at which it stood longest").values(ends).null("if at none"),
        field("flow_control.*.window_of", "`stream` or `connection`").values(ends).null("if at none"),
        field("streams", "the 20 largest").null(WITHOUT_KEYS),
        field("streams[].id", "its number"),
        field("streams[].client_bytes, streams[].server_bytes", "data of this end"),
        field("streams[].start_ns, streams[].duration_s", "first to last frame"),
        field("streams[].finished", "by all that sent data"),
        field("streams[].reset_code", "error with which it was given up").null("if it was not"),
        field("streams_count", "how many there were").null(WITHOUT_KEYS),
        field("key_updates", "updates of the keys").null(WITHOUT_KEYS),
        field("unread", "what could not be read, and why").null("if nothing"),
    ],
};
