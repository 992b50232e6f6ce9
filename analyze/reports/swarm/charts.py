"""The figures of a report on swarm runs: the study's Figs. 5 and 6, shares over time, and fairness."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, reference
from vmtrace.analyze.reports.swarm.measured import MeasuredDownload
from vmtrace.analyze.reports.swarm.records import FORBIDDEN, PUBLIC, WEB_SEED
from vmtrace.analyze.reports.swarm.rows import RunRow
from vmtrace.analyze.reports.swarm.tables import Report
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import RUNS
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

_CASES = {PUBLIC: "store public", FORBIDDEN: "store forbidden", "none": "no store"}
_WHY_NOT = "no finished download"


def charts(reports: Sequence[Report]) -> list[Chart]:
    """The figures of these runs that have anything to show."""
    made = [_by_seeds(reports), _private(reports), _over_time(reports), _fairness(reports)]
    return [chart for chart in made if any(len(one.x) for panel in chart.panels for one in panel.series)]


def _by_seeds(reports: Sequence[Report]) -> Chart:
    """Fig. 5."""
    panels = (
        _against_seeds(reports, "Time to finish", Axis("time", "s"), lambda row: row.duration_s),
        _against_seeds(
            reports, "Share from the store", Axis("share of the bytes", "%"),
            lambda row: None if row.web_seed_share is None else row.web_seed_share * 100,
        ),
    )  # fmt: skip
    caption = "Each ring is a finished download; lines join the medians."
    x = Axis("ordinary seeds", "", whole=True)
    return Chart("figure-5-seeds", "Time and share against the number of seeds", caption, x, panels, columns=2)


def _against_seeds(reports: Sequence[Report], title: str, axis: Axis, value: Callable[[RunRow], float | None]) -> Panel:
    series = tuple(one for label, rows, colour in _groups(reports) for one in _lines(label, rows, colour, value))
    return Panel(title, axis, series, empty_note(series, _WHY_NOT))


def _lines(
    label: str, rows: Sequence[RunRow], colour: str, value: Callable[[RunRow], float | None]
) -> Iterator[Series]:
    points = [(row.seeds, found) for row in rows if (found := value(row)) is not None]
    numbers = sorted({seeds for seeds, _ in points})
    medians = [float(np.median([found for seeds, found in points if seeds == number])) for number in numbers]
    yield Series(label, _floats(numbers), _floats(medians), colour, "line")
    x, y = _floats([seeds for seeds, _ in points]), _floats([found for _, found in points])
    yield Series(f"{label}, each", x, y, colour, "points", "ring")


def _groups(reports: Sequence[Report]) -> Iterator[tuple[str, list[RunRow], str]]:
    """Finished downloads by run and case, each with a label and a colour of its own."""
    place = 0
    for report in reports:
        for case, text in _CASES.items():
            rows = [row for row in report.runs if row.web_seed == case and row.finished]
            if rows:
                label = text if len(reports) == 1 else f"{report.name}, {case}"
                yield label, rows, RUNS[place % len(RUNS)]
                place += 1


def _private(reports: Sequence[Report]) -> Chart:
    """Fig. 6: of each run the largest number of seeds that was measured with the store public and forbidden."""
    panels = tuple(panel for report in reports if report.private for panel in _volumes(report))
    caption = "Medians over repeats; seeds in the order of their addresses."
    most = max((report.private[-1].seeds for report in reports if report.private), default=0)
    x = Axis("source", "", names=("store", *(f"seed {number}" for number in range(1, most + 1))))
    title = "Volume of each source with the store public and forbidden"
    return Chart("figure-6-public-private", title, caption, x, panels, columns=2, shared_x=True)


def _volumes(report: Report) -> Iterator[Panel]:
    row = report.private[-1]
    times = {PUBLIC: row.public_duration_s, FORBIDDEN: row.forbidden_duration_s}
    for case, colour in zip(times, RUNS, strict=False):
        found = [one for one in report.runs if (one.web_seed, one.seeds) == (case, row.seeds) and one.finished]
        change = f" ({row.change:+.0%})" if case == FORBIDDEN and row.change is not None else ""
        title = f"{report.name}: {_CASES[case]}, {plural(row.seeds, 'seed')}: {seconds(times[case])}{change}"
        sizes = _by_source(found, row.seeds)
        series = Series(_CASES[case], _floats(range(row.seeds + 1)), sizes, colour, "bars")
        yield Panel(title, Axis("bytes", "B"), (series,), empty_note((series,), _WHY_NOT))


def _by_source(rows: Sequence[RunRow], seeds: int) -> Floats:
    """Median bytes of the store and of the seeds in the order of their addresses; NaN where there is none."""
    found: list[list[int]] = [[] for _ in range(seeds + 1)]
    for row in rows:
        found[0].append(row.bytes_of(WEB_SEED))
        others = sorted((one for one in row.sources if one.kind != WEB_SEED), key=lambda one: one.address)
        for place, one in enumerate(others[:seeds], 1):
            found[place].append(one.bytes)
    return _floats([float(np.median(sizes)) if sizes else np.nan for sizes in found])


def _over_time(reports: Sequence[Report]) -> Chart:
    """Bytes so far of each source, of the download with the most seeds in each case."""
    panels = tuple(panel for report in reports for panel in _longest(report))
    caption = "TCP payload so far, by packets, each byte once; of each case the finished download with most seeds."
    x = Axis("time since the start", "s")
    return Chart("along-the-download", "Bytes of each source along the download", caption, x, panels)


def _longest(report: Report) -> Iterator[Panel]:
    for case, text in _CASES.items():
        found = [one for one in report.swarms if one.download.web_seed == case and one.captured]
        if found:
            one = max(found, key=lambda one: (one.download.finished, one.download.seeds, -one.download.number))
            about = f"{text}, {plural(one.download.seeds, 'seed')}, download {one.download.number}"
            yield _so_far(one, f"{report.name}: {about}")


def _so_far(one: MeasuredDownload, title: str) -> Panel:
    series = []
    for place, source in enumerate(one.sources):
        total = np.concatenate(([0.0], np.cumsum(source.arrivals.bytes)))
        name = "store" if source.source.kind == WEB_SEED else source.source.address
        time_s = np.arange(len(total), dtype=np.float64) * one.bin_s
        series.append(Series(name, time_s, total, RUNS[place % len(RUNS)], "line"))
    return Panel(title, Axis("received", "B"), tuple(series))


def _fairness(reports: Sequence[Report]) -> Chart:
    """The share of each source against its share of the measured capacity."""
    series = []
    for label, rows, colour in _groups(reports):
        points = [
            (source.share / source.load * 100, source.share * 100)
            for row in rows
            for source in row.sources
            if source.load and source.share
        ]
        pairs = np.array(points, np.float64).reshape(-1, 2)
        series.append(Series(label, pairs[:, 0], pairs[:, 1], colour, "points", "ring"))
    drawn = tuple(one for one in series if len(one.x))
    line = (reference("as the capacities are", (0, 100), (0, 100)),) if drawn else ()
    note = "" if drawn else "no capacities were measured"
    panel = Panel("Share of the bytes", Axis("share of the bytes", "%"), (*drawn, *line), note)
    caption = "Each ring is a source of a download; on the line it carries what its capacity lets expect."
    return Chart("fairness", "Fairness", caption, Axis("share of the capacity", "%"), (panel,))


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, np.float64)
