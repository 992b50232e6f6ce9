"""Round-trip times to each front end (Figs. 2 and 3): echoes by ICMP and by TCP, and the TCP handshakes of the
transfers."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.stats.estimates import Estimate, median
from vmtrace.analyze.tables.schema.typed import Count, Positive

HANDSHAKE = "tcp handshake"
"""Of the connections that carried the workload; `icmp` and `tcp` are echoes sent before transactions."""


@dataclass(frozen=True, slots=True)
class RoundTripRow:
    """One front end by one method."""

    front_end: str
    method: str
    """icmp and tcp are echoes, tcp handshake is of the transfers' connections."""
    sent: Count
    lost: Count
    min_s: Positive | None
    median_s: Estimate
    max_s: Positive | None


def round_trips(run: MeasuredRun) -> dict[tuple[str, str], list[float | None]]:
    """Round-trip times by front end and method; None for an echo without an answer."""
    found: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for echo in run.run.echoes:
        found[echo.front_end, echo.method].append(echo.rtt_s)
    for one in run.transactions:
        for connection in one.connections:
            if connection.server is not None and connection.handshake_rtt_s is not None:
                found[connection.server[0], HANDSHAKE].append(connection.handshake_rtt_s)
    return found


def round_trip_rows(run: MeasuredRun) -> list[RoundTripRow]:
    """A row for each front end and method, by address."""
    rows = []
    for (front_end, method), times in sorted(round_trips(run).items()):
        known = np.array([time for time in times if time is not None], np.float64)
        rows.append(
            RoundTripRow(
                front_end,
                method,
                len(times),
                len(times) - len(known),
                float(known.min()) if len(known) else None,
                median(known),
                float(known.max()) if len(known) else None,
            )
        )
    return rows
