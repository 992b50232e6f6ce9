"""The HTML report of storage runs: one file with all tables and zoomable figures, which needs no network."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from analyze.report.page_file import in_script, plotly, resource, scripts, write_page
from analyze.run import chart_page
from analyze.run.chart import Chart
from analyze.run.markup import table
from analyze.storage.tables import Record, Report
from analyze.storage.texts import Table, facts, heading, tables, trouble
from analyze.units import printable


def write_page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record, path: Path) -> None:
    """Write the report of these runs."""
    parts = {
        "title": escape(", ".join(printable(report.label) for report in reports)),
        "summary": "".join(map(_summary, reports)),
        "tables": "".join(map(section, tables(reports))),
        "provenance": escape(json.dumps(provenance, indent=2)),
        "data": in_script({"charts": [chart_page.of_chart(chart) for chart in charts]}),
        "library": plotly(),
        "script": scripts("run.js"),
    }
    write_page(resource("storage.html"), parts, path)


def _summary(report: Report) -> str:
    return summary_of(heading(report), trouble(report), facts(report))


def summary_of(head: str, wrong: Iterable[str], plain: Iterable[str]) -> str:
    """A run's heading, what is wrong with it, and what it shows."""
    items = [f'<li class="trouble">{escape(line)}</li>' for line in wrong]
    items += [f"<li>{escape(line)}</li>" for line in plain]
    return f"<p>{escape(head)}</p><ul>{''.join(items)}</ul>"


def section(one: Table) -> str:
    """A table with its title."""
    rows = table(one.head, ((list(row), False) for row in one.rows), left=range(one.left))
    hint = f'<p class="hint">{escape(one.hint)}</p>' if one.hint else ""
    return f'<section id="{one.name}" class="wide"><h2>{escape(one.title)}</h2>{rows}{hint}</section>'
