"""Whether the load lies on the sources as they can bear it: each share against the share of the measured capacity.

Jain's index of x_i = share_i / capacity share_i is 1 where every source carries its part, and 1/n where one of n
carries all. Source: R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness and Discrimination for Resource
Allocation in Shared Computer Systems, DEC TR-301 (1984).
"""

from collections.abc import Sequence


def jain_index(values: Sequence[float]) -> float | None:
    """(sum x)^2 / (n * sum x^2), from 1/n to 1; None without values, or where all are 0."""
    squares = sum(value * value for value in values)
    if not values or squares <= 0:
        return None
    return sum(values) ** 2 / (len(values) * squares)


def loads(shares: Sequence[float], capacities_bps: Sequence[float | None]) -> list[float | None]:
    """Each share over the source's share of all capacities; None where not all capacities are known."""
    known = [one for one in capacities_bps if one is not None and one > 0]
    total = sum(known)
    if not known or len(known) < len(capacities_bps):
        return [None] * len(shares)
    return [share / (capacity / total) for share, capacity in zip(shares, known, strict=True)]
