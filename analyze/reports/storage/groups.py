"""Front ends by address block that behave differently (section III.C of the study): found by a test.

The addresses of a run are taken as the leaves of a binary tree of prefixes. At every fork the two blocks below it are
compared: throughput of transactions that went to one against the other, within each workload that both served. Uploads
and downloads are compared apart: what caps one need not touch the other, and together they would show half of it.

A fork counts if the permutation test, adjusted (Holm) for all forks tested, calls it unusual, and the effect is not
small. A transaction counts once for each front end, with the median of its objects: objects over one connection are not
independent.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import numpy as np

from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.reports.storage.records import DIRECTIONS, Direction
from vmtrace.analyze.stats.estimates import Estimate, Floats, holm
from vmtrace.analyze.stats.two_samples import FEWEST, Difference, Group, difference
from vmtrace.analyze.tables.schema.typed import Count, Positive

LARGEST_P = 0.05
SMALLEST_DELTA = 0.33
"""Cliff's delta of a medium effect: J. Romano and others, Annual meeting of the Florida Association of Institutional
Research (2006)."""
MOST_FORKS = 100
"""Tested at most, those with most values: with thousands of values each costs tenths of a second."""

Address = IPv4Address | IPv6Address
Values = dict[str, list[float]]
"""By workload."""
Fork = tuple[list[Address], list[Address]]


@dataclass(frozen=True, slots=True)
class BlockPair:
    """Two neighbouring blocks of front ends, compared in one direction: in the workloads that both served."""

    direction: Direction
    first_block: str
    second_block: str
    first_front_ends: Count
    second_front_ends: Count
    first_median_bps: Positive
    second_median_bps: Positive
    first_values: Count
    second_values: Count
    ratio_of_medians: Estimate
    """Second over first, within workloads."""
    cliffs_delta: Estimate
    p: Positive | None
    p_adjusted: Positive | None
    """For all forks tested (Holm)."""

    DERIVED = ("differs",)

    @property
    def differs(self) -> bool:
        """Unusual beyond chance, and not small."""
        delta = self.cliffs_delta.value
        return (
            self.p_adjusted is not None
            and self.p_adjusted < LARGEST_P
            and delta is not None
            and abs(delta) >= SMALLEST_DELTA
        )


def block_pairs(run: MeasuredRun) -> list[BlockPair]:
    """All forks tested, those that differ first."""
    wanted: list[tuple[str, Fork, dict[Address, Values]]] = []
    for direction in DIRECTIONS:
        by_address = _values(run, direction)
        forks: list[Fork] = []
        for version in (4, 6):
            _forks(sorted(address for address in by_address if address.version == version), forks)
        wanted += [(direction, fork, by_address) for fork in forks if min(_weights(fork, by_address)) >= FEWEST]
    wanted.sort(key=lambda one: -sum(_weights(one[1], one[2])))
    found = [(one, _compared(one[1], one[2])) for one in wanted[:MOST_FORKS]]
    adjusted = holm([compared.p if compared is not None else None for _, compared in found])
    pairs = [
        _pair(direction, fork, compared, by_address, p)
        for ((direction, fork, by_address), compared), p in zip(found, adjusted, strict=True)
        if compared is not None
    ]
    return sorted(pairs, key=lambda pair: (not pair.differs, 1.0 if pair.p_adjusted is None else pair.p_adjusted))


def _values(run: MeasuredRun, direction: str) -> dict[Address, Values]:
    """Median throughput of an object, bit/s, of each transaction at each front end."""
    found: dict[Address, Values] = defaultdict(lambda: defaultdict(list))
    for one in run.transactions:
        if one.transaction.direction != direction:
            continue
        rates: dict[Address, list[float]] = defaultdict(list)
        for stored in one.objects:
            exchange = stored.exchange
            if stored.outcome == "done" and exchange.front_end is not None and exchange.end_ns > exchange.start_ns:
                rate = 8e9 * stored.moved_bytes / (exchange.end_ns - exchange.start_ns)
                rates[ip_address(exchange.front_end[0])].append(rate)
        for address, values in rates.items():
            found[address][one.transaction.workload].append(float(np.median(values)))
    return found


def _forks(addresses: Sequence[Address], forks: list[Fork]) -> None:
    """Splits sorted addresses at the first bit in which they differ, and then each part."""
    waiting = [list(addresses)]
    while waiting:
        here = waiting.pop()
        if len(here) < 2:
            continue
        bit = (int(here[0]) ^ int(here[-1])).bit_length() - 1
        parts: tuple[list[Address], list[Address]] = ([], [])
        for address in here:
            parts[int(address) >> bit & 1].append(address)
        forks.append(parts)
        waiting += parts


def _weights(fork: Fork, by_address: dict[Address, Values]) -> tuple[int, int]:
    """Values that can be compared, on each side."""
    first, second = (sum(map(len, side.values())) for side in _both(fork, by_address))
    return first, second


def _both(fork: Fork, by_address: dict[Address, Values]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The values of each side, of the workloads that both have."""
    first, second = (_pooled(side, by_address) for side in fork)
    shared = [workload for workload in first if workload in second]
    return {one: first[one] for one in shared}, {one: second[one] for one in shared}


def _pooled(addresses: Iterable[Address], by_address: dict[Address, Values]) -> dict[str, Floats]:
    pooled: dict[str, list[float]] = defaultdict(list)
    for address in addresses:
        for workload, values in by_address[address].items():
            pooled[workload] += values
    return {workload: np.array(values, np.float64) for workload, values in pooled.items()}


def _compared(fork: Fork, by_address: dict[Address, Values]) -> Difference | None:
    first, second = _both(fork, by_address)
    groups = [Group(first[workload], second[workload]) for workload in first]
    return difference(groups) if groups else None


def _pair(
    direction: str, fork: Fork, compared: Difference, by_address: dict[Address, Values], p_adjusted: float | None
) -> BlockPair:
    first, second = (np.concatenate(list(side.values())) for side in _both(fork, by_address))
    return BlockPair(
        direction,
        block(fork[0]),
        block(fork[1]),
        len(fork[0]),
        len(fork[1]),
        float(np.median(first)),
        float(np.median(second)),
        len(first),
        len(second),
        compared.ratio_of_medians,
        compared.cliffs_delta,
        compared.p,
        p_adjusted,
    )


def block(addresses: Sequence[Address]) -> str:
    """The smallest prefix that holds all of them; a single address as itself."""
    low, high = int(addresses[0]), int(addresses[-1])
    if low == high:
        return str(addresses[0])
    length = addresses[0].max_prefixlen - (low ^ high).bit_length()
    return str(ip_network(f"{addresses[0]}/{length}", strict=False))
