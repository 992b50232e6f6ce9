"""The log of a campaign (`requests.jsonl`, docs/storage.md) as columns: a hundred thousand probes fit into memory.

A line that is none, or lacks what is needed, is left out and counted. Throughput is in bits per second, of requests
that were done; of others it is NaN.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.records.run_folder import inside
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.formats.quantities import plural

UPLOAD, DOWNLOAD = "upload", "download"
DIRECTIONS = (UPLOAD, DOWNLOAD)
DONE, WRITE_ERROR, READ_ERROR, FAILED = "done", "write_error", "read_error", "failed"
OUTCOMES = (DONE, WRITE_ERROR, READ_ERROR, FAILED)
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
_LARGEST_LINE_BYTES = 1 << 20
_MOST = 2**62


@dataclass(frozen=True)
class Requests:
    """One element for each request, in the order of the log. Codes are places in the lists beside them."""

    probe: Ints
    session: Ints
    position: Ints
    direction: Ints
    size_bytes: Ints
    start_ns: Ints
    duration_s: Floats
    late_s: Floats
    rtt_s: Floats
    """That the kernel measured on the last connection of a request; NaN where the log has none."""
    due_ns: Ints
    outcome: Ints
    retries: Ints
    error_kind: Ints
    front_end: Ints
    local_port: Ints
    step: Ints
    threads: Ints
    thread: Ints
    failure: Ints
    """How the way to the service failed: a place in `failures`; -1 where it did not."""
    own: Ints
    """Of a failed request: 1 the client's own network was down, 2 it was not, 0 not known."""
    error_kinds: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    front_ends: tuple[str, ...] = ()
    retry_causes: dict[tuple[str, str], int] = field(default_factory=dict)
    """By direction and cause."""
    names: dict[str, int] = field(default_factory=dict)
    """Names that were looked up, with how often."""
    ttls_s: tuple[int, ...] = ()
    """Smallest and largest TTL that was seen; empty where none was."""

    def __len__(self) -> int:
        return len(self.probe)

    @cached_property
    def done(self) -> Mask:
        """Those that went well."""
        done: Mask = self.outcome == OUTCOMES.index(DONE)
        return done

    @cached_property
    def bps(self) -> Floats:
        """Throughput from the call of the SDK to its return; NaN of what was not done."""
        rates = np.full(len(self), math.nan)
        good = self.done & (self.duration_s > 0)
        rates[good] = 8.0 * self.size_bytes[good] / self.duration_s[good]
        return rates

    def kinds(self) -> Iterator[tuple[int, str, Mask]]:
        """Size and direction of all requests, with which they are; small sizes first, uploads before downloads."""
        for size in np.unique(self.size_bytes):
            for code, direction in enumerate(DIRECTIONS):
                there = (self.size_bytes == size) & (self.direction == code)
                if there.any():
                    yield int(size), direction, there


class _Codes:
    """Texts as small numbers."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def of(self, text: Any) -> int:
        if not isinstance(text, str):
            return -1
        return self.places.setdefault(text, len(self.places))


_WHOLE = (
    "probe", "session", "position", "direction", "size_bytes", "start_ns", "due_ns", "outcome", "retries", "error_kind",
    "front_end", "local_port", "step", "threads", "thread", "failure", "own",
)  # fmt: skip
_REAL = ("duration_s", "late_s", "rtt_s")


def read_requests(folder: Path, problems: list[str], window: Window = ALL_TIME) -> Requests | None:
    """Those that began in the window; None where there is no log. What is wrong with it is added to the problems."""
    path = inside(folder, "requests.jsonl")
    if path is None or not path.stat().st_size:
        return None
    columns: dict[str, array[Any]] = {name: array("q") for name in _WHOLE} | {name: array("d") for name in _REAL}
    kinds, front_ends, failures, names = _Codes(), _Codes(), _Codes(), Counter[str]()
    causes: Counter[tuple[str, str]] = Counter()
    ttls: list[int] = []
    refused = beyond = 0
    with path.open("rb") as file:
        while line := file.readline(_LARGEST_LINE_BYTES):
            if not line.endswith(b"\n"):
                problems.append("requests.jsonl: its last line is torn, or too long, and was left out")
                break
            try:
                record = json.loads(line)
                _check(record)
            except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
                refused += 1
                continue
            if not window.holds(record["start_ns"]):
                beyond += 1
                continue
            _append(columns, record, kinds, front_ends, failures)
            for cause, number in record.get("retry_causes", {}).items():
                causes[record["direction"], cause] += number
            for lookup in record.get("lookups", ()):
                names[lookup["name"]] += 1
                ttl = lookup["ttl_s"]
                if ttl is not None:
                    ttls = [min(ttls[0], ttl), max(ttls[1], ttl)] if ttls else [ttl, ttl]
    kept = len(columns["start_ns"])
    problems[:0] = window.said(kept, kept + beyond, "request")
    if refused:
        problems.append(f"requests.jsonl: {plural(refused, 'line')} that are not requests were left out")
    arrays: dict[str, Any] = {name: np.array(columns[name], np.int64) for name in _WHOLE}
    arrays |= {name: np.array(columns[name], np.float64) for name in _REAL}
    return Requests(
        **arrays,
        error_kinds=tuple(kinds.places),
        failures=tuple(failures.places),
        front_ends=tuple(front_ends.places),
        retry_causes=dict(causes),
        names=dict(names),
        ttls_s=tuple(ttls),
    )


def _check(record: dict[str, Any]) -> None:
    """Raises for what the columns would not hold, so that a line is taken whole or not at all."""
    for name in ("start_ns", "bytes"):
        _whole(record[name])
    for name in ("probe", "session", "position", "due_ns", "retries", "step", "threads", "thread"):
        _whole(record.get(name) or 0)
    for name in ("duration_s", "late_s"):
        value = record.get(name) or 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(name)
    if record["direction"] not in DIRECTIONS or record["outcome"] not in OUTCOMES:
        raise ValueError("direction or outcome")
    for number in record.get("retry_causes", {}).values():
        _whole(number)
    for lookup in record.get("lookups", ()):
        if not isinstance(lookup["name"], str):
            raise TypeError("name")
        _whole(lookup["ttl_s"] or 0)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(value)
    return value


def _append(
    columns: dict[str, array[Any]], record: dict[str, Any], kinds: _Codes, front_ends: _Codes, failures: _Codes
) -> None:
    front_end = record.get("front_end")
    values = {
        "direction": DIRECTIONS.index(record["direction"]),
        "outcome": OUTCOMES.index(record["outcome"]),
        "size_bytes": record["bytes"],
        "start_ns": record["start_ns"],
        "error_kind": kinds.of(record.get("error_kind")),
        "front_end": front_ends.of(front_end.rpartition(":")[0].strip("[]") if isinstance(front_end, str) else None),
        "local_port": _local_port(record),
        "rtt_s": _rtt_s(record),
        "failure": failures.of(record.get("failure")),
        "own": _own(record),
    }
    for name in _WHOLE:
        columns[name].append(values[name] if name in values else record.get(name) or 0)
    for name in _REAL:
        columns[name].append(values[name] if name in values else record.get(name) or 0.0)


def _own(record: dict[str, Any]) -> int:
    """By the link, and by what answered near by."""
    if record["outcome"] != FAILED:
        return 0
    if record.get("status") is not None:
        return 2
    seen = record.get("own_network")
    if not isinstance(seen, dict):
        return 0
    if seen.get("link") == "down" or (seen.get("asked") and not seen.get("answered")):
        return 1
    return 2 if seen.get("answered") else 0


def _rtt_s(record: dict[str, Any]) -> float:
    uses = record.get("connections")
    found = uses[-1].get("rtt_s") if isinstance(uses, list) and uses and isinstance(uses[-1], dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < math.inf:
        return math.nan
    return float(found)


def _local_port(record: dict[str, Any]) -> int:
    """Of the connection used last; 0 where none was."""
    uses = record.get("connections")
    if not isinstance(uses, list) or not uses or not isinstance(uses[-1], dict):
        return 0
    _, _, port = str(uses[-1].get("local")).rpartition(":")
    return int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0


def made(rows: Sequence[dict[str, Any]]) -> Requests:
    """The same columns out of values: for what computes them elsewhere."""
    columns: dict[str, array[Any]] = {name: array("q") for name in _WHOLE} | {name: array("d") for name in _REAL}
    kinds, front_ends, failures = _Codes(), _Codes(), _Codes()
    for row in rows:
        _check(row)
        _append(columns, row, kinds, front_ends, failures)
    arrays: dict[str, Any] = {name: np.array(columns[name], np.int64) for name in _WHOLE}
    arrays |= {name: np.array(columns[name], np.float64) for name in _REAL}
    return Requests(
        **arrays, error_kinds=tuple(kinds.places), failures=tuple(failures.places), front_ends=tuple(front_ends.places)
    )


Progress = Callable[[int], object]
