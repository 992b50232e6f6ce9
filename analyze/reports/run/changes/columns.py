"""The changes between two runs as columns for `--fail-if`: a row for each index, after one for all together.

A number is there only where a change is established. A threshold is thus never crossed by chance alone, however noisy
the runs are; a run of which too little was measured crosses none, and `could_be_judged` says so.
"""

from collections.abc import Iterable, Sequence

from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.changes.compare_runs import OF_CAPTURES, OF_PROGRAMS, PING, Change, RunComparison

KINDS = ("ratio", "difference", "delta")
CHANGES = "changes"
"""How many metrics of an index did change."""

Columns = dict[str, Sequence[float | None]]


def rows(comparison: RunComparison) -> list[str | None]:
    """The indices that were compared; None for all together."""
    return list(dict.fromkeys(change.index for change in comparison.changes))


def names() -> list[str]:
    """Of all columns that there can be."""
    return [CHANGES, *(f"{stem}_{kind}" for stem in _stems() for kind in KINDS)]


def columns(comparison: RunComparison) -> Columns:
    """Each column by name; those of a transfer's metric begin with its role."""
    indices = rows(comparison)
    established = {(one.index, _stem(one)): one for one in comparison.established}
    found: Columns = {CHANGES: [sum(one.index == index for one in comparison.established) for index in indices]}
    for stem in _stems():
        changes = [established.get((index, stem)) for index in indices]
        for kind in KINDS:
            found[f"{stem}_{kind}"] = [_value(change, kind) for change in changes]
    return found


def could_be_judged(comparison: RunComparison, wanted: Iterable[str]) -> bool:
    """True if something that one of these columns is about was tested."""
    tested = {f"{_stem(one)}_{kind}" for one in comparison.changes if one.p_adjusted is not None for kind in KINDS}
    return any(name in tested or (name == CHANGES and tested) for name in wanted)


def _stems() -> list[str]:
    return [*(f"{role}_{metric}" for role in ROLES for metric in (*OF_PROGRAMS, *OF_CAPTURES)), PING]


def _stem(change: Change) -> str:
    return change.metric if change.part == "ping" else f"{change.part}_{change.metric}"


def _value(change: Change | None, kind: str) -> float | None:
    if change is None:
        return None
    found = change.difference
    return {
        "ratio": found.ratio_of_medians.value,
        "difference": found.difference_of_means.value,
        "delta": found.cliffs_delta.value,
    }[kind]
