"""The table of what both sides' captures say together, over transfers."""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.results import RunResults, measured
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.tables.schema.typed import Count, Positive


@dataclass(frozen=True, slots=True)
class TwoSidesRow:
    """One index (None: all), probe or data. Counts are sums, estimates are over transfers, one value of each."""

    index: str | None
    role: Role
    transfers: Count
    """Whose captures of both sides were matched."""
    not_matched: Count
    """Captured on both sides, and yet not matched: their trouble says why."""
    data_segments: Count
    lost_segments: Count
    mean_loss_rate: Estimate
    median_one_way_delay_s: Estimate
    """Of the transfers' medians; true to within the clocks' offset error."""
    median_queueing_delay_s: Estimate
    """Of the transfers' median less least one-way delay: free of the clocks' offset."""
    gaps_at_sender: Count
    gaps_on_path: Count
    gaps_at_receiver: Count
    gaps_path_or_receiver: Count
    gaps_unlocated: Count


@dataclass(frozen=True, slots=True)
class ClockRow:
    """The receiver's clock against the sender's, over the transfers that tell it."""

    transfers: Count
    offset_s: float | None
    """The median over transfers."""
    offset_least_s: float | None
    offset_most_s: float | None
    offset_error_s: Positive | None
    """The median of the transfers' errors."""
    steps: Count


def two_sides_rows(results: RunResults) -> list[TwoSidesRow]:
    """For each index that has transfers captured on both sides, and then for all; nothing if no transfer has."""
    both = [one for one in results.transfers if _captured_twice(one)]
    used = {one.pair.index for one in both}
    groups: list[str | None] = [*(index for index in results.indices if index in used), None]
    if not both:
        return []
    rows = []
    for index in groups:
        for role in ROLES:
            chosen = [one for one in both if one.transfer.role == role and index in (None, one.pair.index)]
            rows.append(_row(index, role, chosen))
    return rows


def clock_row(results: RunResults) -> ClockRow:
    """Of the whole run."""
    offset = measured(results.transfers, lambda one: one.clock_offset_s)
    error = measured(results.transfers, lambda one: one.clock_offset_error_s)
    known = offset[~np.isnan(offset)]
    steps = sum(one.measures.clock_steps or 0 for one in results.transfers)
    if not len(known):
        return ClockRow(0, None, None, None, None, steps)
    median, least, most = (float(value) for value in (np.median(known), known.min(), known.max()))
    return ClockRow(len(known), median, least, most, float(np.nanmedian(error)), steps)


def _captured_twice(one: MeasuredTransfer) -> bool:
    return _matched(one) or one.measures.two_sides_problem is not None


def _matched(one: MeasuredTransfer) -> bool:
    return one.measures.two_sides_data_segments is not None


def _row(index: str | None, role: Role, both: list[MeasuredTransfer]) -> TwoSidesRow:
    matched = [one for one in both if _matched(one)]

    def total(name: str) -> int:
        return sum(getattr(one.measures, name) or 0 for one in matched)

    median_s = measured(matched, lambda one: one.one_way_delay_median_s)
    least_s = measured(matched, lambda one: one.one_way_delay_min_s)
    return TwoSidesRow(
        index=index,
        role=role,
        transfers=len(matched),
        not_matched=len(both) - len(matched),
        data_segments=total("two_sides_data_segments"),
        lost_segments=total("two_sides_lost_segments"),
        mean_loss_rate=estimates.mean(measured(matched, lambda one: one.two_sides_loss_rate)),
        median_one_way_delay_s=estimates.median(median_s),
        median_queueing_delay_s=estimates.median(median_s - least_s),
        gaps_at_sender=total("gaps_at_sender"),
        gaps_on_path=total("gaps_on_path"),
        gaps_at_receiver=total("gaps_at_receiver"),
        gaps_path_or_receiver=total("gaps_path_or_receiver"),
        gaps_unlocated=total("gaps_unlocated"),
    )
