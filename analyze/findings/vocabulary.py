"""The vocabulary of findings: a kind has one name, one short name, one owner, one clause, one remedy, one look.

Limiting factors have their names from the engine (`analyze.factors`), outcomes from `analyze.outcomes`; the others
have them here. Terminal, pages, CSV and docs/findings.md use this table alone.
"""

from typing import NamedTuple

from vmtrace.analyze.words.factors import COLUMN_LABELS, LABELS
from vmtrace.analyze.words.outcomes import CLAUSES, SHORT_NAMES
from vmtrace.analyze.words.palette import FACTORS, PLAIN, FactorLook


class Kind(NamedTuple):
    """What is said of a kind."""

    label: str
    """In lists and tables."""
    short: str
    """Where a column is narrow."""
    owner: str
    """Whose it is where nothing shows more."""
    clause: str
    """What it did, in a sentence about several connections; `{time}` is what it cost."""
    remedy: str
    """What to do, and what would confirm it."""
    look: FactorLook = PLAIN


def _factor(name: str, owner: str, clause: str, remedy: str) -> Kind:
    label = LABELS.get(name, name.replace("_", " "))
    return Kind(label, COLUMN_LABELS.get(name) or label, owner, clause, remedy, FACTORS.get(name, PLAIN))


_FACTORS = {
    name: _factor(name, *said)
    for name, said in {
        "setup": ("path", "handshakes took {time}", "Reuse connections; a nearer server confirms it."),
        "host_stall": (
            "server_host",
            "hosts stalled for {time}",
            "Use another instance type or host; steal time of both hosts confirms it.",
        ),
        "timeout_wait": (
            "path",
            "senders waited {time} for retransmission timeouts",
            "Find where packets are lost: compare captures of both ends.",
        ),
        "loss_recovery": (
            "path",
            "repairing losses took {time}",
            "Find where packets are lost: compare captures of both ends.",
        ),
        "receiver_window": (
            "client_host",
            "full receive windows cost {time}",
            "Enlarge the receive buffer, or read faster; `ss -tmi` at the receiver confirms it.",
        ),
        "application_window": (
            "client_application",
            "a window of the application cost {time}",
            "Enlarge the application's window, or use several sessions.",
        ),
        "application": (
            "client_application",
            "the sending application supplied no data for {time}",
            "Look at the sending application: its own log or profile confirms it.",
        ),
        "slow_start": (
            "path",
            "slow start cost {time}",
            "Reuse connections, or send more data over each of them.",
        ),
        "token_bucket": (
            "path",
            "an empty token bucket cost {time}",
            "Ask for a larger allowance (instance type, contract); its metrics confirm it.",
        ),
        "bottleneck_bandwidth": (
            "path",
            "a full link cost {time}",
            "Get more bandwidth; the link's counters confirm it.",
        ),
        "send_buffer": (
            "server_host",
            "the sender's own limit (send buffer, pacing or shaping) cost {time}",
            "Enlarge the send buffer; `ss -tmi` and `tc -s qdisc` at the sender confirm it.",
        ),
        "congestion_window": (
            "path",
            "small congestion windows cost {time}",
            "Find where packets are lost; try another congestion control.",
        ),
        "idle": ("client_application", "nobody had anything to send for {time}", "Nothing to do."),
        "unknown": (
            "unknown",
            "packets stopped for {time} at a host or on the path",
            "Capture at the other end as well: both captures together place the stops.",
        ),
        "server_wait": (
            "server_application",
            "the server's application took {time} to respond",
            "Look at the server's application: its log of response times confirms it.",
        ),
        "client_wait": (
            "client_application",
            "the client's application let {time} pass between requests",
            "Look at the client's application; send requests without waiting, or several at once.",
        ),
        "expect_continue": (
            "client_application",
            "clients waited {time} for `100 Continue`",
            "Switch `Expect: 100-continue` off at the client, or let the server reply to it.",
        ),
        "nagle_delayed_ack": (
            "client_host",
            "Nagle's algorithm and delayed ACKs cost {time}",
            "Set TCP_NODELAY at the sender, or write each message in one piece.",
        ),
        "path_outage": (
            "path",
            "the path carried nothing for {time}",
            "Look at the path's devices at that time: links, routes, failover.",
        ),
        "ack_path_full": (
            "path_back",
            "the full direction of the ACKs cost {time}",
            "Relieve the direction of the ACKs: shape its other traffic, or prioritise ACKs.",
        ),
        "queue_shared": (
            "path",
            "a queue that other traffic filled cost {time}",
            "Shape or reschedule the other traffic, or use a fair queue (fq_codel, cake) there.",
        ),
        "sack_not_agreed": (
            "client_host",
            "losses repaired one in each round trip cost {time}",
            "Switch SACK on at both hosts, and let devices on the path pass the option.",
        ),
        "path_mtu": (
            "path",
            "segments beyond the path's MTU cost {time}",
            "Set the MTU or clamp the MSS of the path's smallest link.",
        ),
        "fragments": (
            "path",
            "segments crossed in IP fragments",
            "Set the MTU or clamp the MSS, so that full segments need no fragments.",
        ),
        "http2_window": (
            "client_application",
            "the receiver's HTTP/2 window cost {time}",
            "Enlarge the receiver's HTTP/2 stream and connection windows.",
        ),
        "tls_flight": (
            "server_application",
            "certificate chains beyond the first flight cost {time}",
            "Shorten the certificate chain, or raise the server's initial window.",
        ),
    }.items()
}

FOR_TIMERS = ("timeout_wait", "path_outage")
"""What a sender waits for its timers, told apart by what the path did meanwhile."""

_OTHERS = {
    "goaway": Kind(
        "HTTP/2 GOAWAY", "GOAWAY", "server_application", "", "Look at the log of the peer that ended the connection."
    ),
    "accept_queue_full": Kind(
        "accept queue full",
        "accept queue",
        "server_application",
        "",
        "Accept faster, or enlarge the listen backlog (somaxconn); `nstat TcpExtListenOverflows` confirms it.",
    ),
    "ports_exhausted": Kind(
        "source ports exhausted",
        "ports",
        "device",
        "",
        "Give the NAT more addresses, or reuse connections; its port counters confirm it.",
    ),
    "untranslated_packet": Kind(
        "packet not translated", "untranslated", "device", "", "Look at the NAT's or load balancer's state table."
    ),
    "icmp_not_matched": Kind(
        "ICMP errors not matched",
        "ICMP tuple",
        "device",
        "",
        "Let the NAT or load balancer translate the packet that ICMP errors quote; clamp the MSS until then.",
    ),
    "health_checks": Kind("health checks", "checks", "unknown", "", "Nothing to do: this is no fault."),
    "neighbour_unresolved": Kind(
        "neighbour unresolved", "no neighbour", "device", "", "Check that the host is up and on this link."
    ),
    "dns_unanswered": Kind(
        "DNS unanswered",
        "DNS silent",
        "resolver",
        "",
        "Use a node-local cache or `options single-request-reopen`; drops in front of the resolver confirm it.",
    ),
    "dns_slow": Kind("DNS slow", "DNS slow", "resolver", "", "Use a nearer or caching resolver."),
    "dns_refused": Kind("DNS refused", "DNS refused", "resolver", "", "Check the resolver's address and service."),
    "dns_rate_limited": Kind(
        "DNS rate limit", "DNS limit", "resolver", "", "Cache names at the client, or spread queries over resolvers."
    ),
    "dns_search_list": Kind(
        "DNS search list",
        "DNS search",
        "client_host",
        "",
        "Use names with a final dot, or a smaller `ndots` in resolv.conf.",
    ),
    "dns_fragments_lost": Kind(
        "DNS fragments lost", "DNS fragments", "path", "", "Limit EDNS responses to 1,232 bytes, or use TCP."
    ),
    "udp_unanswered": Kind(
        "UDP unanswered", "UDP silent", "path", "", "Check the service and the filters of this port at both ends."
    ),
    "udp_refused": Kind("UDP refused", "UDP refused", "server_host", "", "Start the service, or correct the port."),
    "udp_loss": Kind("datagrams lost", "UDP loss", "path", "", "Send slower, or find the full queue on the path."),
    "udp_rate_limited": Kind(
        "datagram rate limit", "UDP limit", "path", "", "Send below that rate, or have the limit raised."
    ),
    "quic_unanswered": Kind(
        "QUIC unanswered",
        "QUIC silent",
        "path",
        "",
        "Open UDP 443 or reject it at once, or stop announcing HTTP/3 (Alt-Svc, HTTPS record).",
    ),
    "quic_amplification_limit": Kind(
        "QUIC amplification limit",
        "QUIC 3x",
        "server_application",
        "",
        "Shorten the certificate chain, or let the server accept address tokens.",
    ),
    "quic_loss": Kind("QUIC losses", "QUIC loss", "path", "", "Find where datagrams are lost: compare both ends."),
    "quic_closed": Kind(
        "QUIC closed with an error", "QUIC error", "server_application", "", "Look up the error at the closing peer."
    ),
    "quic_flow_control": Kind(
        "QUIC flow control",
        "QUIC window",
        "client_application",
        "",
        "Enlarge the receiver's QUIC stream and connection windows.",
    ),
    "icmp_rate_limited": Kind(
        "ICMP rate limit", "ICMP limit", "device", "", "Nothing to do for other traffic: measure with TCP instead."
    ),
    "icmp_unanswered": Kind(
        "echoes unanswered", "no echo", "path", "", "Check whether the host is up and ICMP is allowed."
    ),
    "bad_checksums": Kind(
        "wrong checksums",
        "checksums",
        "device",
        "",
        "Switch checksum offload off at the sender (ethtool -K DEV tx off); else capture hop by hop.",
    ),
    "tunnel_unread": Kind(
        "tunnel not decoded", "tunnel", "unknown", "", "Capture inside the tunnel to see what it carries."
    ),
}

KINDS: dict[str, Kind] = {
    **_FACTORS,
    **{kind: Kind(short, short, "unknown", CLAUSES[kind], "") for kind, short in SHORT_NAMES.items()},
    **_OTHERS,
}


def label(kind: str) -> str:
    """A kind's name in lists; of one that this version does not know, its key in words."""
    known = KINDS.get(kind)
    return known.label if known else kind.replace("_", " ")
