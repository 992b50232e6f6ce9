"""The figures of discovery runs: round trips to regions (the study's Figs 2 and 3), and addresses over time."""

from collections.abc import Iterator, Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, time_unit
from vmtrace.analyze.reports.discovery.drawing import colours_of
from vmtrace.analyze.reports.discovery.report import NameRow, RegionRoundTrip, Report
from vmtrace.analyze.reports.discovery.round_trips import ICMP, TCP

_APART = 0.22
"""Between the vantage points of one region, of the distance between two regions."""


def charts(report: Report) -> list[Chart]:
    """Those that have anything to show."""
    made = [_round_trips(report), _over_time(report.names)]
    return [chart for chart in made if any(len(one.x) for panel in chart.panels for one in panel.series)]


def _round_trips(report: Report) -> Chart:
    """Handshakes where there are any, else echoes; a colour for each vantage point."""
    rows = report.region_round_trips()
    method = TCP if any(row.method == TCP for row in rows) else ICMP
    shown = [row for row in rows if row.method == method]
    regions = sorted({row.region for row in shown}, reverse=True)  # the first one is at the top
    vantages = list(dict.fromkeys(row.vantage for row in report.vantages))
    colours = colours_of(vantages)
    series = tuple(
        one
        for number, vantage in enumerate(vantages)
        for one in _of_vantage(
            [row for row in shown if row.vantage == vantage],
            regions,
            ((len(vantages) - 1) / 2 - number) * min(_APART, 0.7 / len(vantages)),
            colours[vantage],
        )
    )
    axis = Axis("region", "", names=tuple(regions))
    return Chart(
        "round-trips-to-regions",
        "Round trips to regions",
        f"Median over a region's addresses ({method}); the line reaches from the least to the longest.",
        Axis("round-trip time", "s"),
        (Panel("region", axis, series, empty_note(series, "no round trips")),),
    )


def _of_vantage(rows: Sequence[RegionRoundTrip], regions: Sequence[str], off: float, colour: str) -> Iterator[Series]:
    if not rows:
        return
    places = [regions.index(row.region) + off for row in rows]
    ends = np.array([value for row in rows for value in (row.min_s, row.max_s)], np.float64)
    yield Series(rows[0].vantage, ends, np.repeat(np.array(places, np.float64), 2), colour, "ranges")
    medians = np.array([row.median_s for row in rows], np.float64)
    labels = tuple(row.region for row in rows)
    yield Series(rows[0].vantage, medians, np.array(places, np.float64), colour, labels=labels)


def _over_time(names: Sequence[NameRow]) -> Chart:
    """Distinct addresses of each name."""
    shown = [one for one in names if one.addresses]
    times = [row.first_seen_ns for one in shown for row in one.addresses]
    first_ns = min(times, default=0)
    last_ns = max((row.last_seen_ns for one in shown for row in one.addresses), default=first_ns)
    unit_s, unit = time_unit((last_ns - first_ns) / 1e9)
    colours = colours_of(one.about.name for one in shown)

    def of(name: NameRow) -> Series:
        seen = sorted(row.first_seen_ns for row in name.addresses)
        x = np.array([(time_ns - first_ns) / 1e9 / unit_s for time_ns in (*seen, last_ns)], np.float64)
        y = np.array([*range(1, len(seen) + 1), len(seen)], np.float64)
        return Series(name.about.name, x, y, colours[name.about.name], "steps")

    panel = Panel("addresses", Axis("addresses", "", whole=True), tuple(of(one) for one in shown), "")
    return Chart(
        "addresses-over-time",
        "Addresses over time",
        "Distinct addresses of each name, as they were first seen.",
        Axis("time since the first reply", unit),
        (panel,),
    )
