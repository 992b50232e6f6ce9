"""What each way of running a workload uses: everything in the store, archive, derived, cache, beside, cooperative.

Each scenario changes one thing of "everything in the store". What it assumes is in its notes; a price row or a number
that it would need and nobody gave is in `missing`, and it has no total.
"""

import math
from dataclasses import dataclass, replace
from functools import singledispatch

from vmtrace.providers.costs.quantities import Lifetime, Portion, Scenario, Usage, Workload
from vmtrace.providers.costs.ways import Archive, Beside, Cache, Cooperative, Derived, Named, Way
from vmtrace.providers.rates import Rates, RateTable

EVERYTHING = "everything in the store"
_MONTH_DAYS = 365 / 12
_GB_PER_TB = 1024


@dataclass(frozen=True, slots=True)
class Context:
    """A workload at one row of a table."""

    workload: Workload
    table: RateTable
    rates: Rates

    @property
    def gb_per_tb(self) -> int:
        """1,024 where a gigabyte has 2^30 bytes."""
        return _GB_PER_TB if self.table.gb_bytes == 2**30 else 1000


def scenarios_of(context: Context, ways: list[Named]) -> list[Scenario]:
    """Everything in the store, and each way that was named."""
    return [everything(context), *(scenario_of(context, one) for one in ways)]


def scenario_of(context: Context, named: Named) -> Scenario:
    """One way."""
    made = _made(named.way, context)
    return replace(made, name=named.name, billed_months=context.workload.billed_months)


def everything(context: Context) -> Scenario:
    """All data in the store, all reads from it."""
    return Scenario(
        EVERYTHING,
        "everything",
        (Portion(context.rates, base_usage(context)),),
        billed_months=context.workload.billed_months,
        notes=tuple(_age_notes(context)),
    )


def _age_notes(context: Context) -> list[str]:
    workload, least = context.workload, context.rates.minimum_storage_days
    if least and workload.deleted_gb_per_month and workload.mean_age_days is None:
        return [f"mean_age_days is left out: nothing is charged for objects deleted before {least:g} days"]
    return []


def base_usage(context: Context) -> Usage:
    """What everything in the store uses."""
    workload = context.workload
    return Usage(
        stored_gb=workload.stored_gb,
        growth_gb_per_month=workload.growth_gb_per_month,
        early_gb_months=early_gb_months(context),
        uploaded_gb=workload.written_gb_per_month * workload.outside_share,
        downloaded_gb=workload.read_gb_per_month * workload.outside_share,
        same_region_gb=(workload.read_gb_per_month + workload.written_gb_per_month) * workload.same_region_share,
        # Where a class charges for bringing data back, it does so for all that is read, wherever it goes.
        retrieved_gb=workload.read_gb_per_month,
        retrieved_peak_gb_per_hour=workload.retrieved_peak_gb_per_hour,
        write_requests=workload.write_requests_per_month,
        read_requests=workload.read_requests_per_month,
        list_requests=workload.list_requests_per_month,
        delete_requests=workload.delete_requests_per_month,
    )


def early_gb_months(context: Context) -> float | None:
    """Storage that is charged after objects were deleted, because they were younger than the class demands.

    None if the table does not say how long that is, and something is deleted.
    """
    workload, least = context.workload, context.rates.minimum_storage_days
    if not workload.deleted_gb_per_month:
        return 0.0
    if least is None:
        return None
    if workload.early_gb_months is not None:
        return workload.early_gb_months
    if workload.mean_age_days is None:
        return 0.0
    # A mean hides those that go early: those that stay longer do not make up for them.
    ages = workload.lifetimes or (Lifetime(1.0, workload.mean_age_days),)
    missing_days = sum(one.share * max(least - one.days, 0.0) for one in ages)
    return workload.deleted_gb_per_month * missing_days / _MONTH_DAYS


@singledispatch
def _made(way: Way, context: Context) -> Scenario:
    raise TypeError(f"{type(way).__name__} is not a way of running {context.workload.name}")


@_made.register
def _archive(way: Archive, context: Context) -> Scenario:
    workload, used = context.workload, base_usage(context)
    cold_share, notes = _cold_share(way, workload)
    missing = [] if cold_share is not None else ["cold_share (or mean_age_days, or a trace)"]
    recalled = way.recalled_gb_per_month
    if recalled is None:
        recalled = 0.0
        notes.append("nothing of what is archived is read: give recalled_gb_per_month")
    row = archive_rates(context, way.to)
    if row is None:
        missing.append(f"a price row of {context.rates.provider} for the class {way.to or 'archive'}")
    share = cold_share or 0.0
    cold_gb = workload.stored_gb * share
    moved = workload.write_requests_per_month * share
    if way.moved_objects_per_month is not None:
        moved = way.moved_objects_per_month
    recall_requests = min(way.recall_requests_per_month, workload.read_requests_per_month)
    recalled = min(recalled, workload.read_gb_per_month)
    hot = replace(
        used,
        stored_gb=workload.stored_gb - cold_gb,
        growth_gb_per_month=workload.growth_gb_per_month * (1 - share),
        downloaded_gb=used.downloaded_gb - recalled * workload.outside_share,
        same_region_gb=used.same_region_gb - recalled * workload.same_region_share,
        retrieved_gb=used.retrieved_gb - recalled,
        read_requests=used.read_requests - recall_requests,
    )
    cold = Usage(
        stored_gb=cold_gb,
        growth_gb_per_month=workload.growth_gb_per_month * share,
        early_gb_months=way.early_gb_months,
        downloaded_gb=recalled * workload.outside_share,
        same_region_gb=recalled * workload.same_region_share,
        retrieved_gb=recalled,
        retrieved_peak_gb_per_hour=workload.retrieved_peak_gb_per_hour,
        write_requests=moved,
        read_requests=recall_requests,
    )
    portions = (Portion(context.rates, hot), *(() if row is None else (Portion(row, cold),)))
    return Scenario("", "archive", portions, missing=tuple(missing), notes=tuple(notes))


def _cold_share(way: Archive, workload: Workload) -> tuple[float | None, list[str]]:
    if way.cold_share is not None:
        return way.cold_share, []
    if not workload.mean_age_days:
        return None, []
    if workload.lifetimes:
        beyond = sum(one.share * max(one.days - way.after_days, 0.0) for one in workload.lifetimes)
        share = beyond / workload.mean_age_days
        return share, [f"{share:.1%} is cold, by the lifetimes: what is stored longer than that; or give cold_share"]
    share = math.exp(-way.after_days / workload.mean_age_days)
    note = f"{share:.1%} is cold: ages taken as exponential about {workload.mean_age_days:g} days; or give cold_share"
    return share, [note]


def archive_rates(context: Context, to: str | None) -> Rates | None:
    """The row that cold data goes to: a class of the same provider, else another provider of the table."""
    rates = context.rates
    return context.table.find(rates.provider, to or "archive", rates.region) or (
        context.table.find(to, None, rates.region) if to else None
    )


@_made.register
def _derived(way: Derived, context: Context) -> Scenario:
    workload, used, kept = context.workload, base_usage(context), 1 - way.share
    hours = workload.compute_hours_per_month if way.compute_hours_per_month is None else way.compute_hours_per_month
    notes = ["derived data is read from where it is computed again, next to the store; transfer of reads stays"]
    return Scenario(
        "",
        "derived",
        (
            Portion(
                context.rates,
                replace(
                    used,
                    stored_gb=used.stored_gb * kept,
                    growth_gb_per_month=used.growth_gb_per_month * kept,
                    early_gb_months=None if used.early_gb_months is None else used.early_gb_months * kept,
                    uploaded_gb=used.uploaded_gb * kept,
                    write_requests=used.write_requests * kept,
                    compute_hours=hours,
                ),
            ),
        ),
        missing=() if hours else ("compute_hours_per_month",),
        notes=tuple(notes),
    )


@_made.register
def _cache(way: Cache, context: Context) -> Scenario:
    workload, used = context.workload, base_usage(context)
    byte_ratio = way.byte_hit_ratio
    if way.miss_gb_per_month is not None and used.downloaded_gb:
        byte_ratio = 1 - min(way.miss_gb_per_month / used.downloaded_gb, 1.0)
    ratio = byte_ratio if way.hit_ratio is None else way.hit_ratio
    notes = []
    if way.price_per_tb_month == 0:
        notes.append("the cache itself costs nothing here: give its price_per_tb_month")
    missing = () if byte_ratio is not None else ("byte_hit_ratio (or miss_gb_per_month, or a trace)",)
    if way.price_per_tb_month and way.size_gb is None:
        missing = (*missing, "size of the cache")
    through = workload.outside_share
    saved_gb = used.downloaded_gb * (byte_ratio or 0.0)
    less = replace(
        used,
        downloaded_gb=used.downloaded_gb - saved_gb,
        retrieved_gb=used.retrieved_gb - saved_gb,
        read_requests=used.read_requests * (1 - (ratio or 0.0) * through),
    )
    return Scenario(
        "",
        "cache",
        (Portion(context.rates, less),),
        own_storage=(way.size_gb or 0.0) / context.gb_per_tb * way.price_per_tb_month,
        hit_ratio=ratio,
        byte_hit_ratio=byte_ratio,
        missing=missing,
        notes=tuple(notes),
    )


@_made.register
def _next_to_data(way: Beside, context: Context) -> Scenario:
    workload, used = context.workload, base_usage(context)
    hours = workload.compute_hours_per_month if way.compute_hours_per_month is None else way.compute_hours_per_month
    results_gb = used.downloaded_gb * way.result_share
    inside = replace(
        used, downloaded_gb=results_gb, same_region_gb=used.same_region_gb + used.downloaded_gb, compute_hours=hours
    )
    notes = [] if way.result_share else ["no results leave the region: give result_share"]
    missing = () if hours else ("compute_hours_per_month",)
    return Scenario("", "beside", (Portion(context.rates, inside),), missing=missing, notes=tuple(notes))


@_made.register
def _cooperative(way: Cooperative, context: Context) -> Scenario:
    workload, used = context.workload, base_usage(context)
    saved_gb = used.downloaded_gb * way.share
    less = replace(
        used,
        downloaded_gb=used.downloaded_gb - saved_gb,
        retrieved_gb=used.retrieved_gb - saved_gb,
        read_requests=used.read_requests * (1 - way.share * workload.outside_share),
    )
    notes = ("requests shrink with the bytes; peers cost nothing",)
    return Scenario("", "cooperative", (Portion(context.rates, less),), notes=notes)
