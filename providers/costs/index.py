"""Numbers the objects of a trace in the order in which they first appear: the one thing that grows with their count.

With Numba, names are kept as 128 bits of hash in an open table: 24 bytes an object at a load of a half, and no Python
object for any. Two of a hundred million names share all 128 bits with a probability of 1e-23. The hash begins with
random numbers, so that no file can be made to fill one place of the table. Without Numba a dictionary does the same.
"""

import secrets
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from vmtrace.providers.costs.compiled import IS_FAST, Lazily

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_FIRST_PLACES = 1 << 16


class Index(Protocol):
    """Gives names numbers."""

    def numbers(self, names: pa.Array) -> Ints:
        """Of each name; new ones get the next numbers."""

    @property
    def count(self) -> int:
        """How many different names there were."""


def new_index(first: int) -> Index:
    """An empty one, the faster of those that run here."""
    return HashIndex(first) if IS_FAST else DictionaryIndex(first)


class DictionaryIndex:
    """By a dictionary of Python."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._numbers: dict[Any, int] = {}

    @property
    def count(self) -> int:
        """How many different names there were."""
        return len(self._numbers)

    def numbers(self, names: pa.Array) -> Ints:
        """Of each name; new ones get the next numbers."""
        encoded = names.cast(pa.large_string()).dictionary_encode()
        known, first = self._numbers, self._first
        each = np.fromiter(
            (known.setdefault(one, first + len(known)) for one in encoded.dictionary.to_pylist()),
            np.int64,
            len(encoded.dictionary),
        )
        given: Ints = each[encoded.indices.to_numpy(zero_copy_only=False)]
        return given


def _hash_pass(offsets: Ints, data: npt.NDArray[np.uint8], seeds: Words, hashes: Words) -> None:
    factor, other = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
    low, high = np.uint64(32), np.uint64(29)
    for row in range(len(offsets) - 1):
        one, two = seeds[0], seeds[1]
        for place in range(offsets[row], offsets[row + 1]):
            letter = np.uint64(data[place]) + seeds[2]
            one = (one ^ letter) * factor
            one ^= one >> low
            two = (two + letter) * other
            two ^= two >> high
        hashes[row, 0], hashes[row, 1] = one, two


def _number_pass(  # noqa: PLR0913, PLR0917 - one loop, compiled as a whole
    hashes: Words, start: int, keys: Words, numbers: Ints, given: Ints, count: int, most: int
) -> tuple[int, int]:
    """Numbers names from `start` on until the table has `most`; returns where it stopped, and the count."""
    mask = np.uint64(len(numbers) - 1)
    for row in range(start, len(hashes)):
        one, two = hashes[row, 0], hashes[row, 1]
        place = one & mask
        while numbers[place] >= 0 and (keys[place, 0] != one or keys[place, 1] != two):
            place = (place + np.uint64(1)) & mask
        if numbers[place] < 0:
            if count >= most:
                return row, count
            keys[place, 0], keys[place, 1], numbers[place] = one, two, count
            count += 1
        given[row] = numbers[place]
    return len(hashes), count


def _move_pass(keys: Words, numbers: Ints, new_keys: Words, new_numbers: Ints) -> None:
    mask = np.uint64(len(new_numbers) - 1)
    for old in range(len(numbers)):
        if numbers[old] < 0:
            continue
        place = keys[old, 0] & mask
        while new_numbers[place] >= 0:
            place = (place + np.uint64(1)) & mask
        new_keys[place, 0], new_keys[place, 1] = keys[old, 0], keys[old, 1]
        new_numbers[place] = numbers[old]


_run_hash, _run_number, _run_move = Lazily(_hash_pass), Lazily(_number_pass), Lazily(_move_pass)


class HashIndex:
    """By hashes, in compiled loops."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._count = 0
        self._seeds: Words = np.array([secrets.randbits(64) for _ in range(3)], np.uint64)
        self._keys: Words = np.zeros((_FIRST_PLACES, 2), np.uint64)
        self._numbers: Ints = np.full(_FIRST_PLACES, -1, np.int64)

    @property
    def count(self) -> int:
        """How many different names there were."""
        return self._count

    def numbers(self, names: pa.Array) -> Ints:
        """Of each name; new ones get the next numbers."""
        hashes = self._hashes(names)
        given: Ints = np.empty(len(hashes), np.int64)
        done = 0
        while True:
            most = len(self._numbers) // 2
            done, self._count = _run_number(hashes, done, self._keys, self._numbers, given, self._count, most)
            if done == len(hashes):
                return given + self._first
            self._grow()

    def _hashes(self, names: pa.Array) -> Words:
        strings = names.cast(pa.large_string())
        _, offsets, data = strings.buffers()
        places = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        hashes: Words = np.empty((len(strings), 2), np.uint64)
        _run_hash(places, letters, self._seeds, hashes)
        return hashes

    def _grow(self) -> None:
        keys: Words = np.zeros((2 * len(self._numbers), 2), np.uint64)
        numbers: Ints = np.full(2 * len(self._numbers), -1, np.int64)
        _run_move(self._keys, self._numbers, keys, numbers)
        self._keys, self._numbers = keys, numbers
