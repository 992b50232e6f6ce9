"""Campaigns in words: the sentences that come first, and the tables of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from vmtrace.analyze.pages.texts import number_text
from vmtrace.analyze.reports.storage.campaign import AVAILABILITY, LOCATIONS, PROBES, SURGE, SWEEP, Campaign, between
from vmtrace.analyze.reports.storage.knee import Knee
from vmtrace.analyze.reports.storage.network_events import NetworkEvent
from vmtrace.analyze.reports.storage.probes import ProbePeriodRow
from vmtrace.analyze.reports.storage.surge import SurgeRow
from vmtrace.analyze.reports.storage.surge_hosts import all_hosts
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share, si
from vmtrace.formats.quantities import plural

Labelled = tuple[str, Campaign]
_SHOWN = ("between", "probe-sizes", "events", "change-points", "surge", "sweep", "merge")
_TESTS_SHOWN = 10
_STEPS_SHOWN = 3
_ADDRESSES_SHOWN = 50
_DAYS_SHOWN = 60
LARGEST_P = 0.01
"""Of a difference between hours that is said; of 40 campaigns without one, one at most says it."""
_SMALLEST_SHARE_OF_LATE = 0.001


def shown(campaigns: Sequence[Campaign]) -> set[str]:
    """Names of the tables of the terminal; the others are on the page, in JSON and in CSV."""
    found = set(_SHOWN)
    if any(one.run.kind == AVAILABILITY or any(row.retries or row.failed for row in one.retries) for one in campaigns):
        found |= {"availability", "outages", "campaign-retries"}
    if any(one.run.kind == LOCATIONS or one.run.location for one in campaigns) or len(campaigns) > 1:
        found.add("locations")
    return found


def amount(campaign: Campaign) -> tuple[str, str]:
    """How much there is of it: for the heading."""
    if campaign.run.kind == SWEEP:
        return plural(len(campaign.sweep_steps), "upload"), f"kind {campaign.run.kind}"
    requests = 0 if campaign.requests is None else len(campaign.requests)
    where = f"at {campaign.run.location}" if campaign.run.location else f"kind {campaign.run.kind}"
    return plural(requests, "request"), where


def facts(campaign: Campaign) -> Iterator[str]:
    """What the run shows, a sentence each."""
    for event in campaign.events:
        yield event_text(event)
    late = campaign.lateness
    if late is not None and late.late:
        extra = "" if late.late_share <= _SMALLEST_SHARE_OF_LATE else ": a busy host, or more than it can carry"
        yield (
            f"{late.late} of {plural(late.probes, 'probe')} began late, the latest by {seconds(late.largest_late_s)}"
            f"{extra}"
        )
    if campaign.run.kind == PROBES and campaign.hour_tests and campaign.hour_tests[0].p_adjusted < LARGEST_P:
        test = campaign.hour_tests[0]
        yield (
            f"{si(test.size_bytes, 'B')} {test.direction}s of the hour from {test.first_hour:02}:00 UTC differ from"
            f" those of {test.second_hour:02}:00: {si(test.first_mean_bps, 'bit/s')} against"
            f" {si(test.second_mean_bps, 'bit/s')} (paired t-test over"
            f" {test.days} days, p = {test.p_adjusted:.2g} after correction)"
        )
    for one in campaign.surge_knees:
        yield f"{one.direction}: {knee_text(one.knee, 'threads')}"
    for limited in campaign.surge:
        if limited.limited_by is not None:
            yield f"{plural(limited.threads, 'thread')}, {limited.direction}: {limited.sentence}"
    for row in campaign.sweep_knees:
        yield f"parts of {si(row.part_bytes, 'B')} from {row.source}: {knee_text(row.knee, 'connections')}"
    for cell in campaign.sweep:
        if cell.bottleneck != "undecided":
            yield (
                f"{plural(cell.connections, 'connection')}, parts of {si(cell.part_bytes, 'B')}, {cell.source}:"
                f" {cell.sentence}"
            )


def event_text(event: NetworkEvent) -> str:
    """One event, dated, with its series and its cause."""
    moved = ", ".join(
        f"{si(one.size_bytes, 'B')} {one.direction}s {si(one.before_bps, 'bit/s')} to {si(one.after_bps, 'bit/s')}"
        for one in event.steps[:_STEPS_SHOWN]
    )
    more = f" and {len(event.steps) - _STEPS_SHOWN} more" if len(event.steps) > _STEPS_SHOWN else ""
    end = "" if event.end_ns is None else f", until {instant(event.end_ns)[:19]}"
    unrecorded = "" if event.packets else "no packets were recorded; "
    return (
        f"throughput stepped (x {event.ratio:.2f}) between {instant(event.last_before_ns)[:19]} and"
        f" {instant(event.first_after_ns)[:19]} UTC{end}: {unrecorded}{event.explanation} ({moved}{more})"
    )


def knee_text(knee: Knee, what: str) -> str:
    """The knee with its interval."""
    if knee.at is None:
        return f"no knee within the {what} tried"
    interval = "" if knee.low is None or knee.high is None else f" ({knee.low:.1f} to {knee.high:.1f})"
    return f"more than {knee.at:.1f}{interval} {what} bring no more than {si(knee.plateau_bps, 'bit/s')}"


def tables(campaigns: Sequence[Labelled]) -> list[Table]:
    """Those that have rows."""
    makers: tuple[Callable[[Sequence[Labelled]], Table], ...] = (
        _between, _sizes, _events, _changes, _availability, _outages, _hedging, _retries, _locations, _surge, _sweep,
        _merge, _daily, _hourly, _hour_tests, _successive, _addresses,
    )  # fmt: skip
    return [table for make in makers if campaigns and (table := make(campaigns)).rows]


def _rows(
    campaigns: Sequence[Labelled], rows: Callable[[Campaign], Iterable[tuple[str, ...]]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((printable(label), *map(printable, cells)) for label, one in campaigns for cells in rows(one))


def _between(campaigns: Sequence[Labelled]) -> Table:
    lines = between([one for _, one in campaigns])
    return of_texts("between", "Between the runs", ("what",), tuple((printable(line),) for line in lines), 1)


def _rate(value: float | None) -> str:
    return si(value, "bit/s")


def _sizes(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for row in campaign.sizes if campaign.run.kind != SURGE else ():
            yield (
                si(row.size_bytes, "B"), row.direction, f"{row.done:,}/{row.n:,}", _rate(row.mean_bps),
                _rate(row.p5_bps), _rate(row.median_bps), _rate(row.p95_bps), number_text(row.median_tps),
                count(row.modes), str(row.retries), str(row.errors), str(row.failed),
            )  # fmt: skip

    head = (
        "run", "size", "direction", "done", "mean", "5 %", "median", "95 %", "transactions/s", "modes",
        "retries", "errors", "failed",
    )  # fmt: skip
    hint = (
        "Throughput of requests from the SDK's call to its return. Modes: of the distribution, by Silverman's test,"
        " from fifty requests on. Retries and errors are write retries and write errors of uploads, and read ones of"
        " downloads."
    )
    return of_texts("probe-sizes", "Requests by size", head, _rows(campaigns, rows), 3, hint)


def _events(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.events:
            end = ABSENT if one.end_ns is None else instant(one.end_ns)[:19]
            yield (
                instant(one.last_before_ns)[:19], instant(one.first_after_ns)[:19], end, str(len(one.steps)),
                f"{one.ratio:.2f}", one.cause.replace("_", " "), one.explanation,
            )  # fmt: skip

    head = ("run", "after (UTC)", "before (UTC)", "end", "steps", "ratio", "cause", "why")
    hint = "Steps whose dates may be the same, with one date for all: an interval of 95 %. End: an effect taken back."
    return of_texts("events", "Events", head, _rows(campaigns, rows), 1, hint)


def _changes(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.change_points:
            changed = "; ".join(f"{change.what} {change.before} to {change.after}" for change in one.changes)
            yield (
                si(one.size_bytes, "B"), one.direction, instant(one.last_before_ns)[:19],
                instant(one.first_after_ns)[:19], _rate(one.before_bps), _rate(one.after_bps), f"{one.ratio:.2f}",
                f"{one.p:.2g}", changed or ABSENT, one.explanation or ABSENT,
            )  # fmt: skip

    head = (
        "run", "size", "direction", "after (UTC)", "before (UTC)", "from", "to", "ratio", "p",
        "changed in the packets", "explained by",
    )  # fmt: skip
    hint = (
        "Steps in medians of days, hours or requests, beyond what a series of that dependence wanders: p below 0.01,"
        " corrected for sizes and directions; 10 % or more, Cliff's delta of 0.33 or more."
    )
    return of_texts("change-points", "Steps", head, _rows(campaigns, rows), 5, hint)


def _period_rows(found: Sequence[ProbePeriodRow]) -> Iterator[tuple[str, ...]]:
    for row in found:
        at = instant(row.start_ns)[:10] if row.hour is None else f"{row.hour:02}:00"
        yield (
            si(row.size_bytes, "B"), row.direction, at, count(row.n), _rate(row.mean_bps), _rate(row.p5_bps),
            _rate(row.p95_bps), si(row.mean_bytes_per_s, "B/s"), number_text(row.mean_tps),
        )  # fmt: skip


_PERIOD_HEAD = ("n", "mean", "5 %", "95 %", "in bytes", "transactions/s")


def _daily(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        days = {row.start_ns for row in campaign.daily}
        if 1 < len(days) <= _DAYS_SHOWN:
            yield from _period_rows(campaign.daily)

    head = ("run", "size", "direction", "day (UTC)", *_PERIOD_HEAD)
    return of_texts("daily", "By day", head, _rows(campaigns, rows), 4, "Percentiles from twenty requests on.")


def _hourly(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        if len({row.hour for row in campaign.hourly}) > 1:
            yield from _period_rows(campaign.hourly)

    head = ("run", "size", "direction", "hour (UTC)", *_PERIOD_HEAD)
    return of_texts("hourly", "By hour of the day", head, _rows(campaigns, rows), 4, "Of all days together.")


def _hour_tests(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.hour_tests[:_TESTS_SHOWN]:
            yield (
                si(one.size_bytes, "B"), one.direction, f"{one.first_hour:02}:00", f"{one.second_hour:02}:00",
                f"{one.first_n} / {one.second_n}", str(one.days), _rate(one.first_mean_bps), _rate(one.second_mean_bps),
                f"{one.t:.2f}", f"{one.p:.2g}", f"{one.p_adjusted:.2g}",
            )  # fmt: skip

    head = ("run", "size", "direction", "hour", "other hour", "n", "days", "mean", "other", "t", "p", "p, corrected")
    hint = (
        "Two-tailed t-test of every pair of hours by their means on the same days, from five days on, the most unlikely"
        " ones; corrected for all of them (Holm)."
    )
    return of_texts("hour-tests", "Hours compared", head, _rows(campaigns, rows), 5, hint)


def _successive(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.successive:
            if one.n:
                p = ABSENT if one.p is None else f"{one.p:.2g}"
                yield si(one.size_bytes, "B"), one.direction, count(one.n), number_text(one.r), p

    head = ("run", "size", "direction", "pairs", "r", "p")
    hint = (
        "Throughput of the first request of a probe against that of the second: Pearson's correlation; p allows for"
        " pairs that are alike."
    )
    return of_texts("successive", "Successive requests", head, _rows(campaigns, rows), 3, hint)


def _addresses(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.addresses[:_ADDRESSES_SHOWN]:
            yield one.address, count(one.count), instant(one.first_seen_ns)[:19], instant(one.last_seen_ns)[:19]

    head = ("run", "address", "requests", "first seen (UTC)", "last seen (UTC)")
    return of_texts(
        "addresses", "Front-end addresses", head, _rows(campaigns, rows), 2, "Of the last response of a request."
    )


def _availability(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.availability if campaign.run.kind != SURGE else ():
            service = ABSENT if one.service_share is None else f"{one.service_share:.2%}"
            yield str(one.retries), f"{one.done:,}/{one.n:,}", f"{one.share:.2%}", f"{one.service_n:,}", service

    head = ("run", "retries", "done", "available", "without own outages", "service available")
    hint = (
        "What a client that gives up after so many retries would have got, and what the service is to blame for:"
        " without requests that failed while the client's own network was down."
    )
    return of_texts("availability", "Availability by retries", head, _rows(campaigns, rows), 1, hint)


def _outages(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.outages if campaign.run.kind != SURGE else ():
            kinds = ", ".join(f"{name}: {number}" for name, number in one.kinds.items())
            yield instant(one.start_ns)[:19], seconds(one.length_s), str(one.failed), one.fault, kinds

    head = ("run", "start (UTC)", "length", "failed", "fault", "kinds")
    hint = "Failures with no request done between them. Own: link down, or gateway and name servers silent, too."
    return of_texts("outages", "Outages", head, _rows(campaigns, rows), 1, hint)


def _hedging(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.hedging:
            p99 = ABSENT if one.p99_s is None else seconds(one.p99_s)
            yield (
                si(one.size_bytes, "B"), one.direction, str(one.requests), one.manner, seconds(one.median_s),
                seconds(one.p95_s), p99, f"+{one.more_requests:.2f}",
            )  # fmt: skip

    head = ("run", "size", "direction", "requests", "manner", "median", "95 %", "99 %", "more requests")
    hint = (
        "Time for an object had it been asked for more than once, by the requests that came next: the first to end, or"
        " one that is broken off after the 95 % and repeated. Its cost: more requests, with their bytes."
    )
    return of_texts("hedging", "Hedging", head, _rows(campaigns, rows), 3, hint)


def _retries(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.retries:
            words = {**{f"retry: {name}": number for name, number in one.causes.items()}, **one.failed_kinds}
            causes = ", ".join(f"{name}: {number}" for name, number in words.items())
            what = "write" if one.direction == "upload" else "read"
            yield what, count(one.requests), str(one.retries), str(one.errors), str(one.failed), causes or ABSENT

    head = ("run", "what", "requests", "retries", "errors", "failed", "causes")
    hint = "A retry is a request made again; an error is an object whose digest does not fit; failed: given up."
    return of_texts("campaign-retries", "Retries and errors", head, _rows(campaigns, rows), 2, hint)


def _locations(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.locations:
            hour = ABSENT if one.hour_p is None else f"{share(one.hour_share)} (p = {one.hour_p:.2g})"
            yield (
                one.location, si(one.size_bytes, "B"), one.direction, count(one.n), _rate(one.mean_bps),
                _rate(one.top1_bps), _rate(one.stdev_bps), _rate(one.min_bps), _rate(one.max_bps), hour,
            )  # fmt: skip

    head = (
        "run", "location", "size", "direction", "N", "mean", "top 1 %", "stdev", "min", "max",
        "due to the hour",
    )  # fmt: skip
    hint = (
        "Top 1 %: the 99th percentile. Due to the hour: share of the variation of ranks (Kruskal-Wallis), p by turning"
        " each day's hours; from five days on."
    )
    return of_texts("locations", "By location", head, _rows(campaigns, rows), 4, hint)


def _surge(campaigns: Sequence[Labelled]) -> Table:
    def cells(one: SurgeRow) -> tuple[str, ...]:
        return (
            one.host, one.direction, str(one.threads), _rate(one.per_thread_bps), _rate(one.combined_bps),
            number_text(one.connections), count(one.n), str(one.steps), share(one.cpu_share), _limit(one),
        )  # fmt: skip

    own = _rows(campaigns, lambda campaign: map(cells, campaign.surge))
    together = tuple(("all", *cells(one)) for one in all_hosts([one for _, one in campaigns]))

    head = (
        "run", "host", "direction", "threads", "a thread", "combined", "connections", "requests", "steps", "CPU",
        "limited by",
    )  # fmt: skip
    hint = (
        "A thread: mean of the requests that began in the steps. Combined: what all moved within a step, over its"
        " length. CPU: of the processors that the process may use. Limited by: the packets of the steps, or processors."
        " All hosts: those that were in step, by threads of one."
    )
    return of_texts("surge", "Surge", head, (*own, *together), 3, hint)


def _limit(one: SurgeRow) -> str:
    """In a word, with its rate."""
    word = one.limited_by or ABSENT
    return word if one.limit_bps is None else f"{word} {si(one.limit_bps, 'bit/s')}"


def _sweep(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.sweep:
            yield (
                one.source, si(one.part_bytes, "B"), str(one.connections), _rate(one.bps),
                f"{one.n}/{one.n + one.failed}", share(one.cpu_share), share(one.host_cpu_share),
                _rate(one.disk_read_bps), share(one.disk_busy_share), number_text(one.connections_used), one.bottleneck,
            )  # fmt: skip

    head = (
        "run", "source", "part", "connections", "throughput", "done", "CPU", "host's CPU", "disk read",
        "disk busy", "used", "bottleneck",
    )  # fmt: skip
    hint = "CPU: of the processors that the process may use. Used: connections that came about."
    return of_texts("sweep", "Uploads by connections", head, _rows(campaigns, rows), 3, hint)


def _merge(campaigns: Sequence[Labelled]) -> Table:
    def rows(campaign: Campaign) -> Iterator[tuple[str, ...]]:
        for one in campaign.merge:
            yield count(one.parts), seconds(one.seconds), count(one.n)

    head = ("run", "parts", "merge", "n")
    hint = "Median of uploads with so many parts."
    return of_texts("merge", "Time of the merge", head, _rows(campaigns, rows), 1, hint)
