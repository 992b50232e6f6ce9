"""The figures of a report on queue runs, latency over time first; one colour for each run."""

from collections.abc import Callable, Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, time_unit
from vmtrace.analyze.reports.queues.latency import Floats, times_of
from vmtrace.analyze.reports.queues.over_time import PeriodRow
from vmtrace.analyze.reports.queues.quantiles import Quantiles, curve
from vmtrace.analyze.reports.queues.records import FLOW
from vmtrace.analyze.reports.queues.tables import Report
from vmtrace.analyze.words.palette import RUNS

_CURVE_POINTS = 400
_DEEPEST = 99.999
_LATENCY = Axis("latency", "s", log=True)


def charts(reports: Sequence[Report]) -> list[Chart]:
    """The figures of these runs that have anything to show."""
    made = [_latency(reports), _quantiles(reports), _rates(reports), _order(reports)]
    return [chart for chart in made if any(len(one.x) for panel in chart.panels for one in panel.series)]


def _colour(number: int) -> str:
    return RUNS[number % len(RUNS)]


def _unit(reports: Sequence[Report]) -> tuple[float, str]:
    lasts_s = max((_offsets_s(one.periods)[-1] for one in reports if one.periods), default=0.0)
    return time_unit(lasts_s)


def _offsets_s(periods: Sequence[PeriodRow]) -> Floats:
    """The middle of each bin, since the first began."""
    return np.array([(one.start_ns - periods[0].start_ns) / 1e9 + one.width_s / 2 for one in periods], np.float64)


def _latency(reports: Sequence[Report]) -> Chart:
    unit_s, unit = _unit(reports)
    panels = []
    for title, of in (("from the due time", _from_due), ("from the send call", _from_sent)):
        drawn = []
        for number, report in enumerate(reports):
            times = _offsets_s(report.periods) / unit_s if report.periods else np.empty(0)
            for name, value, style in (
                ("median", "p50_s", "line"),
                ("99 %", "p99_s", "points"),
                ("max", "max_s", "points"),
            ):
                heights = _floats([getattr(of(one), value) for one in report.periods])
                symbol = "ring" if name == "99 %" else "cross" if name == "max" else "circle"
                drawn.append(
                    Series(f"{report.label}, {name}", times, heights, _colour(number), style, symbol)  # type: ignore[arg-type]
                )
        panels.append(Panel(title, _LATENCY, tuple(drawn), empty_note(tuple(drawn), "no latency")))
    return Chart(
        "queue-latency-over-time",
        "Send-to-receive latency over time",
        "Of the messages that came first in each bin of time: median (line), 99 % (rings) and largest (crosses).",
        Axis("time since the run's first message", unit),
        tuple(panels),
        shared_x=True,
    )


def _from_due(row: PeriodRow) -> Quantiles:
    return row.from_due


def _from_sent(row: PeriodRow) -> Quantiles:
    return row.from_sent


def _quantiles(reports: Sequence[Report]) -> Chart:
    """On an axis that draws 99 %, 99.9 % and 99.99 % as far apart as they are hard to reach."""
    tails = np.geomspace(100.0, 100.0 - _DEEPEST, _CURVE_POINTS)
    percents = 100.0 - tails
    drawn = []
    for number, report in enumerate(reports):
        stages = [stage for stage in report.run.stages if stage.kind == FLOW]
        found = [times_of(report.messages, stage) for stage in stages]
        for name, parts in (("due", [one.due_s for one in found]), ("sent", [one.sent_s for one in found])):
            values = np.concatenate([*parts, np.empty(0)])
            values = values[np.isfinite(values) & (values >= 0)]
            if len(values):
                shown = tails >= 100.0 / len(values)
                heights = np.array(curve(values, percents[shown]), np.float64)
                style = "line" if name == "due" else "steps"
                x = 100.0 / tails[shown]
                drawn.append(Series(f"{report.label}, from {name}", x, heights, _colour(number), style))  # type: ignore[arg-type]
    panel = Panel("", _LATENCY, tuple(drawn), empty_note(tuple(drawn), "no latency"))
    return Chart(
        "queue-latency-quantiles",
        "Latency of one in so many messages",
        "One in 2 messages took the median or longer, one in 100 the 99 % quantile or longer, and so on.",
        Axis("one in so many messages", "", log=True),
        (panel,),
    )


def _rates(reports: Sequence[Report]) -> Chart:
    unit_s, unit = _unit(reports)
    panels = []
    counted: tuple[tuple[str, Callable[[PeriodRow], int]], ...] = (
        ("sent", lambda row: row.sent),
        ("delivered", lambda row: row.delivered),
        ("deleted", lambda row: row.deleted),
    )
    for title, of in counted:
        drawn = tuple(
            Series(
                report.label,
                _offsets_s(report.periods) / unit_s,
                _floats([of(one) / one.width_s for one in report.periods]),
                _colour(number),
                "steps",
            )
            for number, report in enumerate(reports)
            if report.periods
        )
        panels.append(Panel(title, Axis("messages", "1/s"), drawn, empty_note(drawn, "none")))
    return Chart(
        "queue-rates-over-time",
        "Messages per second over time",
        "Sent by number acknowledged, delivered by first delivery, deleted by acknowledged deletion.",
        Axis("time since the run's first message", unit),
        tuple(panels),
        shared_x=True,
    )


def _order(reports: Sequence[Report]) -> Chart:
    drawn = []
    for number, report in enumerate(reports):
        came = report.messages.first["number"]
        places = np.arange(len(came), dtype=np.float64)
        if len(came):
            drawn.append(Series(report.label, places, came.astype(np.float64), _colour(number), "line"))
    panel = Panel("", Axis("number of the message", ""), tuple(drawn), empty_note(tuple(drawn), "none"))
    return Chart(
        "queue-order",
        "Order of delivery",
        "Messages as they came first: on a straight line where the order of sending was kept.",
        Axis("place in the order of delivery", ""),
        (panel,),
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
