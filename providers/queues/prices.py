"""What a queue's use is charged: by a table of prices that the user names. Without one, charges are unknown, not zero.

A table is a TOML file; the one that comes along is the study's (`price_tables/garfinkel2007.toml`), of 2007.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.prices import TableOf
from vmtrace.providers.toml_file import head_and_rows, load, parsed, refuse_unknown

_GB_BYTES = 10**9
_TABLES = Path(__file__).with_name("price_tables")
_TABLE_KEYS = ("name", "source", "currency", "price")
_NUMBERS = ("message_per_1000", "request_per_1000", "upload_per_gb", "download_per_gb", "request_chunk_bytes")


@dataclass(frozen=True, slots=True)
class Usage:
    """What is charged for. Requests are already counted in chunks of their bodies."""

    messages: int = 0
    requests: int = 0
    uploaded_bytes: int = 0
    downloaded_bytes: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class QueuePrices:
    """Of one service, by the names of a table's keys."""

    message_per_1000: float
    """For each message put into a queue."""
    request_per_1000: float
    upload_per_gb: float
    download_per_gb: float
    request_chunk_bytes: float
    """A body of more counts as several requests; 0: as one."""

    def charges(self, usage: Usage) -> dict[str, float]:
        """In the currency of the table, by category."""
        return {
            "messages": usage.messages / 1000 * self.message_per_1000,
            "requests": usage.requests / 1000 * self.request_per_1000,
            "transfer": usage.uploaded_bytes / _GB_BYTES * self.upload_per_gb
            + usage.downloaded_bytes / _GB_BYTES * self.download_per_gb,
        }

    def charge(self, usage: Usage) -> float:
        """The categories together."""
        return sum(self.charges(usage).values())

    def chunks(self, body_bytes: int) -> int:
        """As how many requests one with such a body counts."""
        return max(1, math.ceil(body_bytes / self.request_chunk_bytes)) if self.request_chunk_bytes else 1


QueuePriceTable = TableOf[QueuePrices]


def load_prices(name: str) -> QueuePriceTable:
    """The table of this name that comes along, or the TOML file; raises `UsageError`."""
    known = sorted(path.stem for path in _TABLES.glob("*.toml"))
    path = _TABLES / f"{name}.toml" if name in known else Path(name)
    return load(path, f"prices {name}", f"a TOML file, or {', '.join(known)}", table_of_toml)


def table_of_toml(data: bytes) -> QueuePriceTable:
    """A table out of a file's content; raises `ValueError`."""
    record = parsed(data, "table of prices")
    refuse_unknown(record, _TABLE_KEYS, "the table")
    rows = head_and_rows(record, _TABLE_KEYS[:3], "price")
    entries: dict[tuple[str, str | None], QueuePrices] = {}
    for number, row in enumerate(rows, 1):
        key, prices = _entry(row, f"price {number}")
        if key in entries:
            raise ValueError(f"price {number}: there is one for {key[0]} {key[1] or 'everywhere'} already")
        entries[key] = prices
    return QueuePriceTable(record["name"], record["source"], record["currency"], entries)


def _entry(row: Any, where: str) -> tuple[tuple[str, str | None], QueuePrices]:
    if not isinstance(row, dict):
        raise ValueError(f"{where}: expected a table: write [[price]]")
    refuse_unknown(row, ("provider", "region", *_NUMBERS), where)
    provider, region = row.get("provider"), row.get("region")
    if not isinstance(provider, str) or not isinstance(region, str | None):
        raise ValueError(f"{where}: provider must be a text, and region one if it is there")
    numbers = {}
    for name in _NUMBERS:
        value = row.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{where}: {name}: expected a number of 0 or more (0 says that nothing is charged)")
        numbers[name] = float(value)
    return (provider, region), QueuePrices(**numbers)
