"""A capture against what an endpoint of QUIC logged itself (`vmtrace.analyze.compare.qlog`).

With keys each packet that the capture shows is found in the log by its number: what is in one of them alone was lost
between the endpoint and the capture point. Without keys only datagrams can be counted.

See docs/report.md.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from vmtrace.analyze.compare import delays
from vmtrace.analyze.compare.arrays import Integers
from vmtrace.analyze.compare.clock import Clock, Crossings, measure
from vmtrace.analyze.compare.delays import Delays
from vmtrace.analyze.compare.qlog import Endpoint
from vmtrace.analyze.trace import Trace, version
from vmtrace.analyze.words.document import Record

SCHEMA = "vmtrace.qlog_comparison/1"


class NoConnectionError(Exception):
    """The capture does not hold the connection that was logged; the message says what it holds."""


@dataclass(frozen=True, slots=True)
class Way:
    """Packets of one end: those that the endpoint sent, or those that it received."""

    in_log: int
    in_capture: int | None
    """None without keys that open them."""
    matched: int | None
    lost: int | None
    """Between the endpoint and the capture point, in the direction of the packets."""
    not_captured: int | None
    """In the log of the end that they reached, and not in the capture."""
    delay: Delays


@dataclass(frozen=True, slots=True)
class EndpointComparison:
    """What a capture and an endpoint's log say of each other."""

    capture: str
    endpoint: Endpoint
    flow: Record
    sent: Way
    received: Way
    datagrams_sent: tuple[int | None, int]
    """By the log, and by the capture."""
    datagrams_received: tuple[int | None, int]
    declared_lost_and_captured: int | None
    """The endpoint gave them up, and the capture at the other end holds them."""
    clock: Clock
    reason: str | None
    """Why packets are not compared."""


class _Captured(NamedTuple):
    """Packets of one end that the capture shows, by space and number: when they passed."""

    times_ns: dict[tuple[int, int], int]


def compare_with_endpoint(trace: Trace, endpoint: Endpoint) -> EndpointComparison:
    """`trace` was read with `Options.datagrams`. Raises `NoConnectionError`."""
    flow = _flow(trace, endpoint)
    is_server = bool(endpoint.is_server)
    packets = dict(trace.quic_packets).get(flow["id"])
    has_keys = packets is not None and flow["quic"]["packets"] is not None
    reason = None if has_keys else flow["quic"]["unread"] or "without keys (--keylog) packets have no numbers"
    own, peer = _captured(packets, from_server=is_server), _captured(packets, from_server=not is_server)
    clock = measure(_crossings(endpoint, own, peer))
    directions = ("server_to_client", "client_to_server") if is_server else ("client_to_server", "server_to_client")
    in_capture = [int(flow[name]["packets"]) for name in directions]
    spurious = sum(packet in own.times_ns for packet in endpoint.declared_lost)
    return EndpointComparison(
        ", ".join(trace.paths),
        endpoint,
        flow,
        _way(endpoint.sent, own if has_keys else None, clock, is_sent=True),
        _way(endpoint.received, peer if has_keys else None, clock, is_sent=False),
        (endpoint.datagrams_sent, in_capture[0]),
        (endpoint.datagrams_received, in_capture[1]),
        spurious if has_keys else None,
        clock,
        reason,
    )


def _flow(trace: Trace, endpoint: Endpoint) -> Record:
    flows: list[Record] = [one for one in trace.header()["flows"] if one["quic"]]
    where = ", ".join(trace.paths)
    if not flows:
        raise NoConnectionError(f"{where}: no QUIC in it")
    known = [(one, one["quic"]["connection_ids"]["first_destination"]) for one in flows]
    if endpoint.original_id is None:
        if len(flows) == 1:
            return flows[0]
        raise NoConnectionError(f"{endpoint.path}: it names no connection, and {where} has {len(flows):,} of QUIC")
    for one, first in known:
        if first == endpoint.original_id:
            return one
    raise NoConnectionError(
        f"{where}: the connection {endpoint.original_id} of {endpoint.path} is not in it ({len(flows):,} others are)"
    )


def _captured(packets: list[bytes] | None, *, from_server: bool) -> _Captured:
    if packets is None:
        return _Captured({})
    times = np.frombuffer(packets[0], "<i8")
    numbers, spaces = np.frombuffer(packets[1], "<u8"), np.frombuffer(packets[2], "u1")
    which = np.flatnonzero(np.frombuffer(packets[3], "u1") == from_server)
    found: dict[tuple[int, int], int] = {}
    for at in which.tolist():
        found.setdefault((int(spaces[at]), int(numbers[at])), int(times[at]))
    return _Captured(found)


def _crossings(endpoint: Endpoint, own: _Captured, peer: _Captured) -> Crossings:
    """The endpoint stands for the sender, the capture for the receiver."""
    rows = [
        (time_ns, own.times_ns[packet], True) for packet, time_ns in endpoint.sent.items() if packet in own.times_ns
    ]
    rows += [
        (time_ns, peer.times_ns[packet], False)
        for packet, time_ns in endpoint.received.items()
        if packet in peer.times_ns
    ]
    rows.sort()
    ours, theirs = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    places: Integers = np.arange(len(rows))
    # The order in which the capture holds them.
    there: Integers = np.argsort(np.argsort(theirs, kind="stable"), kind="stable")
    return Crossings(places, there, ours, theirs, np.array([row[2] for row in rows], np.bool_))


def _way(logged: dict[tuple[int, int], int], captured: _Captured | None, clock: Clock, *, is_sent: bool) -> Way:
    if captured is None:
        return Way(len(logged), None, None, None, None, delays.summary(np.empty(0)))
    both = [packet for packet in logged if packet in captured.times_ns]
    apart_s = np.array([captured.times_ns[packet] - logged[packet] for packet in both], np.float64) / 1e9
    delay_s = (apart_s - (clock.offset_s or 0.0)) * (1 if is_sent else -1)
    in_log_only, in_capture_only = len(logged) - len(both), len(captured.times_ns) - len(both)
    return Way(
        len(logged),
        len(captured.times_ns),
        len(both),
        in_log_only if is_sent else in_capture_only,
        in_capture_only if is_sent else in_log_only,
        delays.summary(delay_s if clock.offset_s is not None else delay_s[:0]),
    )


def document(found: EndpointComparison) -> Record:
    """Everything that was found."""
    endpoint, quic = found.endpoint, found.flow["quic"]
    side = {True: "server", False: "client", None: None}[endpoint.is_server]
    latest = np.array(endpoint.latest_rtt_s)
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "capture": found.capture,
        "qlog": endpoint.path,
        "vantage_point": side,
        "flow": {key: found.flow[key] for key in ("id", "client", "server")},
        "sent_by_endpoint": asdict(found.sent),
        "received_by_endpoint": asdict(found.received),
        "reason": found.reason,
        "datagrams_sent": _counts(found.datagrams_sent),
        "datagrams_received": _counts(found.datagrams_received),
        "declared_lost": len(endpoint.declared_lost),
        "declared_lost_and_captured": found.declared_lost_and_captured,
        "rtt": {
            "logged_min_s": endpoint.min_rtt_s,
            "logged_smoothed_s": endpoint.smoothed_rtt_s,
            "logged_median_s": float(np.median(latest)) if len(latest) else None,
            "captured": (quic["acknowledged_rtt"] or {}).get(side) if side else None,
            "captured_handshake": quic["handshake_rtt"],
        },
        "clock": {"offset_s": found.clock.offset_s, "offset_error_s": found.clock.offset_error_s},
    }


def _counts(pair: tuple[int | None, int]) -> dict[str, Any]:
    return {"in_log": pair[0], "in_capture": pair[1]}
