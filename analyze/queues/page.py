"""The HTML report of queue runs: the answer and latency over time first, then all figures and tables, in one file."""

from collections.abc import Sequence
from pathlib import Path

from analyze.charts.chart import Chart
from analyze.pages.blocks import Figures, Page, Section, Text
from analyze.pages.write import write_report_page
from analyze.queues.tables import Record, Report
from analyze.queues.texts import facts, heading, tables, trouble
from analyze.storage.page import section, summary_of
from analyze.units import printable

_LEAD_HEIGHT = 190


def write_page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record, path: Path) -> None:
    """Write the report of these runs."""
    write_report_page(page_of(reports, charts, provenance), path)


def page_of(reports: Sequence[Report], charts: Sequence[Chart], provenance: Record) -> Page:
    """The report as data."""
    lead = next((line for report in reports for line in facts(report)), "No run is complete enough for a result.")
    return Page(
        title=", ".join(printable(report.label or report.name) for report in reports),
        answer=(
            Text(lead, "sentence"),
            Figures(tuple(charts[:1]), height=_LEAD_HEIGHT),
            *(summary_of(heading(one), trouble(one), facts(one)) for one in reports),
        ),
        sections=(
            Section("figures", "Figures", (Figures(tuple(charts[1:])),)),
            *map(section, tables(reports)),
        ),
        provenance=provenance,
    )
