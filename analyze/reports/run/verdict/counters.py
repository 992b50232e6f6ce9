"""What the hosts' own counters say of stalls that the packets show: steal, pressure and quotas confirm or refute them.

Where they prove that a program lacked a processor while packets show it waiting, the host is the cause.

Rule: docs/verdict.md, "Counters of hosts that stall".
"""

from collections.abc import Sequence

from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.intervals import IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import level, metric_names
from vmtrace.analyze.words.units import printable

_STALL, _APPLICATION = "host_stall", "application"
_OWN = ("_run_delay", "_throttled")
"""Of the program alone: their level says what it lacked, whatever it was outside of the intervals."""
_TELLING = ("_cpu_steal", "_pressure_cpu", *_OWN)
_LACKED = 0.3
"""Of the intervals' time."""
_CONFIRMS = ("varies_with", "consistent_with")


def is_starved(results: RunResults) -> bool:
    """Whether the application's waits are the host's: counters prove that it lacked a processor for that time."""
    found = _telling(results, _APPLICATION)
    return any((one.inside or 0.0) >= _LACKED for one in found if one.judgement in _CONFIRMS or _is_own(one))


def counters_sentence(results: RunResults, factor: str) -> str | None:
    """A sentence for the verdict; None where the factor is another one, or nothing telling was counted."""
    if factor not in (_STALL, _APPLICATION):
        return None
    found = _telling(results, factor)
    confirming = [one for one in found if one.judgement in _CONFIRMS]
    if confirming:
        return _confirmed(factor, max(confirming, key=lambda one: one.difference.value or 0.0))
    lacked = [one for one in found if _is_own(one) and (one.inside or 0.0) >= _LACKED]
    if lacked:
        return _lacked(factor, max(lacked, key=lambda one: one.inside or 0.0))
    if factor == _STALL and found and all(one.judgement == "not_the_cause" for one in found):
        return _refuted(found)
    return None


def _telling(results: RunResults, factor: str) -> list[IntervalFinding]:
    return [one for one in interval_findings(results) if one.factor == factor and one.metric.name.endswith(_TELLING)]


def _is_own(one: IntervalFinding) -> bool:
    return one.metric.name.endswith(_OWN)


def _confirmed(factor: str, one: IntervalFinding) -> str:
    label = printable(one.metric.full_label)
    inside, outside = level(one.metric, one.inside), level(one.metric, one.outside)
    if factor == _APPLICATION:
        return f"It lacked a processor: {label} was {inside} during its waits and {outside} outside of them."
    return f"The host's own counters agree: {label} was {inside} during the stalls and {outside} outside of them."


def _lacked(factor: str, one: IntervalFinding) -> str:
    when = "its waits" if factor == _APPLICATION else "the stalls"
    label = printable(one.metric.full_label)
    return f"It lacked a processor, as a host that stalls: {label} was {level(one.metric, one.inside)} during {when}."


def _refuted(found: Sequence[IntervalFinding]) -> str:
    names = metric_names(one.metric for one in found)
    return f"The hosts' own counters do not show it ({names}). A guest that is stopped as a whole counts nothing."
