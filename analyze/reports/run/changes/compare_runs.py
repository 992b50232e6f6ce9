"""What changed between two runs: every metric of probes, data transfers and pings, by index and over all indices.

Transfers are compared with transfers of the same index, role and size. Each line has its sizes of effect and a
permutation test (`vmtrace.analyze.stats.two_samples`); p values are adjusted for the number of lines, so that two runs
that do not differ give any line marked as changed with a probability of at most 5 %.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.limits import time_share_of
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, kernel_retransmission_rate, measured
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats.estimates import CONFIDENCE, Floats, holm
from vmtrace.analyze.stats.two_samples import FEWEST, PERMUTATIONS, Difference, Group, difference, levels
from vmtrace.analyze.words.factors import FACTORS
from vmtrace.analyze.words.units import si
from vmtrace.formats.quantities import plural

Part = Literal["probe", "data", "ping"]

_PERMUTATIONS_FOR_EACH = 40
"""So many for each line: with fewer, the least p value that there can be would not survive the adjustment."""


OF_PROGRAMS: dict[str, Callable[[Sequence[MeasuredTransfer]], Floats]] = {
    "goodput_bps": goodput_bps,
    "kernel_retransmission_rate": kernel_retransmission_rate,
}
"""What is known of a transfer without a capture, by the name that it has in the reports on runs."""
OF_CAPTURES: dict[str, Callable[[Measures], float | None]] = {
    "rtt_median_s": lambda one: one.rtt_median_s,
    "rtt_p99_s": lambda one: one.rtt_p99_s,
    "loss_rate": lambda one: one.loss_rate,
    "spacing_mean_s": lambda one: one.spacing_mean_s,
    "oversize_time_s": lambda one: one.oversize_time_s,
    "window_mean_bytes": lambda one: one.window_mean_bytes,
    "window_limited_fraction": lambda one: one.window_limited_fraction,
}
LIMITED_BY = {f"limited_by_{factor}": factor for factor in FACTORS}
"""The share of a transfer's time that a factor limited, by the name it has here."""


OF_CAPTURES |= {name: time_share_of(factor) for name, factor in LIMITED_BY.items()}
PING = "ping_mean_s"
"""Of the baseline before each pair."""


@dataclass(frozen=True, slots=True)
class Change:
    """One metric of one index and part; an `index` of None puts all indices together."""

    index: str | None
    part: Part
    metric: str
    n_before: int
    n_after: int
    median_before: float | None
    """None where indices are put together: they have sizes of their own."""
    median_after: float | None
    level_before: float
    """What `difference` is between: medians where it has a ratio of them, else means; of all indices, their mean."""
    level_after: float
    difference: Difference
    p_adjusted: float | None = None
    reason: str | None = None
    """Why there was no test."""

    @property
    def change(self) -> Literal["higher", "lower"] | None:
        """Which way it changed; None if no change is established."""
        delta = self.difference.cliffs_delta.value
        if self.p_adjusted is None or self.p_adjusted > 1 - CONFIDENCE or not delta:
            return None
        return "higher" if delta > 0 else "lower"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs and what is different about them."""

    before: RunResults
    after: RunResults
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    """What could not be compared, one line each."""

    @property
    def tested(self) -> int:
        """How many lines the p values are adjusted for."""
        return sum(change.p_adjusted is not None for change in self.changes)

    @property
    def established(self) -> list[Change]:
        """What did change."""
        return [change for change in self.changes if change.change is not None]


def compare_runs(before: RunResults, after: RunResults, only: Callable[[str], bool] | None = None) -> RunComparison:
    """Compare run with run, in all metrics or only some of them; p is adjusted for those."""
    notes = list[str]()
    samples = [one for one in _samples(before, after, notes) if only is None or only(one.metric)]
    permutations = max(PERMUTATIONS, _PERMUTATIONS_FOR_EACH * len(samples) - 1)
    found = [_change(sample, permutations) for sample in samples]
    adjusted = holm([change.difference.p for change in found])
    changes = tuple(replace(change, p_adjusted=p) for change, p in zip(found, adjusted, strict=True))
    return RunComparison(before, after, changes, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Sample:
    """One metric of one index and part (all indices: None), a group for each index."""

    index: str | None
    part: Part
    metric: str
    groups: tuple[Group, ...]


def _samples(before: RunResults, after: RunResults, notes: list[str]) -> Iterator[_Sample]:
    by_index = [one for index in _common(before, after, notes) for one in _of_index(before, after, index, notes)]
    never = {(one.part, one.metric) for one in by_index if one.metric in LIMITED_BY} - {
        (one.part, one.metric) for one in by_index for group in one.groups if group.before.any() or group.after.any()
    }
    by_index = [one for one in by_index if (one.part, one.metric) not in never]
    names = list(dict.fromkeys((one.part, one.metric) for one in by_index))
    if len({one.index for one in by_index}) > 1:
        for part, metric in names:
            groups = [one.groups[0] for one in by_index if (one.part, one.metric) == (part, metric)]
            yield _Sample(None, part, metric, tuple(groups))
    yield from by_index


def _common(before: RunResults, after: RunResults, notes: list[str]) -> list[str]:
    there = [[index for index in run.indices if run.of("data", index)] for run in (before, after)]
    for run, (ours, theirs) in ((before, there), (after, there[::-1])):
        alone = [index for index in ours if index not in theirs]
        if alone:
            notes.append(f"only in {run.name}: {', '.join(alone)}")
    return [index for index in there[0] if index in there[1]]


def _of_index(before: RunResults, after: RunResults, index: str, notes: list[str]) -> Iterator[_Sample]:
    for role in ROLES:
        ours, theirs = before.of(role, index), after.of(role, index)
        sizes = [sorted({(one.transfer.bytes, one.transfer.direction) for one in side}) for side in (ours, theirs)]
        if sizes[0] != sizes[1]:
            shown = (", ".join(f"{si(size, 'B')} {way}" for size, way in side) for side in sizes)
            notes.append(f"{index}, {role}: not compared, other sizes ({' and '.join(shown)})")
            continue
        for name, values in OF_PROGRAMS.items():
            yield from _sample(index, role, name, values(ours), values(theirs))
        ours, theirs = _captured_alike(ours, theirs, f"{index}, {role}", notes)
        for name, get in OF_CAPTURES.items():
            yield from _sample(index, role, name, measured(ours, get), measured(theirs, get))
    pings = (np.array([one.mean_s for one in run.baselines(index)], np.float64) for run in (before, after))
    yield from _sample(index, "ping", PING, *pings)


def _captured_alike(
    ours: list[MeasuredTransfer], theirs: list[MeasuredTransfer], what: str, notes: list[str]
) -> tuple[list[MeasuredTransfer], list[MeasuredTransfer]]:
    """Those captured at the same end: loss and spacing are not the same where data was sent and where it arrived."""
    places = [Counter(one.measures.captured_at for one in side if one.measures.captured_at) for side in (ours, theirs)]
    place = max(places[0] | places[1], key=lambda name: min(side[name] for side in places), default=None)
    kept = tuple([one for one in side if one.measures.captured_at == place] for side in (ours, theirs))
    left_out = sum(side.total() for side in places) - sum(len(side) for side in kept)
    if place is not None and left_out:
        notes.append(f"{what}: {plural(left_out, 'transfer')} left out, not captured at the {place} as the others were")
    return kept[0], kept[1]


def _sample(index: str, part: Part, metric: str, before: Floats, after: Floats) -> Iterator[_Sample]:
    """What was measured in both runs; nothing, if one of them has not a single value."""
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    if len(before) and len(after):
        yield _Sample(index, part, metric, (Group(before, after),))


def _change(sample: _Sample, permutations: int) -> Change:
    n_before = sum(len(one.before) for one in sample.groups)
    n_after = sum(len(one.after) for one in sample.groups)
    found = difference(sample.groups, permutations)
    reason = None
    if found.p is None:
        few = min(n_before, n_after) < FEWEST
        reason = f"fewer than {FEWEST} values on a side" if few else "all values are the same"
    level_before, level_after = levels(sample.groups, of_medians=found.ratio_of_medians.value is not None)
    alone = sample.groups[0] if sample.index is not None else None
    return Change(
        index=sample.index,
        part=sample.part,
        metric=sample.metric,
        n_before=n_before,
        n_after=n_after,
        median_before=float(np.median(alone.before)) if alone else None,
        median_after=float(np.median(alone.after)) if alone else None,
        level_before=level_before,
        level_after=level_after,
        difference=found,
        reason=reason,
    )
