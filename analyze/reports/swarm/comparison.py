"""The study's two figures as rows: time and share by the number of seeds (Fig. 5), public against private (Fig. 6)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.swarm.records import FORBIDDEN, NONE, PUBLIC, SEED, WEB_SEED
from vmtrace.analyze.reports.swarm.rows import RunRow
from vmtrace.analyze.stats.estimates import Estimate, median
from vmtrace.analyze.tables.schema.typed import Count, Positive, one_of


@dataclass(frozen=True, slots=True)
class SeedsRow:
    """All finished downloads of one case with one number of seeds (Fig. 5)."""

    web_seed: Annotated[str, one_of("public", "forbidden", "none")]
    seeds: Count
    finished: int
    of: int
    duration_s: Estimate
    throughput_bps: Estimate
    web_seed_share: Estimate
    overhead_ratio: Estimate
    jain_index: Estimate


@dataclass(frozen=True, slots=True)
class PrivateRow:
    """One number of seeds with the store public and forbidden (Fig. 6); medians."""

    seeds: Count
    public_duration_s: Positive | None
    forbidden_duration_s: Positive | None
    change: float | None
    """Of the time, forbidden against public: 0.08 is 8 % longer."""
    public_store_bytes: Positive | None
    forbidden_store_bytes: Positive | None
    public_seed_bytes: Positive | None
    forbidden_seed_bytes: Positive | None


def seeds_rows(rows: Sequence[RunRow]) -> list[SeedsRow]:
    """A row for each case and number of seeds."""
    kinds = sorted({(row.web_seed, row.seeds) for row in rows}, key=lambda kind: (_CASES.index(kind[0]), kind[1]))
    return [_seeds_row(kind, [row for row in rows if (row.web_seed, row.seeds) == kind]) for kind in kinds]


def private_rows(rows: Sequence[RunRow]) -> list[PrivateRow]:
    """A row for each number of seeds that was measured in both cases."""
    both = [{row.seeds for row in rows if row.web_seed == case} for case in (PUBLIC, FORBIDDEN)]
    return [_private_row(seeds, rows) for seeds in sorted(both[0] & both[1])]


_CASES = (PUBLIC, FORBIDDEN, NONE)


def _seeds_row(kind: tuple[str, int], rows: Sequence[RunRow]) -> SeedsRow:
    finished = _finished(rows)
    return SeedsRow(
        *kind,
        len(finished),
        len(rows),
        _median(row.duration_s for row in finished),
        _median(row.throughput_bps for row in finished),
        _median(row.web_seed_share for row in finished),
        _median(row.overhead_ratio for row in finished),
        _median(row.jain_index for row in finished),
    )


def _private_row(seeds: int, rows: Sequence[RunRow]) -> PrivateRow:
    public, forbidden = (
        _finished([row for row in rows if row.seeds == seeds and row.web_seed == case]) for case in (PUBLIC, FORBIDDEN)
    )
    times = [_median(row.duration_s for row in found).value for found in (public, forbidden)]
    change = times[1] / times[0] - 1 if times[0] and times[1] is not None else None
    volumes = [_volume(found, kind) for kind in (WEB_SEED, SEED) for found in (public, forbidden)]
    return PrivateRow(seeds, times[0], times[1], change, *volumes)


def _volume(rows: Sequence[RunRow], kind: str) -> float | None:
    return _median(row.bytes_of(kind) for row in rows).value


def _finished(rows: Sequence[RunRow]) -> list[RunRow]:
    return [row for row in rows if row.finished]


def _median(values: Iterable[float | None]) -> Estimate:
    return median(np.array([value for value in values if value is not None], np.float64))
