"""Where `vmtrace cost` has its workload from: a summary, a trace to replay, or a measured run at a stated rate."""

import argparse
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.errors import CommandError, describe
from vmtrace.formats.quantities import size_bytes
from vmtrace.providers.costs.quantities import Workload
from vmtrace.providers.costs.scenarios import Context, archive_rates
from vmtrace.providers.costs.ways import Archive, Beside, Cache, Cooperative, Derived, Named, Way
from vmtrace.providers.costs.workload import MOST, Asked, default_name, known_workloads, load_workload
from vmtrace.providers.errors import UsageError
from vmtrace.providers.rates import RateTable, load_rates

if TYPE_CHECKING:
    from vmtrace.progress import Bar
    from vmtrace.providers.costs.simulate import Replay

_DEFAULT_ARCHIVE_DAYS = 30.0
_DEFAULT_CACHE_BYTES = 10**12
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(hour|day|week|month|year)")
_MONTH_HOURS = 730.0
_HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0, "month": _MONTH_HOURS, "year": 8760.0}

Bars = Callable[[list[str]], "Bar"]


@dataclass(frozen=True, slots=True)
class Source:
    """A workload at a row of prices, and the ways of running it to compare."""

    context: Context
    ways: tuple[Named, ...]
    replay: "Replay | None" = None
    retries: float = 0.0
    """A month, among the requests; known of measured runs."""


@dataclass(frozen=True, slots=True)
class InvoiceTarget:
    """A scenario, as an invoice knows it."""

    name: str
    cost: float | None
    currency: str | None


def source_of(arguments: argparse.Namespace, bars: Bars) -> Source:
    """Read what the command line names; raises `UsageError` and `CommandError`."""
    if (arguments.workload is None) == (arguments.run_folder is None):
        raise UsageError("name a workload (summary or trace), or a run with --from: one of the two")
    if arguments.rate is not None and arguments.run_folder is None:
        raise UsageError("--rate: goes with --from")
    table = load_rates(arguments.prices)
    if arguments.run_folder is not None:
        return _of_run(arguments, table)
    if arguments.workload in known_workloads() or arguments.workload.endswith(".toml"):
        return _of_summary(arguments, table)
    return _of_trace(arguments, table, bars)


def _of_summary(arguments: argparse.Namespace, table: RateTable) -> Source:
    asked = load_workload(arguments.workload)
    context = _context(arguments, table, asked)
    ways = [*asked.ways, *_named(_ways(arguments, context), [one.name for one in asked.ways])]
    if not ways and asked.workload.compute_hours_per_month:
        ways = _named([Beside()], [])
    return Source(context, tuple(ways))


def _of_trace(arguments: argparse.Namespace, table: RateTable, bars: Bars) -> Source:
    from vmtrace.providers.costs import simulate
    from vmtrace.providers.costs.access_log import files_of
    from vmtrace.providers.costs.trace import TraceError

    if arguments.hit_ratio is not None:
        raise UsageError("--hit-ratio: a trace has its own, which is simulated")
    nothing = Workload(Path(arguments.workload).stem)
    context = _context(arguments, table, Asked(nothing, None, None, None, ()))
    ways = _ways(arguments, context) or _default_ways(context)
    archives = [way for way in ways if isinstance(way, Archive)]
    cold = archive_rates(context, archives[0].to) if archives else None
    caches = [way for way in ways if isinstance(way, Cache)]
    wanted = simulate.Wanted(
        region=arguments.region,
        archive_after_s=archives[0].after_days * 86_400 if archives else None,
        minimum_storage_s=(context.rates.minimum_storage_days or 0.0) * 86_400,
        archive_minimum_s=(cold.minimum_storage_days or 0.0) * 86_400 if cold else 0.0,
        cache_sizes_bytes=tuple(dict.fromkeys(simulate.size_in_bytes(way, table.gb_bytes) for way in caches)),
        gb_bytes=table.gb_bytes,
    )
    path = Path(arguments.workload)
    try:
        with bars([str(one) for one in files_of(path)]) as bar:
            found = simulate.replay(path, wanted, bar)
    except (OSError, TraceError, simulate.NoDurationError) as error:
        raise CommandError(describe(error)) from error
    context = Context(simulate.workload_of(found), table, context.rates)
    return Source(context, tuple(simulate.ways_of(found, _named(ways, []))), found)


def _of_run(arguments: argparse.Namespace, table: RateTable) -> Source:
    from vmtrace.analyze.read.records.run_folder import RunFolderError
    from vmtrace.analyze.reports.storage.run_folder import read_storage_run
    from vmtrace.commands import cost_run

    if arguments.rate is None:
        raise UsageError("--from: say how often the run would be with --rate, as in --rate 30/month")
    per_month = runs_per_month(arguments.rate)
    try:
        run = read_storage_run(arguments.run_folder)
        workload, retries = cost_run.workload_of(run, per_month, table.gb_bytes)
    except (OSError, RunFolderError, cost_run.UncountedError) as error:
        raise CommandError(describe(error)) from error
    context = _context(arguments, table, Asked(workload, run.provider, None, run.region, ()))
    return Source(context, tuple(_named(_ways(arguments, context), [])), retries=retries)


def runs_per_month(text: str) -> float:
    """Of `30/month`, `1/day`; raises `UsageError`."""
    found = _RATE.fullmatch(text.strip())
    if found is None or float(found.group(1)) == 0:
        raise UsageError(f"--rate {text}: expected a number of runs in a time: 30/month, 1/day, 2/hour")
    return float(found.group(1)) * _MONTH_HOURS / _HOURS[found.group(2)]


def _context(arguments: argparse.Namespace, table: RateTable, asked: Asked) -> Context:
    provider = arguments.provider or asked.provider
    if provider is None:
        if len(table.providers) > 1:
            raise UsageError(f"--provider: {table.name} has {', '.join(table.providers)}: name one")
        provider = table.providers[0]
    region = arguments.region or asked.region
    storage_class = arguments.storage_class or asked.storage_class
    rates = table.find(provider, storage_class, region)
    if rates is None:
        wanted = " ".join(filter(None, (provider, storage_class, region)))
        raise UsageError(f"prices {table.name}: no row for {wanted}: it has {_some_rows(table)}")
    return Context(asked.workload, table, rates)


def _some_rows(table: RateTable) -> str:
    labels = [row.label for row in table.rows]
    return "; ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")


def _ways(arguments: argparse.Namespace, context: Context) -> list[Way]:
    """The scenarios of the command line."""
    ways: list[Way] = []
    hours = None if arguments.compute_hours is None else _number(arguments.compute_hours, "--compute-hours", MOST)
    if arguments.archive_after is not None:
        ways.append(Archive(_number(arguments.archive_after, "--archive-after", MOST), arguments.archive_to))
    elif arguments.archive_to is not None:
        raise UsageError("--archive-to: goes with --archive-after")
    if arguments.derived is not None:
        ways.append(Derived(_number(arguments.derived, "--derived", 1.0), hours))
    ratio = None if arguments.hit_ratio is None else _number(arguments.hit_ratio, "--hit-ratio", 1.0)
    price = 0.0 if arguments.cache_price is None else _number(arguments.cache_price, "--cache-price", MOST)
    if not arguments.cache and (ratio is not None or arguments.cache_price is not None):
        raise UsageError("--hit-ratio and --cache-price: go with --cache SIZE")
    ways += [Cache(_size_gb(size, context), byte_hit_ratio=ratio, price_per_tb_month=price) for size in arguments.cache]
    if hours is not None:
        ways.append(Beside(hours))
    if arguments.cooperative is not None:
        ways.append(Cooperative(_number(arguments.cooperative, "--cooperative", 1.0)))
    return list(dict.fromkeys(ways))


def _default_ways(context: Context) -> list[Way]:
    """Of a trace, if none is asked for: those that need no number that only the user has."""
    ways: list[Way] = [Cache(_DEFAULT_CACHE_BYTES / context.table.gb_bytes)]
    return [*([Archive(_DEFAULT_ARCHIVE_DAYS)] if archive_rates(context, None) else []), *ways]


def _named(ways: list[Way], taken: list[str]) -> list[Named]:
    named: list[Named] = []
    for way in ways:
        name, number = default_name(way), 2
        while name in [*taken, *(one.name for one in named)]:
            name, number = f"{default_name(way)} ({number})", number + 1
        named.append(Named(name, way))
    return named


def _size_gb(text: str, context: Context) -> float:
    try:
        size = size_bytes(text)
    except ValueError as error:
        raise UsageError(f"--cache {error}") from None
    if not 0 < size <= 1 << 60:
        raise UsageError(f"--cache {text}: expected more than 0, and at most an exbibyte")
    return size / context.table.gb_bytes


def _number(text: str, option: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise UsageError(f"{option} {text}: expected a number from 0 to {most:g}")
    return value
