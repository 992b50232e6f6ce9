"""The answer for a run: how unstable throughput is, and of every metric whether it varies with it.

A metric is named only if the association is beyond chance after correcting for lags and for all metrics asked, and has
the direction in which it could harm. That is a relation, not a proof: a cause comes with one. `not_the_cause` needs
evidence, too: no association, and either nothing of it that could burden a host, or an effect known to be small.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.read.side.metrics import Metric
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps
from vmtrace.analyze.reports.run.side_data import side_data
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.variation.candidates import Candidate, candidates
from vmtrace.analyze.stats.association import FEWEST, Association, associate
from vmtrace.analyze.stats.effect import Effect, effect
from vmtrace.analyze.stats.estimates import ABSENT, Floats, holm
from vmtrace.analyze.stats.spread import Spread, relative, spread
from vmtrace.analyze.tables.schema.typed import FLAT

Judgement = Literal[
    "varies_with", "consistent_with", "rises_with", "not_the_cause", "undecided", "too_few", "not_measured",
]  # fmt: skip

SIGNIFICANT = 0.05
_ROUNDING = 1e-12
SMALL_EFFECT = 0.1
"""A change of throughput that is called none: chosen here, as the spread that is called steady."""

_NO_ASSOCIATION = Association(ABSENT, ABSENT, None, 0, 0, None)


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """How unstable throughput is, of one index or (None) all."""

    index: str | None
    role: Role
    spread: Annotated[Spread, FLAT]


@dataclass(frozen=True, slots=True)
class Levels:
    """The metric's values over the transfers."""

    transfers: int
    least: float | None
    median: float | None
    p95: float | None
    most: float | None

    @property
    def constant(self) -> bool:
        """True if it is the same for all transfers, but for rounding."""
        if self.least is None or self.most is None:
            return False
        return self.most - self.least <= _ROUNDING * max(abs(self.least), abs(self.most))


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric against throughput of one role's transfers."""

    role: Role
    metric: Metric
    judgement: Judgement
    levels: Levels
    period_s: float | None
    coverage: float | None
    weight: float | None
    association: Association | None
    p_adjusted: float | None
    effect: Effect | None
    reason: str | None
    """Why there is no more to say; None if all was measured."""

    @property
    def lag_s(self) -> float | None:
        """By how much the metric came before throughput; below 0 it came later."""
        return self.association.lag * self.period_s if self.association and self.period_s is not None else None


@dataclass(frozen=True, slots=True)
class Variation:
    """The whole answer."""

    spreads: tuple[SpreadRow, ...]
    findings: tuple[Finding, ...]

    def overall(self, role: Role) -> Spread:
        """The spread of all indices together."""
        return next(row.spread for row in self.spreads if row.role == role and row.index is None)

    def of(self, role: Role) -> list[Finding]:
        """The findings of a role."""
        return [one for one in self.findings if one.role == role]


def variation(results: RunResults) -> Variation:
    """The answer for a run, worked out once."""
    return results.once("variation", lambda: _work_out(results))


def _work_out(results: RunResults) -> Variation:
    spreads, findings = list[SpreadRow](), list[Finding]()
    for role in ROLES:
        # In order of time: what was sent at the same time saw the same host.
        transfers = sorted(results.of(role), key=lambda one: one.transfer.start_ns)
        names = [one.pair.index for one in transfers]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        groups = np.array([numbers[name] for name in names], np.int64)
        throughput = relative(goodput_bps(transfers), groups)
        for index in results.indices:
            if index in numbers:
                spreads.append(SpreadRow(index, role, spread(throughput[groups == numbers[index]])))
        spreads.append(SpreadRow(None, role, spread(throughput, groups)))
        findings += _findings(role, transfers, throughput, groups, results)
    return Variation(tuple(spreads), tuple(findings))


@dataclass(frozen=True, slots=True)
class _Measured:
    candidate: Candidate
    values: Floats
    """At the best lag, of the transfers that have a relative throughput."""
    association: Association


def _findings(
    role: Role, transfers: list[MeasuredTransfer], throughput: Floats, groups: NDArray[np.int64], results: RunResults
) -> list[Finding]:
    known = np.where(throughput > 0, throughput, np.nan)
    measured = []
    for one in candidates(transfers, side_data(results)):
        if one.reason is not None:
            measured.append(_Measured(one, np.full(len(known), np.nan), _NO_ASSOCIATION))
            continue
        found = associate(np.log(known), one.by_lag, groups)
        measured.append(_Measured(one, np.where(np.isnan(known), np.nan, one.by_lag[found.lag]), found))
    adjusted = holm([one.association.p_value for one in measured])
    return [_finding(role, one, known, p) for one, p in zip(measured, adjusted, strict=True)]


def _finding(role: Role, one: _Measured, throughput: Floats, p_adjusted: float | None) -> Finding:
    candidate, association = one.candidate, one.association
    levels = _levels(one.values)
    found = None
    if association.p_value is not None and association.n_effective is not None:
        worth = min(1.0, association.n_effective / levels.transfers)
        found = effect(throughput, one.values, candidate.metric.harm, candidate.metric.split, worth)
    judgement = _judged(candidate, levels, association, p_adjusted, found)
    return Finding(
        role,
        candidate.metric,
        judgement,
        levels,
        candidate.period_s,
        candidate.coverage,
        candidate.weight,
        association if candidate.reason is None else None,
        p_adjusted,
        found,
        candidate.reason or association.reason,
    )


def _judged(
    candidate: Candidate, levels: Levels, association: Association, p_adjusted: float | None, found: Effect | None
) -> Judgement:
    if candidate.reason is not None or not levels.transfers:
        return "not_measured"
    if levels.transfers < FEWEST:
        return "too_few"
    if levels.constant:
        # What is always bad explains no difference, and may slow all transfers alike.
        none_of_it = candidate.metric.harm == "high" and levels.most == 0
        return "not_the_cause" if none_of_it or _harmless(candidate.metric, levels) else "undecided"
    if association.p_value is None or p_adjusted is None:
        return "too_few"
    if p_adjusted < SIGNIFICANT and not _small(found):
        falls = (association.spearman.value or 0.0) < 0
        if falls != (candidate.metric.harm == "high"):
            return "rises_with"
        # What comes after a slow transfer did not make it slow.
        return "varies_with" if candidate.about_the_transfers and association.lag >= 0 else "consistent_with"
    if _harmless(candidate.metric, levels) or _small(found):
        return "not_the_cause"
    return "undecided"


def _harmless(metric: Metric, levels: Levels) -> bool:
    return metric.harmless is not None and levels.p95 is not None and levels.p95 <= metric.harmless


def _small(found: Effect | None) -> bool:
    """True if the whole interval of the effect is small, either way."""
    if found is None or found.lower.low is None or found.lower.high is None:
        return False
    return max(abs(found.lower.low), abs(found.lower.high)) <= SMALL_EFFECT


def _levels(values: Floats) -> Levels:
    known = values[~np.isnan(values)]
    if not len(known):
        return Levels(0, None, None, None, None)
    least, median, p95, most = (float(one) for one in np.quantile(known, [0, 0.5, 0.95, 1]))
    return Levels(len(known), least, median, p95, most)
