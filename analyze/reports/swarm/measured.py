"""The captures of a swarm run: which source delivered what and when, by packets, with what the client counted."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from vmtrace.analyze.charts.packet_series import throughput_bin_s
from vmtrace.analyze.findings import joined
from vmtrace.analyze.findings.joined import OfCapture
from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.read.records.fields import Endpoint
from vmtrace.analyze.reports.storage.measured import CONNECTION_COLUMNS, Connection, connection_of
from vmtrace.analyze.reports.swarm.arrivals import new_bytes
from vmtrace.analyze.reports.swarm.records import Download, Source, SwarmRun
from vmtrace.analyze.reports.swarm.run_folder import capture_of
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.trace import Options, Trace, TraceError, read

Progress = Callable[[int], object]
"""Called with the bytes of captures that are done."""

_BINS = 100
_PACKET_COLUMNS = ("time_ns", "from_client", "sequence", "payload_bytes")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Payload of one source over time, each byte once, in bins of equal width from the download's start."""

    bytes: Floats
    first_ns: int | None
    """Of the first packet with new payload; None without any."""
    last_ns: int | None

    @property
    def active_s(self) -> float | None:
        """From the first to the last payload; None without any."""
        return None if self.first_ns is None or self.last_ns is None else (self.last_ns - self.first_ns) / 1e9


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """A source with its connections."""

    source: Source
    connections: tuple[Connection, ...]
    arrivals: Arrivals
    overhead: Overhead

    @property
    def bytes_by_packets(self) -> int:
        """TCP payload that it sent, each byte once: blocks, messages or HTTP headers, and TLS around them."""
        return sum(one.downloaded_bytes for one in self.connections)

    @property
    def main_connection(self) -> Connection | None:
        """The one that carried most."""
        return max(self.connections, key=lambda one: one.downloaded_bytes, default=None)


@dataclass(frozen=True, slots=True)
class MeasuredDownload:
    """A download and its capture; without one `sources` have neither connections nor arrivals."""

    download: Download
    sources: tuple[MeasuredSource, ...]
    captured: bool
    bin_s: float
    other_connections: int
    """Of the capture that went to none of the sources."""
    said: tuple[OfCapture, ...] = ()
    """What the capture says as a whole."""

    @property
    def bytes_by_packets(self) -> int | None:
        """Of all sources; None without a capture."""
        return sum(one.bytes_by_packets for one in self.sources) if self.captured else None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run with what its captures say."""

    run: SwarmRun
    downloads: tuple[MeasuredDownload, ...]
    problems: tuple[str, ...]


def captures_of(run: SwarmRun) -> list[Path]:
    """The captures that `measure_run` reads."""
    return [path for one in run.downloads if (path := capture_of(run, one)) is not None]


def measure_run(run: SwarmRun, progress: Progress | None = None) -> MeasuredRun:
    """Read the captures of a run one after the other. What cannot be read is named, and is without packets."""
    measured, problems, done_bytes = [], list(run.problems), 0
    for download in run.downloads:
        path = capture_of(run, download)
        before = done_bytes

        def passed_on(consumed_bytes: int, before: int = before) -> object:
            return progress(before + consumed_bytes) if progress is not None else None

        if path is not None:
            done_bytes += path.stat().st_size
        measured.append(_measured(download, path, problems, passed_on))
    return MeasuredRun(run, tuple(measured), tuple(problems))


def _measured(download: Download, path: Path | None, problems: list[str], progress: Progress) -> MeasuredDownload:
    if path is not None:
        try:
            return _from_capture(download, path, progress)
        except (OSError, TraceError, _CutError) as error:
            problems.append(str(error))
    return _uncaptured(download)


class _CutError(Exception):
    """A capture that is not whole."""


def _from_capture(download: Download, path: Path, progress: Progress) -> MeasuredDownload:
    trace = read(path, options=Options(grouping=Grouping.SEPARATE), progress=progress)
    if trace.interrupted:
        raise KeyboardInterrupt
    packets = trace.header()["inputs"][0]["packets"]
    if download.capture_written is not None and packets < download.capture_written:
        raise _CutError(f"{path.name}: {packets:,} of {download.capture_written:,} recorded packets: left out")
    own = {source.endpoint for source in download.sources}
    found: dict[Endpoint, list[tuple[int, Connection]]] = defaultdict(list)
    others = 0
    for number, *row in zip(trace.true_values(("id",))[0], *trace.true_values(CONNECTION_COLUMNS), strict=True):
        connection = connection_of(tuple(row))
        if connection.server in own and connection.server is not None:
            found[connection.server].append((number, connection))
        else:
            others += 1
    bin_s = throughput_bin_s(download.duration_s, _BINS)
    arrivals = _arrivals(trace, found, download.start_ns, bin_s)
    sources = [_source(source, found, arrivals, download, bin_s) for source in download.sources]
    said = joined.of_captures(trace.findings, trace.true_values(joined.COLUMNS), [path.name])
    return MeasuredDownload(download, tuple(sources), True, bin_s, others, tuple(said))


def _source(
    source: Source,
    found: Mapping[Endpoint, Sequence[tuple[int, Connection]]],
    arrivals: Mapping[Endpoint, Arrivals],
    download: Download,
    bin_s: float,
) -> MeasuredSource:
    if source.endpoint is None or source.endpoint not in found:
        return MeasuredSource(source, (), _nothing(download, bin_s), Overhead())
    connections = tuple(connection for _, connection in found[source.endpoint])
    total = Overhead()
    for connection in connections:
        total.add(connection.overhead_row)
    return MeasuredSource(source, connections, arrivals[source.endpoint], total)


def _uncaptured(download: Download) -> MeasuredDownload:
    bin_s = throughput_bin_s(download.duration_s, _BINS)
    nothing = _nothing(download, bin_s)
    sources = [MeasuredSource(source, (), nothing, Overhead()) for source in download.sources]
    return MeasuredDownload(download, tuple(sources), False, bin_s, 0)


def _nothing(download: Download, bin_s: float) -> Arrivals:
    return Arrivals(np.zeros(int(download.duration_s / bin_s) + 1), None, None)


def _arrivals(
    trace: Trace, found: Mapping[Endpoint, Sequence[tuple[int, Connection]]], start_ns: int, bin_s: float
) -> dict[Endpoint, Arrivals]:
    """Payload over time of each source; the packets of one source are in memory at a time."""
    numbers = [number for one in found.values() for number, _ in one]
    if numbers:
        trace.load_packets(numbers)
    merged: dict[Endpoint, Arrivals] = {}
    for endpoint, connections in found.items():
        for number, _ in connections:
            one = _of_connection(pa.table(trace.packets(number, columns=_PACKET_COLUMNS)), start_ns, bin_s)
            merged[endpoint] = _together(merged[endpoint], one) if endpoint in merged else one
    return merged


def _of_connection(packets: pa.Table, start_ns: int, bin_s: float) -> Arrivals:
    length = packets["payload_bytes"].to_numpy().astype(np.int64)
    data = ~packets["from_client"].to_numpy(zero_copy_only=False) & (length > 0)
    time_ns = packets["time_ns"].to_numpy()[data]
    fresh = new_bytes(packets["sequence"].to_numpy()[data], length[data])
    time_ns, fresh = time_ns[fresh > 0], fresh[fresh > 0]
    if not len(fresh):
        return Arrivals(np.zeros(1), None, None)
    place = np.maximum((time_ns - start_ns) / 1e9 / bin_s, 0).astype(np.int64)
    return Arrivals(np.bincount(place, fresh).astype(np.float64), int(time_ns[0]), int(time_ns[-1]))


def _together(first: Arrivals, second: Arrivals) -> Arrivals:
    length = max(len(first.bytes), len(second.bytes))
    total = np.zeros(length)
    for one in (first, second):
        total[: len(one.bytes)] += one.bytes
    starts = [one.first_ns for one in (first, second) if one.first_ns is not None]
    ends = [one.last_ns for one in (first, second) if one.last_ns is not None]
    return replace(first, bytes=total, first_ns=min(starts, default=None), last_ns=max(ends, default=None))
