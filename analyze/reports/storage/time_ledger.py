"""Where the time of an object goes, from the call of the SDK to its return: every nanosecond is in one part.

Packets tell how long name lookups and handshakes took of the connections that were opened for the object; the log tells
when the first byte of the answer was there. What is left of the time before the request, when nothing of the object was
on the wire, is the client's own (idle for the network).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.findings.spans import Covered
from vmtrace.analyze.reports.storage.connections import Ends
from vmtrace.analyze.reports.storage.measured import Connection, Lookup, MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction, Exchange
from vmtrace.analyze.tables.schema.typed import Count, Positive, keys, one_of

PARTS = ("name_lookup", "tcp_handshake", "tls_handshake", "request_to_first_byte", "transfer", "idle")


@dataclass(frozen=True, slots=True)
class ObjectTimes:
    """The time of one object in one direction, or of a login, seconds.

    Downloading, the request goes out, the first byte comes, and the rest is the transfer. Uploading, the body goes
    before the answer: how long the service took to answer does not show, and `request_to_first_byte` is None; both
    together are the transfer.
    """

    transaction: int
    object: int | None
    """Its number; None for a login."""
    duration_s: float
    parts_s: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class TimeRow:
    """The objects of one workload in one direction, or the logins of its transactions."""

    workload: str
    direction: Direction
    what: Annotated[str, one_of("login", "object", "command")]
    """command: a program of its own, run by --tool."""
    objects: Count
    left_out: Count
    """Failed, or with connections that are not in the capture."""
    median_s: Positive
    median_parts_s: Annotated[dict[str, Positive | None], keys(*PARTS)]
    shares: Annotated[dict[str, Positive | None], keys(*PARTS)]
    """Of the time of all together; they sum to 1. request_to_first_byte is null for uploads: it is in transfer."""


def time_rows(run: MeasuredRun) -> list[TimeRow]:
    """Two rows for each workload and direction, as far as times are known: logins, and objects."""
    rows = []
    for (workload, direction), found in run.kinds().items():
        logins = [known for one in found if (known := login_times(one)) is not None]
        objects = [known for one in found for known in object_times(one)]
        counts = (sum(one.transaction.login is not None for one in found), sum(len(one.objects) for one in found))
        commands = [known for one in found if (known := command_times(one)) is not None]
        of_commands = sum(one.transaction.command for one in found)
        counts = (counts[0], 0 if of_commands else counts[1])
        kinds = (("login", logins, counts[0]), ("object", objects, counts[1]), ("command", commands, of_commands))
        for what, times, total in kinds:
            if times:
                rows.append(_row((workload, direction, what), times, total - len(times)))
    return rows


def object_times(one: MeasuredTransaction) -> list[ObjectTimes]:
    """The times of those of its objects that can be told."""
    if not one.captured:
        return []
    by_ends, lookups = _by_ends(one.connections), _Lookups(one.lookups)
    download = one.transaction.direction == "download"
    found = []
    for stored in one.objects:
        times = _times(stored.exchange, lookups, by_ends) if stored.outcome == "done" else None
        if times is not None:
            found.append(_told(times, (one.transaction.number, stored.number), download=download))
    return found


def login_times(one: MeasuredTransaction) -> ObjectTimes | None:
    """The time of its login, from the call to the answer."""
    login = one.transaction.login
    if login is None or not one.captured:
        return None
    times = _times(login, _Lookups(one.lookups), _by_ends(one.connections))
    return None if times is None else _told(times, (one.transaction.number, None), download=True)


def command_times(one: MeasuredTransaction) -> ObjectTimes | None:
    """The time of a program, from its start to its end: idle is when it had no connection that was set up."""
    if not one.transaction.command or not one.captured or one.transaction.status != "complete":
        return None
    start_ns, end_ns = one.transaction.start_ns, one.transaction.end_ns
    tcp = [(use.start_ns, use.start_ns + _ns(use.handshake_rtt_s)) for use in one.connections if use.opened]
    tls = [
        (use.start_ns + _ns(use.handshake_rtt_s), use.start_ns + _ns(use.handshake_rtt_s) + _ns(use.tls_handshake_s))
        for use in one.connections
        if use.opened
    ]
    asked = _Lookups(one.lookups).within(start_ns, end_ns)
    spans = (
        ("name_lookup", asked),
        ("tcp_handshake", tcp),
        ("tls_handshake", tls),
        ("transfer", [(use.start_ns, use.end_ns) for use in one.connections]),
    )
    taken: list[tuple[int, int]] = []
    parts_s: dict[str, float | None] = {"request_to_first_byte": None}
    for name, found in spans:
        before = Covered(taken).length
        clipped = [(max(low, start_ns), min(high, end_ns)) for low, high in found]
        taken += [(low, high) for low, high in clipped if high > low]
        parts_s[name] = (Covered(taken).length - before) / 1e9
    lasts_s = (end_ns - start_ns) / 1e9
    parts_s["idle"] = lasts_s - Covered(taken).length / 1e9
    return ObjectTimes(one.transaction.number, None, lasts_s, parts_s)


def _by_ends(connections: Iterable[Connection]) -> dict[Ends, list[Connection]]:
    found: dict[Ends, list[Connection]] = {}
    for connection in connections:
        found.setdefault((connection.client, connection.server), []).append(connection)
    return found


@dataclass(frozen=True, slots=True)
class _Times:
    """What the packets and the log tell of an exchange, nanoseconds."""

    setup_ns: dict[str, int]
    idle_ns: int
    request_ns: int
    """From the end of the setup to the first byte."""
    answer_ns: int
    """From the first byte to the end."""


def _times(exchange: Exchange, lookups: "_Lookups", by_ends: dict[Ends, list[Connection]]) -> _Times | None:
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
    tcp = [(one.start_ns, one.start_ns + _ns(one.handshake_rtt_s)) for one in opened]
    tls = [(end, end + _ns(one.tls_handshake_s)) for one, (_, end) in zip(opened, tcp, strict=True)]
    asked = lookups.within(start_ns, first_ns)
    # What overlaps (an object in parts, over several connections at once) counts once, in the order of the parts.
    taken: list[tuple[int, int]] = []
    setup_ns: dict[str, int] = {}
    for name, found in (("name_lookup", asked), ("tcp_handshake", tcp), ("tls_handshake", tls)):
        before = Covered(taken).length
        clipped = [(max(low, start_ns), min(high, first_ns)) for low, high in found]
        taken += [(low, high) for low, high in clipped if high > low]
        setup_ns[name] = Covered(taken).length - before
    ready_ns = max((high for _, high in taken), default=start_ns)
    return _Times(setup_ns, (ready_ns - start_ns) - Covered(taken).length, first_ns - ready_ns, end_ns - first_ns)


def _told(times: _Times, numbers: tuple[int, int | None], *, download: bool) -> ObjectTimes:
    together_ns = times.request_ns + times.answer_ns
    parts_s: dict[str, float | None] = {name: value / 1e9 for name, value in times.setup_ns.items()}
    parts_s["request_to_first_byte"] = times.request_ns / 1e9 if download else None
    parts_s["transfer"] = (times.answer_ns if download else together_ns) / 1e9
    parts_s["idle"] = times.idle_ns / 1e9
    duration_s = (sum(times.setup_ns.values()) + times.idle_ns + together_ns) / 1e9
    return ObjectTimes(*numbers, duration_s, parts_s)


class _Lookups:
    """Name lookups in the order in which they were asked: those within a stretch of time are found without a look at
    all."""

    def __init__(self, lookups: Iterable[Lookup]) -> None:
        asked = [(one.asked_ns, one.answered_ns) for one in lookups if one.asked_ns is not None]
        self._spans = sorted(asked)
        self._asked_ns = [asked_ns for asked_ns, _ in self._spans]

    def within(self, start_ns: int, end_ns: int) -> list[tuple[int, int]]:
        """When each was asked and answered."""
        first, last = bisect_left(self._asked_ns, start_ns), bisect_right(self._asked_ns, end_ns)
        return [span for span in self._spans[first:last] if span[1] <= end_ns]


def _ns(seconds: float | None) -> int:
    return 0 if seconds is None else round(seconds * 1e9)


def _row(kind: tuple[str, str, str], times: Sequence[ObjectTimes], left_out: int) -> TimeRow:
    total = sum(one.duration_s for one in times)
    known = {name: [value for one in times if (value := one.parts_s[name]) is not None] for name in PARTS}
    return TimeRow(
        *kind,
        len(times),
        left_out,
        float(np.median([one.duration_s for one in times])),
        {name: float(np.median(values)) if values else None for name, values in known.items()},
        {name: sum(values) / total if values and total else None for name, values in known.items()},
    )
