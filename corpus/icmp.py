"""ICMP errors over buckets: all buckets get all of them, and each finds those that quote its own connections.

Where a device translated addresses, an error fits a connection by its server and sequence number, or is related to one
by who received it. One process gives it to the only connection that fits. Whether there is but one is known when all
buckets are done: then the bucket that has it is analysed once more.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from vmtrace.corpus.engine import Record
from vmtrace.corpus.splitting import Manifest

_MOST_ERRORS = 1 << 16
_MOST_TRANSLATED = 64
"""Kept of a capture, and tried for a server or a receiver: as in the engine (`analysis/icmp_errors.rs`)."""
_FROM, _TO, _SOURCE, _DESTINATION, _PORT = 4, 5, 7, 8, 10


def errors_of(runs: Sequence[Manifest]) -> list[Any]:
    """As the engine takes them, of all runs in order."""
    found = [error for run in runs for error in run.icmp_errors]
    return [_as_engine(error) for error in found[:_MOST_ERRORS]]


def _as_engine(error: Sequence[Any]) -> tuple[Any, ...]:
    addresses = {_FROM, _TO, _SOURCE, _DESTINATION}
    return tuple(ip_address(value) if place in addresses else value for place, value in enumerate(error))


@dataclass(frozen=True, slots=True)
class Given:
    """Places of the errors that concern connections of one bucket, though they quote other addresses."""

    translated: tuple[int, ...] = ()
    """They belong to them: a device translated the addresses."""
    related: tuple[int, ...] = ()
    """They were sent to one of their hosts."""


def given(errors: Sequence[Any], buckets: Sequence[Record]) -> list[Given]:
    """For each bucket the errors that the only connection which fits is in."""
    owned = {place for bucket in buckets for place in bucket["icmp"]}
    translated = _only(errors, [bucket["icmp_fit"] for bucket in buckets], owned, (_DESTINATION, _PORT))
    related = _only(errors, [bucket["icmp_related"] for bucket in buckets], owned | translated.keys(), (_TO,))
    return [
        Given(*(tuple(place for place, bucket in found.items() if bucket == number) for found in (translated, related)))
        for number in range(len(buckets))
    ]


def _only(
    errors: Sequence[Any], fits: Sequence[Mapping[str, int]], taken: AbstractSet[int], key: tuple[int, ...]
) -> dict[int, int]:
    """The bucket of each error that fits one connection among all.

    `fits` are how many each bucket has, `key` the fields by which errors are tried, a bounded number of each.
    """
    counts: Counter[int] = Counter()
    where: dict[int, int] = {}
    for number, bucket in enumerate(fits):
        for name, count in bucket.items():
            counts[int(name)] += count
            where[int(name)] = number
    found: dict[int, int] = {}
    tried: Counter[tuple[Any, ...]] = Counter()
    for place, error in enumerate(errors):
        value = tuple(error[field] for field in key)
        if place in taken or tried[value] >= _MOST_TRANSLATED:
            continue
        tried[value] += 1
        if counts[place] == 1:
            found[place] = where[place]
    return found
