"""ICMP errors over buckets: all buckets get all of them, and each finds those that quote its own connections.

Where a device translated addresses, an error fits a connection by its server and sequence number. One process gives it
to the only connection that fits. Whether there is but one is known when all buckets are done: then the bucket that has
it is analysed once more.
"""

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from vmtrace.corpus.engine import Record
from vmtrace.corpus.splitting import Manifest

_MOST_ERRORS = 1 << 16
_MOST_TRANSLATED = 64
"""Kept of a capture, and tried for a server: as in the engine (`analysis/icmp_errors.rs`)."""
_FROM, _TO, _SOURCE, _DESTINATION, _PORT = 4, 5, 7, 8, 10


def errors_of(runs: Sequence[Manifest]) -> list[Any]:
    """As the engine takes them, of all runs in order."""
    found = [error for run in runs for error in run.icmp_errors]
    return [_as_engine(error) for error in found[:_MOST_ERRORS]]


def _as_engine(error: Sequence[Any]) -> tuple[Any, ...]:
    addresses = {_FROM, _TO, _SOURCE, _DESTINATION}
    return tuple(ip_address(value) if place in addresses else value for place, value in enumerate(error))


def translated(errors: Sequence[Any], buckets: Sequence[Record]) -> list[tuple[int, ...]]:
    """For each bucket the places of the errors that belong to a connection of it, though it has other addresses."""
    owned = {place for bucket in buckets for place in bucket["icmp"]}
    fits: Counter[int] = Counter()
    where: dict[int, int] = {}
    for number, bucket in enumerate(buckets):
        for place, count in bucket["icmp_fit"].items():
            fits[int(place)] += count
            where[int(place)] = number
    given: list[list[int]] = [[] for _ in buckets]
    tried: Counter[Any] = Counter()
    for place, error in enumerate(errors):
        server = (error[_DESTINATION], error[_PORT])
        if place in owned or tried[server] >= _MOST_TRANSLATED:
            continue
        tried[server] += 1
        if fits[place] == 1:
            given[where[place]].append(place)
    return [tuple(one) for one in given]
