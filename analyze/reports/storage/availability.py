"""Availability by retries (Palankar and others, DADC 2008, section 4.3): what a client that gives up earlier gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.storage.requests import DIRECTIONS, Requests

MOST_RETRIES = 5


@dataclass(frozen=True, slots=True)
class AvailabilityRow:
    """The share of all requests that were done with at most so many retries."""

    retries: int
    share: float
    n: int
    done: int


@dataclass(frozen=True, slots=True)
class RetryRow:
    """Retries and errors of one direction, told apart as Garfinkel does (section 3.5.1)."""

    direction: str
    requests: int
    retries: int
    """Write retries of uploads, read retries of downloads."""
    errors: int
    """Write errors, read errors: the digest does not fit."""
    failed: int
    causes: dict[str, int]
    failed_kinds: dict[str, int]


def availability_rows(requests: Requests) -> list[AvailabilityRow]:
    """From no retry up to five, or the most that were needed."""
    n = len(requests)
    needed = requests.retries[requests.done]
    most = max(MOST_RETRIES, int(needed.max()) if len(needed) else 0)
    counts = [int((needed <= retries).sum()) for retries in range(most + 1)]
    return [AvailabilityRow(retries, count / n, n, count) for retries, count in enumerate(counts)] if n else []


def retry_rows(requests: Requests) -> list[RetryRow]:
    """A row for each direction that was used."""
    rows = []
    for code, direction in enumerate(DIRECTIONS):
        there = requests.direction == code
        if not there.any():
            continue
        outcomes, kinds = requests.outcome[there], requests.error_kind[there]
        codes, counts = np.unique(kinds[kinds >= 0], return_counts=True)
        causes = {cause: n for (where, cause), n in requests.retry_causes.items() if where == direction}
        rows.append(
            RetryRow(
                direction,
                len(outcomes),
                int(requests.retries[there].sum()),
                int(((outcomes == 1) | (outcomes == 2)).sum()),
                int((outcomes == 3).sum()),
                causes,
                {requests.error_kinds[int(one)]: int(count) for one, count in zip(codes, counts, strict=True)},
            )
        )
    return rows
