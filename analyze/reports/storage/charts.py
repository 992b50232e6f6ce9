"""The figures of a report on storage runs: the study's Figs. 2 to 6, one colour for each run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, span, time_unit
from vmtrace.analyze.reports.storage import campaign_charts
from vmtrace.analyze.reports.storage.connections import opened_over_time
from vmtrace.analyze.reports.storage.measured import MeasuredTransaction
from vmtrace.analyze.reports.storage.records import DIRECTIONS
from vmtrace.analyze.reports.storage.round_trips import HANDSHAKE, round_trips
from vmtrace.analyze.reports.storage.tables import Report
from vmtrace.analyze.reports.storage.throughput import ThroughputRow, throughput_bps
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import RUNS

_THROUGHPUT = Axis("throughput", "bit/s", log=True)
_METHODS = ("icmp", "tcp", HANDSHAKE)


def charts(reports: Sequence[Report]) -> list[Chart]:
    """The figures of these runs that have anything to show."""
    return [_scaled(_shown(chart)) for chart in _all(reports) if any(_points(one).size for one in chart.panels)]


def _shown(chart: Chart) -> Chart:
    """Without panels that have nothing to show."""
    return replace(chart, panels=tuple(panel for panel in chart.panels if _points(panel).size))


def _scaled(chart: Chart) -> Chart:
    """An axis is logarithmic where its values span a decade: within one it would be without numbers."""
    panels = [
        replace(panel, y=replace(panel.y, log=_is_wide(_points(panel)[1])) if panel.y.log else panel.y)
        for panel in chart.panels
    ]
    x = np.concatenate([_points(panel)[0] for panel in chart.panels])
    return replace(chart, panels=tuple(panels), x=replace(chart.x, log=chart.x.log and _is_wide(x)))


def _points(panel: Panel) -> Floats:
    """All finite points of a panel: a row of x, a row of y."""
    both = [np.stack([one.x, one.y]) for one in panel.series]
    points: Floats = np.concatenate([*both, np.empty((2, 0))], axis=1)
    return points[:, np.isfinite(points).all(axis=0)]


def _is_wide(values: Floats) -> bool:
    found = span(values)
    return found is not None and found[1] >= 10 * found[0]


def _all(reports: Sequence[Report]) -> list[Chart]:
    return [
        _throughput(reports, "figure-4a-single-files", "Throughput of single files", _is_single, _size),
        _throughput(reports, "figure-4b-bundles", "Throughput of bundles of files", _is_bundle, _files),
        _over_time(reports),
        _connections(reports),
        _overhead(reports),
        *campaign_charts.charts([(one.label, one.campaign) for one in reports if one.campaign is not None]),
        _round_trips(reports),
    ]


def _is_single(row: ThroughputRow) -> bool:
    return row.files == 1


def _is_bundle(row: ThroughputRow) -> bool:
    return row.files > 1


def _size(row: ThroughputRow) -> float:
    return row.file_bytes


def _files(row: ThroughputRow) -> float:
    return row.files


def _throughput(
    reports: Sequence[Report],
    name: str,
    title: str,
    wanted: Callable[[ThroughputRow], bool],
    place: Callable[[ThroughputRow], float],
) -> Chart:
    def series(report: Report, direction: str, colour: str) -> Iterator[Series]:
        rows = [row for row in report.throughput if row.direction == direction and wanted(row)]
        rows.sort(key=place)
        kinds = {row.workload: place(row) for row in rows}
        medians = _floats([row.throughput_bps.value for row in rows])
        yield Series(report.label, _floats(list(kinds.values())), medians, colour, "line")
        points = [
            (kinds[one.transaction.workload], rate)
            for one, rate in _rates(report, direction)
            if one.transaction.workload in kinds
        ]
        each = np.array(points, np.float64).reshape(-1, 2)
        yield Series(f"{report.label}, each", each[:, 0], each[:, 1], colour, "points", "ring")

    x = Axis("file size", "B", log=True) if wanted is _is_single else Axis("files in the bundle", "", log=True)
    panels = _panels(reports, reversed(DIRECTIONS), _THROUGHPUT, "no such workload", series)
    caption = "Lines are medians over repeats; each ring is a transaction."
    return Chart(name, title, caption, x, panels, columns=2)


def _over_time(reports: Sequence[Report]) -> Chart:
    unit_s, unit = time_unit(max(map(_length_s, reports), default=0.0))

    def series(report: Report, direction: str, colour: str) -> Iterator[Series]:
        found = _rates(report, direction)
        start_ns = min((one.transaction.start_ns for one in report.run.transactions), default=0)
        times = np.array([(one.transaction.start_ns - start_ns) / 1e9 / unit_s for one, _ in found], np.float64)
        yield Series(report.label, times, _floats([rate for _, rate in found]), colour, symbol="ring")
        for workload in dict.fromkeys(one.transaction.workload for one, _ in found):
            own = [place for place, (one, _) in enumerate(found) if one.transaction.workload == workload]
            heights = _floats([report.smoothed_bps[found[place][0].transaction.number] for place in own])
            for there in _stretches(heights):
                line = (times[own][there], heights[there])
                yield Series(f"{report.label}, {workload} smoothed", *line, colour, "line")

    return Chart(
        "figure-5-over-time",
        "Throughput along the runs",
        "Each ring is a transaction of any workload; a line is the running median of those of one workload.",
        Axis("time since the run's first transaction", unit),
        _panels(reports, DIRECTIONS, _THROUGHPUT, "no transactions", series),
        shared_x=True,
    )


def _stretches(heights: Floats) -> list[NDArray[np.intp]]:
    """Where a line is without a break: over a pause of the run nothing is drawn."""
    there = np.flatnonzero(np.isfinite(heights))
    return np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if len(there) else []


def _length_s(report: Report) -> float:
    """From the first to the last transaction of a run."""
    starts = [one.transaction.start_ns for one in report.run.transactions]
    return (max(starts, default=0) - min(starts, default=0)) / 1e9


def _rates(report: Report, direction: str) -> list[tuple[MeasuredTransaction, float]]:
    """The transactions of a direction that have a throughput, with it."""
    return [
        (one, rate)
        for one in report.run.transactions
        if one.transaction.direction == direction and (rate := throughput_bps(one)) is not None
    ]


def _connections(reports: Sequence[Report]) -> Chart:
    def series(report: Report, direction: str, colour: str) -> Iterator[Series]:
        one = _usual_of_most_files(report, direction)
        if one is None:
            return
        times = np.sort(np.array([0.0, *opened_over_time(one)], np.float64))
        end_s = (one.transaction.end_ns - one.transaction.start_ns) / 1e9
        count = np.arange(len(times), dtype=np.float64)
        times, count = np.append(times, max(end_s, times[-1])), np.append(count, count[-1])
        yield Series(f"{report.label}, {one.transaction.workload}", times, count, colour, "steps")

    return Chart(
        "figure-6a-connections",
        "Connections opened (SYNs) while the largest bundle is transferred",
        "Of each run the transaction with the middle number of connections.",
        Axis("time since the transaction's start", "s"),
        _panels(reports, DIRECTIONS, Axis("connections opened", ""), "no captures", series),
        columns=2,
    )


def _usual_of_most_files(report: Report, direction: str) -> MeasuredTransaction | None:
    found = [one for one in report.run.transactions if one.transaction.direction == direction and one.captured]
    most = max((one.transaction.files for one in found), default=0)
    found = [one for one in found if one.transaction.files == most]
    found.sort(key=lambda one: len(one.connections))
    return found[len(found) // 2] if found else None


def _overhead(reports: Sequence[Report]) -> Chart:
    def series(report: Report, direction: str, colour: str) -> Iterator[Series]:
        sizes = {row.workload: row.file_bytes for row in report.throughput if row.direction == direction}
        rows = [row for row in report.overhead if row.direction == direction]
        rows.sort(key=lambda row: sizes[row.workload])
        ratios = 100 * _floats([row.tcp_payload_ratio for row in rows]) - 100
        yield Series(report.label, _floats([sizes[row.workload] for row in rows]), ratios, colour, "line")

    return Chart(
        "figure-6b-overhead",
        "What TCP carried beyond the workload",
        "Payload of all connections to the service, each byte once, over the bytes of the objects.",
        Axis("size of a file", "B", log=True),
        _panels(reports, DIRECTIONS, Axis("carried beyond the workload", "%", log=True), "no captures", series),
        columns=2,
    )


def _round_trips(reports: Sequence[Report]) -> Chart:
    def series(report: Report, method: str, colour: str) -> Iterator[Series]:
        found = (times for (_, by), times in round_trips(report.run).items() if by == method)
        ordered = np.sort(np.array([time for times in found for time in times if time is not None], np.float64))
        share = np.arange(1, len(ordered) + 1, dtype=np.float64) / max(len(ordered), 1) * 100
        yield Series(report.label, ordered, share, colour, "steps")

    return Chart(
        "figure-3-round-trips",
        "Round-trip times to the front ends",
        "Cumulative: the share of round trips that took no longer.",
        Axis("RTT", "s", log=True),
        _panels(reports, _METHODS, Axis("share", "%"), "none measured", series),
        columns=3,
    )


def _panels(
    reports: Sequence[Report],
    titles: Iterable[str],
    y: Axis,
    nothing: str,
    series: Callable[[Report, str, str], Iterator[Series]],
) -> tuple[Panel, ...]:
    """A panel for each direction or method, in which `series` draws each run in the run's colour."""
    panels = []
    for title in titles:
        drawn = tuple(
            one for number, report in enumerate(reports) for one in series(report, title, RUNS[number % len(RUNS)])
        )
        panels.append(Panel(title, y, drawn, empty_note(drawn, nothing)))
    return tuple(panels)


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
