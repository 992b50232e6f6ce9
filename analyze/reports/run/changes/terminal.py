"""What changed between two runs, on the terminal: all indices together, and what changed within single ones."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vmtrace.analyze.reports.run.changes.compare_runs import Change, RunComparison
from vmtrace.analyze.reports.run.verdict.findings import finding_lines
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.reports.run.verdict.of_set import verdict_change
from vmtrace.analyze.stats.estimates import CONFIDENCE, Estimate
from vmtrace.analyze.tables.table import Column
from vmtrace.analyze.tables.table import shown as of_records
from vmtrace.analyze.tables.terminal_table import terminal_table
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share, si
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_TIMES = "\N{MULTIPLICATION SIGN}"
_LEAST_SHOWN_P = 0.001
_NOTES_SHOWN = 5


def show(comparison: RunComparison, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    console.print(Text(headline(comparison), "bold"), soft_wrap=True)
    for line in heading(comparison):
        console.print(Text(line), soft_wrap=True)
    for line in trouble(comparison):
        console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
    console.print()
    console.print(table(comparison, console.width))
    for line in verdict(comparison):
        console.print(Text(line), soft_wrap=True)
    for line in causes(comparison):
        console.print(Text(line), soft_wrap=True)


def headline(comparison: RunComparison) -> str:
    """How throughput of data transfers changed; that nothing can be said of it, and why."""
    change = _of_throughput(comparison)
    if change is None:
        return "Throughput of data transfers cannot be compared: no index has data transfers of the same size in both."
    if change.reason:
        return f"Throughput of data transfers: no answer, {change.reason}."
    word = {"higher": "higher", "lower": "lower", None: "no significant change"}[change.change]
    return f"Throughput of data transfers: {word} ({_effect(change)})."


def _of_throughput(comparison: RunComparison) -> Change | None:
    """Over all indices, or of the only one."""
    found = [one for one in comparison.changes if (one.part, one.metric) == ("data", "goodput_bps")]
    together = [one for one in found if one.index is None]
    return next(iter(together or found), None)


def _effect(change: Change) -> str:
    """Ratio, interval and p: `x1.23, 95 % 0.9 to 1.6, p = 0.3`."""
    ratio = change.difference.ratio_of_medians
    parts = [f"{_TIMES}{ratio.value:.3g}"] if ratio.value is not None else []
    if ratio.low is not None and ratio.high is not None:
        parts.append(f"{CONFIDENCE:.0%} {ratio.low:.3g} to {ratio.high:.3g}".replace("%", " %"))
    if change.p_adjusted is not None:
        shown_p = _shown_p(change.p_adjusted)
        parts.append(f"p {shown_p}" if shown_p.startswith("<") else f"p = {shown_p}")
    return ", ".join(parts)


def causes(comparison: RunComparison) -> Iterator[str]:
    """What limited either run, and what held its transfers back: findings as every command prints them."""
    runs = (("before", comparison.before), ("after", comparison.after))
    if any(run_verdict(run).judged for _, run in runs):
        yield verdict_change(comparison).sentence
    for word, run in runs:
        yield from (f"{word}: {line}" for line in finding_lines(run))


def heading(comparison: RunComparison) -> Iterator[str]:
    """Which runs."""
    for word, results in (("before", comparison.before), ("after", comparison.after)):
        pairs = plural(len(results.run.complete_pairs), "pair")
        yield f"{word + ':':<8}{printable(results.name)}, {pairs} from {instant(results.run.record.start_ns)}"


def trouble(comparison: RunComparison) -> Iterator[str]:
    """What was not compared, and what could not be read."""
    yield from (printable(note) for note in comparison.notes[:_NOTES_SHOWN])
    if len(comparison.notes) > _NOTES_SHOWN:
        yield f"and {plural(len(comparison.notes) - _NOTES_SHOWN, 'more note')}: --json has all"
    for results in (comparison.before, comparison.after):
        yield from (printable(f"{results.name}: {problem}") for problem in results.problems)


def shown(comparison: RunComparison) -> list[Change]:
    """All indices together, and of the single ones what did change; of one index alone everything."""
    together = [change for change in comparison.changes if change.index is None]
    return [*together, *(one for one in comparison.established if one.index is not None)] or list(comparison.changes)


def table(comparison: RunComparison, width: int) -> "RenderableType":
    """One row for each metric; what changed stands out."""
    made = of_records(COLUMNS, shown(comparison), total=lambda change: bool(change.change))
    return terminal_table(made, width, style=lambda row, _: "bold" if row.total else "")


def _delta(change: Change) -> str:
    delta = change.difference.cliffs_delta.value
    return ABSENT if delta is None else f"{delta:+.2f}"


def verdict(comparison: RunComparison) -> Iterator[str]:
    """In a sentence: how much changed, and what that rests on."""
    yield ""
    if not comparison.tested:
        yield f"nothing could be tested: {_why_nothing(comparison)}"
        return
    number = len(comparison.established)
    word = f"{plural(number, 'change')} established" if number else "no change established"
    yield f"{word} among {plural(comparison.tested, 'metric')} tested; p is adjusted for their number (Holm)"


def _why_nothing(comparison: RunComparison) -> str:
    reasons = dict.fromkeys(change.reason for change in comparison.changes if change.reason)
    return ", ".join(reasons) or "no metric was measured in both runs"


def _changed_by(change: Change) -> str:
    """The ratio of medians; where there is none, the difference of means."""
    ratio = change.difference.ratio_of_medians
    if ratio.value is not None:
        return f"{_TIMES}{_with_interval(ratio, lambda value: f'{value:.3g}')}"
    show_value = _formatter(change.metric)
    return _with_interval(
        change.difference.difference_of_means,
        lambda value: f"{'-' if value < 0 else '+'}{show_value(abs(value))}" if value else "0",
    )


def _with_interval(estimate: Estimate, shown_as: Callable[[float], str]) -> str:
    if estimate.value is None:
        return ABSENT
    between = ""
    if estimate.low is not None and estimate.high is not None:
        between = f" [{shown_as(estimate.low)}, {shown_as(estimate.high)}]"
    return f"{shown_as(estimate.value)}{between}"


def _formatter(metric: str) -> Callable[[float | None], str]:
    if metric.endswith("_s"):
        return seconds
    if metric.endswith("_bps"):
        return lambda value: si(value, "bit/s")
    if metric.endswith("_bytes"):
        return lambda value: si(value, "B")
    return share


def _shown_p(p: float | None) -> str:
    if p is None:
        return ABSENT
    return f"<{_LEAST_SHOWN_P}" if p < _LEAST_SHOWN_P else f"{p:.3f}"


COLUMNS: tuple[Column[Change], ...] = (
    Column("index", lambda change: printable(change.index or "all"), left=True),
    Column("part", lambda change: change.part, left=True),
    Column("metric", lambda change: change.metric, left=True, wraps=True),
    Column("n", lambda change: f"{count(change.n_before)}/{count(change.n_after)}", least_width=120),
    Column("before", lambda change: _formatter(change.metric)(change.level_before)),
    Column("after", lambda change: _formatter(change.metric)(change.level_after)),
    Column("change [95 %]", _changed_by, wraps=True),
    Column("Cliff's delta", _delta, least_width=130),
    Column("p", lambda change: _shown_p(change.p_adjusted)),
    Column("", lambda change: change.change or "", left=True),
)
"""The same on the page; `--json` has what a narrow terminal leaves out."""
