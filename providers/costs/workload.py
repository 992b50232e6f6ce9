"""Summaries of workloads (TOML): what is kept, read and written a month, and the ways of running it to be compared.

What a summary leaves out counts as none, and the workload says so. Numbers that cannot be are refused with their name.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vmtrace.providers.costs.quantities import Lifetime, Workload
from vmtrace.providers.costs.ways import Archive, Beside, Cache, Cooperative, Derived, Named, Way
from vmtrace.providers.toml_file import load, parsed, refuse_unknown

_SHIPPED = Path(__file__).with_name("workloads")
MOST = 1e15
"""Gigabytes, requests, objects or hours: more than any service on earth has."""
_ROUNDING = 1e-6
_TEXTS = ("name", "provider", "region", "class")
_SHARES = frozenset({"same_region_share", "cold_share", "share", "byte_hit_ratio", "hit_ratio", "result_share"})
_SAID = ("notes", "early_gb_months", "name", "lifetimes")
_NUMBERS = tuple(one.name for one in fields(Workload) if one.name not in _SAID)
_EXPECTED = (
    "stored_gb", "growth_gb_per_month", "read_gb_per_month", "written_gb_per_month", "read_requests_per_month",
    "write_requests_per_month", "same_region_share", "objects", "mean_age_days",
)  # fmt: skip
KINDS: dict[str, type[Way]] = {
    "archive": Archive,
    "derived": Derived,
    "cache": Cache,
    "beside": Beside,
    "cooperative": Cooperative,
}
_REQUIRED = {"archive": ("after_days",), "derived": ("share",), "cooperative": ("share",)}


@dataclass(frozen=True, slots=True)
class Asked:
    """A summary: the workload, where its data is, and the ways to compare."""

    workload: Workload
    provider: str | None
    storage_class: str | None
    region: str | None
    ways: tuple[Named, ...]


def known_workloads() -> list[str]:
    """The names of those that come along."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def load_workload(name: str) -> Asked:
    """The workload of this name that comes along, or the TOML file; raises `UsageError`."""
    path = _SHIPPED / f"{name}.toml" if name in known_workloads() else Path(name)
    return load(path, f"workload {name}", f"a TOML file, or {', '.join(known_workloads())}", workload_of_toml)


def workload_of_toml(data: bytes) -> Asked:
    """A workload out of a file's content; raises `ValueError`."""
    record = parsed(data, "workload")
    refuse_unknown(record, (*_TEXTS, *_NUMBERS, "lifetimes", "scenario"), "the workload")
    texts = {name: _text(record, name) for name in _TEXTS}
    numbers = {name: _number(record[name], name) for name in _NUMBERS if name in record}
    if not numbers:
        raise ValueError(f"it does not say what is kept, read or written: give {', '.join(_EXPECTED[:4])}")
    lifetimes = _lifetimes(record)
    if lifetimes:
        numbers["mean_age_days"] = sum(one.share * one.days for one in lifetimes)
    left_out = [name for name in _EXPECTED if name not in numbers]
    notes = (f"counted as none, because left out: {', '.join(left_out)}",) if left_out else ()
    workload = Workload(name=texts["name"] or "workload", lifetimes=lifetimes, notes=notes, **numbers)
    _check(workload)
    return Asked(workload, texts["provider"], texts["class"], texts["region"], ways_of(record.get("scenario", [])))


def _check(workload: Workload) -> None:
    if workload.growth_gb_per_month > workload.written_gb_per_month:
        raise ValueError(
            f"growth_gb_per_month: {workload.growth_gb_per_month:g} GB cannot grow out of "
            f"{workload.written_gb_per_month:g} GB written (written_gb_per_month)"
        )
    if workload.billed_months < 1:
        raise ValueError("billed_months: expected at least 1")


def _lifetimes(record: Mapping[str, Any]) -> tuple[Lifetime, ...]:
    """`lifetimes`: shares that sum to 1, each with an age in days; raises `ValueError`."""
    entries = record.get("lifetimes", [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise ValueError("lifetimes: expected a list such as [{ share = 0.3, days = 1 }, { share = 0.7, days = 90 }]")
    if entries and "mean_age_days" in record:
        raise ValueError("lifetimes: they give mean_age_days: leave one of the two out")
    found = []
    for number, entry in enumerate(entries, 1):
        where = f"lifetimes {number}"
        refuse_unknown(entry, ("share", "days"), where)
        if len(entry) < 2:
            raise ValueError(f"{where}: expected share and days")
        found.append(Lifetime(*(_number(entry[name], f"{where}: {name}") for name in ("share", "days"))))
    total = sum(one.share for one in found)
    if found and abs(total - 1) > _ROUNDING:
        raise ValueError(f"lifetimes: the shares sum to {total:g}, expected 1")
    return tuple(found)


def ways_of(entries: Any) -> tuple[Named, ...]:
    """The `[[scenario]]` of a summary; raises `ValueError`."""
    if not isinstance(entries, list):
        raise ValueError("scenario: expected a list: write [[scenario]]")
    ways = tuple(_way(entry, f"scenario {number}") for number, entry in enumerate(entries, 1))
    names = [one.name for one in ways]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise ValueError(f"scenario {number}: there is one named {name!r} already: give it another name")
    return ways


def _way(entry: Any, where: str) -> Named:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: expected a table: write [[scenario]]")
    kind = entry.get("kind")
    way = KINDS.get(kind) if isinstance(kind, str) else None
    if way is None or not isinstance(kind, str):
        raise ValueError(f"{where}: kind: expected one of {', '.join(KINDS)}")
    known = tuple(one.name for one in fields(way))
    refuse_unknown(entry, ("kind", "name", *known), where)
    for name in _REQUIRED.get(kind, ()):
        if name not in entry:
            raise ValueError(f"{where}: {kind} needs {name}")
    given: dict[str, Any] = {
        name: _text(entry, name, where) if name in {"to", "policy"} else _number(entry[name], f"{where}: {name}")
        for name in known
        if name in entry
    }
    if kind == "cache":
        given.setdefault("size_gb", None)
    made = way(**given)
    return Named(_text(entry, "name", where) or default_name(made), made)


def default_name(way: Way) -> str:
    """What a scenario without a name is called."""
    match way:
        case Archive():
            return f"archived after {way.after_days:g} days"
        case Derived():
            return f"derived data ({way.share:.0%}) computed again"
        case Cache():
            size = "" if way.size_gb is None else f" of {way.size_gb:,.0f} GB"
            return f"local cache{size}{f', {way.policy}' if way.policy else ''}"
        case Beside():
            return "computing next to the data"
        case Cooperative():
            return f"cooperative, {way.share:.0%} by peers"


def _text(record: Mapping[str, Any], name: str, where: str = "") -> str | None:
    value = record.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"{where}{': ' if where else ''}{name}: expected text")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{where}: expected a number of 0 or more")
    share = where.rsplit(": ", maxsplit=1)[-1] in _SHARES
    if share and value > 1:
        raise ValueError(f"{where}: expected a share from 0 to 1, not {value:g}")
    if value > MOST:
        raise ValueError(f"{where}: {value:g} is absurd: at most {MOST:g} is taken")
    return float(value)
