"""The HTML report of storage runs: one file with all tables and zoomable figures, which needs no network."""

import json
from collections.abc import Mapping, Sequence
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
    }
    write_parts(parts, charts, provenance, path)


def write_parts(parts: Mapping[str, str], charts: Sequence[Chart], provenance: Record, path: Path) -> None:
    """Write a page of title, summary and tables (markup), with these figures behind them."""
    rest = {
        "provenance": escape(json.dumps(provenance, indent=2)),
        "data": in_script({"charts": [chart_page.of_chart(chart) for chart in charts]}),
        "library": plotly(),
        "script": scripts("run.js"),
    }
    write_page(resource("storage.html"), {**parts, **rest}, path)


def _summary(report: Report) -> str:
    wrong = "".join(f'<li class="trouble">{escape(line)}</li>' for line in trouble(report))
    plain = "".join(f"<li>{escape(line)}</li>" for line in facts(report))
    return f"<p>{escape(heading(report))}</p><ul>{wrong}{plain}</ul>"


def section(one: Table) -> str:
    """A table with its title and what it must be read with."""
    rows = table(one.head, ((list(row), False) for row in one.rows), left=range(one.left))
    hint = f'<p class="hint">{escape(one.hint)}</p>' if one.hint else ""
    return f'<section id="{one.name}" class="wide"><h2>{escape(one.title)}</h2>{rows}{hint}</section>'
