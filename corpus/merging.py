"""What crosses buckets, merged by the rules of docs/corpus.md. Functions from values to values.

Numbering: connections are numbered in the order of their first packets. Header: what is said of frames comes from the
runs, what connections show of their capture is added up over buckets. A key that is not named here is merged by its
kind, so that new ones need no rule: numbers are added, lists joined, `null` gives way.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmtrace.corpus.engine import Digits, Record
from vmtrace.corpus.splitting import Manifest

_SAME_STEP_NS = 1_000_000_000
"""Steps of the clock within this time are the same (docs/methods.md)."""
_SYN_COUNTS = ("syn", "syn_ack", "syn_retransmissions", "established", "reset")
_THE_SAME = frozenset({"schema", "vmtrace", "reasons"})
"""In all buckets."""
CROSSING = ("shared_limits", "shared_limits_not_listed", "request_servers")
"""What the engine finds from what all buckets packed (`vmtrace.corpus.results.crossing`)."""
BEYOND_TCP = (
    *("lookups", "lookup_totals", "flows", "flows_not_listed", "tunnels", "tunnels_not_listed", "protocols"),
    *("neighbours", "neighbours_not_listed", "neighbour_requests_not_kept", "icmp_errors_of_no_flow"),
)
"""What is no TCP, and what joins it to connections, is read from all runs (`vmtrace.corpus.beyond`)."""
_LEFT_OUT = frozenset({"outcomes", *CROSSING, *BEYOND_TCP})
"""Outcomes have a rule of their own, too (`vmtrace.corpus.outcomes`)."""

Ids = NDArray[np.uint32]


def numbered(orders: Sequence[bytes]) -> list[Ids]:
    """For each bucket the numbers of its connections among all; `orders` are those of their first packets."""
    by_bucket = [np.frombuffer(one, dtype="<u8") for one in orders]
    together = np.concatenate(by_bucket) if by_bucket else np.empty(0, "<u8")
    ids = np.empty(len(together), dtype=np.uint32)
    ids[np.argsort(together, kind="stable")] = np.arange(1, len(together) + 1, dtype=np.uint32)
    ends = np.cumsum([len(one) for one in by_bucket])
    return [ids[end - len(one) : end] for one, end in zip(by_bucket, ends, strict=True)]


def merged_header(runs: Sequence[Manifest], buckets: Sequence[Record]) -> list[Record]:
    """What is said of the captures, in the order of their numbers."""
    of_frames = {name: header for run in runs for name, header in zip(run.names, run.header, strict=True)}
    steps_ns: dict[int, list[int]] = {}
    for number, time_ns in (step for bucket in buckets for step in bucket["clock_steps"]):
        steps_ns.setdefault(number, []).append(time_ns)
    merged = []
    for number, name in enumerate(sorted(of_frames)):
        header = dict(of_frames[name])
        shown = [bucket["header"][number]["capture"] for bucket in buckets]
        header["capture"] = _merged_capture(header["capture"], shown, steps_ns.get(number, ()))
        merged.append(header)
    return merged


def _merged_capture(of_frames: Record, of_buckets: Sequence[Record], steps_ns: Iterable[int]) -> Record:
    merged = dict(of_frames)
    for shown in of_buckets:
        for key, value in shown.items():
            merged[key] = _sum(merged.get(key), value)
    # One step of the clock shows in every connection that is open.
    merged["clock_steps"] = max(of_frames["clock_steps"], distinct_steps(steps_ns))
    # Of hosts that were recorded late the longest counts, and what the runs took away is all there is to say.
    for key in ("lag_s", "lag_removed"):
        if key in merged:
            merged[key] = of_frames.get(key, max((shown[key] for shown in of_buckets if key in shown), default=None))
    return merged


def distinct_steps(times_ns: Iterable[int]) -> int:
    """Of the steps that connections see, how many there were."""
    ordered = sorted(times_ns)
    return bool(ordered) + sum(later - earlier > _SAME_STEP_NS for earlier, later in pairwise(ordered))


def _sum(one: Any, other: Any) -> Any:
    """The rule for a key that has none of its own."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, bool):
        return one or other
    if isinstance(one, Digits):
        return max(one, other)
    if isinstance(one, int):
        return one + other
    if isinstance(one, dict):
        return {key: _sum(one.get(key), other.get(key)) for key in {**one, **other}}
    return one + [item for item in other if item not in one] if isinstance(one, list) else one


def merged_top(buckets: Sequence[Record], ids: Sequence[Ids]) -> Record:
    """What stands beside inputs and connections. Lists that name connections get the numbers among all."""
    merged: Record = {}
    for bucket, numbers in zip(buckets, ids, strict=True):
        for key, value in bucket["top"].items():
            if key in _LEFT_OUT or (key in merged and key in _THE_SAME):
                continue
            renamed = _renumbered(value, numbers)
            merged[key] = _sum(merged[key], renamed) if key in merged else renamed
    return merged


def _renumbered(value: Any, numbers: Ids) -> Any:
    """Numbers of connections stand in lists called `connections`."""
    if isinstance(value, list):
        return [_renumbered(one, numbers) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _renumbered(one, numbers) for key, one in value.items()}
    if isinstance(found.get("connections"), list):
        found["connections"] = sorted(int(numbers[old - 1]) for old in found["connections"])
    return found


def merged_syns(buckets: Sequence[Record]) -> list[Record]:
    """SYNs and their fate, second by second."""
    seconds: dict[int, Counter[str]] = {}
    for row in (row for bucket in buckets for row in bucket["syns"]):
        seconds.setdefault(row["second_ns"], Counter()).update({name: row[name] for name in _SYN_COUNTS})
    return [
        {"second_ns": second} | {name: counts[name] for name in _SYN_COUNTS}
        for second, counts in sorted(seconds.items())
    ]


def merged_lookups(runs: Sequence[Manifest], buckets: Sequence[Record]) -> list[Record]:
    """Names looked up, in the order of their answers: those over UDP of run after run, then those over TCP."""
    names = sorted(name for run in runs for name in run.names)
    numbers = {name: number for number, name in enumerate(names)}
    found = [{**row, "input": numbers[run.names[row["input"]]]} for run in runs for row in run.lookups]
    found += [row for bucket in buckets for row in bucket["lookups"]]
    return sorted(found, key=lambda row: row["answered_ns"])


def merged_protocols(runs: Sequence[Manifest]) -> list[Record]:
    """Frames by protocol of all runs, as one process orders them: the most bytes first, then by name."""
    sums: dict[str, Counter[str]] = {}
    for one in (one for run in runs for one in run.protocols):
        sums.setdefault(one["protocol"], Counter()).update({key: one[key] for key in ("packets", "wire_bytes")})
    found = [{"protocol": name, **counts} for name, counts in sums.items()]
    return sorted(found, key=lambda one: (-one["wire_bytes"], one["protocol"]))


def lags_of(buckets: Sequence[Record]) -> tuple[tuple[str, str, int], ...]:
    """Hosts that were recorded late, by capture: of what connections show of one, the longest counts."""
    longest: dict[tuple[str, str], int] = {}
    for name, host, lag_ns in (lag for bucket in buckets for lag in bucket["lags"]):
        longest[name, host] = max(lag_ns, longest.get((name, host), 0))
    return tuple((name, host, lag_ns) for (name, host), lag_ns in sorted(longest.items()))
