"""Price tables (TOML): what each service charges for each unit, with steps by volume, regions, storage classes.

A price that a table leaves out is unknown (None), never 0. `vmtrace.providers.prices` makes of a complete table what a
storage run is charged; `vmtrace.providers.costs` reckons whole workloads with it, gaps included, and names what is
missing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.toml_file import head_and_rows, load, parsed, refuse_unknown

GB_BYTES = 10**9
MOST = 1e6
"""No service charges a million for a gigabyte, a thousand requests or an hour: a slip of the keyboard."""

_TABLES = Path(__file__).with_name("price_tables")
_TEXTS = ("name", "source", "currency")
_ROW_TEXTS = ("provider", "class", "region")
PRICES = (
    "storage_per_gb_month",
    "upload_per_gb",
    "download_per_gb",
    "same_region_per_gb",
    "write_per_1000",
    "read_per_1000",
    "list_per_1000",
    "delete_per_1000",
    "retrieval_per_gb",
    "retrieval_peak_per_gb_hour",
    "compute_per_hour",
)
MINIMUM_DAYS = "minimum_storage_days"
PEAK = "retrieval_peak_per_gb_hour"
"""The highest rate of a month, in GB an hour, is charged in each of its hours."""
PEAK_HOURS = 720
FREE_SHARE = "retrieval_free_share"
_DUE = "expected a number of 0 or more (0 says that nothing is charged)"


@dataclass(frozen=True, slots=True)
class Step:
    """Units up to a volume a month, at a price each; the last step has no end."""

    up_to: float
    price: float


@dataclass(frozen=True, slots=True)
class Price:
    """Of one unit: a gigabyte, a thousand requests or an hour. Each step holds for the units within it alone."""

    steps: tuple[Step, ...]

    @classmethod
    def flat(cls, price: float) -> "Price":
        """The same for every unit."""
        return cls((Step(math.inf, price),))

    @property
    def dearest(self) -> float:
        """Of all steps."""
        return max(step.price for step in self.steps)

    def amount(self, units: float) -> float:
        """For so many units in one bill."""
        total, below = 0.0, 0.0
        for step in self.steps:
            if units <= below:
                break
            total += (min(units, step.up_to) - below) * step.price
            below = step.up_to
        return total

    def times(self, factor: float) -> "Price":
        """All steps dearer or cheaper by a factor."""
        return Price(tuple(Step(step.up_to, step.price * factor) for step in self.steps))


@dataclass(frozen=True, slots=True)
class Rates:
    """What one service charges for one storage class in one region."""

    provider: str
    storage_class: str | None
    region: str | None
    prices: Mapping[str, Price]
    """By the names of `PRICES`; what the table leaves out is not in it."""
    minimum_storage_days: float | None = None
    retrieval_free_share: float = 0.0
    """Of what is stored, a month: what may be brought back without the charge of the peak."""

    @property
    def label(self) -> str:
        """For a person: `s3`, `s3 archive, eu`."""
        named = f"{self.provider} {self.storage_class}" if self.storage_class else self.provider
        return f"{named}, {self.region}" if self.region else named

    def price(self, name: str) -> Price | None:
        """None: unknown. Listings are charged as writes where the table does not say."""
        if name == "list_per_1000" and name not in self.prices:
            name = "write_per_1000"
        return self.prices.get(name)


@dataclass(frozen=True, slots=True)
class RateTable:
    """All rows of a table, in its one currency."""

    name: str
    source: str
    currency: str
    gb_bytes: int
    """What it calls a gigabyte: 10^9 or 2^30 bytes."""
    rows: tuple[Rates, ...]

    @property
    def providers(self) -> list[str]:
        """Each once, in the order of the table."""
        return list(dict.fromkeys(row.provider for row in self.rows))

    def find(self, provider: str, storage_class: str | None, region: str | None) -> Rates | None:
        """The row of the region, else the one without a region; None where there is none."""
        rows = {row.region: row for row in self.rows if (row.provider, row.storage_class) == (provider, storage_class)}
        return rows.get(region) or rows.get(None)


def known_tables() -> list[str]:
    """The names of the tables that come along."""
    return sorted(path.stem for path in _TABLES.glob("*.toml"))


def table_path(name: str) -> Path:
    """Where the table of this name that comes along is, or the file of this name."""
    return _TABLES / f"{name}.toml" if name in known_tables() else Path(name)


def load_rates(name: str) -> RateTable:
    """The table of this name that comes along, or the TOML file; raises `UsageError`."""
    return load(table_path(name), f"prices {name}", f"a TOML file, or {', '.join(known_tables())}", rates_of_toml)


def rates_of_toml(data: bytes) -> RateTable:
    """A table out of a file's content; raises `ValueError`."""
    record = parsed(data, "table of prices")
    refuse_unknown(record, (*_TEXTS, "gb_bytes", "price"), "the table")
    rows = head_and_rows(record, _TEXTS, "price")
    gb_bytes = record.get("gb_bytes", GB_BYTES)
    if gb_bytes not in (10**9, 2**30):
        raise ValueError("gb_bytes: expected 1_000_000_000 or 1_073_741_824")
    read = [_row(row, f"price {number}", record["currency"]) for number, row in enumerate(rows, 1)]
    _refuse_twice(read)
    return RateTable(record["name"], record["source"], record["currency"], gb_bytes, tuple(read))


def _refuse_twice(rows: list[Rates]) -> None:
    seen = set()
    for number, row in enumerate(rows, 1):
        key = (row.provider, row.storage_class, row.region)
        if key in seen:
            where = f"{row.provider} {row.storage_class}" if row.storage_class else row.provider
            raise ValueError(f"price {number}: there is one for {where} {row.region or 'everywhere'} already")
        seen.add(key)


def _row(row: Any, where: str, currency: str) -> Rates:
    if not isinstance(row, dict):
        raise ValueError(f"{where}: expected a table: write [[price]]")
    refuse_unknown(row, (*_ROW_TEXTS, "currency", MINIMUM_DAYS, FREE_SHARE, *PRICES), where)
    provider = row.get("provider")
    if not isinstance(provider, str) or not all(isinstance(row.get(name, ""), str) for name in _ROW_TEXTS):
        raise ValueError(f"{where}: provider must be a text, and region and class too if they are there")
    if row.get("currency", currency) != currency:
        raise ValueError(f"{where}: currency {row['currency']!r} in a table of {currency}: a table has one currency")
    prices = {name: _price(row[name], f"{where}: {name}") for name in PRICES if name in row}
    days = _number(row[MINIMUM_DAYS], f"{where}: {MINIMUM_DAYS}") if MINIMUM_DAYS in row else None
    free = _number(row.get(FREE_SHARE, 0), f"{where}: {FREE_SHARE}", most=1)
    return Rates(provider, row.get("class"), row.get("region"), prices, days, free)


def _price(value: Any, where: str) -> Price:
    if not isinstance(value, list):
        return Price.flat(_number(value, where))
    if not value:
        raise ValueError(f"{where}: expected at least one step")
    steps, below = [], 0.0
    for number, one in enumerate(value, 1):
        step = _step(one, f"{where}: step {number}", is_last=number == len(value))
        if step.up_to <= below:
            raise ValueError(f"{where}: step {number}: up_to must grow from step to step")
        steps.append(step)
        below = step.up_to
    return Price(tuple(steps))


def _step(value: Any, where: str, *, is_last: bool) -> Step:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: write {{ up_to = 10240, price = 0.1 }}")
    refuse_unknown(value, ("up_to", "price"), where)
    if is_last and "up_to" in value:
        raise ValueError(f"{where}: the last step has no up_to: what is beyond it would have no price")
    if not is_last and "up_to" not in value:
        raise ValueError(f"{where}: expected up_to in all steps but the last")
    up_to = math.inf if is_last else _number(value["up_to"], f"{where}: up_to", most=1e15)
    return Step(up_to, _number(value.get("price"), f"{where}: price"))


def _number(value: Any, where: str, most: float = MOST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{where}: {_DUE}")
    if value > most:
        raise ValueError(f"{where}: {value:g} is absurd: at most {most:,.0f} is taken")
    return float(value)
