"""The answer for runs on one screen: verdict, rates and loss, what limited, how steady; the rest is `--all`'s.

Each run has its share of the lines. Blocks come in the order of what a reader asks first, and what does not fit is
counted. `vmtrace.analyze.reports.run.human` prints everything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.human import (
    baseline_lines,
    by_kernel,
    heading,
    limit_lines,
    metrics_on_terminal,
    metrics_table,
    relation_lines,
    trouble,
    two_sides_lines,
    wrapped,
)
from vmtrace.analyze.reports.run.losses.bursts import loss_burst_rows
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import metrics_rows
from vmtrace.analyze.reports.run.variation.findings import variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines
from vmtrace.analyze.reports.run.variation.words import HEADINGS, answer, spread_sentence
from vmtrace.analyze.reports.run.verdict.of_set import verdict_changes
from vmtrace.analyze.reports.run.verdict.words import verdict_lines
from vmtrace.analyze.stats.association import FEWEST
from vmtrace.analyze.tables.terminal_table import fits, height
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.reports.run.tables import MetricsRow

MOST_LINES = 36
"""Of the answer for all runs together; the place of the page and what the demo adds to it fit on the screen, too."""
_LEAST_LINES = 8
"""A run with fewer lines is not shown."""
_COMPACT = 20
"""With fewer lines, or with cards for rows, the table has the rows over all indices alone."""
_ROWS_SHOWN = 8
_CHANGES_SHOWN = 2
_TROUBLES_SHOWN, _PIECES_SHOWN, _SENTENCES_SHOWN = 4, 1, 3
_FOLDED = (HEADINGS["too_few"], HEADINGS["not_measured"])
"""Possible causes that nothing can be said about: counted, not listed."""


@dataclass(frozen=True, slots=True)
class Block:
    """What is shown together: lines of text, or rows of the table under them."""

    lines: tuple[str, ...] = ()
    rows: tuple["MetricsRow", ...] = ()
    style: str = ""
    spaced: bool = False
    """An empty line stands before and after the table."""
    must: bool = False
    """Shown even where it takes more than the share of its run."""

    def height(self, width: int) -> int:
        """Lines on a terminal of this width."""
        return sum(len(wrapped(line, width)) for line in self.lines) + (
            height(metrics_table(self.rows), width) + 2 * self.spaced if self.rows else 0
        )


def show(runs: Sequence[RunResults], console: "Console", most_lines: int = MOST_LINES) -> None:
    """Print the answer for these runs in about so many lines."""
    from rich.text import Text

    shown = runs[: max(1, most_lines // _LEAST_LINES)]
    changes = [one.sentence for one in verdict_changes(shown)]
    most_lines -= 2 * len(changes[:_CHANGES_SHOWN])
    left = len(changes[_CHANGES_SHOWN:])
    for number, results in enumerate(shown):
        if number:
            console.print()
        left += _show_run(results, console, most_lines // len(shown) - (number > 0))
    for sentence in changes[:_CHANGES_SHOWN]:
        console.print(Text("\n".join(wrapped(sentence, console.width))), soft_wrap=True)
    if len(runs) > len(shown):
        console.print(Text(f"and {plural(len(runs) - len(shown), 'more run')}: --all shows them", "dim"))
    if left:
        console.print(Text(f"{plural(left, 'more line')}: --all shows them", "dim"))


def _show_run(results: RunResults, console: "Console", most: int) -> int:
    """Print what fits; returns how many lines were left out."""
    from rich.text import Text

    used = left = 0
    narrow = not fits(metrics_table(metrics_rows(results)), console.width)
    for block in blocks(results, compact=most < _COMPACT or narrow):
        lines = block.height(console.width)
        if not block.must and used + lines > most:
            left += lines
            continue
        used += lines
        for line in block.lines:
            console.print(Text("\n".join(wrapped(line, console.width)), block.style), soft_wrap=True)
        if block.rows:
            space = [""] if block.spaced else []
            for one in (*space, metrics_on_terminal(block.rows, console.width), *space):
                console.print(one)
    return left


def blocks(results: RunResults, *, compact: bool = False) -> Iterator[Block]:
    """The answer in pieces, the first question first."""
    yield Block((heading(results),), style="bold", must=True)
    verdict = list(verdict_lines(results))
    said = [line for line in verdict if not line.startswith("  see ")]
    if said:
        yield Block(tuple(said), must=True)
    if compact:
        yield _rates(results, compact=True)
    troubles = [f"  {line}" for line in trouble(results)]
    yield from (Block((line,), style="yellow") for line in troubles[:_TROUBLES_SHOWN])
    yield from (Block((f"  {line}",)) for line in baseline_lines(results))
    yield from (Block((line,)) for line in verdict[len(said) : len(said) + _PIECES_SHOWN])
    if not compact:
        yield _rates(results, compact=False)
    yield from (Block((line,)) for line in limit_lines(results) if line)
    yield from (Block(lines) for lines in _steadiness(results))
    yield from (Block((row.sentence,)) for row in loss_burst_rows(results) if row.transfers)
    yield from (Block((line,)) for line in two_sides_lines(results))
    yield from (Block((line,)) for line in troubles[_TROUBLES_SHOWN:])
    yield Block(tuple(line for line in interval_lines(results) if line))
    yield Block(tuple(relation_lines(results)))
    yield from (Block((line,)) for line in verdict[len(said) + _PIECES_SHOWN :])


def _rates(results: RunResults, *, compact: bool) -> Block:
    """The table; of many indices, or in few lines, the rows over all of them."""
    rows = metrics_rows(results)
    if compact or len(rows) > _ROWS_SHOWN:
        rows = [row for row in rows if row.index is None] or rows[:_ROWS_SHOWN]
    star = ("* no capture: segments that the kernel retransmitted",) if any(map(by_kernel, rows)) else ()
    return Block(star, tuple(rows), spaced=not compact)


def _steadiness(results: RunResults) -> Iterator[tuple[str, ...]]:
    """How steady throughput is and what goes with it; possible causes without an answer are counted."""
    found = variation(results)
    unanswered = set()
    for role in ROLES:
        lines = [spread_sentence(role, found.overall(role))]
        for title, sentences in answer(found, role):
            if title not in _FOLDED:
                lines += [f"  {title}: {one}" for one in sentences[:_SENTENCES_SHOWN]]
        yield tuple(lines)
        unanswered |= {one.metric.full_label for one in found.of(role) if HEADINGS[one.judgement] in _FOLDED}
    if unanswered:
        causes = plural(len(unanswered), "possible cause")
        yield (f"{causes} were not measured, or need {FEWEST} or more transfers: --all lists them",)
