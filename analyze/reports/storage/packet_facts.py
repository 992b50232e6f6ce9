"""What the packets of a campaign say of each request: round trip, window, segment size, verdict of its connection.

Captures are read file by file, and only these columns are kept. Where a file was thinned, its numbers were written
down before (`NAME.facts.json`): then those are taken, and the packets left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.reports.storage.requests import DIRECTIONS, Ints, Progress, Requests
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.trace import Options, TraceError, read
from vmtrace.analyze.words.verdict import is_open
from vmtrace.formats.quantities import plural

SCHEMA = "vmtrace.packet_facts/1"
_LARGEST_FACTS_BYTES = 1 << 30
_COLUMNS = (
    "client", "start_ns", "duration_s", "handshake_rtt_s", "verdict_factor", "verdict_confidence",
    "client_to_server_window_scale", "client_to_server_window_max_bytes", "client_to_server_segment_size_bytes",
    "client_to_server_unique_payload_bytes", "client_to_server_loss_retransmitted_segments",
    "server_to_client_window_scale", "server_to_client_window_max_bytes", "server_to_client_segment_size_bytes",
    "server_to_client_unique_payload_bytes", "server_to_client_loss_retransmitted_segments",
)  # fmt: skip
_SIDES = ("client_to_server", "server_to_client")


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """One connection of a capture. `windows_bytes` and the like: of the client's data, of the server's."""

    port: int
    start_ns: int
    end_ns: int
    rtt_s: float | None
    scales: tuple[int | None, int | None]
    windows_bytes: tuple[int | None, int | None]
    segments_bytes: tuple[int | None, int | None]
    payload_bytes: tuple[int, int]
    retransmitted: int
    factor: str | None
    """What limited it; None where that is open or unknown."""


@dataclass(frozen=True)
class PacketFacts:
    """For each request of a run; NaN, or -1 as a factor, where the packets do not say it."""

    rtt_s: Floats
    window_scale: Floats
    """Of the receiver of the object; 0: not scaled."""
    window_bytes: Floats
    segment_bytes: Floats
    factor: Ints
    factors: tuple[str, ...] = ()
    seen: int = 0
    """Requests whose connection is in a capture."""
    dropped: int = 0
    problems: list[str] = field(default_factory=list)


def captures_of_campaign(folder: Path) -> list[Path]:
    """The files of its long recording, in order; never one outside of the folder."""
    packets = folder / "packets"
    if not packets.is_dir() or not packets.resolve().is_relative_to(folder.resolve()):
        return []
    return sorted(path for path in packets.glob("[0-9][0-9]-*.pcap") if path.is_file() and not path.is_symlink())


def facts_path(capture: Path) -> Path:
    """Where the numbers of a capture stand once it was thinned."""
    return capture.with_suffix(".facts.json")


def connections_of(capture: Path, progress: Progress | None = None) -> list[ConnectionFacts]:
    """Of one file; raises `TraceError`, `OSError`."""
    trace = read(capture, options=Options(grouping=Grouping.SEPARATE), progress=progress)
    if trace.interrupted:
        raise KeyboardInterrupt
    return [
        _connection(dict(zip(_COLUMNS, row, strict=True))) for row in zip(*trace.true_values(_COLUMNS), strict=True)
    ]


def write_facts(capture: Path, found: Iterable[ConnectionFacts]) -> None:
    """Before its packets are thinned."""
    from vmtrace.analyze.read.atomic import writing

    content = {"schema": SCHEMA, "connections": [list(asdict(one).values()) for one in found]}
    with writing(facts_path(capture)) as out:
        out.write(json.dumps(content, separators=(",", ":")).encode() + b"\n")


def read_facts(path: Path) -> list[ConnectionFacts]:
    """Raises `ValueError`, `OSError`."""
    if path.stat().st_size > _LARGEST_FACTS_BYTES:
        raise ValueError(f"{path.name}: too large")
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"{path.name}: not the numbers of a capture")
    try:
        return [_checked(row) for row in content["connections"]]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _checked(row: list[Any]) -> ConnectionFacts:
    port, start, end, rtt, scales, windows, segments, payload, retransmitted, factor = row
    numbers = (port, start, end, retransmitted, *payload, *(one or 0 for one in (*scales, *windows, *segments)))
    if not all(isinstance(one, int) for one in numbers) or not isinstance(factor, str | None):
        raise TypeError("a number is none")
    rtt_s = None if rtt is None else float(rtt)
    sides = [(pair[0], pair[1]) for pair in (scales, windows, segments, payload)]
    return ConnectionFacts(port, start, end, rtt_s, sides[0], sides[1], sides[2], sides[3], retransmitted, factor)


def _connection(row: dict[str, Any]) -> ConnectionFacts:
    _, _, port = str(row["client"]).rpartition(":")
    start_ns = int(row["start_ns"] or 0)

    def both(name: str) -> tuple[Any, Any]:
        first, second = (row[f"{side}_{name}"] for side in _SIDES)
        return first, second

    known = row["verdict_factor"] is not None and not is_open(row["verdict_confidence"])
    payload = both("unique_payload_bytes")
    return ConnectionFacts(
        port=int(port) if port.isdigit() else 0,
        start_ns=start_ns,
        end_ns=start_ns + round((row["duration_s"] or 0.0) * 1e9),
        rtt_s=row["handshake_rtt_s"],
        scales=both("window_scale"),
        windows_bytes=both("window_max_bytes"),
        segments_bytes=both("segment_size_bytes"),
        payload_bytes=(payload[0] or 0, payload[1] or 0),
        retransmitted=sum(one or 0 for one in both("loss_retransmitted_segments")),
        factor=row["verdict_factor"] if known else None,
    )


def facts_of(folder: Path, requests: Requests, progress: Progress | None = None) -> PacketFacts | None:
    """Join captures and requests by port and time; None without captures."""
    captures = captures_of_campaign(folder)
    if not captures:
        return None
    joined = _Joined(requests)
    problems: list[str] = []
    dropped, done_bytes = 0, 0
    for capture in captures:
        before = done_bytes

        def passed_on(consumed_bytes: int, before: int = before) -> object:
            return progress(before + consumed_bytes) if progress is not None else None

        try:
            numbers = facts_path(capture)
            joined.add(read_facts(numbers) if numbers.is_file() else connections_of(capture, passed_on))
        except (OSError, ValueError, TraceError) as error:
            problems.append(str(error))
        done_bytes += capture.stat().st_size
        dropped += dropped_by(capture)
    if dropped:
        problems.append(f"{plural(dropped, 'packet')} dropped while capturing")
    return joined.facts(dropped, problems)


def dropped_by(capture: Path) -> int:
    """By the account that the recorder left; 0 where there is none."""
    try:
        health = json.loads(capture.with_suffix(".capture.json").read_bytes())
        counts = [health.get(f"dropped_by_{whom}") for whom in ("kernel", "interface")]
    except (OSError, ValueError, AttributeError):
        return 0
    return sum(one for one in counts if isinstance(one, int))


class _Joined:
    """Requests by the port they were sent from, in the order of their start."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        count = len(requests)
        self._numbers = {name: np.full(count, math.nan) for name in ("rtt", "scale", "window", "segment")}
        self._factor = np.full(count, -1, np.int64)
        self._factors: dict[str, int] = {}
        self._order = np.lexsort((requests.start_ns, requests.local_port))
        self._ports = requests.local_port[self._order]
        self._starts = requests.start_ns[self._order]
        self._seen = np.zeros(count, np.bool_)

    def add(self, found: Sequence[ConnectionFacts]) -> None:
        for one in found:
            first, last = np.searchsorted(self._ports, [one.port, one.port + 1])
            # The SYN leaves after the request began; a request may also find the connection open.
            ends = self._starts[first:last] + (self._requests.duration_s[self._order[first:last]] * 1e9).astype(
                np.int64
            )
            overlap = (self._starts[first:last] <= one.end_ns) & (ends >= one.start_ns)
            for place in self._order[first:last][overlap]:
                self._put(int(place), one)

    def _put(self, place: int, one: ConnectionFacts) -> None:
        if self._seen[place] and one.rtt_s is None:
            return  # the second half of a connection that began in the file before
        self._seen[place] = True
        side = int(self._requests.direction[place])  # uploads are the client's data, downloads the server's
        for name, value in (
            ("rtt", one.rtt_s),
            ("scale", one.scales[side]),
            ("window", one.windows_bytes[side]),
            ("segment", one.segments_bytes[side]),
        ):
            if value is not None:
                self._numbers[name][place] = value
        if one.factor is not None:
            self._factor[place] = self._factors.setdefault(one.factor, len(self._factors))

    def facts(self, dropped: int, problems: list[str]) -> PacketFacts:
        numbers = self._numbers
        return PacketFacts(
            numbers["rtt"],
            numbers["scale"],
            numbers["window"],
            numbers["segment"],
            self._factor,
            tuple(self._factors),
            int(self._seen.sum()),
            dropped,
            problems,
        )


assert DIRECTIONS == ("upload", "download")  # `_put` takes them as places in the pairs of `ConnectionFacts`
