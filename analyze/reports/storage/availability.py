"""Availability by retries (Palankar and others, DADC 2008, section 4.3): what a client that gives up earlier gets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.requests import DIRECTIONS, FAILED, OUTCOMES, Requests
from vmtrace.analyze.tables.schema.typed import Share, one_of

MOST_RETRIES = 5


@dataclass(frozen=True, slots=True)
class AvailabilityRow:
    """The share of all requests that were done with at most so many retries."""

    retries: int
    share: Share
    n: int
    done: int
    service_n: int
    """Without requests that failed while the client's own network was down."""
    service_share: Share | None


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


@dataclass(frozen=True, slots=True)
class Outage:
    """Failures one after the other, with no request done between them."""

    start_ns: int
    end_ns: int
    """Start of the first request that was done again; without one, when the last failure was over."""
    length_s: float
    failed: int
    kinds: dict[str, int]
    """`timeout`, `reset`, `refused`, `name`, `unreachable`, or the kind of the service's error."""
    fault: Annotated[str, one_of("own", "service", "unknown")]


def outage_rows(requests: Requests) -> list[Outage]:
    """All of them, by time."""
    order = np.argsort(requests.start_ns, kind="stable")
    failed = requests.outcome[order] == OUTCOMES.index(FAILED)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], failed, [False]]).astype(np.int64)))
    found = []
    for first, behind in zip(edges[::2], edges[1::2], strict=True):
        places = order[first:behind]
        own = requests.own[places]
        fault = "own" if (own == 1).sum() > (own == 2).sum() else "service" if (own == 2).any() else "unknown"
        ends_ns = requests.start_ns[places] + (requests.duration_s[places] * 1e9).astype(np.int64)
        start_ns = int(requests.start_ns[places[0]])
        end_ns = int(requests.start_ns[order[behind]]) if behind < len(order) else int(ends_ns.max())
        kinds = Counter(_kind(requests, int(place)) for place in places)
        found.append(Outage(start_ns, end_ns, (end_ns - start_ns) / 1e9, len(places), dict(kinds.most_common()), fault))
    return found


def _kind(requests: Requests, place: int) -> str:
    failure, kind = int(requests.failure[place]), int(requests.error_kind[place])
    if failure >= 0:
        return requests.failures[failure]
    return requests.error_kinds[kind] if kind >= 0 else "other"


def availability_rows(requests: Requests, at_least_bps: float = 0.0) -> list[AvailabilityRow]:
    """From no retry up to five, or the most that were needed; slower than the floor counts as not available."""
    n = len(requests)
    needed = requests.retries[requests.done & (requests.bps >= at_least_bps)]
    not_own = n - int((requests.own == 1).sum())
    most = max(MOST_RETRIES, int(needed.max()) if len(needed) else 0)
    counts = [int((needed <= retries).sum()) for retries in range(most + 1)]
    if not n:
        return []
    return [
        AvailabilityRow(retries, count / n, n, count, not_own, count / not_own if not_own else None)
        for retries, count in enumerate(counts)
    ]


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
