"""Whether the addresses a name has depend on where the resolver is: the load balancing that the study looked for.

Resolvers of one country are compared with those of others: the mean likeness (Jaccard) of what two resolvers were given
within countries, less that between them, against what chance makes of it (a permutation test over the resolvers).
Names that hand out a part of a pool in turn look unlike everywhere, and so do not look steered.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.tables.schema.typed import Share

_PERMUTATIONS = 999
_SIGNIFICANT = 0.01
_MOST_RESOLVERS = 300
_FEWEST_RESOLVERS = 6
_SEED = 20131


@dataclass(frozen=True, slots=True)
class Steering:
    """`depends` is None where it cannot be judged; `reason` says why, or by what."""

    depends: bool | None
    p_value: Share | None
    reason: str


def steering(given: Mapping[str, frozenset[str]], country: Mapping[str, str | None]) -> Steering:
    """From the addresses that each resolver gave for a name, and the country of each."""
    known = sorted(label for label, addresses in given.items() if addresses and country.get(label))
    known = known[:: max(1, -(-len(known) // _MOST_RESOLVERS))]
    if len({given[label] for label in given if given[label]}) == 1 and len(given) > 1:
        return Steering(False, None, "every resolver gives the same addresses")
    groups = np.array([country[label] for label in known])
    if len(known) < _FEWEST_RESOLVERS or not _comparable(groups):
        return Steering(None, None, "too few resolvers of known country gave addresses (two in each of two are needed)")
    alike = _likeness([given[label] for label in known])
    observed, dice = _contrast(alike, groups), np.random.default_rng(_SEED)
    shuffled = [_contrast(alike, dice.permutation(groups)) for _ in range(_PERMUTATIONS)]
    p_value = (1 + sum(one >= observed - 1e-12 for one in shuffled)) / (1 + _PERMUTATIONS)
    depends = bool(p_value < _SIGNIFICANT and observed > 0)
    return Steering(depends, p_value, f"likeness within countries less that between them: {observed:+.2f}")


def _comparable(groups: NDArray[np.str_]) -> bool:
    _, sizes = np.unique(groups, return_counts=True)
    return len(sizes) >= 2 and int((sizes >= 2).sum()) >= 2


def _likeness(sets: list[frozenset[str]]) -> NDArray[np.float64]:
    every = sorted(set().union(*sets))
    place = {address: number for number, address in enumerate(every)}
    has = np.zeros((len(sets), len(every)), np.float64)
    for row, one in enumerate(sets):
        has[row, [place[address] for address in one]] = 1
    common = has @ has.T
    size = has.sum(axis=1)
    found: NDArray[np.float64] = common / (size[:, None] + size[None, :] - common)
    return found


def _contrast(alike: NDArray[np.float64], groups: NDArray[np.str_]) -> float:
    same = groups[:, None] == groups[None, :]
    pairs = ~np.eye(len(groups), dtype=bool)
    return float(alike[same & pairs].mean() - alike[~same].mean())
