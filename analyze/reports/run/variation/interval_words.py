"""What hosts did while a factor limited, in sentences."""

from collections.abc import Iterator, Sequence

from vmtrace.analyze.read.side.overlap import ENOUGH
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.intervals import IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import doubts, level, metric_names
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.units import printable, seconds
from vmtrace.formats.quantities import plural

_HOLDER, _COMES_AFTER = ("the intervals", "the intervals are"), "what it would explain"
_TOLD = ("varies_with", "consistent_with")


def interval_sentence(one: IntervalFinding) -> str:
    """One metric and one factor."""
    label, factor = printable(one.metric.full_label), in_words([one.factor])
    if one.judgement in ("not_measured", "too_few"):
        return f"{label}, during {factor}: {one.reason or 'too few periods'}"
    if one.inside == 0 and one.p95_inside == 0 and one.judgement == "not_the_cause":
        return f"{label} was 0 during {factor}: not the cause"
    means = f"{level(one.metric, one.inside)} during {factor} and {level(one.metric, one.outside)} outside of it"
    said = f"{label} was {means}{_difference(one)}"
    if one.judgement == "not_the_cause":
        if not one.low:
            return f"{said}: hardly different, so not what sets these intervals apart"
        return f"{said}: low (p95 {level(one.metric, one.p95_inside)}{_at_most(one)}), not the cause"
    if one.judgement == "varies_with":
        return f"{said}: it goes with it{_lag(one)}"
    if one.judgement == "consistent_with":
        return f"{said}{_lag(one)}: consistent with it, no more ({doubts(one, _HOLDER, _COMES_AFTER)})"
    if one.judgement == "rises_with":
        return f"{said}: on the harmless side"
    return f"{said}: no relation shown"


def interval_lines(results: RunResults) -> Iterator[str]:
    """What goes with a factor; and for what limited the run and for stops, what does not."""
    found = interval_findings(results)
    if not found:
        return
    first = run_verdict(results)
    of_interest = {"host_stall", "unknown", first.factor, first.runner_up}
    for factor in dict.fromkeys(one.factor for one in found):
        own = [one for one in found if one.factor == factor]
        shown = [one for one in own if one.judgement in _TOLD]
        clear = [one for one in own if one.judgement == "not_the_cause"] if factor in of_interest else []
        if not shown and not clear:
            continue
        yield ""
        number = f"{plural(own[0].intervals, 'interval')} in {plural(own[0].transfers, 'transfer')}"
        yield f"while {in_words([factor])} limited ({number}):"
        yield from (f"  {interval_sentence(one)}" for one in shown)
        yield from _clear(clear)


def _clear(clear: Sequence[IntervalFinding]) -> Iterator[str]:
    nothing = [one for one in clear if one.inside == 0]
    alike = [one for one in clear if one.inside != 0 and not one.low]
    yield from (f"  {interval_sentence(one)}" for one in clear if one not in nothing and one.low)
    words = ("hardly different, so not what sets these intervals apart", "always zero: ruled out")
    for word, chosen in zip(words, (alike, nothing), strict=True):
        if chosen:
            yield f"  {word}: {metric_names(one.metric for one in chosen)}"


def _at_most(one: IntervalFinding) -> str:
    """What a mean over longer than the intervals leaves possible inside of them."""
    if one.most_inside is None or (one.weight or 0.0) >= ENOUGH:
        return ""
    return f", at most {level(one.metric, one.most_inside)} in the intervals alone"


def _difference(one: IntervalFinding) -> str:
    found = one.difference
    if found.value is None or found.low is None or found.high is None:
        return ""
    if one.metric.unit == "share":
        return f" ({100 * found.value:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}] points)"
    return f" ({found.value:+.3g} [{found.low:+.3g}, {found.high:+.3g}])"


def _lag(one: IntervalFinding) -> str:
    lag_s = one.lag_s
    if not lag_s:
        return ""
    return f", {seconds(abs(lag_s))} {'before' if lag_s > 0 else 'after'}"
