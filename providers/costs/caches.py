"""Simulates a local cache over a trace: LRU, and S3-FIFO, which keeps what is read once from driving out the rest.

S3-FIFO is by Yang and others, "FIFO queues are all you need for cache eviction" (SOSP 2023): new objects wait in a
small queue of a tenth of the cache; those read again there go to the main queue, the others leave; what left lately and
comes back goes to the main queue at once. Sizes are in bytes here, and the memory of what left is a stamp for each
object.

Whole objects are cached, also when written; a hit needs as many bytes as are asked for. An object larger than the cache
(with S3-FIFO as with LRU) passes it by. Both loops hold their queues as links between numbers of objects.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.providers.costs.chunk import DELETE, LIST, READ, Bytes, Chunk, Flags, Ints, grown
from vmtrace.providers.costs.compiled import Lazily

POLICIES = ("lru", "s3-fifo")

# Where each count stands in `state`.
HITS, HIT_BYTES, USED, SMALL_USED, LEFT = range(5)
_SMALL, _MAIN = 0, 1  # the ends of the two queues, as numbers of objects


def _lru_pass(  # noqa: PLR0913, PLR0917 - one loop, compiled as a whole
    objects: Ints, sizes: Ints, operations: Bytes, outside: Flags,
    held: Ints, after: Ints, before: Ints, state: Ints, capacity: int,
) -> None:  # fmt: skip
    for row in range(len(objects)):
        operation = operations[row]
        if not outside[row] and operation == READ:
            continue
        if operation == LIST:
            continue
        one, size = objects[row], sizes[row]
        if held[one] >= 0:
            if operation == READ and held[one] >= size:
                state[HITS] += 1
                state[HIT_BYTES] += size
                size = held[one]
            after[before[one]], before[after[one]] = after[one], before[one]
            state[USED] -= held[one]
            held[one] = -1
        # What was written inside the region did not pass here: the copy is stale.
        if operation == DELETE or not outside[row] or size > capacity:
            continue
        while state[USED] + size > capacity:
            oldest = before[0]
            after[before[oldest]], before[0] = 0, before[oldest]
            state[USED] -= held[oldest]
            held[oldest] = -1
        first = after[0]
        after[0], before[one], after[one], before[first] = one, 0, first, one
        held[one] = size
        state[USED] += size


def _s3_fifo_pass(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one loop, compiled as a whole
    objects: Ints, sizes: Ints, operations: Bytes, outside: Flags,
    held: Ints, after: Ints, before: Ints, state: Ints, capacity: int,
    queue: Bytes, reads: Bytes, stamp: Ints,
) -> None:  # fmt: skip
    small_capacity = capacity // 10
    main_capacity = capacity - small_capacity
    for row in range(len(objects)):
        operation = operations[row]
        if not outside[row] and operation == READ:
            continue
        if operation == LIST:
            continue
        one, size = objects[row], sizes[row]
        again = False
        if held[one] >= 0:
            if operation == READ and held[one] >= size:
                state[HITS] += 1
                state[HIT_BYTES] += size
                reads[one] = min(reads[one] + 1, 3)
                continue
            # Deleted, written anew, or held in part: it leaves; a new version keeps its rank.
            again = queue[one] == _MAIN
            after[before[one]], before[after[one]] = after[one], before[one]
            state[USED] -= held[one]
            if queue[one] == _SMALL:
                state[SMALL_USED] -= held[one]
            held[one] = -1
        if operation == DELETE:
            stamp[one] = -1
            continue
        # What was written inside the region did not pass here: the copy is stale.
        if not outside[row] or size > capacity:
            continue
        while state[USED] + size > capacity:
            small_last = before[_SMALL]
            if small_last != _SMALL and (state[SMALL_USED] > small_capacity or before[_MAIN] == _MAIN):
                after[before[small_last]], before[_SMALL] = _SMALL, before[small_last]
                state[SMALL_USED] -= held[small_last]
                if reads[small_last] > 1:
                    first = after[_MAIN]
                    after[_MAIN], before[small_last], after[small_last], before[first] = (
                        small_last, _MAIN, first, small_last,
                    )  # fmt: skip
                    queue[small_last], reads[small_last] = _MAIN, 0
                else:
                    state[USED] -= held[small_last]
                    stamp[small_last] = state[LEFT]
                    state[LEFT] += held[small_last]
                    held[small_last] = -1
                continue
            last = before[_MAIN]
            after[before[last]], before[_MAIN] = _MAIN, before[last]
            if reads[last] > 0:
                reads[last] -= 1
                first = after[_MAIN]
                after[_MAIN], before[last], after[last], before[first] = last, _MAIN, first, last
            else:
                state[USED] -= held[last]
                held[last] = -1
        if stamp[one] >= 0:
            again = again or state[LEFT] - stamp[one] <= main_capacity
            stamp[one] = -1
        end = _MAIN if again else _SMALL
        first = after[end]
        after[end], before[one], after[one], before[first] = one, end, first, one
        held[one], queue[one], reads[one] = size, end, 0
        state[USED] += size
        if end == _SMALL:
            state[SMALL_USED] += size


run_lru = Lazily(_lru_pass)
run_s3_fifo = Lazily(_s3_fifo_pass)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a cache served of the reads from outside."""

    policy: str
    capacity_bytes: int
    hits: int
    hit_bytes: int


class CacheSimulation:
    """One cache, fed with chunks of a trace in order."""

    def __init__(self, policy: str, capacity_bytes: int) -> None:
        if policy not in POLICIES:
            raise ValueError(f"policy {policy!r}: expected one of {', '.join(POLICIES)}")
        self.policy, self.capacity_bytes = policy, capacity_bytes
        self._held: Ints = np.full(0, -1, np.int64)
        # Both queues are empty: their ends are linked to themselves.
        self._after: Ints = np.array([_SMALL, _MAIN], np.int64)
        self._before: Ints = np.array([_SMALL, _MAIN], np.int64)
        self._state: Ints = np.zeros(5, np.int64)
        self._queue: Bytes = np.zeros(0, np.int8)
        self._reads: Bytes = np.zeros(0, np.int8)
        self._stamp: Ints = np.full(0, -1, np.int64)

    def feed(self, chunk: Chunk, objects: int) -> None:
        """The next accesses; `objects` is how many numbers of objects are in use."""
        self._held = grown(self._held, objects, -1)
        self._after, self._before = grown(self._after, objects, 0), grown(self._before, objects, 0)
        common = (
            chunk.objects, chunk.sizes, chunk.operations, chunk.outside,
            self._held, self._after, self._before, self._state, self.capacity_bytes,
        )  # fmt: skip
        if self.policy == "lru":
            run_lru(*common)
            return
        self._queue, self._reads = grown(self._queue, objects, 0), grown(self._reads, objects, 0)
        self._stamp = grown(self._stamp, objects, -1)
        run_s3_fifo(*common, self._queue, self._reads, self._stamp)

    def finish(self) -> Simulated:
        """How it did."""
        return Simulated(self.policy, self.capacity_bytes, int(self._state[HITS]), int(self._state[HIT_BYTES]))
