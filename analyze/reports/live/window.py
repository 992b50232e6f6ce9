"""The last seconds of a stream: what the sums over all connections were then, and what they are now."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vmtrace.analyze.findings.facts import CLIENT, SERVER
from vmtrace.analyze.reports.live.stream import Snapshot

SECONDS = 10.0

_SIDES = (CLIENT, SERVER)
_SUMMED = tuple(
    f"{side}_{name}"
    for side in _SIDES
    for name in ("data_segments", "loss_retransmitted_segments", "loss_lost_segments_inferred")
)
_TRIPS = tuple(f"{side}_rtt_{name}" for side in _SIDES for name in ("samples", "mean_s"))
COLUMNS = (
    "id", "client", "server", "server_name", "start_ns", "duration_s", "close", "ledger_wire_bytes", "verdict_factor",
    *_SUMMED, *_TRIPS,
)  # fmt: skip
"""Columns of the connection table that are read of every snapshot."""


@dataclass
class Sums:
    """Over connections, or over all that passed."""

    values: Counter[str] = field(default_factory=Counter)
    causes_s: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Sums") -> None:
        """Add those of others."""
        self.values.update(other.values)
        self.causes_s.update(other.causes_s)

    def minus(self, other: "Sums") -> "Sums":
        """What came since; sums of connections may have been judged anew, and then lose a little."""
        values = {name: max(0, value - other.values[name]) for name, value in self.values.items()}
        causes_s = {name: max(0.0, value - other.causes_s[name]) for name, value in self.causes_s.items()}
        return Sums(Counter(values), Counter(causes_s))


@dataclass(frozen=True)
class Figures:
    """Of a span of time; None is not measured."""

    span_s: float
    packets: int
    rate_bps: float
    rtt_s: float | None
    retransmitted: float | None
    """Share of data segments."""
    lost: float | None
    causes: tuple[tuple[str, float], ...]
    """Kinds of the time account with their shares, the largest first."""


class Window:
    """Takes snapshots, one after the other."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._past: deque[tuple[int, Sums]] = deque()
        self._gone = Sums()
        self._known: dict[int, tuple[Any, Sums]] = {}
        self.rows: list[dict[str, Any]] = []
        """Connections of the last snapshot by `COLUMNS`, and `rate_bps` since the one before, the fastest first."""
        self._before_ns: int | None = None

    def take(self, snapshot: Snapshot) -> None:
        """The next snapshot."""
        now_ns = snapshot.newest_ns
        if now_ns is None:
            return
        self.rows = self._read(snapshot, now_ns)
        total = Sums()
        total.add(self._gone)
        for _, sums in self._known.values():
            total.add(sums)
        inputs = snapshot.trace.header()["inputs"]
        total.values["packets"] = sum(one["packets"] for one in inputs)
        total.values["frame_bytes"] = sum(one["wire_bytes"] for one in inputs)
        for number in snapshot.leaving:
            _, sums = self._known.pop(number, (None, Sums()))
            self._gone.add(sums)
        if not self._past or now_ns > self._past[-1][0]:
            self._past.append((now_ns, total))
        else:
            self._past[-1] = (now_ns, total)
        while len(self._past) > 2 and now_ns - self._past[1][0] >= self._seconds * 1e9:
            self._past.popleft()
        self._before_ns = now_ns

    def last(self) -> Figures | None:
        """The last seconds; None before two snapshots."""
        if len(self._past) < 2:
            return None
        (then_ns, then), (now_ns, now) = self._past[0], self._past[-1]
        return _figures(now.minus(then), (now_ns - then_ns) / 1e9)

    def _read(self, snapshot: Snapshot, now_ns: int) -> list[dict[str, Any]]:
        trace = snapshot.trace
        trace.load(COLUMNS)
        columns = zip(*(trace.values(name) for name in COLUMNS), strict=True)
        rows = [dict(zip(COLUMNS, values, strict=True)) for values in columns]
        changed = [row["id"] for row in rows if self._known.get(row["id"], (None,))[0] != row["ledger_wire_bytes"]]
        records = {one["id"]: one for one in trace.records(changed)}
        span_s = None if self._before_ns is None else (now_ns - self._before_ns) / 1e9
        for row in rows:
            number, size = row["id"], row["ledger_wire_bytes"] or 0
            before = self._known.get(number, (0, None))[0] or 0
            row["server_name"] = trace.server_name(row)
            row["rate_bps"] = 8 * max(0, size - before) / span_s if span_s else 0.0
            if number in records:
                account = records[number].get("account") or ()
                self._known[number] = (row["ledger_wire_bytes"], _sums(row, account))
        return sorted(rows, key=lambda row: (-row["rate_bps"], -(row["ledger_wire_bytes"] or 0), row["id"]))


def _sums(row: Mapping[str, Any], account: Iterable[Mapping[str, Any]]) -> Sums:
    sums = Sums()
    for name in _SUMMED:
        sums.values[name.split("_", 3)[3]] += row[name] or 0
    for side in _SIDES:
        samples, mean_s = row[f"{side}_rtt_samples"] or 0, row[f"{side}_rtt_mean_s"] or 0.0
        sums.values["rtt_samples"] += samples
        sums.values["rtt_s"] += samples * mean_s  # type: ignore[assignment]  # a sum of seconds among counts
    for entry in account:
        sums.causes_s[entry["kind"]] += entry["time_s"]
    return sums


def _figures(sums: Sums, span_s: float) -> Figures:
    values = sums.values
    segments, samples = values["data_segments"], values["rtt_samples"]
    whole_s = sum(sums.causes_s.values())
    causes = tuple((kind, time_s / whole_s) for kind, time_s in sums.causes_s.most_common() if time_s > 0)
    return Figures(
        span_s=span_s,
        packets=values["packets"],
        rate_bps=8 * values["frame_bytes"] / span_s if span_s > 0 else 0.0,
        rtt_s=values["rtt_s"] / samples if samples else None,
        retransmitted=values["loss_retransmitted_segments"] / segments if segments else None,
        lost=values["loss_lost_segments_inferred"] / segments if segments else None,
        causes=causes,
    )
