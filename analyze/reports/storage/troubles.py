"""Retries and errors told apart, as the log has them: what was sent again, and what came to nothing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction, StoredObject
from vmtrace.analyze.tables.schema.typed import Count, Share

_MOST_STEPS = 100
"""Of larger numbers of retries only those that there were have a step: what a folder says may be anything."""


@dataclass(frozen=True, slots=True)
class TroubleRow:
    """One workload in one direction."""

    workload: str
    direction: Direction
    objects: Count
    done: Count
    retries: Count
    """Write retries of an upload, read retries of a download."""
    retry_causes: dict[str, Count]
    retried_objects: Count
    errors: Count
    """Write errors of an upload, read errors of a download: the digest does not fit."""
    failed: Count
    failed_kinds: dict[str, Count]
    transactions: Count
    transactions_failed: Count
    """With any object that failed, or a login that did."""
    availability_by_retries: dict[str, Share]
    """Share of the objects that were done with at most so many retries."""

    DERIVED = ("availability",)

    @property
    def availability(self) -> Share | None:
        """Share of the objects that were transferred well."""
        return self.done / self.objects if self.objects else None


def trouble_rows(run: MeasuredRun) -> list[TroubleRow]:
    """A row for each workload and direction."""
    return [_row(workload, direction, found) for (workload, direction), found in run.kinds().items()]


def _row(workload: str, direction: str, found: Sequence[MeasuredTransaction]) -> TroubleRow:
    objects = [stored for one in found for stored in one.objects]
    outcomes = Counter(stored.outcome for stored in objects)
    causes: Counter[str] = Counter()
    for stored in objects:
        causes.update(dict(stored.exchange.retry_causes))
    kinds = Counter(stored.error_kind or "other" for stored in objects if stored.outcome == "failed")
    kinds.update(
        one.transaction.error_kind or "other" for one in found if one.transaction.status == "failed" and not one.objects
    )
    return TroubleRow(
        workload=workload,
        direction=direction,
        objects=len(objects),
        done=outcomes["done"],
        retries=sum(stored.exchange.retries for stored in objects),
        retry_causes=dict(causes.most_common()),
        retried_objects=sum(stored.exchange.retries > 0 for stored in objects),
        errors=outcomes["write_error"] + outcomes["read_error"],
        failed=outcomes["failed"],
        failed_kinds=dict(kinds.most_common()),
        transactions=len(found),
        transactions_failed=sum(one.transaction.status == "failed" for one in found),
        availability_by_retries=_availability(objects),
    )


def _availability(objects: Sequence[StoredObject]) -> dict[str, float]:
    retries = Counter(stored.exchange.retries for stored in objects if stored.outcome == "done")
    largest = max(retries, default=-1)
    steps = range(largest + 1) if largest < _MOST_STEPS else sorted(retries)
    return {str(most): sum(n for made, n in retries.items() if made <= most) / len(objects) for most in steps}
