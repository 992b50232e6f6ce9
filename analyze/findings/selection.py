"""Which connections rules look at, of captures that hold too many to look at all: those that may have cost most.

A rule needs complete records. A million connections have a document of gigabytes, and most of them nothing to report.
"""

from collections.abc import Sequence
from heapq import nlargest
from typing import Any

MOST_CONNECTIONS = 2_000

COLUMNS = ("id", "duration_s", "outcome_kind", "verdict_factor", "handshake_syn_retransmissions")
"""Columns of the connection table that decide."""


def chosen(columns: Sequence[Sequence[Any]]) -> list[int]:
    """Numbers of the connections to look at; `columns` are the values of `COLUMNS`.

    Of more than `MOST_CONNECTIONS` those with an outcome, a verdict or a late opening come first, then the longest.
    """
    ids = columns[0]
    if len(ids) <= MOST_CONNECTIONS:
        return sorted(ids)
    return sorted(row[0] for row in nlargest(MOST_CONNECTIONS, zip(*columns, strict=True), key=_weight))


def _weight(row: Sequence[Any]) -> tuple[bool, float, int]:
    number, duration_s, outcome, factor, syns = row
    return bool(outcome or factor or syns), duration_s or 0.0, -number
