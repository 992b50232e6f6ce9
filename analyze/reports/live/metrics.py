"""Figures by service for collectors of metrics: one list says what there is, and every exporter reads it.

A service is an address, a port, and a name where TLS or a lookup gives one. Only so many have labels of their own:
those that came first; the others are one service, `other`. Counters never fall, whatever a judgement becomes later.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from vmtrace.analyze.findings.facts import CLIENT, SERVER
from vmtrace.analyze.trace import Trace
from vmtrace.analyze.words.server_names import server_name

Record = dict[str, Any]
Labels = tuple[str, ...]

SERVICE = ("server", "port", "name")
"""Labels that every figure of connections has."""
OTHER = ("other", "", "")

_SIDES = (CLIENT, SERVER)
_SHORT_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Kind(Enum):
    """How a figure moves."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One figure."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    labels: tuple[str, ...] = SERVICE
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets."""


BYTES = Metric("vmtrace_wire_bytes", Kind.COUNTER, "By", "bytes of frames", (*SERVICE, "direction"))
CONNECTIONS = Metric("vmtrace_connections", Kind.COUNTER, "1", "connections begun")
OPEN = Metric("vmtrace_open_connections", Kind.GAUGE, "1", "connections that are open", SERVICE)
SEGMENTS = Metric("vmtrace_data_segments", Kind.COUNTER, "1", "segments with data, retransmissions included")
RETRANSMITTED = Metric(
    "vmtrace_retransmitted_segments", Kind.COUNTER, "1", "retransmissions by what set them off", (*SERVICE, "trigger")
)
SPURIOUS = Metric("vmtrace_spurious_segments", Kind.COUNTER, "1", "retransmissions that were not needed")
ZERO_WINDOWS = Metric("vmtrace_zero_windows", Kind.COUNTER, "1", "times that a receiver closed its window")
TIME = Metric("vmtrace_time", Kind.COUNTER, "s", "time of connections by cause (time account)", (*SERVICE, "cause"))
OUTCOMES = Metric(
    "vmtrace_outcomes", Kind.COUNTER, "1", "connections over that did not open or end well", (*SERVICE, "outcome")
)
RTT = Metric("vmtrace_rtt", Kind.HISTOGRAM, "s", "median RTT of each direction of connections over", bounds=_SHORT_S)
FIRST_BYTE = Metric(
    "vmtrace_first_byte", Kind.HISTOGRAM, "s", "request to the first byte of its response", bounds=_SHORT_S
)
DNS_WAIT = Metric("vmtrace_dns_wait", Kind.HISTOGRAM, "s", "time that a name was waited for", ("rcode",), _SHORT_S)

METRICS = (
    BYTES,
    CONNECTIONS,
    OPEN,
    SEGMENTS,
    RETRANSMITTED,
    SPURIOUS,
    ZERO_WINDOWS,
    TIME,
    OUTCOMES,
    RTT,
    FIRST_BYTE,
    DNS_WAIT,
)
"""All there are."""


@dataclass
class Buckets:
    """A histogram's state."""

    counts: list[int]
    sum: float = 0.0

    @property
    def count(self) -> int:
        """All that were observed."""
        return sum(self.counts)


@dataclass
class Series:
    """The values of all metrics, by labels."""

    values: dict[Metric, dict[Labels, float]] = field(default_factory=lambda: defaultdict(dict))
    histograms: dict[Metric, dict[Labels, Buckets]] = field(default_factory=lambda: defaultdict(dict))
    start_ns: int = 0
    now_ns: int = 0


class Services:
    """Takes the state of a capture, again and again, and keeps the sums over what has passed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._labels: dict[Labels, Labels] = {}
        self._seen: dict[int, _Seen] = {}
        self._lookups: set[tuple[Any, ...]] = set()
        self.series = Series()

    def take(self, trace: Trace, leaving: Iterable[int] = (), *, is_end: bool = False) -> None:
        """What `trace` shows; `leaving` are connections that the next one will not have."""
        header, columns = trace.header(), ("id", "ledger_wire_bytes", "close")
        leaving = frozenset(leaving)
        trace.load(columns)
        rows = list(zip(*(trace.values(name) for name in columns), strict=True))
        changed = [
            number
            for number, size, close in rows
            if (seen := self._seen.get(number)) is None
            or (seen.wire_bytes, seen.close) != (size, close)
            or ((is_end or number in leaving) and not seen.is_over)
        ]
        sizes = {number: (size, close) for number, size, close in rows}
        for record in trace.records(changed):
            number = record["id"]
            is_over = is_end or number in leaving or record["close"] != "open"
            if not is_over and not any(record[side]["data_packets"] for side in _SIDES):
                continue  # its service may have a name yet
            seen = self._seen.setdefault(number, _Seen(self._service(record, header["lookups"])))
            seen.wire_bytes, seen.close = sizes[number]
            self._count(record, seen, is_over=is_over)
        for number in self._seen.keys() - sizes.keys():
            del self._seen[number]
        self._count_lookups(header["lookups"])
        self._count_open()
        starts = [one["start_ns"] for one in header["inputs"] if one["start_ns"] is not None]
        ends = [one["end_ns"] for one in header["inputs"] if one["end_ns"] is not None]
        self.series.start_ns = self.series.start_ns or min(starts, default=0)
        self.series.now_ns = max([self.series.now_ns, *ends])

    def _service(self, record: Record, lookups: Sequence[Record]) -> Labels:
        address, _, port = record["server"].rpartition(":")
        wanted = (address.strip("[]"), port, server_name(record, lookups) or "")
        if wanted not in self._labels and len(self._labels) < self._most:
            self._labels[wanted] = wanted
        return self._labels.get(wanted, OTHER)

    def _count(self, record: Record, seen: "_Seen", *, is_over: bool) -> None:
        for metric, more, value in _counted(record):
            before = seen.values.get((metric, more), 0.0)
            if value > before or before == 0.0:
                seen.values[metric, more] = value
                values = self.series.values[metric]
                labels = (*seen.service, *more)
                values[labels] = values.get(labels, 0.0) + max(0.0, value - before)
        requests = record.get("requests") or ()
        for request in requests[seen.requests :]:
            self._observe(FIRST_BYTE, seen.service, request["first_byte_s"])
        seen.requests = max(seen.requests, len(requests))
        if is_over and not seen.is_over:
            seen.is_over = True
            for side in _SIDES:
                self._observe(RTT, seen.service, (record[side].get("rtt") or {}).get("median_s"))
            outcome = record.get("outcome")
            if outcome:
                labels = (*seen.service, outcome["kind"])
                values = self.series.values[OUTCOMES]
                values[labels] = values.get(labels, 0.0) + 1

    def _observe(self, metric: Metric, labels: Labels, value_s: float | None) -> None:
        if value_s is None:
            return
        histograms = self.series.histograms[metric]
        buckets = histograms.setdefault(labels, Buckets([0] * (len(metric.bounds) + 1)))
        buckets.counts[bisect_left(metric.bounds, value_s)] += 1
        buckets.sum += value_s

    def _count_lookups(self, lookups: Iterable[Record]) -> None:
        there = set()
        for one in lookups:
            if one["answered_ns"] is None:
                continue
            key = (one["asked_ns"], one["answered_ns"], one["name"], one["type"], one["client"])
            there.add(key)
            if key not in self._lookups:
                self._observe(DNS_WAIT, (str(one["rcode"] or ""),), one["waited_s"])
        self._lookups = there

    def _count_open(self) -> None:
        open_now: dict[Labels, float] = dict.fromkeys(self.series.values[OPEN], 0.0)
        for seen in self._seen.values():
            open_now[seen.service] = open_now.get(seen.service, 0.0) + (seen.close == "open" and not seen.is_over)
        self.series.values[OPEN] = open_now


@dataclass
class _Seen:
    """What was counted of a connection."""

    service: Labels
    wire_bytes: int | None = None
    close: str | None = None
    requests: int = 0
    is_over: bool = False
    values: dict[tuple[Metric, Labels], float] = field(default_factory=dict)


def _counted(record: Record) -> Iterator[tuple[Metric, Labels, float]]:
    """The counters of a connection: labels beyond the service's, and values."""
    yield CONNECTIONS, (), 1
    totals = dict.fromkeys((SEGMENTS, SPURIOUS, ZERO_WINDOWS), 0.0)
    triggers: defaultdict[str, float] = defaultdict(float)
    for side in _SIDES:
        one = record[side]
        yield BYTES, (side,), one["wire_bytes"]
        loss, window = one.get("loss") or {}, one.get("window") or {}
        totals[SEGMENTS] += one["data_segments"] or 0
        totals[SPURIOUS] += loss.get("spurious_segments") or 0
        totals[ZERO_WINDOWS] += window.get("zero_windows") or 0
        for trigger, number in (loss.get("by_trigger") or {}).items():
            triggers[trigger] += number or 0
    for metric, value in totals.items():
        yield metric, (), value
    for trigger, value in triggers.items():
        yield RETRANSMITTED, (trigger,), value
    for entry in record.get("account") or ():
        yield TIME, (entry["kind"],), entry["time_s"]
