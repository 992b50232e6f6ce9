"""The figures of campaigns, as the studies draw them: one colour for each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note, time_unit
from vmtrace.analyze.reports.storage.campaign import SURGE, Campaign
from vmtrace.analyze.reports.storage.hours import DAY_NS
from vmtrace.analyze.reports.storage.probes import ProbePeriodRow, successive
from vmtrace.analyze.reports.storage.requests import DIRECTIONS, Requests
from vmtrace.analyze.reports.storage.surge_hosts import all_hosts
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import RUNS

Labelled = tuple[str, Campaign]
_RATE = Axis("throughput", "bit/s")
_LOG_RATE = Axis("throughput", "bit/s", log=True)
_BINS = 60
_MOST_SIZES = 8


def charts(campaigns: Sequence[Labelled]) -> list[Chart]:
    """Those that have anything to show; the caller leaves out the others."""
    if not campaigns:
        return []
    probes = [one for one in campaigns if one[1].requests is not None and one[1].run.kind != SURGE]
    return [
        _over_time(campaigns),
        _daily(probes),
        _hourly(probes, "figure-2-hourly-throughput", "Throughput by hour of the day", _RATE, _mean_bps),
        _hourly(probes, "figure-3-hourly-transactions", "Transactions by hour of the day", _TPS, _mean_tps),
        _distributions(probes),
        _histograms(probes),
        _successive(probes),
        _availability(probes),
        _by_location(probes),
        _surge(campaigns, "figure-8a-surge-threads", "Throughput of a thread", combined=False),
        _surge(campaigns, "figure-8b-surge-combined", "Combined throughput of all threads", combined=True),
        _sweep(campaigns),
        _sweep_cpu(campaigns),
        _merge(campaigns),
    ]


_TPS = Axis("transactions", "/s")


def _mean_bps(row: ProbePeriodRow) -> float:
    return row.mean_bps


def _mean_tps(row: ProbePeriodRow) -> float:
    return row.mean_tps


def _colour(number: int) -> str:
    return RUNS[number % len(RUNS)]


def _sizes(campaigns: Sequence[Labelled]) -> list[int]:
    found = {row.size_bytes for _, one in campaigns for row in one.sizes}
    return sorted(found)[-_MOST_SIZES:]


def _size_text(size: int) -> str:
    from vmtrace.analyze.words.units import si

    return si(size, "B")


def _over_time(campaigns: Sequence[Labelled]) -> Chart:
    """Every request that was done, where and when steps are seen."""
    found = [one.requests for _, one in campaigns if one.requests is not None and len(one.requests)]
    unit_s, unit = time_unit(max((float(np.ptp(one.start_ns)) / 1e9 for one in found), default=0.0))
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn = tuple(
            Series(label, *_times_and_rates(one.requests, direction, unit_s), _colour(number))
            for number, (label, one) in enumerate(campaigns)
            if one.requests is not None and len(one.requests)
        )
        panels.append(Panel(direction, _LOG_RATE, drawn, empty_note(drawn, "no requests")))
    return Chart(
        "requests-over-time",
        "Throughput of requests over time",
        "Each point is a request of any size, from its call to its return.",
        Axis("time since the first request", unit),
        tuple(panels),
        shared_x=True,
    )


def _times_and_rates(requests: Requests, direction: str, unit_s: float) -> tuple[Floats, Floats]:
    there = np.flatnonzero((requests.direction == DIRECTIONS.index(direction)) & np.isfinite(requests.bps))
    there = there[np.argsort(requests.start_ns[there], kind="stable")]
    return (requests.start_ns[there] - requests.start_ns.min()) / 1e9 / unit_s, requests.bps[there]


def _daily(campaigns: Sequence[Labelled]) -> Chart:
    """Fig. 1: of the largest size, reads and writes."""
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn: list[Series] = []
        for number, (label, one) in enumerate(campaigns):
            largest = max((row.size_bytes for row in one.daily), default=0)
            rows = [row for row in one.daily if row.direction == direction and row.size_bytes == largest]
            rows = rows if len(rows) > 1 else []
            first = min((row.start_ns or 0 for row in one.daily), default=0)
            days = _floats([((row.start_ns or 0) - first) / DAY_NS for row in rows])
            name = f"{label}, {_size_text(largest)}"
            drawn.append(Series(name, days, _floats([row.mean_bps for row in rows]), _colour(number), "line"))
            for which, text in (("p5_bps", "5 %"), ("p95_bps", "95 %")):
                heights = _floats([getattr(row, which) for row in rows])
                drawn.append(Series(f"{name}, {text}", days, heights, _colour(number), symbol="cross"))
        panels.append(Panel(direction, _RATE, tuple(drawn), empty_note(tuple(drawn), "no probes")))
    caption = "Means of days, of the largest objects; crosses are the 5th and 95th percentile of a day."
    return Chart(
        "figure-1-daily", "Throughput by day", caption, Axis("days since the first", "d"), tuple(panels), 1, True
    )


def _hourly(campaigns: Sequence[Labelled], name: str, title: str, y: Axis, height: object) -> Chart:
    value = _mean_bps if height is _mean_bps else _mean_tps
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn = []
        for number, (label, one) in enumerate(campaigns):
            sizes = [row.size_bytes for row in one.hourly]
            wanted = max(sizes, default=0) if value is _mean_bps else min(sizes, default=0)
            rows = [row for row in one.hourly if row.direction == direction and row.size_bytes == wanted]
            rows = rows if len(rows) > 1 else []
            hours = _floats([float(row.hour or 0) for row in rows])
            label_of = f"{label}, {_size_text(wanted)}"
            drawn.append(Series(label_of, hours, _floats([value(row) for row in rows]), _colour(number), "line"))
        panels.append(Panel(direction, y, tuple(drawn), empty_note(tuple(drawn), "no probes")))
    which = "largest" if value is _mean_bps else "smallest"
    caption = f"Means of the hours of all days (UTC), of the {which} objects."
    return Chart(name, title, caption, Axis("hour of the day (UTC)", "h"), tuple(panels), 1, True)


def _distributions(campaigns: Sequence[Labelled]) -> Chart:
    """Fig. 4 and Fig. 9: the share of requests that were no faster, a line for each size."""
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn = []
        for number, (label, one) in enumerate(campaigns):
            for place, (size, rates) in enumerate(_rates(one, direction)):
                ordered = np.sort(rates)
                shares = np.arange(1, len(ordered) + 1) / max(len(ordered), 1) * 100
                colour = _colour(number if len(campaigns) > 1 else place)
                drawn.append(
                    Series(f"{label}, {_size_text(size)} (n={len(ordered)})", ordered, shares, colour, "steps")
                )
        panels.append(Panel(direction, Axis("share", "%"), tuple(drawn), empty_note(tuple(drawn), "no probes")))
    caption = "Cumulative: the share of requests whose throughput was no larger."
    return Chart("figure-4-distribution", "Distribution of throughput", caption, _LOG_RATE, tuple(panels), 1)


def _histograms(campaigns: Sequence[Labelled]) -> Chart:
    """Figs 5 and 6: downloads of the smallest and of the largest objects."""
    panels = []
    sizes = _sizes(campaigns)
    for size in dict.fromkeys((*sizes[:1], *sizes[-1:])):
        drawn = []
        for number, (label, one) in enumerate(campaigns):
            for own, rates in _rates(one, "download"):
                if own == size and len(rates):
                    counts, edges = np.histogram(rates, _BINS)
                    middles = (edges[:-1] + edges[1:]) / 2
                    drawn.append(Series(label, middles, counts.astype(np.float64), _colour(number), "steps"))
        found = [row.modes for _, one in campaigns for row in one.sizes if row.size_bytes == size]
        modes = ", ".join(str(one) for one in found if one is not None)
        note = empty_note(tuple(drawn), "no downloads") or (f"modes: {modes}" if modes else "")
        panels.append(Panel(f"{_size_text(size)} download", Axis("requests", ""), tuple(drawn), note))
    caption = "Histograms of throughput; the number of modes is by Silverman's test."
    return Chart("figure-5-histograms", "Histograms of throughput", caption, _RATE, tuple(panels), 1)


def _successive(campaigns: Sequence[Labelled]) -> Chart:
    """Fig. 7: the smallest and the largest objects."""
    panels = []
    sizes = _sizes(campaigns)
    for size in dict.fromkeys((*sizes[:1], *sizes[-1:])):
        drawn = []
        for number, (label, one) in enumerate(campaigns):
            if one.requests is None:
                continue
            there = np.flatnonzero((one.requests.size_bytes == size) & (one.requests.direction == 1))
            first, second = successive(one.requests, there)
            drawn.append(Series(label, first, second, _colour(number), symbol="ring"))
        notes = [
            f"r = {row.r:.2f}"
            for _, one in campaigns
            for row in one.successive
            if row.size_bytes == size and row.direction == "download" and row.r is not None
        ]
        y = Axis("second request", "bit/s")
        panels.append(
            Panel(
                f"{_size_text(size)} download",
                y,
                tuple(drawn),
                empty_note(tuple(drawn), "no pairs") or ", ".join(notes),
            )
        )
    caption = "Throughput of the second request of a probe against the first one's."
    return Chart(
        "figure-7-successive", "Successive requests", caption, Axis("first request", "bit/s"), tuple(panels), 1
    )


def _availability(campaigns: Sequence[Labelled]) -> Chart:
    drawn = tuple(
        Series(
            label,
            _floats([float(row.retries) for row in one.availability]),
            _floats([100 * row.share for row in one.availability]),
            _colour(number),
            "line",
        )
        for number, (label, one) in enumerate(campaigns)
    )
    panel = Panel("", Axis("requests that were done", "%"), drawn, empty_note(drawn, "no requests"))
    caption = "The share of requests that were done with at most so many retries."
    return Chart(
        "figure-10-availability", "Availability by retries", caption, Axis("retries", "", whole=True), (panel,)
    )


def _by_location(campaigns: Sequence[Labelled]) -> Chart:
    """Palankar's Fig. 4: average, least and largest by size; a colour for each location."""
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn: list[Series] = []
        for number, (_, one) in enumerate(campaigns):
            rows = [row for row in one.locations if row.direction == direction]
            sizes = _floats([float(row.size_bytes) for row in rows])
            means = _floats([row.mean_bps for row in rows])
            drawn.append(Series(one.place, sizes, means, _colour(number), "line"))
            for which in ("min_bps", "max_bps"):
                heights = _floats([getattr(row, which) for row in rows])
                drawn.append(Series(f"{one.place}, {which[:3]}", sizes, heights, _colour(number), symbol="cross"))
        panels.append(Panel(direction, _LOG_RATE, tuple(drawn), empty_note(tuple(drawn), "no requests")))
    caption = "Means by size; crosses are the least and the largest."
    x = Axis("size of the object", "B", log=True)
    return Chart("figure-9-locations", "Throughput by location and size", caption, x, tuple(panels), 1)


def _surge(campaigns: Sequence[Labelled], name: str, title: str, *, combined: bool) -> Chart:
    every_host = all_hosts([one for _, one in campaigns]) if combined else []
    panels = []
    for direction in reversed(DIRECTIONS):
        drawn = []
        for number, (label, one) in enumerate(campaigns):
            rows = [row for row in one.surge if row.direction == direction]
            threads = _floats([float(row.threads) for row in rows])
            heights = _floats([row.combined_bps if combined else row.per_thread_bps for row in rows])
            n = sum(row.n for row in rows)
            drawn.append(Series(f"{label}, {one.host} (n={n})", threads, heights, _colour(number), "line"))
        together = [row for row in every_host if row.direction == direction]
        if together:
            threads = _floats([float(row.threads) for row in together])
            heights = _floats([row.combined_bps for row in together])
            drawn.append(Series(together[0].host, threads, heights, _colour(len(campaigns)), "line"))
        panels.append(Panel(direction, _RATE, tuple(drawn), empty_note(tuple(drawn), "no such steps")))
    caption = "What all threads moved within a step, over its length." if combined else "Mean of the requests."
    return Chart(name, title, caption, Axis("threads", "", whole=True), tuple(panels), 2)


def _curves(campaigns: Sequence[Labelled], which: str, factor: float = 1.0) -> Iterator[Series]:
    number = 0
    for label, one in campaigns:
        for source, part in sorted({(row.source, row.part_bytes) for row in one.sweep}):
            rows = [row for row in one.sweep if (row.source, row.part_bytes) == (source, part)]
            x = _floats([float(row.connections) for row in rows])
            values = [getattr(row, which) for row in rows]
            y = factor * _floats(values)
            yield Series(f"{label}, {source}, parts of {_size_text(part)}", x, y, _colour(number), "line")
            number += 1


_CONNECTIONS = Axis("connections", "", log=True)


def _sweep(campaigns: Sequence[Labelled]) -> Chart:
    drawn = tuple(_curves(campaigns, "bps"))
    panel = Panel("", _RATE, drawn, empty_note(drawn, "no uploads in parts"))
    caption = "Mean of the uploads, by part size and source."
    return Chart("figure-11-connections", "Throughput of uploads by connections", caption, _CONNECTIONS, (panel,))


def _sweep_cpu(campaigns: Sequence[Labelled]) -> Chart:
    drawn = tuple(_curves(campaigns, "cpu_share", 100.0))
    panel = Panel("", Axis("processors used", "%"), drawn, empty_note(drawn, "no uploads in parts"))
    caption = "Of the processors that the process may use."
    return Chart("figure-12-processors", "Processors used by uploads", caption, _CONNECTIONS, (panel,))


def _merge(campaigns: Sequence[Labelled]) -> Chart:
    drawn = tuple(
        Series(
            label,
            _floats([float(row.parts) for row in one.merge]),
            _floats([row.seconds for row in one.merge]),
            _colour(number),
            "line",
        )
        for number, (label, one) in enumerate(campaigns)
    )
    panel = Panel("", Axis("time of the merge", "s"), drawn, empty_note(drawn, "no merges"))
    caption = "From the request that asks for it to the end of the upload; medians."
    return Chart("figure-13-merge", "Time of the merge by parts", caption, Axis("parts", "", log=True), (panel,))


def _rates(campaign: Campaign, direction: str) -> Iterator[tuple[int, Floats]]:
    if campaign.requests is None:
        return
    for size, own, there in campaign.requests.kinds():
        if own == direction:
            rates = campaign.requests.bps[there]
            yield size, rates[np.isfinite(rates)]


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
