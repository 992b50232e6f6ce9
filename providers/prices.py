"""What a workload is charged: by a table of prices that the user names. Without one, charges are unknown, not zero.

A table is a TOML file (`vmtrace.providers.rates`); those that come along are of studies, of 2007, 2008 and 2014, and
one of a page of 2026. Today's prices differ by region, account and volume, and change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from vmtrace.providers.rates import (
    GB_BYTES,
    MINIMUM_DAYS,
    PEAK,
    PEAK_HOURS,
    Rates,
    known_tables,
    rates_of_toml,
    table_path,
)
from vmtrace.providers.toml_file import load

P = TypeVar("P")
_GB_BYTES = GB_BYTES  # the smaller of the two gigabytes: never less than is charged
_MONTH_S = 30 * 86_400.0
_HOURS_OF_A_RETRIEVAL = 4
_NUMBERS = (
    "storage_per_gb_month",
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


@dataclass(frozen=True)
class TableOf(Generic[P]):
    """Prices of services, some for a region only."""

    name: str
    source: str
    currency: str
    entries: Mapping[tuple[str, str | None], P]

    def prices(self, provider: str, region: str | None) -> P | None:
        """Those of the region, else those without one; None: unknown."""
        return self.entries.get((provider, region)) or self.entries.get((provider, None))

    def as_record(self) -> dict[str, str]:
        """For `run.json`."""
        return {"name": self.name, "source": self.source, "currency": self.currency}


PriceTable = TableOf[Prices]


def shown_charge(amount: float) -> str:
    """For a person: four decimals, and as many more as a small amount needs not to look like nothing."""
    exponent = int(f"{amount:.1e}".partition("e")[2])  # of two digits
    return f"{amount:.{4 if amount <= 0 else max(4, 1 - exponent)}f}"


def load_prices(name: str) -> PriceTable:
    """The table of this name that comes along, or the TOML file; raises `UsageError`."""
    about = f"prices {name}"
    return load(table_path(name), about, f"a TOML file, or {', '.join(known_tables())}", table_of_toml)


def table_of_toml(data: bytes) -> PriceTable:
    """A table out of a file's content; raises `ValueError`. Storage classes have no part in a storage run."""
    table = rates_of_toml(data)
    entries: dict[tuple[str, str | None], Prices] = {}
    for number, row in enumerate(table.rows, 1):
        if row.storage_class is None:
            entries[row.provider, row.region] = _complete(row, f"price {number}")
    return PriceTable(table.name, table.source, table.currency, entries)


def _complete(row: Rates, where: str) -> Prices:
    """Of a price in steps the dearest counts: which step an account is on is unknown, and no charge may be too low.

    So each gigabyte that is brought back counts in the peak, as if nothing were free and no other had been before.
    """
    known_prices = {name: price.dearest for name, price in row.prices.items()}
    if PEAK in known_prices and "retrieval_per_gb" not in known_prices:
        known_prices["retrieval_per_gb"] = known_prices[PEAK] * PEAK_HOURS / _HOURS_OF_A_RETRIEVAL
    if row.minimum_storage_days is not None and all(name in known_prices for name in _NUMBERS):
        prices = {name: known_prices[name] for name in _NUMBERS}
        return Prices(minimum_storage_days=row.minimum_storage_days, **prices)
    known = {*known_prices, *(() if row.minimum_storage_days is None else (MINIMUM_DAYS,))}
    missing = next(name for name in (*_NUMBERS, MINIMUM_DAYS) if name not in known)
    raise ValueError(f"{where}: {missing}: expected a number of 0 or more (0 says that nothing is charged)")
