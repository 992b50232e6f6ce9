"""Replays a trace once: what it stores, reads and writes in a month, and what caches and archives would make of it.

Everything is counted in one pass, chunk by chunk: the ledger and each cache see the same accesses in the same order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.providers.costs import ledger
from vmtrace.providers.costs.caches import POLICIES, CacheSimulation, Simulated
from vmtrace.providers.costs.compiled import IS_FAST
from vmtrace.providers.costs.ledger import Ledger, Occupied
from vmtrace.providers.costs.quantities import Workload
from vmtrace.providers.costs.trace import Trace
from vmtrace.providers.costs.ways import Archive, Cache, Named
from vmtrace.providers.costs.workload import default_name

MONTH_S = 365 / 12 * 86_400.0
_SHORT_S = 7 * 86_400.0


class NoDurationError(ValueError):
    """All accesses of a trace have one time: there is no month of it."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What one pass over a trace has found."""

    name: str
    gb_bytes: int
    rows: int
    objects: int
    has_place: bool
    region: str | None
    archive_after_s: float | None
    occupied: Occupied
    caches: tuple[Simulated, ...]
    left_out: tuple[str, ...] = ()
    """What of an access log was not taken, in words."""

    @property
    def months(self) -> float:
        """Its duration."""
        return self.occupied.duration_s / MONTH_S


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a replay is asked for."""

    region: str | None = None
    archive_after_s: float | None = None
    minimum_storage_s: float = 0.0
    archive_minimum_s: float = 0.0
    cache_sizes_bytes: tuple[int, ...] = ()
    gb_bytes: int = 10**9


def replay(path: Path, wanted: Wanted, progress: Callable[[int], None] = lambda _: None) -> Replay:
    """One pass over a file; raises `OSError`, `TraceError` and `NoDurationError`."""
    trace = Trace(path, wanted.region, progress)
    after_s = float("inf") if wanted.archive_after_s is None else wanted.archive_after_s
    books = Ledger(after_s, wanted.minimum_storage_s, wanted.archive_minimum_s)
    caches = [CacheSimulation(policy, size) for size in wanted.cache_sizes_bytes for policy in POLICIES]
    for chunk in trace:
        books.feed(chunk, trace.object_numbers)
        for cache in caches:
            cache.feed(chunk, trace.object_numbers)
    occupied = books.finish()
    if occupied.duration_s <= 0:
        raise NoDurationError(f"{path}: all accesses have the same time: nothing says how many there are in a month")
    return Replay(
        path.stem,
        wanted.gb_bytes,
        trace.rows,
        trace.objects,
        trace.has_place,
        wanted.region,
        wanted.archive_after_s,
        occupied,
        tuple(cache.finish() for cache in caches),
        tuple(trace.notes),
    )


def workload_of(found: Replay) -> Workload:
    """A month of the trace: its mean month, and growth as in the trace."""
    sums, months, gb = found.occupied, found.months, found.gb_bytes
    grown_gb = (sums[ledger.STORED] - sums[ledger.AT_BEGIN]) / gb / months
    growth = max(grown_gb, 0.0)
    mean_gb = sums[ledger.STORED_S] / found.occupied.duration_s / gb
    read = sums[ledger.READ_OUT] + sums[ledger.READ_IN]
    written = sums[ledger.WRITTEN_OUT] + sums[ledger.WRITTEN_IN]
    inside = sums[ledger.READ_IN] + sums[ledger.WRITTEN_IN]
    deleted = sums[ledger.DELETED]
    return Workload(
        name=found.name,
        # The charges' first month adds half of what a month grows: it is the mean month of the trace.
        stored_gb=max(mean_gb - growth / 2, 0.0),
        growth_gb_per_month=growth,
        read_gb_per_month=read / gb / months,
        written_gb_per_month=written / gb / months,
        read_requests_per_month=sums[ledger.READS] / months,
        write_requests_per_month=sums[ledger.WRITES] / months,
        list_requests_per_month=sums[ledger.LISTS] / months,
        delete_requests_per_month=sums[ledger.DELETES] / months,
        same_region_share=inside / (read + written) if read + written else 0.0,
        objects=found.objects,
        mean_age_days=sums[ledger.DELETED_AGE_S] / deleted / 86_400 if deleted else None,
        early_gb_months=sums[ledger.EARLY_S] / MONTH_S / gb / months,
        notes=tuple(_notes(found, grown_gb)),
    )


def _notes(found: Replay, grown_gb: float) -> list[str]:
    there = (
        f"objects that are read before they are written were stored when the trace began "
        f"({found.occupied[ledger.AT_BEGIN] / found.gb_bytes:,.4g} GB); what is never accessed is not in a trace"
    )
    notes = [*found.left_out, there, *_lifetimes(found)]
    if not IS_FAST:
        notes.append("Numba is not installed: the trace was replayed by Python, far more slowly (extra cost)")
    if found.occupied.duration_s < _SHORT_S:
        notes.append(
            f"the trace lasts {found.occupied.duration_s / 86_400:.3g} days: a month is "
            f"{1 / found.months:.4g} times as much"
        )
    if grown_gb < 0:
        notes.append(f"what is stored shrank by {-grown_gb:.4g} GB a month: the year is reckoned without that")
    if found.has_place and found.region is None:
        notes.append("place: all accesses count as from outside: name the service's own with --region")
    return notes


def _lifetimes(found: Replay) -> list[str]:
    """How many objects are soon done with: what a minimum of storage days, or an archive, is about."""
    if found.occupied.duration_s <= ledger.DAY_S:
        return []
    share = found.occupied.living[ledger.AGES_S.index(ledger.DAY_S)] / found.objects
    return [f"{share:.1%} of {found.objects:,} objects lived at most 24 hours, from their first access to their last"]


def ways_of(found: Replay, ways: Sequence[Named]) -> list[Named]:
    """The ways that were asked for, with what the replay says of them; a cache is there once for each policy."""
    made = []
    for named in ways:
        if isinstance(named.way, Archive):
            made.append(Named(named.name, _archive(found, named.way)))
        elif isinstance(named.way, Cache) and named.way.size_gb is not None and named.way.byte_hit_ratio is None:
            made += _caches(found, named.way)
        else:
            made.append(named)
    return made


def _archive(found: Replay, way: Archive) -> Archive:
    sums, months = found.occupied, found.months
    stored_s = sums[ledger.STORED_S]
    return replace(
        way,
        cold_share=sums[ledger.COLD_S] / stored_s if stored_s else 0.0,
        recalled_gb_per_month=sums[ledger.RECALLED] / found.gb_bytes / months,
        recall_requests_per_month=sums[ledger.RECALLS] / months,
        moved_objects_per_month=sums[ledger.MOVED] / months,
        early_gb_months=sums[ledger.COLD_EARLY_S] / MONTH_S / found.gb_bytes / months,
    )


def _caches(found: Replay, way: Cache) -> list[Named]:
    size_bytes = size_in_bytes(way, found.gb_bytes)
    made = []
    for one in found.caches:
        if one.capacity_bytes == size_bytes:
            ratio, byte_ratio = _ratios(found, one)
            known = replace(way, policy=one.policy, hit_ratio=ratio, byte_hit_ratio=byte_ratio)
            made.append(Named(default_name(known), known))
    return made


def _ratios(found: Replay, one: Simulated) -> tuple[float, float]:
    reads, read_bytes = found.occupied[ledger.READS_OUT], found.occupied[ledger.READ_OUT]
    return one.hits / reads if reads else 0.0, one.hit_bytes / read_bytes if read_bytes else 0.0


def size_in_bytes(way: Cache, gb_bytes: int) -> int:
    """Of a cache whose size is known."""
    return round((way.size_gb or 0.0) * gb_bytes)
