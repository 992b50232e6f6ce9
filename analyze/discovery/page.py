"""The HTML report of discovery runs: one file with map, bars and tables, which needs no network."""

import json
from html import escape
from pathlib import Path

from analyze.discovery.document import provenance
from analyze.discovery.drawing import addresses_over_time, round_trip_bars, world_map
from analyze.discovery.report import Report
from analyze.discovery.texts import heading, tables, trouble
from analyze.report.page_file import in_script, resource, write_page
from analyze.run.markup import table
from analyze.storage.texts import Table
from analyze.units import printable


def write_page_of(report: Report, path: Path) -> None:
    """Write the report."""
    vantages = ", ".join(dict.fromkeys(printable(run.vantage) for run in report.runs))
    parts = {
        "title": escape(f"Front ends seen from {vantages}"),
        "summary": _summary(report),
        "map": world_map(report),
        "bars": round_trip_bars(report),
        "times": addresses_over_time(report.names),
        "tables": "".join(map(_section, tables(report))),
        "provenance": escape(json.dumps(provenance(report), indent=2)),
        "data": in_script({}),
        "script": "",
    }
    write_page(resource("discovery.html"), parts, path)


def _summary(report: Report) -> str:
    wrong = "".join(f'<li class="trouble">{escape(line)}</li>' for line in trouble(report))
    return f"<p>{escape(heading(report))}</p><ul>{wrong}</ul>"


def _section(one: Table) -> str:
    rows = table(one.head, ((list(row), False) for row in one.rows), left=range(one.left))
    hint = f'<p class="hint">{escape(one.hint)}</p>' if one.hint else ""
    return f'<section id="{one.name}" class="wide"><h2>{escape(one.title)}</h2>{rows}{hint}</section>'
