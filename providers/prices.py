"""What a workload is charged: by a table of prices that the user names. Without one, charges are unknown, not zero.

A table is a TOML file; the one that comes along is the study's (`price_tables/bocchi2014.toml`), of 2014. There is no
table of today's prices: they differ by region, account and volume, and change.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.toml_file import load, parsed, refuse_unknown

_GB_BYTES = 10**9  # the smaller of the two gigabytes: never less than is charged
_MONTH_S = 30 * 86_400.0
_TABLES = Path(__file__).with_name("price_tables")
_TABLE_KEYS = ("name", "source", "currency", "price")
_NUMBERS = (
    "storage_per_gb_month",
    "minimum_storage_days",
    "upload_per_gb",
    "download_per_gb",
    "write_per_1000",
    "read_per_1000",
    "delete_per_1000",
    "retrieval_per_gb",
)


@dataclass(frozen=True, slots=True)
class Usage:
    """What is charged for. Requests are of HTTP: PUT, POST and listings write, GET and HEAD read."""

    uploaded_bytes: int = 0
    downloaded_bytes: int = 0
    write_requests: int = 0
    read_requests: int = 0
    delete_requests: int = 0
    stored_byte_s: float = 0.0
    """Bytes times the seconds they were kept."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Prices:
    """Of one service, by the names of a table's keys."""

    storage_per_gb_month: float
    minimum_storage_days: float
    upload_per_gb: float
    download_per_gb: float
    write_per_1000: float
    read_per_1000: float
    delete_per_1000: float
    retrieval_per_gb: float
    """On top of the transfer, for bringing archived objects back."""

    def charge(self, usage: Usage) -> float:
        """In the currency of the table."""
        return sum(self.charges(usage).values())

    def charges(self, usage: Usage) -> dict[str, float]:
        """The same by category, as invoices have them; the categories sum to the charge."""
        stored = max(usage.stored_byte_s, usage.uploaded_bytes * self.minimum_storage_days * 86_400)
        return {
            "storage": stored / _GB_BYTES / _MONTH_S * self.storage_per_gb_month,
            "requests": usage.write_requests / 1000 * self.write_per_1000
            + usage.read_requests / 1000 * self.read_per_1000
            + usage.delete_requests / 1000 * self.delete_per_1000,
            "transfer": usage.uploaded_bytes / _GB_BYTES * self.upload_per_gb
            + usage.downloaded_bytes / _GB_BYTES * self.download_per_gb,
            "retrieval": usage.downloaded_bytes / _GB_BYTES * self.retrieval_per_gb,
        }


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices of services, some for a region only."""

    name: str
    source: str
    currency: str
    entries: Mapping[tuple[str, str | None], Prices]

    def prices(self, provider: str, region: str | None) -> Prices | None:
        """Those of the region, else those without one; None: unknown."""
        return self.entries.get((provider, region)) or self.entries.get((provider, None))

    def as_record(self) -> dict[str, str]:
        """For `run.json`."""
        return {"name": self.name, "source": self.source, "currency": self.currency}


def shown_charge(amount: float) -> str:
    """For a person: four decimals, and as many more as a small amount needs not to look like nothing."""
    exponent = int(f"{amount:.1e}".partition("e")[2])  # of two digits
    return f"{amount:.{4 if amount <= 0 else max(4, 1 - exponent)}f}"


def load_prices(name: str) -> PriceTable:
    """The table of this name that comes along, or the TOML file; raises `UsageError`."""
    known = sorted(path.stem for path in _TABLES.glob("*.toml"))
    path = _TABLES / f"{name}.toml" if name in known else Path(name)
    return load(path, f"prices {name}", f"a TOML file, or {', '.join(known)}", table_of_toml)


def table_of_toml(data: bytes) -> PriceTable:
    """A table out of a file's content; raises `ValueError`."""
    record = parsed(data, "table of prices")
    refuse_unknown(record, _TABLE_KEYS, "the table")
    for name in _TABLE_KEYS[:3]:
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise ValueError(f"{name}: a text is due")
    rows = record.get("price")
    if not isinstance(rows, list) or not rows:
        raise ValueError("no [[price]]: at least one is due")
    entries: dict[tuple[str, str | None], Prices] = {}
    for number, row in enumerate(rows, 1):
        key, prices = _entry(row, f"price {number}")
        if key in entries:
            raise ValueError(f"price {number}: there is one for {key[0]} {key[1] or 'everywhere'} already")
        entries[key] = prices
    return PriceTable(record["name"], record["source"], record["currency"], entries)


def _entry(row: Any, where: str) -> tuple[tuple[str, str | None], Prices]:
    if not isinstance(row, dict):
        raise ValueError(f"{where}: a table is due: write [[price]]")
    refuse_unknown(row, ("provider", "region", *_NUMBERS), where)
    provider, region = row.get("provider"), row.get("region")
    if not isinstance(provider, str) or (region is not None and not isinstance(region, str)):
        raise ValueError(f"{where}: provider must be a text, and region one if it is there")
    numbers = {}
    for name in _NUMBERS:
        value = row.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{where}: {name}: a number of 0 or more is due (0 says that nothing is charged)")
        numbers[name] = float(value)
    return (provider, region), Prices(**numbers)
