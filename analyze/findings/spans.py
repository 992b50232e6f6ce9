"""Stretches of time, each from and to: what they cover together, and how much of others lies in them."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

Span = tuple[int, int]


class Covered:
    """What spans cover together. A question takes the logarithm of how many they are, since hosts have thousands."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._joined: list[Span] = []
        for start, end in sorted(span for span in spans if span[0] < span[1]):
            if self._joined and start <= self._joined[-1][1]:
                self._joined[-1] = (self._joined[-1][0], max(self._joined[-1][1], end))
            else:
                self._joined.append((start, end))
        self._starts = [start for start, _ in self._joined]
        self._before = [0, *accumulate(end - start for start, end in self._joined)]

    @property
    def length(self) -> int:
        """Of all together, what overlaps counted once."""
        return self._before[-1]

    def common(self, spans: Iterable[Span]) -> int:
        """How much of these spans lies in it."""
        return sum(self._below(end) - self._below(start) for start, end in spans)

    def _below(self, at: int) -> int:
        number = bisect_right(self._starts, at)
        if number == 0:
            return 0
        start, end = self._joined[number - 1]
        return self._before[number - 1] + min(at, end) - start
