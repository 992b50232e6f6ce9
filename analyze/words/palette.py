"""Colours that stay apart for colour-blind readers and in grey print (after Okabe and Ito), one for each role."""

from typing import Literal, NamedTuple

Hatch = Literal["plain", "rising", "falling", "crossed", "dots", "level", "upright", "grid", "checks", "dashes"]


class FactorLook(NamedTuple):
    """How a limiting factor is drawn: in grey print its hatch tells it from those of a like brightness."""

    colour: str
    hatch: Hatch


ROLES = {
    "data": "#0072B2",
    "retransmission": "#D55E00",
    "reordered": "#CC79A7",
    "duplicate": "#999999",
    "window_probe": "#E69F00",
    "keep_alive": "#E69F00",
    "acknowledged": "#009E73",
    "allowed": "#B8860B",
    "rtt": "#0072B2",
    "recovery_rtt": "#D55E00",
    "delayed_acknowledgement": "#E69F00",
    "host_stall": "#CC79A7",
    "spacing": "#0072B2",
    "window": "#B8860B",
    "flight": "#0072B2",
    "throughput": "#0072B2",
}

LABELS = {
    "data": "data",
    "retransmission": "retransmission",
    "reordered": "reordered",
    "duplicate": "duplicate",
    "window_probe": "window probe",
    "keep_alive": "keep-alive",
    "acknowledged": "acknowledged",
    "allowed": "window edge",
    "delayed_acknowledgement": "delayed ACK",
    "host_stall": "during a host stall",
}

LEDGER = {
    "application_bytes": ("application", FactorLook("#0072B2", "plain")),
    "tls_record_bytes": ("TLS records", FactorLook("#56B4E9", "dots")),
    "tls_handshake_bytes": ("TLS handshake", FactorLook("#009E73", "falling")),
    "retransmitted_bytes": ("retransmitted", FactorLook("#D55E00", "rising")),
    "pure_ack_bytes": ("pure ACKs", FactorLook("#F0E442", "plain")),
    "tcp_option_bytes": ("TCP options", FactorLook("#E69F00", "level")),
    "tcp_header_bytes": ("TCP headers", FactorLook("#CC79A7", "crossed")),
    "ip_bytes": ("IP headers", FactorLook("#999999", "upright")),
    "link_bytes": ("link headers", FactorLook("#555555", "checks")),
}
"""The parts of the ledger in the order they are drawn, with names and looks."""

PHASES = {
    "name_lookup": "#CC79A7",
    "tcp_handshake": "#E69F00",
    "tls_handshake": "#009E73",
    "request_to_first_byte": "#0072B2",
    "transfer": "#56B4E9",
    "idle": "#D9D9D9",
}
"""Where the time of a stored object goes, in order."""

QUEUE_PARTS = {
    "late_sending": "#CC79A7",
    "send_call": "#E69F00",
    "in_queue": "#0072B2",
    "receive_call": "#56B4E9",
}
"""Where the time of a message goes, in order."""

CHARGES = {
    "storage": FactorLook("#0072B2", "plain"),
    "transfer": FactorLook("#D55E00", "rising"),
    "requests": FactorLook("#F0E442", "plain"),
    "retrieval": FactorLook("#CC79A7", "crossed"),
    "compute": FactorLook("#009E73", "falling"),
}
"""What a store charges for, by category."""

PLACE_SOURCES = {
    "reverse_name": FactorLook("#0072B2", "plain"),
    "region": FactorLook("#009E73", "falling"),
    "router_name": FactorLook("#E69F00", "level"),
    "same_site": FactorLook("#56B4E9", "dots"),
    "distance": FactorLook("#CC79A7", "crossed"),
    "not_located": FactorLook("#D9D9D9", "plain"),
}
"""What named the place of a front end, the strongest kind of evidence first."""

TRANSFERS = {"probe": "#E69F00", "data": "#0072B2"}
"""The two transfers of a connection pair."""

RUNS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#555555")
"""Runs side by side, in order; they begin again after the last."""

REFERENCE = "#777777"
"""What data is compared with: an identity line, a baseline."""

FACTORS = {
    "setup": FactorLook("#999999", "upright"),
    "host_stall": FactorLook("#CC79A7", "crossed"),
    "timeout_wait": FactorLook("#7A1F1F", "upright"),
    "loss_recovery": FactorLook("#D55E00", "rising"),
    "receiver_window": FactorLook("#E69F00", "level"),
    "application_window": FactorLook("#A6E3D0", "rising"),
    "http2_window": FactorLook("#4DC9B0", "falling"),
    "application": FactorLook("#009E73", "falling"),
    "server_wait": FactorLook("#005A46", "crossed"),
    "client_wait": FactorLook("#7FC97F", "checks"),
    "expect_continue": FactorLook("#F4A6C0", "dashes"),
    "nagle_delayed_ack": FactorLook("#C9DDE8", "upright"),
    "path_outage": FactorLook("#8C1D40", "level"),
    "sack_not_agreed": FactorLook("#A63D00", "dots"),
    "path_mtu": FactorLook("#C4B000", "grid"),
    "ack_path_full": FactorLook("#E8D8C0", "crossed"),
    "slow_start": FactorLook("#56B4E9", "dots"),
    "token_bucket": FactorLook("#7B4FA3", "grid"),
    "bottleneck_bandwidth": FactorLook("#F0E442", "plain"),
    "send_buffer": FactorLook("#8C6D31", "checks"),
    "congestion_window": FactorLook("#0072B2", "plain"),
    "idle": FactorLook("#D9D9D9", "dots"),
    "unknown": FactorLook("#777777", "dashes"),
}
"""What limits a transfer at a moment (docs/verdict.md), in the order of the contract."""

PLAIN = FactorLook("#777777", "plain")
"""Of a factor that has no look of its own yet."""
