"""What an endpoint of QUIC logged itself: packets that it sent, received and gave up, and its round trips.

Reads qlog (draft-ietf-quic-qlog-main-schema) as one JSON document or as a sequence of records (RFC 7464, or lines),
packed by gzip or not. Names of events are taken without their namespace, which drafts have changed.
"""

import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.analyze.words.document import Record
from vmtrace.formats.packed import opened

MOST_BYTES = 512 << 20
"""Of an unpacked log; more is not read."""

SPACES = {"initial": 0, "handshake": 1, "0rtt": 2, "1rtt": 2, "onertt": 2, "zerortt": 2}
"""Spaces of packet numbers by packet type, written without `-`, `_` and case."""


class QlogError(ValueError):
    """It is no qlog, or says nothing of packets."""


@dataclass(slots=True)
class Endpoint:
    """One connection by the log of one of its ends."""

    path: str
    is_server: bool | None = None
    original_id: str | None = None
    """Where the client's first Initial went, hexadecimal."""
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    """Packets by space and number: when they were sent, Unix nanoseconds."""
    received: dict[tuple[int, int], int] = field(default_factory=dict)
    declared_lost: list[tuple[int, int]] = field(default_factory=list)
    datagrams_sent: int | None = None
    datagrams_received: int | None = None
    min_rtt_s: float | None = None
    smoothed_rtt_s: float | None = None
    latest_rtt_s: list[float] = field(default_factory=list)


def is_qlog(path: Path) -> bool:
    """By its name, or by how its content begins."""
    if path.name.removesuffix(".gz").endswith((".qlog", ".sqlog")):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(512).lstrip(b"\x1e \r\n\t")
    except OSError:
        return False
    return head[:1] == b"{" and b'"qlog_' in head


def read_qlog(path: Path) -> Endpoint:
    """Raises `QlogError` and `OSError`."""
    endpoint = Endpoint(str(path))
    for common, events in _traces(_text(path), endpoint):
        clock = _Clock(common)
        for event in events:
            time_ns, name, data = clock.event(event)
            _on_event(endpoint, time_ns, name, data)
    if not endpoint.sent and not endpoint.received:
        raise QlogError(f"{path}: no packet_sent and no packet_received in it")
    return endpoint


def _text(path: Path) -> str:
    try:
        with opened(path) as content:
            found = content.read(MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile) as error:
        raise QlogError(f"{path}: {error}") from None
    if len(found) > MOST_BYTES:
        raise QlogError(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    return found.decode(errors="replace")


def _traces(text: str, endpoint: Endpoint) -> Iterator[tuple[Record, Iterator[Any]]]:
    """Common fields and events of each trace."""
    whole = _parsed(text)
    if isinstance(whole, dict) and "traces" in whole:
        traces = [trace for trace in _list(whole["traces"]) if isinstance(trace, dict)]
        for trace in traces:
            common = _dict(trace.get("common_fields"))
            _name(endpoint, trace, common)
            yield common, iter(_list(trace.get("events")))
        return
    records = (_parsed(line) for line in text.replace("\x1e", "\n").splitlines())
    records = (record for record in records if isinstance(record, dict))
    head = next(records, None)
    if head is None or not any(str(key).startswith("qlog_") or key == "trace" for key in head):
        raise QlogError(f"{endpoint.path}: no qlog: its first record has no qlog_version")
    trace = _dict(head.get("trace"))
    common = _dict(trace.get("common_fields"))
    _name(endpoint, trace, common)
    yield common, records


def _name(endpoint: Endpoint, trace: Record, common: Record) -> None:
    point = str(_dict(trace.get("vantage_point")).get("type", ""))
    if point in ("client", "server"):
        endpoint.is_server = point == "server"
    for key in ("ODCID", "group_id"):
        value = common.get(key)
        if isinstance(value, str) and _is_hexadecimal(value):
            endpoint.original_id = value.lower()
            return


def _is_hexadecimal(text: str) -> bool:
    return 0 < len(text) <= 40 and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dict(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class _Clock:
    """Times of events: absolute, since a reference, or since the event before; milliseconds."""

    def __init__(self, common: Record) -> None:
        reference = common.get("reference_time")
        if isinstance(reference, dict):
            reference = reference.get("epoch")
        form = common.get("time_format")
        self._reference_ms = _number(reference) or 0.0
        self._is_delta = form in ("delta", "relative_to_previous_event")
        self._fields = [str(name) for name in _list(common.get("event_fields"))] or _FIELDS

    def event(self, event: Any) -> tuple[int, str, Record]:
        """When, which, and what it says."""
        if isinstance(event, list):
            event = dict(zip(self._fields, event, strict=False))
        event = _dict(event)
        time_ms = _number(event.get("time", event.get("relative_time"))) or 0.0
        name = str(event.get("name", event.get("event", ""))).rpartition(":")[2]
        passed_ms = time_ms + self._reference_ms
        if self._is_delta:
            self._reference_ms = passed_ms
        return round(passed_ms * 1e6), name, _dict(event.get("data"))


_FIELDS = ["relative_time", "category", "event", "data"]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e15 else None


def _on_event(endpoint: Endpoint, time_ns: int, name: str, data: Record) -> None:
    if name in ("packet_sent", "packet_received"):
        packet = _packet(_dict(data.get("header")), data)
        if packet is not None:
            packets = endpoint.sent if name == "packet_sent" else endpoint.received
            packets.setdefault(packet, time_ns)
    elif name == "packet_lost":
        packet = _packet(_dict(data.get("header")), data)
        if packet is not None:
            endpoint.declared_lost.append(packet)
    elif name == "datagrams_sent":
        endpoint.datagrams_sent = (endpoint.datagrams_sent or 0) + _count(data)
    elif name == "datagrams_received":
        endpoint.datagrams_received = (endpoint.datagrams_received or 0) + _count(data)
    elif name in ("metrics_updated", "recovery_metrics_updated"):
        _round_trips(endpoint, data)
    elif name == "parameters_set" and endpoint.original_id is None:
        value = data.get("original_destination_connection_id")
        if isinstance(value, str) and _is_hexadecimal(value):
            endpoint.original_id = value.lower()


def _packet(header: Record, data: Record) -> tuple[int, int] | None:
    kind = str(header.get("packet_type", data.get("packet_type", data.get("type", ""))))
    space = SPACES.get(kind.lower().replace("_", "").replace("-", ""))
    number = _number(header.get("packet_number", data.get("packet_number")))
    return None if space is None or number is None else (space, int(number))


def _count(data: Record) -> int:
    number = _number(data.get("count"))
    return len(_list(data.get("raw"))) or 1 if number is None else int(number)


def _round_trips(endpoint: Endpoint, data: Record) -> None:
    least, smoothed, latest = (_number(data.get(f"{name}_rtt")) for name in ("min", "smoothed", "latest"))
    if least is not None and least > 0:
        endpoint.min_rtt_s = least / 1e3
    if smoothed is not None and smoothed > 0:
        endpoint.smoothed_rtt_s = smoothed / 1e3
    if latest is not None and latest > 0:
        endpoint.latest_rtt_s.append(latest / 1e3)
