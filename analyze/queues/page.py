"""The HTML report of queue runs: latency over time first, then the answer, all figures and all tables, in one file."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from analyze.queues.tables import Record, Report
from analyze.queues.texts import facts, heading, tables, trouble
from analyze.report.page_file import in_script, plotly, resource, scripts, write_page
from analyze.run import chart_page
from analyze.run.chart import Chart
from analyze.storage.page import section, summary_of
from analyze.units import printable


def write_page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record, path: Path) -> None:
    """Write the report of these runs."""
    parts = {
        "title": escape(", ".join(printable(report.label or report.name) for report in reports)),
        "summary": "".join(summary_of(heading(one), trouble(one), facts(one)) for one in reports),
        "tables": "".join(map(section, tables(reports))),
        "provenance": escape(json.dumps(provenance, indent=2)),
        "data": in_script({"charts": [chart_page.of_chart(chart) for chart in charts]}),
        "library": plotly(),
        "script": scripts("run.js"),
    }
    write_page(resource("queue.html"), parts, path)
