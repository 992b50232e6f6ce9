"""Where the time of an object goes, from the call of the SDK to its return: every nanosecond is in one part.

Packets tell how long name lookups and handshakes took of the connections that were opened for the object; the log tells
when the first byte of the answer was there. What is left of the time before the request, when nothing of the object was
on the wire, is the client's own (idle for the network).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from analyze.storage.connections import Ends
from analyze.storage.measured import Connection, Lookup, MeasuredRun, MeasuredTransaction
from analyze.storage.records import StoredObject

PARTS = ("name_lookup", "tcp_handshake", "tls_handshake", "request_to_first_byte", "transfer", "idle")


@dataclass(frozen=True, slots=True)
class ObjectTimes:
    """The time of one object in one direction, seconds.

    Downloading, the request goes out, the first byte comes, and the rest is the transfer. Uploading, the body goes
    before the answer: how long the service took to answer does not show, and `request_to_first_byte` is None; both
    together are the transfer.
    """

    duration_s: float
    parts_s: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class TimeRow:
    """The objects of one workload in one direction."""

    workload: str
    direction: str
    objects: int
    left_out: int
    """Objects that failed, or of which the connections are not in the capture."""
    median_s: float
    median_parts_s: dict[str, float | None]
    shares: dict[str, float | None]
    """Of the time of all objects together; they sum to 1."""


def time_rows(run: MeasuredRun) -> list[TimeRow]:
    """A row for each workload and direction that has objects with known times."""
    rows = []
    for (workload, direction), found in run.kinds().items():
        times = [known for one in found for known in object_times(one)]
        total = sum(len(one.objects) for one in found)
        if times:
            rows.append(_row(workload, direction, times, total - len(times)))
    return rows


def object_times(one: MeasuredTransaction) -> list[ObjectTimes]:
    """The times of those of its objects that can be told."""
    if not one.captured:
        return []
    by_ends: dict[Ends, list[Connection]] = {}
    for connection in one.connections:
        by_ends.setdefault((connection.client, connection.server), []).append(connection)
    found = (_times(stored, one, by_ends) for stored in one.objects if stored.outcome == "done")
    return [times for times in found if times is not None]


def _times(stored: StoredObject, one: MeasuredTransaction, by_ends: dict[Ends, list[Connection]]) -> ObjectTimes | None:
    exchange = stored.exchange
    start_ns, end_ns, first_ns = exchange.start_ns, exchange.end_ns, exchange.first_byte_ns
    if first_ns is None or not start_ns <= first_ns <= end_ns or not exchange.connections:
        return None
    opened: list[Connection] = []
    for use in exchange.connections:
        if use.opened:
            alike = by_ends.get((use.local, use.peer), ())
            there = [connection for connection in alike if start_ns <= connection.start_ns <= end_ns]
            if not there:
                return None
            opened.append(there[0])
    spans = {
        "name_lookup": _lookup_spans(one.lookups, start_ns, first_ns),
        "tcp_handshake": [(c.start_ns, c.start_ns + _ns(c.handshake_rtt_s)) for c in opened],
        "tls_handshake": [
            (c.start_ns + _ns(c.handshake_rtt_s), c.start_ns + _ns(c.handshake_rtt_s) + _ns(c.tls_handshake_s))
            for c in opened
        ],
    }
    # What overlaps (an object in parts, over several connections at once) counts once, in the order of the parts.
    taken: list[tuple[int, int]] = []
    parts_ns: dict[str, int] = {}
    for name, found in spans.items():
        clipped = [(max(low, start_ns), min(high, first_ns)) for low, high in found]
        before = _covered(taken)
        taken += [(low, high) for low, high in clipped if high > low]
        parts_ns[name] = _covered(taken) - before
    ready_ns = max((high for _, high in taken), default=start_ns)
    idle_ns = (ready_ns - start_ns) - _covered(taken)
    parts_s: dict[str, float | None] = {name: value / 1e9 for name, value in parts_ns.items()}
    if one.transaction.direction == "download":
        parts_s |= {"request_to_first_byte": (first_ns - ready_ns) / 1e9, "transfer": (end_ns - first_ns) / 1e9}
    else:
        parts_s |= {"request_to_first_byte": None, "transfer": (end_ns - ready_ns) / 1e9}
    return ObjectTimes((end_ns - start_ns) / 1e9, {**parts_s, "idle": idle_ns / 1e9})


def _lookup_spans(lookups: Iterable[Lookup], start_ns: int, end_ns: int) -> list[tuple[int, int]]:
    return [
        (one.asked_ns, one.answered_ns)
        for one in lookups
        if one.asked_ns is not None and start_ns <= one.asked_ns and one.answered_ns <= end_ns
    ]


def _covered(spans: Sequence[tuple[int, int]]) -> int:
    """The length of spans together, what overlaps once."""
    length, reached = 0, None
    for low, high in sorted(spans):
        begin = low if reached is None else max(low, reached)
        length += max(high - begin, 0)
        reached = high if reached is None else max(reached, high)
    return length


def _ns(seconds: float | None) -> int:
    return 0 if seconds is None else round(seconds * 1e9)


def _row(workload: str, direction: str, times: Sequence[ObjectTimes], left_out: int) -> TimeRow:
    total = sum(one.duration_s for one in times)
    known = {name: [value for one in times if (value := one.parts_s[name]) is not None] for name in PARTS}
    return TimeRow(
        workload,
        direction,
        len(times),
        left_out,
        float(np.median([one.duration_s for one in times])),
        {name: float(np.median(values)) if values else None for name, values in known.items()},
        {name: sum(values) / total if values and total else None for name, values in known.items()},
    )
