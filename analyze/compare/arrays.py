"""Joining and counting in arrays: what matching needs and numpy lacks."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Odd constants with well-spread bits (SplitMix64, Steele et al. 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(*fields: ArrayLike) -> Integers:
    """One 64-bit number for each row; rows that differ in a field differ in it but by a chance of one in 10^19."""
    state = np.zeros(np.shape(fields[0]), np.uint64)
    for field in fields:
        state = (state + _GOLDEN) ^ np.asarray(field).astype(np.int64).view(np.uint64)
        state = (state ^ (state >> np.uint64(30))) * _MIX_1
        state = (state ^ (state >> np.uint64(27))) * _MIX_2
        state ^= state >> np.uint64(31)
    return state.view(np.int64)


def common(left: Integers, right: Integers) -> tuple[Integers, Integers]:
    """Places of the values that stand exactly once in each."""
    once_left, once_right = _places_of_once(left), _places_of_once(right)
    _, ours, theirs = np.intersect1d(left[once_left], right[once_right], assume_unique=True, return_indices=True)
    return once_left[ours], once_right[theirs]


def _places_of_once(values: Integers) -> Integers:
    order = np.argsort(values, kind="stable")
    alike = values[order][1:] == values[order][:-1]
    single = ~(np.append(alike, False) | np.append(False, alike))[: len(values)]
    places: Integers = order[single]
    return places


def ranks(values: Integers) -> Integers:
    """How many equal values stand before each one."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - starts_of_runs(values[order])
    return rank


def starts_of_runs(values: Integers) -> Integers:
    """Of each value, where the run of equal neighbours that it belongs to starts."""
    index = np.arange(len(values))
    begins = np.append(True, values[1:] != values[:-1])[: len(values)]
    starts: Integers = np.maximum.accumulate(np.where(begins, index, 0)) if len(values) else index
    return starts


def expanded(first: Integers, counts: Integers) -> Integers:
    """The numbers `first[i]`, `first[i] + 1`, ... (`counts[i]` of them), one row after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Integers = np.arange(total) - np.repeat(ends - counts, counts) + np.repeat(first, counts)
    return numbers
