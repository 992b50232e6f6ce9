"""Periods: which are kept, how a range of time is aligned to them, when they are closed, and how long a point covers.

A point is stamped with the start of its period and covers [start, start + period). EndTime is exclusive.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vmtrace.cloudwatch.errors import CloudWatchError, UsageError

NS = 10**9
HIGH_RESOLUTION_S = (1, 5, 10, 20, 30)
CLOSED_PERIODS = 2
"""A value may still change while its period is open, and samples come late: it holds two periods after its own."""

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
_RETENTION = (  # finest period, kept for so long, in words
    (1, 3 * _HOUR_S, "3 hours"),
    (60, 15 * _DAY_S, "15 days"),
    (300, 63 * _DAY_S, "63 days"),
    (3600, 455 * _DAY_S, "455 days"),
)
_ALIGNMENT_S = 300
_SLACK_S = 1800
"""What is about to be dropped may be gone when it is asked for: after aligning the start, and waiting for the end."""


@dataclass(frozen=True, slots=True)
class Range:
    """A span of time that begins and ends where a period does."""

    start_ns: int
    end_ns: int

    @property
    def length_s(self) -> int:
        """How long it is."""
        return (self.end_ns - self.start_ns) // NS


@dataclass(frozen=True, slots=True)
class Asked:
    """What to ask for: the finest period, the range, and why the period is another than was wished."""

    period_s: int
    span: Range
    note: str | None

    def closed_ns(self) -> int:
        """When the last value of the range holds."""
        return self.span.end_ns + CLOSED_PERIODS * self.alignment_s * NS

    @property
    def alignment_s(self) -> int:
        """The coarsest period in use: five minutes, because some metrics have no shorter one, or what was asked for."""
        return _alignment_s(self.period_s)


def checked_period(period_s: int) -> int:
    """The period if CloudWatch has such; `UsageError` else."""
    if period_s in HIGH_RESOLUTION_S or (period_s > 0 and period_s % 60 == 0 and period_s <= _DAY_S):
        return period_s
    raise UsageError(f"--period {period_s}: must be 1, 5, 10, 20, 30 or a multiple of 60 seconds, at most a day")


def plan(start_ns: int, end_ns: int, now_ns: int, wished_s: int | None, margin_s: int) -> Asked:
    """How to ask for what happened from start to end, with a margin before it, to see what was usual."""
    kept_s = _finest_kept_s(start_ns, now_ns)
    period_s = wished_s or max(60, kept_s)
    note = None
    if period_s % kept_s:
        coarser_s = math.lcm(period_s, kept_s)
        note = f"periods of {coarser_s} s: {_retention_line(period_s)}, and the run began {_age(start_ns, now_ns)} ago"
        period_s = coarser_s
    elif wished_s is None and period_s > 60:
        note = f"periods of {period_s} s: {_retention_line(60)}, and the run began {_age(start_ns, now_ns)} ago"
    # The margin must not reach into what is kept in coarser periods only, which would have no points at all.
    oldest_ns = now_ns - (_kept_for_s(kept_s) - _SLACK_S) * NS
    start_ns = min(start_ns, max(start_ns - margin_s * NS, oldest_ns))
    return Asked(period_s, aligned(start_ns, end_ns, _alignment_s(period_s)), note)


def aligned(start_ns: int, end_ns: int, period_s: int) -> Range:
    """The smallest range of whole periods that holds all from start to end, and at least one period."""
    step = period_s * NS
    first = start_ns // step * step
    return Range(first, max(-(-end_ns // step) * step, first + step))


def is_open(start_ns: int, period_s: int, asked_ns: int) -> bool:
    """Whether a value could still change after it was asked for."""
    return asked_ns < start_ns + (1 + CLOSED_PERIODS) * period_s * NS


def spacing_s(starts_ns: Sequence[int]) -> int | None:
    """The longest period of which all distances between points are multiples; None with fewer than two points."""
    ordered = sorted(set(starts_ns))
    common = math.gcd(*(later - earlier for earlier, later in pairwise(ordered)))
    return common // NS if common >= NS else None


def monitoring(starts_ns: Sequence[int], asked_s: int) -> str | None:
    """`detailed` or `basic` by the points of a metric that follows the monitoring; None where they cannot tell."""
    found_s = spacing_s(starts_ns)
    if found_s is None or asked_s % 300 == 0:
        return None
    return "basic" if found_s % 300 == 0 else "detailed"


def _alignment_s(period_s: int) -> int:
    return math.lcm(period_s, _ALIGNMENT_S)


def _finest_kept_s(start_ns: int, now_ns: int) -> int:
    age_s = (now_ns - start_ns) / NS
    for period_s, kept_s, _ in _RETENTION:
        if age_s <= kept_s - _SLACK_S:
            return period_s
    raise CloudWatchError(
        f"the run began {_age(start_ns, now_ns)} ago: CloudWatch keeps nothing for longer than 455 days (a saved "
        "answer can be imported: --from FILE.json)"
    )


def _kept_for_s(finest_s: int) -> int:
    return next(kept_s for period_s, kept_s, _ in _RETENTION if period_s == finest_s)


def _retention_line(period_s: int) -> str:
    kept = [words for finest_s, _, words in _RETENTION if finest_s <= period_s][-1]
    return f"points of {period_s} s are kept for {kept}"


def _age(start_ns: int, now_ns: int) -> str:
    days = (now_ns - start_ns) / NS / _DAY_S
    return f"{days:.1f} days" if days >= 1 else f"{days * 24:.1f} hours"
