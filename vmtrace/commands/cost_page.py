"""The HTML page of `vmtrace cost`: the answer, a year of each scenario, where the money goes; tables behind folds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.analyze.pages.blocks import Figures, Lines, Page, Section, Share, Shares, Text, summary
from vmtrace.analyze.pages.sections import further_figures, open_section, section
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.tables.table import Row, Table
from vmtrace.analyze.words.palette import CHARGES
from vmtrace.analyze.words.units import printable, share
from vmtrace.commands import cost_texts as texts
from vmtrace.commands.cost_charts import charts
from vmtrace.providers.costs.quantities import CATEGORIES

if TYPE_CHECKING:
    from vmtrace.providers.costs.differences import Difference
    from vmtrace.providers.costs.estimate import Estimate
    from vmtrace.providers.costs.quantities import Charges


def write_page(
    estimate: "Estimate", invoiced: "Mapping[str, Sequence[Difference]]", provenance: object, path: Path
) -> None:
    """Write the page; raises `OSError`."""
    write_report_page(page_of(estimate, invoiced, provenance), path)


def page_of(estimate: "Estimate", invoiced: "Mapping[str, Sequence[Difference]]", provenance: object) -> Page:
    """The page as data."""
    drawn = charts(estimate)
    return Page(
        title=printable(f"What {estimate.context.workload.name} costs"),
        facts=(printable(texts.about(estimate)),),
        answer=(
            Text(printable(estimate.sentence), "sentence"),
            *([Figures(tuple(drawn[:1]))] if drawn else []),
            *shares_bars(estimate),
            *summary("", _printable(texts.missing(estimate)), _printable(estimate.context.workload.notes), "note"),
        ),
        sections=(
            *further_figures(drawn[1:]),
            *_break_even(estimate),
            open_section(_table(texts.scenarios(estimate))),
            *(open_section(_table(sheet)) for sheet in texts.invoices(estimate, invoiced)),
            *_assumed(estimate),
            *(section(_table(sheet)) for sheet in (texts.sensitivity(estimate), texts.lines(estimate)) if sheet.rows),
        ),
        provenance=provenance,
    )


def shares_bars(estimate: "Estimate") -> tuple[Shares, ...]:
    """Where the money goes, of everything in the store and of the cheapest other way."""
    known = [one for one in estimate.charged if one.year_total]
    cheapest = min(known[1:], key=lambda one: one.year_total or 0.0, default=None)
    shown = [*known[:1], *([] if cheapest is None else [cheapest])]
    return tuple(_shares(one, estimate.context.table.currency) for one in shown)


def _shares(charges: "Charges", currency: str) -> Shares:
    total = charges.year_total or 0.0
    parts = tuple(
        Share(name, amount / total, f"{share(amount / total)}, {texts.shown(amount)} {printable(currency)}",
              *CHARGES[name])
        for name in CATEGORIES
        if (amount := charges.year[name] or 0.0)
    )  # fmt: skip
    return Shares(printable(f"{charges.scenario.name}: what a year's {texts.shown(total)} {currency} pay for"), parts)


def _break_even(estimate: "Estimate") -> tuple[Section, ...]:
    points = _printable(texts.break_even(estimate))
    return (Section("break-even", "Break-even", (Lines(points),)),) if points else ()


def _assumed(estimate: "Estimate") -> tuple[Section, ...]:
    assumed = _printable(texts.notes(estimate))
    return (Section("assumed", "What was assumed", (Lines(assumed),)),) if assumed else ()


def _table(table: Table) -> Table:
    rows = tuple(Row(_printable(row.texts)) for row in table.rows)
    return replace(table, title=printable(table.title), rows=rows)


def _printable(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(printable, lines))
