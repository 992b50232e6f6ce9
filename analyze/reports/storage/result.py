"""What storage runs come to, a sentence each, the most telling first: a page and a terminal begin with it.

`a new connection for each object: 101 % overhead at 4 kB` is the workload that the service's protocol costs most.
"""

import re
from collections.abc import Iterator, Sequence

from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.campaign_texts import event_text, knee_text
from vmtrace.analyze.reports.storage.connections import ConnectionRow
from vmtrace.analyze.reports.storage.overhead import OverheadRow
from vmtrace.analyze.reports.storage.tables import Report
from vmtrace.analyze.reports.storage.throughput import ThroughputRow
from vmtrace.analyze.reports.storage.time_ledger import TimeRow
from vmtrace.analyze.words.units import printable, ratio, share, si
from vmtrace.formats.quantities import plural


def results(reports: Sequence[Report]) -> list[str]:
    """The costliest workload of each run, then what its objects waited for, then the fastest and the slowest."""
    makers = (_cost, _campaign, _time, _rates)
    named = len(reports) > 1
    return [
        f"{f'{printable(report.label)}: ' if named else ''}{_sentence(said, capital=not named)}"
        for make in makers
        for report in reports
        for said in make(report)
    ]


def _sentence(said: str, *, capital: bool) -> str:
    return f"{said[0].upper() if capital else said[0]}{said[1:]}."


def _cost(report: Report) -> Iterator[str]:
    known = [row for row in report.overhead if row.overhead_ratio is not None]
    if not known:
        return
    worst = max(known, key=lambda row: row.overhead_ratio or 0.0)
    kind = (worst.workload, worst.direction)
    files = {(row.workload, row.direction): row for row in report.throughput}.get(kind)
    used = {(row.workload, row.direction): row for row in report.connections}.get(kind)
    how = _manner(used, files) if used and files else ""
    yield f"{how}{': ' if how else ''}{_percent(worst)} overhead at {_what(worst, files)}"


def _percent(row: OverheadRow) -> str:
    """Thousands stand apart: small objects cost many times their size."""
    value = 100 * (row.overhead_ratio or 0.0)
    return f"{value:,.0f} %" if value >= 1000 else ratio(row.overhead_ratio)


def _manner(used: ConnectionRow, files: ThroughputRow) -> str:
    """How connections are used; nothing of an object alone, which needs one in any case."""
    if files.files == 1 or used.reused_share is None:
        return ""
    if used.reused_share == 0:
        return "a new connection for each object"
    if used.reused_share >= 1 - 1 / files.files:
        return f"one connection for all {files.files:,} objects"
    return f"{share(used.reused_share)} of objects on a connection already open"


def _what(row: OverheadRow, files: ThroughputRow | None) -> str:
    """`4 kB, upload`; of several objects `100 x 4 kB, download`."""
    if files is None:
        return printable(f"{row.workload}, {row.direction}")
    size = re.sub(r"\.0+ ", " ", si(files.file_bytes, "B"))
    return f"{size}, {row.direction}" if files.files == 1 else f"{files.files:,} x {size}, {row.direction}"


def _campaign(report: Report) -> Iterator[str]:
    if report.campaign is not None:
        yield from map(printable, campaign_results(report.campaign))


def telling_times(report: Report) -> TimeRow | None:
    """Of the workload that says most of where time goes: the download with most objects."""
    # Uploading, the service's own time cannot be separated from the transfer: downloads say more.
    objects = [row for row in report.times if row.what == "object"]
    return max(objects, key=lambda row: (row.direction == "download", row.objects), default=None)


def _time(report: Report) -> Iterator[str]:
    found = telling_times(report)
    if found is None:
        return
    parts = {part: value for part, value in found.shares.items() if value}
    if parts:
        part = max(parts, key=lambda one: parts[one])
        kind = printable(f"{found.workload}, {found.direction}")
        yield f"{share(parts[part])} of the time of an object ({kind}) is {part.replace('_', ' ')} time"


def _rates(report: Report) -> Iterator[str]:
    rated = [row for row in report.throughput if row.throughput_bps.value is not None]
    if len(rated) < 2:
        return
    slow, fast = (choose(rated, key=lambda row: row.throughput_bps.value or 0.0) for choose in (min, max))
    said = (
        f"{printable(one.workload)} {one.direction} {si(one.throughput_bps.value, 'bit/s')}" for one in (slow, fast)
    )
    yield "median throughput from {} to {}".format(*said)


def campaign_results(campaign: Campaign) -> Iterator[str]:
    """The most telling first; nothing of a campaign without a request that was done."""
    yield from _steps(campaign)
    for one in campaign.surge_knees:
        yield f"{one.direction}: {knee_text(one.knee, 'threads')}"
    for row in campaign.sweep_knees:
        yield f"parts of {si(row.part_bytes, 'B')} from {row.source}: {knee_text(row.knee, 'connections')}"
    if not campaign.surge_knees and not campaign.sweep_knees:
        yield from _served(campaign)


def _steps(campaign: Campaign) -> Iterator[str]:
    """The largest event, and how many more there were."""
    if campaign.events:
        largest = max(campaign.events, key=lambda one: max(one.ratio, 1 / one.ratio))
        others = len(campaign.events) - 1
        yield event_text(largest) + (f"; {plural(others, 'more event')}" if others else "")


def _served(campaign: Campaign) -> Iterator[str]:
    """How many requests were done, and the throughput of the largest objects."""
    if not campaign.availability or not any(row.done for row in campaign.availability):
        return
    first, last = campaign.availability[0], campaign.availability[-1]
    done = f"{last.done:,} of {plural(last.n, 'request')} were done"
    retried = "" if first.done == last.done else f", {share(first.share)} without a retry"
    known = [row for row in campaign.sizes if row.median_bps is not None]
    largest = max(known, key=lambda row: (row.size_bytes, row.direction == "download"), default=None)
    rate = "" if largest is None else (
        f": median {si(largest.median_bps, 'bit/s')} for {largest.direction}s of {si(largest.size_bytes, 'B')}"
    )  # fmt: skip
    yield f"{done}{retried}{rate}"
