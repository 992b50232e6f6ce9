"""Round trips of a run to each address: TCP handshakes and ICMP echoes measured by the engine from the packets.

Where a round has no capture, or one that lost packets, its round trips are those of the program's clock, which waits
for its own scheduling, too; `source` says which it is.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.read.records.fields import endpoint
from vmtrace.analyze.reports.discovery.records import DiscoveryRun
from vmtrace.analyze.reports.discovery.run_folder import captures_of
from vmtrace.analyze.tables.schema.typed import LEFT_OUT, Count, Positive, one_of
from vmtrace.analyze.trace import Options, Trace, TraceError, read

ICMP, TCP = "icmp", "tcp"
PACKETS, CLOCK = "packets", "clock"
Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """To one address by one method, from one vantage point; all None where none came back."""

    vantage: str
    address: Annotated[str, LEFT_OUT]
    method: Annotated[str, one_of("icmp", "tcp", "unknown")]
    source: Annotated[str, one_of("packets", "clock")]
    sent: Count
    lost: Count
    min_s: Positive | None
    p25_s: Positive | None
    median_s: Positive | None
    p75_s: Positive | None
    p95_s: Positive | None
    max_s: Positive | None


def round_trips(run: DiscoveryRun, problems: list[str], progress: Progress | None = None) -> list[RoundTrips]:
    """A row for each address and method, landmarks included."""
    by_clock: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for echo in run.echoes:
        by_clock[echo.address, echo.method].append(echo.rtt_s)
    measured = from_packets(run, problems, progress)
    rows = []
    for (address, method), times in sorted(by_clock.items()):
        found = measured.get((address, method), [])
        lost = sum(one is None for one in times)
        # The capture has it all, or the clock is what there is.
        complete = bool(found) and len(found) >= len(times) - lost
        known = found if complete else [one for one in times if one is not None]
        rows.append(_row(run.vantage, address, method, PACKETS if complete else CLOCK, (len(times), lost), known))
    return rows


Measured = dict[tuple[str, str], list[float]]
"""Round trips by address and method, seconds."""


def from_packets(run: DiscoveryRun, problems: list[str], progress: Progress | None = None) -> Measured:
    """What the captures show of the run's handshakes and echoes; nothing if one of them lost packets."""
    captures = captures_of(run)
    if not captures or any(one.dropped for one in run.captures):
        return {}
    try:
        trace = read(*captures, options=Options(grouping=Grouping.SEPARATE), progress=progress)
    except (OSError, TraceError, ValueError) as error:
        problems.append(f"{run.folder}: packets cannot be read ({error}): round trips are those of the clock")
        return {}
    found: Measured = defaultdict(list)
    for address, rtt_s in _handshakes(trace, run.port):
        found[address, TCP].append(rtt_s)
    for address, rtt_s in _echoes(trace):
        found[address, ICMP].append(rtt_s)
    return dict(found)


def _handshakes(trace: Trace, port: int) -> Iterator[tuple[str, float]]:
    """SYN to ACK of each connection, by the server's address; retransmitted SYNs give none."""
    rows = trace.true_values(("server", "handshake_rtt_s", "handshake_syn_retransmissions"))
    for server, rtt_s, retransmissions in zip(*rows, strict=True):
        where = _endpoint(str(server))
        if where is not None and where[1] == port and isinstance(rtt_s, float) and not retransmissions:
            yield where[0], rtt_s


def _echoes(trace: Trace) -> Iterator[tuple[str, float]]:
    """Request to reply, by the address that was asked; none where it is open which request was replied to."""
    columns = trace.echoes
    for server, round_trip_ns in zip(columns.values("server"), columns.values("round_trip_ns"), strict=True):
        if round_trip_ns is not None:
            yield server, round_trip_ns / 1e9


def least_by_address(rows: Iterable[RoundTrips]) -> dict[str, float]:
    """The shortest round trip to each address, by whatever method."""
    found: dict[str, float] = {}
    for row in rows:
        if row.min_s is not None:
            found[row.address] = min(row.min_s, found.get(row.address, row.min_s))
    return found


def _endpoint(text: str) -> tuple[str, int] | None:
    address, _, port = text.rpartition(":")
    return endpoint(address, port)


def _row(
    vantage: str, address: str, method: str, source: str, counts: tuple[int, int], known: list[float]
) -> RoundTrips:
    if not known:
        return RoundTrips(vantage, address, method, source, *counts, None, None, None, None, None, None)
    quantiles = np.quantile(np.array(known, np.float64), (0, 0.25, 0.5, 0.75, 0.95, 1))
    return RoundTrips(vantage, address, method, source, *counts, *map(float, quantiles))
