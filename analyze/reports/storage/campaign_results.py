"""What a campaign comes to, in a sentence or two: the page and the terminal begin with it.

Steps of throughput come first, then what its kind was made to find: availability, knees, or what a location gets.
"""

from collections.abc import Iterator

from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.campaign_texts import event_text, knee_text
from vmtrace.analyze.words.units import share, si
from vmtrace.formats.quantities import plural


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
