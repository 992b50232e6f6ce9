"""What each source can deliver to this place: measured while it delivered alone, by packets.

The first quarter of the time is left out, for slow start and for the burst that a token bucket lets through.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.swarm.measured import MeasuredDownload, MeasuredRun, MeasuredSource
from vmtrace.analyze.reports.swarm.records import CAPACITY, WEB_SEED
from vmtrace.analyze.tables.schema.typed import Count, Positive, one_of

_LEFT_OUT = 0.25
_FEWEST_BINS = 8


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One source alone."""

    kind: Annotated[str, one_of("seed", "web_seed")]
    address: str
    capacity_bps: Positive | None
    """Of TCP payload, each byte once; None where too little came to say."""
    bytes: Count
    active_s: Positive | None
    limit: str | None
    """The factor that limited its connection (docs/verdict.md)."""


def capacity_rows(run: MeasuredRun) -> list[CapacityRow]:
    """A row for each source that was measured alone."""
    return [
        _row(source, one)
        for one in run.downloads
        if one.download.purpose == CAPACITY and one.captured
        for source in one.sources
    ]


def capacities_bps(rows: list[CapacityRow]) -> dict[str, float]:
    """By `seed` address, and `web_seed` for the store at whatever address."""
    return {
        WEB_SEED if row.kind == WEB_SEED else row.address: row.capacity_bps
        for row in rows
        if row.capacity_bps is not None
    }


def key_of(kind: str, address: str) -> str:
    """The key of a source among `capacities_bps`: a store may answer at another address each time."""
    return WEB_SEED if kind == WEB_SEED else address


def _row(source: MeasuredSource, one: MeasuredDownload) -> CapacityRow:
    main = source.main_connection
    return CapacityRow(
        source.source.kind,
        source.source.address,
        _steady_bps(source, one.bin_s),
        source.bytes_by_packets,
        source.arrivals.active_s,
        main.verdict_factor if main is not None else None,
    )


def _steady_bps(source: MeasuredSource, bin_s: float) -> float | None:
    """Over whole bins between the first and the last payload, without the first quarter of them."""
    there = np.flatnonzero(source.arrivals.bytes)
    if len(there) < _FEWEST_BINS:
        return None
    first, last = int(there[0]) + 1, int(there[-1])  # the outer bins are partly before and after
    first += int((last - first) * _LEFT_OUT)
    return float(source.arrivals.bytes[first:last].sum() * 8 / ((last - first) * bin_s))
