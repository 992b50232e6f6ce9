"""The figures of a report on storage runs: the study's Figs. 2 to 6, one colour for each run."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from analyze.palette import RUNS
from analyze.run.chart import Axis, Chart, Panel, Series, empty_note, span
from analyze.run.statistics import Floats
from analyze.storage.connections import opened_over_time
from analyze.storage.measured import MeasuredTransaction
from analyze.storage.records import DIRECTIONS
from analyze.storage.round_trips import round_trips
from analyze.storage.tables import Report
from analyze.storage.throughput import ThroughputRow, throughput_bps


def charts(reports: Sequence[Report]) -> list[Chart]:
    """The figures of these runs that have anything to show."""
    return [_scaled(chart) for chart in _all(reports) if any(_points(one).size for one in chart.panels)]


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
        _round_trips(reports),
    ]


def _colour(number: int) -> str:
    return RUNS[number % len(RUNS)]


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
    x = Axis("file size", "B", log=True) if wanted is _is_single else Axis("files in the bundle", "", log=True)
    panels = []
    for direction in reversed(DIRECTIONS):
        series = []
        for number, report in enumerate(reports):
            rows = [row for row in report.throughput if row.direction == direction and wanted(row)]
            rows.sort(key=place)
            places = np.array([place(row) for row in rows], np.float64)
            medians = _floats([row.throughput_bps.value for row in rows])
            series.append(Series(report.label, places, medians, _colour(number), "line"))
            kinds = {row.workload: place(row) for row in rows}
            points = [
                (kinds[one.transaction.workload], rate)
                for one in report.run.transactions
                if one.transaction.direction == direction
                and one.transaction.workload in kinds
                and (rate := throughput_bps(one)) is not None
            ]
            each = np.array(points, np.float64).reshape(-1, 2)
            series.append(Series(f"{report.label}, each", each[:, 0], each[:, 1], _colour(number), "points", "ring"))
        drawn = tuple(series)
        panels.append(
            Panel(direction, Axis("throughput", "bit/s", log=True), drawn, empty_note(drawn, "no such workload"))
        )
    caption = "Lines are medians over repeats; each ring is a transaction."
    return Chart(name, title, caption, x, tuple(panels), columns=2)


def _over_time(reports: Sequence[Report]) -> Chart:
    panels = []
    for direction in DIRECTIONS:
        series = []
        for number, report in enumerate(reports):
            found = [
                (one.transaction.start_ns, rate)
                for one in report.run.transactions
                if one.transaction.direction == direction and (rate := throughput_bps(one)) is not None
            ]
            start_ns = min((one.transaction.start_ns for one in report.run.transactions), default=0)
            times = np.array([(time - start_ns) / 1e9 / 60 for time, _ in found], np.float64)
            rates = np.array([rate for _, rate in found], np.float64)
            series.append(Series(report.label, times, rates, _colour(number)))
        drawn = tuple(series)
        note = empty_note(drawn, "no transactions")
        panels.append(Panel(direction, Axis("throughput", "bit/s", log=True), drawn, note))
    return Chart(
        "figure-5-over-time",
        "Throughput along the runs",
        "Each point is a transaction, of whatever workload.",
        Axis("time since the run's first transaction", "min"),
        tuple(panels),
        shared_x=True,
    )


def _connections(reports: Sequence[Report]) -> Chart:
    """The workload of most files that all runs have, else each its own."""
    panels = []
    for direction in DIRECTIONS:
        series = []
        for number, report in enumerate(reports):
            one = _usual_of_most_files(report, direction)
            if one is None:
                continue
            times = np.sort(np.array([0.0, *opened_over_time(one)], np.float64))
            end_s = (one.transaction.end_ns - one.transaction.start_ns) / 1e9
            count = np.arange(len(times), dtype=np.float64)
            times, count = np.append(times, max(end_s, times[-1])), np.append(count, count[-1])
            name = f"{report.label}, {one.transaction.workload}"
            series.append(Series(name, times, count, _colour(number), "steps"))
        drawn = tuple(series)
        panels.append(Panel(direction, Axis("connections opened", ""), drawn, empty_note(drawn, "no captures")))
    return Chart(
        "figure-6a-connections",
        "Connections opened (SYNs) while the largest bundle is transferred",
        "Of each run the transaction with the middle number of connections.",
        Axis("time since the transaction's start", "s"),
        tuple(panels),
        columns=2,
    )


def _usual_of_most_files(report: Report, direction: str) -> MeasuredTransaction | None:
    found = [one for one in report.run.transactions if one.transaction.direction == direction and one.captured]
    most = max((one.transaction.files for one in found), default=0)
    found = [one for one in found if one.transaction.files == most]
    found.sort(key=lambda one: len(one.connections))
    return found[len(found) // 2] if found else None


def _overhead(reports: Sequence[Report]) -> Chart:
    panels = []
    for direction in DIRECTIONS:
        series = []
        for number, report in enumerate(reports):
            sizes = {(row.workload, row.direction): row.file_bytes for row in report.throughput}
            rows = [row for row in report.overhead if row.direction == direction]
            rows.sort(key=lambda row: sizes[row.workload, row.direction])
            places = np.array([sizes[row.workload, row.direction] for row in rows], np.float64)
            ratios = 100 * _floats([row.tcp_payload_ratio for row in rows]) - 100
            series.append(Series(report.label, places, ratios, _colour(number), "line"))
        drawn = tuple(series)
        panels.append(
            Panel(
                direction, Axis("carried beyond the workload", "%", log=True), drawn, empty_note(drawn, "no captures")
            )
        )
    return Chart(
        "figure-6b-overhead",
        "What TCP carried beyond the workload",
        "Payload of all connections to the service, each byte once, over the bytes of the objects.",
        Axis("size of a file", "B", log=True),
        tuple(panels),
        columns=2,
    )


def _round_trips(reports: Sequence[Report]) -> Chart:
    methods = ("icmp", "tcp", "tcp handshake")
    panels = []
    for method in methods:
        series = []
        for number, report in enumerate(reports):
            times = [
                time
                for (_, by), found in round_trips(report.run).items()
                if by == method
                for time in found
                if time is not None
            ]
            ordered = np.sort(np.array(times, np.float64))
            share = np.arange(1, len(ordered) + 1, dtype=np.float64) / max(len(ordered), 1) * 100
            series.append(Series(report.label, ordered, share, _colour(number), "steps"))
        drawn = tuple(series)
        panels.append(Panel(method, Axis("share", "%"), drawn, empty_note(drawn, "none measured")))
    return Chart(
        "figure-3-round-trips",
        "Round-trip times to the front ends",
        "Cumulative: the share of round trips that took no longer.",
        Axis("RTT", "s", log=True),
        tuple(panels),
        columns=3,
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
