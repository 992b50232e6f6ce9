"""What a location gets of a service (Garfinkel, Table 2; Palankar and others, section 4.4.3), and the hour's effect.

`top1_bps` is the 99th percentile: what the fastest hundredth of the requests exceeded. Neither study says more of its
"top 1 %" than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.hours import hour_effect
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.requests import Requests
from vmtrace.analyze.tables.schema.typed import bounds


@dataclass(frozen=True, slots=True)
class LocationRow:
    """One size in one direction at one location."""

    location: str
    direction: Direction
    size_bytes: Annotated[int, bounds(minimum=1)]
    n: int
    mean_bps: float
    top1_bps: float
    stdev_bps: float | None
    min_bps: float
    max_bps: float
    hour_p: float | None
    """Kruskal-Wallis test of throughput over the hours of the day (UTC), by turning days; None below five days."""
    hour_share: float | None
    """Of the variation of ranks, what the hour explains (epsilon squared)."""


def location_rows(requests: Requests, location: str) -> list[LocationRow]:
    """A row for each size and direction with a request that was done."""
    rows = []
    for size, direction, there in requests.kinds():
        known = there & np.isfinite(requests.bps)
        rates = requests.bps[known]
        if not len(rates):
            continue
        p, share = hour_effect(rates, requests.start_ns[known])
        rows.append(
            LocationRow(
                location,
                direction,
                size,
                len(rates),
                float(rates.mean()),
                float(np.percentile(rates, 99)),
                float(rates.std(ddof=1)) if len(rates) > 1 else None,
                float(rates.min()),
                float(rates.max()),
                p,
                share,
            )
        )
    return rows
