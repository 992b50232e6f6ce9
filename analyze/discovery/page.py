"""The HTML report of discovery runs: one file with its answer, map, bars and tables, which needs no network."""

from pathlib import Path

from analyze.discovery.charts import charts
from analyze.discovery.document import provenance
from analyze.discovery.drawing import world_map
from analyze.discovery.report import Report
from analyze.discovery.texts import heading, tables, trouble
from analyze.pages.blocks import Drawing, Figures, Page, Section, Text, summary
from analyze.pages.write import write_report_page
from analyze.storage.page import section
from analyze.units import printable

_MAP = (
    "Red: front ends where they were located. Triangles: vantage points, each with the circle that its nearest "
    "front end cannot be outside of. Coast lines: Natural Earth."
)


def write_page_of(report: Report, path: Path) -> None:
    """Write the report."""
    write_report_page(page_of(report), path)


def page_of(report: Report) -> Page:
    """The report as data."""
    vantages = ", ".join(dict.fromkeys(printable(run.vantage) for run in report.runs))
    return Page(
        title=f"Front ends seen from {vantages}",
        answer=(
            Text(f"{heading(report)}.", "sentence"),
            Drawing(world_map(report), caption=_MAP),
            *summary("", tuple(trouble(report)), ()),
        ),
        sections=(
            Section("figures", "Figures", (Figures(tuple(charts(report))),)),
            *map(section, tables(report)),
        ),
        provenance=provenance(report),
    )
