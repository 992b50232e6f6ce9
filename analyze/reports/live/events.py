"""What happened between two snapshots, as records for programs: docs/watch.md names them.

A connection, flow or lookup comes once, when it is over, as `vmtrace analyze --json-lines` gives it: a connection after
5 s in which nothing more came of it, since what came late to one that has ended belongs to it, too. A finding comes
when it is new, when what it says has changed, when it no longer holds, and when all that it is about was forgotten.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from vmtrace.analyze.findings.facts import end_ns
from vmtrace.analyze.reports.live.stream import Snapshot
from vmtrace.analyze.reports.live.window import Figures, Window
from vmtrace.analyze.trace import Trace

Event = dict[str, Any]

_CHANGED = 0.1
"""A cost that differs by less than this share is the same."""


class Events:
    """Takes snapshots one after the other, and at last the whole stream."""

    def __init__(self, horizon_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._horizon_ns, self._clock = round(horizon_s * 1e9), clock
        self._ended: dict[int, tuple[int, float]] = {}
        """Of connections that are over and not given out yet, their bytes and since when they have not changed."""
        self._given: dict[str, dict[Any, int]] = {"connection": {}, "flow": {}, "lookup": {}}
        """What was given out, with the time of its last packet: as long as a snapshot may still hold it."""
        self._findings: dict[_Identity, _Said] = {}

    def of(self, snapshot: Snapshot, window: Window) -> Iterator[Event]:
        """What is new in a snapshot, and the state of things."""
        now_ns = snapshot.newest_ns
        if now_ns is None:
            return
        trace = snapshot.trace
        waiting, self._ended = self._ended, {}
        over = [
            row["id"] for row in window.rows if self._is_over(row, now_ns, waiting) or row["id"] in snapshot.leaving
        ]
        yield from self._new(trace, over, now_ns, is_end=False)
        yield from self._changes(trace)
        yield status(snapshot, window.last(), now_ns)
        header = trace.header()
        there: dict[str, set[Any]] = {
            "connection": set(trace.values("id")),
            "flow": {_flow_key(one) for one in header["flows"]},
            "lookup": {_lookup_key(one) for one in header["lookups"]},
        }
        for kind, given in self._given.items():
            long_ago_ns = now_ns - 2 * self._horizon_ns
            for key in [key for key, last_ns in given.items() if last_ns < long_ago_ns and key not in there[kind]]:
                del given[key]

    def _is_over(self, row: Event, now_ns: int, waiting: dict[int, tuple[int, float]]) -> bool:
        number = row["id"]
        if row["close"] == _OPEN or number in self._given["connection"]:
            return False
        if now_ns - row["start_ns"] - 1e9 * row["duration_s"] >= 1e9 * _SETTLED_S:
            return True
        size, now_s = row["ledger_wire_bytes"], self._clock()
        before, since_s = waiting.get(number, (size, now_s))
        self._ended[number] = (size, since_s if before == size else now_s)
        return now_s - self._ended[number][1] >= _SETTLED_S

    def rest(self, trace: Trace) -> Iterator[Event]:
        """What was not given out yet when the stream has ended."""
        ids = trace.values("id")
        yield from self._new(trace, ids, 0, is_end=True)
        yield from self._changes(trace, is_end=True)

    def _new(self, trace: Trace, over: list[int], now_ns: int, *, is_end: bool) -> Iterator[Event]:
        given = self._given["connection"]
        for record in trace.records([number for number in over if number not in given]):
            given[record["id"]] = max(end_ns(record), now_ns)
            yield {"record": "connection", **record}
        header = trace.header()
        for flow in header["flows"]:
            last_ns = end_ns(flow)
            if is_end or last_ns < now_ns - self._horizon_ns:
                yield from self._once("flow", _flow_key(flow), last_ns, flow)
        for lookup in header["lookups"]:
            asked_ns, replied_ns = lookup["last_asked_ns"], lookup["answered_ns"]
            last_ns = max(one for one in (asked_ns, replied_ns, 0) if one is not None)
            if is_end or last_ns < now_ns - _LOOKUP_OVER_NS:
                yield from self._once("lookup", _lookup_key(lookup), last_ns, lookup)

    def _once(self, kind: str, key: tuple[Any, ...], last_ns: int, record: Event) -> Iterator[Event]:
        if key not in self._given[kind]:
            self._given[kind][key] = last_ns
            yield {"record": kind, **record}

    def _changes(self, trace: Trace, *, is_end: bool = False) -> Iterator[Event]:
        header, given = trace.header(), self._findings
        flows = {one["id"]: _flow_key(one) for one in header["flows"]}
        lookups = [_lookup_key(one) for one in header["lookups"]]
        now = {}
        for finding in trace.findings:
            # Numbers of flows, and places of lookups, are others once some were forgotten.
            own_flows = [flows.get(number, (number,)) for number in finding.flows]
            asked = [lookups[place] for place in finding.lookups]
            identity = (finding.kind, finding.owner, *finding.connections[:1], *own_flows[:1], *asked[:1])
            about = frozenset([*finding.connections, *own_flows, *asked])
            now[identity] = _Said(finding.as_record(), about)
        for key in given.keys() - now.keys():
            for other in now.keys() - given.keys():
                # The first that it was about may have been forgotten.
                if other[:2] == key[:2] and now[other].about & given[key].about:
                    given[other] = given.pop(key)
                    break
        for key, said in now.items():
            before = given.get(key)
            if before is None or _differs(before.record, said.record) or (is_end and before.record != said.record):
                yield {"record": "finding", "state": "new" if before is None else "changed", **said.record}
                given[key] = said
        there = {*trace.values("id"), *flows.values(), *lookups}
        for key in given.keys() - now.keys():
            said = given.pop(key)
            is_forgotten = bool(said.about) and said.about.isdisjoint(there)
            yield {"record": "finding", "state": "over" if is_forgotten else "gone", **said.record}


_OPEN = "open"
_SETTLED_S = 5.0
"""Of the packets' time, or of this process's where no packets pass."""
_LOOKUP_OVER_NS = 30_000_000_000
"""A reply that comes later belongs to no question."""


def status(snapshot: Snapshot, figures: Figures | None, now_ns: int) -> Event:
    """How things stand."""
    trace = snapshot.trace
    header = trace.header()
    last = None if figures is None else {**asdict(figures), "causes": dict(figures.causes)}
    return {
        "record": "status",
        "time_ns": now_ns,
        "packets": sum(one["packets"] for one in header["inputs"]),
        "wire_bytes": sum(one["wire_bytes"] for one in header["inputs"]),
        "connections": len(trace),
        "open_connections": sum(close == _OPEN for close in trace.values("close")),
        "forgotten_connections": snapshot.left,
        "flows": len(header["flows"]),
        "lookups": len(header["lookups"]),
        "findings": len(trace.findings),
        "last": last,
    }


def _flow_key(flow: Event) -> tuple[Any, ...]:
    return flow["start_ns"], flow["client"], flow["server"]


def _lookup_key(lookup: Event) -> tuple[Any, ...]:
    return lookup["asked_ns"], lookup["name"], lookup["type"], lookup["client"]


_Identity = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Said:
    """A finding as it was given out."""

    record: Event
    about: frozenset[Any]
    """Connections, flows and lookups by what stays theirs."""


def _differs(before: Event, now: Event) -> bool:
    was, cost = before["cost_s"] or 0.0, now["cost_s"] or 0.0
    counts = ("connections_count", "flows_count", "lookups_count")
    return abs(cost - was) > _CHANGED * max(was, cost) or any(before[name] != now[name] for name in counts)
