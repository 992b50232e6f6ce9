"""What changed between two runs, on the terminal: all indices together, and what changed within single ones."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from vmtrace.analyze.reports.run.changes.compare_runs import Change, RunComparison
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.reports.run.verdict.of_set import verdict_change
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.words.units import ABSENT, count, instant, plural, printable, seconds, share, si

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_TIMES = "\N{MULTIPLICATION SIGN}"
_LEAST_SHOWN_P = 0.001
_NOTES_SHOWN = 5
_CHANGED_BY = "change [95 %]"
_NO_WIDER = {"n": 120, "Cliff's delta": 130, "p": 80, "before": 70, "after": 70}
"""Columns that a terminal narrower than this leaves out; `--json` has them."""
_INTERVAL_FROM = 110
_WIDE = 120
COLUMNS = ("index", "part", "metric", "n", "before", "after", _CHANGED_BY, "Cliff's delta", "p", "")


def show(comparison: RunComparison, console: "Console") -> None:
    """Print the answer."""
    from rich.text import Text

    for line in heading(comparison):
        console.print(Text(line, "bold"), soft_wrap=True)
    for line in trouble(comparison):
        console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
    console.print()
    console.print(table(comparison, console.width))
    for line in verdict(comparison):
        console.print(Text(line), soft_wrap=True)
    if any(run_verdict(run).judged for run in (comparison.before, comparison.after)):
        console.print(Text(verdict_change(comparison).sentence), soft_wrap=True)


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


def table(comparison: RunComparison, width: int = _WIDE) -> "Table":
    """One row for each metric; what `--json` has, too, is left out where a terminal is narrow."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), collapse_padding=True)
    columns = [column for column in COLUMNS if width >= _NO_WIDER.get(column, 0)]
    rows = [dict(zip(COLUMNS, cells(one, interval=width >= _INTERVAL_FROM), strict=True)) for one in shown(comparison)]
    for column in columns:
        justify: Literal["left", "right"] = "left" if column in ("index", "part", "metric", "") else "right"
        # Names and intervals wrap; numbers and what they are about are never cut.
        wraps = column in ("metric", _CHANGED_BY)
        title = "change" if column == _CHANGED_BY and width < _INTERVAL_FROM else column
        least = None if wraps else max(len(text) for text in (title, *(row[column] for row in rows)))
        made.add_column(title, justify=justify, no_wrap=not wraps, overflow="fold", min_width=least)
    for change, row in zip(shown(comparison), rows, strict=True):
        style = "bold" if change.change else ""
        made.add_row(*(Text(row[column], style) for column in columns))
    return made


def cells(change: Change, *, interval: bool = True) -> list[str]:
    """One row, in the order of `COLUMNS`."""
    delta = change.difference.cliffs_delta.value
    return [
        printable(change.index or "all"),
        change.part,
        change.metric,
        f"{count(change.n_before)}/{count(change.n_after)}",
        _formatter(change.metric)(change.level_before),
        _formatter(change.metric)(change.level_after),
        _changed_by(change) if interval else _changed_by(change).partition(" [")[0],
        ABSENT if delta is None else f"{delta:+.2f}",
        _shown_p(change.p_adjusted),
        change.change or "",
    ]


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
