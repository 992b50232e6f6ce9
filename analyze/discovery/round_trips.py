"""Round trips of a run to each address: TCP handshakes measured by the engine from the packets, ICMP by the clock.

Where a round has no capture, or one that lost packets, its handshakes are those of the program's clock, which waits
for its own scheduling, too; `source` says which it is.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from analyze.discovery.records import DiscoveryRun
from analyze.discovery.run_folder import captures_of
from analyze.grouping import Grouping
from analyze.records.fields import endpoint
from analyze.trace import Options, TraceError, read

ICMP, TCP = "icmp", "tcp"
PACKETS, CLOCK = "packets", "clock"
Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """To one address by one method, from one vantage point; all None where none came back."""

    vantage: str
    address: str
    method: str
    source: str
    sent: int
    lost: int
    min_s: float | None
    p25_s: float | None
    median_s: float | None
    p75_s: float | None
    p95_s: float | None
    max_s: float | None


def round_trips(run: DiscoveryRun, problems: list[str], progress: Progress | None = None) -> list[RoundTrips]:
    """A row for each address and method, landmarks included."""
    by_clock: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for echo in run.echoes:
        by_clock[echo.address, echo.method].append(echo.rtt_s)
    measured = handshakes(run, problems, progress)
    rows = []
    for (address, method), times in sorted(by_clock.items()):
        found = measured.get(address, []) if method == TCP else []
        lost = sum(one is None for one in times)
        # The capture has it all, or the clock is what there is.
        complete = bool(found) and len(found) >= len(times) - lost
        known = found if complete else [one for one in times if one is not None]
        rows.append(_row(run.vantage, address, method, PACKETS if complete else CLOCK, (len(times), lost), known))
    return rows


def handshakes(run: DiscoveryRun, problems: list[str], progress: Progress | None = None) -> dict[str, list[float]]:
    """SYN to ACK of each connection in the captures, by the server's address; retransmitted SYNs give none."""
    found: dict[str, list[float]] = defaultdict(list)
    captures = captures_of(run)
    if not captures or any(one.dropped for one in run.captures):
        return found
    try:
        trace = read(*captures, options=Options(grouping=Grouping.SEPARATE), progress=progress)
    except (OSError, TraceError, ValueError) as error:
        problems.append(f"{run.folder}: packets cannot be read ({error}): round trips are those of the clock")
        return found
    rows = trace.true_values(("server", "handshake_rtt_s", "handshake_syn_retransmissions"))
    for server, rtt_s, retransmissions in zip(*rows, strict=True):
        where = _endpoint(str(server))
        if where is not None and where[1] == run.port and isinstance(rtt_s, float) and not retransmissions:
            found[where[0]].append(rtt_s)
    return found


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
