"""Limiting factors over time: what vmtrace tells beside what the witnesses know, weighted by time.

A round trip is the shortest time a rule looks at, so a moment is also right if what it was called was true within one
round trip of it; the strict share, without that, is told too.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vmtrace.lab.accuracy.limit_truth import Known

# Told of a time for which there is no interval.
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Told:
    """From, to (Unix nanoseconds, by the sender's time); the factor that was told."""

    start_ns: int
    end_ns: int
    factor: str


@dataclass(slots=True)
class TimeScore:
    """Nanoseconds by truth and by what was told; those that are right, strictly and within a round trip."""

    time_ns: Counter[tuple[str, str]] = field(default_factory=Counter)
    right_ns: int = 0
    strictly_right_ns: int = 0

    @property
    def all_ns(self) -> int:
        """Time judged."""
        return sum(self.time_ns.values())

    @property
    def share(self) -> float | None:
        """Share of the time that is right; none without any."""
        return self.right_ns / self.all_ns if self.all_ns else None

    def add(self, other: TimeScore) -> None:
        """Joins another transfer's."""
        self.time_ns.update(other.time_ns)
        self.right_ns += other.right_ns
        self.strictly_right_ns += other.strictly_right_ns


def told_of(direction: Mapping[str, Any], later_ns: int) -> list[Told]:
    """The intervals of a direction, brought to the sender's time: the capture saw them `later_ns` later."""
    return [
        Told(run["start_ns"] - later_ns, run["end_ns"] - later_ns, run["factor"])
        for run in direction.get("limit_intervals", ())
    ]


def score(known: Sequence[Known], told: Sequence[Told], round_trip_ns: int) -> TimeScore:
    """One transfer's time. What is right counts in the row of the name that was told; without an interval none is."""
    result = TimeScore()
    starts = [run.start_ns for run in told]
    by_factor: dict[str, list[Known]] = {}
    for truth in known:
        for factor in truth.factors:
            by_factor.setdefault(factor, []).append(truth)
    near = {factor: _Times(truths, round_trip_ns) for factor, truths in by_factor.items()}
    for truth in known:
        untold_ns = truth.end_ns - truth.start_ns
        at = max(bisect.bisect_right(starts, truth.start_ns) - 1, 0)
        for run in told[at:]:
            start_ns, end_ns = max(truth.start_ns, run.start_ns), min(truth.end_ns, run.end_ns)
            if run.start_ns >= truth.end_ns:
                break
            if start_ns >= end_ns:
                continue
            untold_ns -= end_ns - start_ns
            strictly = run.factor in truth.factors
            right_ns = near[run.factor].within_ns(start_ns, end_ns) if run.factor in near else 0
            result.time_ns[run.factor, run.factor] += right_ns
            result.time_ns[truth.factors[0], run.factor] += end_ns - start_ns - right_ns
            result.right_ns += right_ns
            result.strictly_right_ns += (end_ns - start_ns) * strictly
        result.time_ns[truth.factors[0], NOTHING] += untold_ns
    return result


class _Times:
    """Intervals in which something was true, and so much before and after them."""

    def __init__(self, truths: Iterable[Known], grace_ns: int) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for truth in sorted(truths, key=lambda truth: truth.start_ns):
            start_ns, end_ns = truth.start_ns - grace_ns, truth.end_ns + grace_ns
            if self._ends and start_ns <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end_ns)
            else:
                self._starts.append(start_ns)
                self._ends.append(end_ns)

    def within_ns(self, start_ns: int, end_ns: int) -> int:
        """How much of an interval lies in them."""
        first = bisect.bisect_right(self._ends, start_ns)
        last = bisect.bisect_left(self._starts, end_ns)
        return sum(min(self._ends[place], end_ns) - max(self._starts[place], start_ns) for place in range(first, last))


def table(result: TimeScore) -> str:
    """The confusion matrix in Markdown: seconds, truth down, told across."""
    columns = sorted({shown for (_, shown), time_ns in result.time_ns.items() if time_ns})
    lines = [f"| s | {' | '.join(columns)} | right |", f"|---|{'---:|' * (len(columns) + 1)}"]
    for truth in sorted({truth for (truth, _), time_ns in result.time_ns.items() if time_ns}):
        seconds = [result.time_ns[truth, shown] / 1e9 for shown in columns]
        share = result.time_ns[truth, truth] / 1e9 / max(sum(seconds), 1e-9)
        cells = (f"{value:.1f}" if value >= 0.05 else "" for value in seconds)
        lines.append(f"| {truth} | {' | '.join(cells)} | {share:.0%} |")
    return "\n".join(lines)
