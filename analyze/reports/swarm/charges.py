"""What the store charges for a download, against the same file fetched from it alone; by a table the user names.

Only transfer (and retrieval) is counted: how many requests libtorrent sends inside TLS, packets do not show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.reports.swarm.comparison import seeds_rows
from vmtrace.analyze.reports.swarm.records import WEB_SEED
from vmtrace.analyze.reports.swarm.rows import RunRow
from vmtrace.analyze.tables.schema.typed import Count, Positive, one_of

_GB_BYTES = 10**9


@dataclass(frozen=True, slots=True)
class PerGb:
    """Of a table of prices: what the store charges for a GB (1e9 bytes) that is downloaded."""

    table: str
    currency: str
    provider: str
    region: str | None
    download: float
    """Transfer and retrieval."""


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """One case with one number of seeds, a download on average."""

    web_seed: Annotated[str, one_of("public", "forbidden", "none")]
    seeds: Count
    downloads: int
    store_bytes: Positive
    """Of the object, by the client's counters: HTTP and TLS around them are not charged for."""
    currency: str
    charge: float
    alone: float
    """For the file from the store alone."""
    saved: float
    saved_share: float | None


def charge_rows(rows: Sequence[RunRow], size_bytes: int | None, prices: PerGb | None) -> list[ChargeRow]:
    """A row for each case and number of seeds with a finished download; nothing without prices."""
    if prices is None or not size_bytes:
        return []
    found = []
    for kind in seeds_rows(rows):
        own = [row for row in rows if (row.web_seed, row.seeds) == (kind.web_seed, kind.seeds) and row.finished]
        if own:
            found.append(_row(own, size_bytes, prices))
    return found


def _row(rows: Sequence[RunRow], size_bytes: int, prices: PerGb) -> ChargeRow:
    store = sum(_from_store(row) for row in rows) / len(rows)
    charge, alone = store / _GB_BYTES * prices.download, size_bytes / _GB_BYTES * prices.download
    saved = alone - charge
    return ChargeRow(
        rows[0].web_seed, rows[0].seeds, len(rows), store, prices.currency, charge, alone, saved,
        saved / alone if alone else None,
    )  # fmt: skip


def _from_store(row: RunRow) -> int:
    return sum(source.bytes_by_client for source in row.sources if source.kind == WEB_SEED)
