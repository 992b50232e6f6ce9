"""What is different between runs about what limited them: the verdicts side by side, and each factor's share of time.

Rule: docs/verdict.md, "Verdicts on several runs".

A verdict that is another one is told; that it changed is established only by the shares of time in single transfers,
which are compared as every metric of two runs is (`vmtrace.analyze.reports.run.changes.compare_runs`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.changes.compare_runs import LIMITED_BY, Change, RunComparison, compare_runs
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.of_run import RunVerdict, run_verdict
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.tables.schema.typed import Share, one_of
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.units import printable, share


@dataclass(frozen=True, slots=True)
class FactorChange:
    """A factor's share of a transfer's time in one run against another, over all indices that both have."""

    role: Role
    factor: str
    difference: Estimate
    """Of means: after less before."""
    p_adjusted: Share | None
    change: Annotated[str, one_of("higher", "lower")] | None
    """`higher`, `lower`, or None if no change is established."""


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """Two runs' verdicts."""

    before: str
    after: str
    factor_before: str | None
    factor_after: str | None
    changed: bool | None
    """True if the factor is another one; None if a verdict is undecided."""
    sentence: str
    factors: tuple[FactorChange, ...]

    @property
    def established(self) -> list[FactorChange]:
        """The factors whose share did change."""
        return [one for one in self.factors if one.change is not None]


def verdict_changes(runs: Sequence[RunResults]) -> list[VerdictChange]:
    """Every run against the first one; nothing for one run alone."""
    if not runs:
        return []
    first = runs[0]
    return [first.once(("verdict_change", id(run)), partial(_change_between, first, run)) for run in runs[1:]]


def _change_between(first: RunResults, other: RunResults) -> VerdictChange:
    return verdict_change(compare_runs(first, other, only=LIMITED_BY.__contains__))


def verdict_change(comparison: RunComparison) -> VerdictChange:
    """Of two runs that were compared."""
    before, after = run_verdict(comparison.before), run_verdict(comparison.after)
    decided = not before.is_open and not after.is_open
    changed = before.factor != after.factor if decided else None
    factors = tuple(_factor_changes(comparison))
    names = (comparison.before.name, comparison.after.name)
    return VerdictChange(
        before=names[0],
        after=names[1],
        factor_before=None if before.is_open else before.factor,
        factor_after=None if after.is_open else after.factor,
        changed=changed,
        sentence=_sentence(names, (before, after), changed, factors),
        factors=factors,
    )


def _factor_changes(comparison: RunComparison) -> Iterable[FactorChange]:
    """One line for each role and factor: that over all indices, or of the only one there is."""
    for role in ROLES:
        of_role = [one for one in comparison.changes if one.part == role and one.metric in LIMITED_BY]
        chosen: dict[str, Change] = {}
        for one in of_role:
            # The line over all indices comes first; without one there is one index.
            chosen.setdefault(one.metric, one)
        for metric, one in chosen.items():
            yield FactorChange(role, LIMITED_BY[metric], one.difference.difference_of_means, one.p_adjusted, one.change)


def _sentence(
    names: tuple[str, str],
    verdicts: tuple[RunVerdict, RunVerdict],
    changed: bool | None,
    factors: Sequence[FactorChange],
) -> str:
    parts = [f"{printable(name)}: {_brief(found)}" for name, found in zip(names, verdicts, strict=True)]
    word = {True: "Another limit", False: "The same limit", None: "Whether the limit changed is undecided"}[changed]
    said = f"{word}: {'; '.join(parts)}."
    established = [one for one in factors if one.change is not None]
    if not established:
        tested = any(one.p_adjusted is not None for one in factors)
        more = "No change of any factor's share of time is established." if tested else (
            "Too little was measured in both to compare the factors' shares of time."
        )  # fmt: skip
        return f"{said} {more}"
    return " ".join([said, *map(change_words, sorted(established, key=lambda one: -abs(one.difference.value or 0.0)))])


def _brief(found: RunVerdict) -> str:
    if found.factor is None:
        return f"undecided, {found.reason}"
    if found.is_open:
        return f"undecided, {in_words(found.undetermined_between)}"
    return f"{in_words([found.factor])} ({share(found.share)} of the time)"


def change_words(one: FactorChange) -> str:
    """`Time limited by slow start in data transfers: -12 [-15, -9] percentage points.`"""
    return f"Time limited by {in_words([one.factor])} in {one.role} transfers: {points(one.difference)}."


def points(difference: Estimate) -> str:
    """A difference of shares, with its interval."""
    if difference.value is None:
        return "not known"
    between = ""
    if difference.low is not None and difference.high is not None:
        between = f" [{100 * difference.low:+.0f}, {100 * difference.high:+.0f}]"
    return f"{100 * difference.value:+.0f}{between} percentage points"
