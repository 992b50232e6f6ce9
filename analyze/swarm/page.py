"""The HTML report of swarm runs: one file with all tables and zoomable figures, which needs no network."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from analyze.run.chart import Chart
from analyze.storage.page import section, write_parts
from analyze.swarm.tables import Record, Report
from analyze.swarm.texts import facts, heading, tables, trouble
from analyze.units import printable


def write_page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record, path: Path) -> None:
    """Write the report of these runs."""
    parts = {
        "title": escape(", ".join(printable(report.name) for report in reports)),
        "summary": "".join(map(_summary, reports)),
        "tables": "".join(map(section, tables(reports))),
    }
    write_parts(parts, charts, provenance, path)


def _summary(report: Report) -> str:
    plain = "".join(f"<li>{escape(line)}</li>" for line in facts(report))
    wrong = "".join(f'<li class="trouble">{escape(line)}</li>' for line in trouble(report))
    return f"<p>{escape(heading(report))}</p><ul>{plain}{wrong}</ul>"
