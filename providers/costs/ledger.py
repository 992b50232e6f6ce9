"""What the objects of a trace occupy over time: stored, cold, recalled, deleted too early. Constant work per access.

Memory goes with the number of objects, not of accesses. An object that is read before it was written was there when the
trace began; nothing is known of it before, so it becomes cold `after_s` after the trace's beginning at the earliest.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.providers.costs.chunk import DELETE, LIST, READ, WRITE, Bytes, Chunk, Flags, Floats, Ints, grown
from vmtrace.providers.costs.compiled import Lazily

# Where each sum stands in `sums`.
(
    STORED, STORED_S, COLD_S, RECALLED, RECALLS, MOVED, DELETED, DELETED_AGE_S, EARLY_S, NOW, BEGAN, AT_BEGIN,
    READ_OUT, READ_IN, WRITTEN_OUT, WRITTEN_IN, READS, WRITES, LISTS, DELETES, READS_OUT, COLD_EARLY_S,
) = range(22)  # fmt: skip
_SUMS = 22
_UNSEEN, _DELETED = -1, -2  # instead of a size


def _pass(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one loop over accesses, compiled as a whole: calls and records cost more than they explain
    times: Floats, objects: Ints, sizes: Ints, operations: Bytes, outside: Flags,
    kept: Ints, born: Floats, last: Floats, sums: Floats, after_s: float, least_s: float, cold_least_s: float,
) -> None:  # fmt: skip
    for row in range(len(times)):
        now, one, size, operation = times[row], objects[row], sizes[row], operations[row]
        sums[STORED_S] += sums[STORED] * (now - sums[NOW])
        sums[NOW] = now
        if operation == LIST:
            sums[LISTS] += 1
            continue
        if operation == DELETE:
            sums[DELETES] += 1
        was = kept[one]
        if was == _DELETED and operation == READ:
            # Who brought it back is not in the trace.
            kept[one], born[one], last[one] = size, now, now
            sums[STORED] += size
            was = size
        elif was == _UNSEEN and operation == READ:
            # It was there all the time.
            kept[one], born[one], last[one] = size, sums[BEGAN], sums[BEGAN]
            sums[STORED] += size
            sums[AT_BEGIN] += size
            sums[STORED_S] += size * (now - sums[BEGAN])
            was = size
        elif was >= 0 and operation == READ and size > was:
            # Only a part of it had been read before.
            sums[STORED] += size - was
            sums[STORED_S] += (size - was) * (now - born[one])
            if born[one] == sums[BEGAN]:
                sums[AT_BEGIN] += size - was
            kept[one] = size
        if was >= 0:
            pause = now - last[one]
            if pause > after_s:
                sums[COLD_S] += was * (pause - after_s)
                sums[COLD_EARLY_S] += was * max(cold_least_s - (pause - after_s), 0.0)
                sums[MOVED] += 1
                if operation == READ:
                    sums[RECALLED] += size
                    sums[RECALLS] += 1
        if operation == READ:
            sums[READS] += 1
            if outside[row]:
                sums[READ_OUT] += size
                sums[READS_OUT] += 1
            else:
                sums[READ_IN] += size
            last[one] = now
            continue
        if was >= 0:
            age = now - born[one]
            sums[STORED] -= was
            sums[DELETED] += was
            sums[DELETED_AGE_S] += was * age
            if age < least_s:
                sums[EARLY_S] += was * (least_s - age)
            kept[one] = _DELETED
        if operation == WRITE:
            sums[WRITES] += 1
            if outside[row]:
                sums[WRITTEN_OUT] += size
            else:
                sums[WRITTEN_IN] += size
            kept[one], born[one], last[one] = size, now, now
            sums[STORED] += size


run_pass = Lazily(_pass)


DAY_S = 86_400.0
AGES_S = (3600.0, DAY_S, 7 * DAY_S, 30 * DAY_S)
"""Lifetimes that objects are counted by: an hour, a day, a week, thirty days."""


@dataclass(frozen=True, slots=True)
class Occupied:
    """The sums of a whole trace; bytes, seconds and counts."""

    began_s: float
    ended_s: float
    sums: tuple[float, ...]
    objects: int
    living: tuple[int, ...] = ()
    """Objects that lived no longer than each of `AGES_S`, from their first access to their last."""

    @property
    def duration_s(self) -> float:
        """From the first access to the last."""
        return self.ended_s - self.began_s

    def __getitem__(self, which: int) -> float:
        """One of the sums."""
        return self.sums[which]


class Ledger:
    """Fed with chunks of a trace in order."""

    def __init__(self, after_s: float, least_s: float, cold_least_s: float = 0.0) -> None:
        self._limits_s = (after_s, least_s, cold_least_s)
        self._kept: Ints = np.full(0, _UNSEEN, np.int64)
        self._born: Floats = np.zeros(0)
        self._last: Floats = np.zeros(0)
        self._first: Floats = np.zeros(0)
        self._latest: Floats = np.zeros(0)
        self._sums: Floats = np.zeros(_SUMS)
        self._begun = False

    def feed(self, chunk: Chunk, objects: int) -> None:
        """The next accesses; `objects` is how many numbers of objects are in use."""
        if len(chunk.times) == 0:
            return
        if not self._begun:
            self._begun = True
            self._sums[NOW] = self._sums[BEGAN] = chunk.times[0]
        self._kept = grown(self._kept, objects, _UNSEEN)
        self._born, self._last = grown(self._born, objects, 0), grown(self._last, objects, 0)
        self._live(chunk, objects)
        run_pass(
            chunk.times, chunk.objects, chunk.sizes, chunk.operations, chunk.outside,
            self._kept, self._born, self._last, self._sums, *self._limits_s,
        )  # fmt: skip

    def _live(self, chunk: Chunk, objects: int) -> None:
        """First and last access of each object, whatever was done with it."""
        self._first, self._latest = grown(self._first, objects, np.nan), grown(self._latest, objects, np.nan)
        of_objects = chunk.operations != LIST
        found, times = chunk.objects[of_objects], chunk.times[of_objects]
        self._latest[found] = times
        fresh = np.isnan(self._first[found])
        # Of several values for one place the last one stays: backwards, the first.
        self._first[found[fresh][::-1]] = times[fresh][::-1]

    def finish(self) -> Occupied:
        """What is cold at the end counts until then."""
        sums, after_s = self._sums.copy(), self._limits_s[0]
        pauses = sums[NOW] - self._last
        cold = (self._kept >= 0) & (pauses > after_s)
        sums[COLD_S] += float((self._kept[cold] * (pauses[cold] - after_s)).sum())
        sums[MOVED] += int(cold.sum())
        lived_s = self._latest - self._first
        living = tuple(int((lived_s <= age_s).sum()) for age_s in AGES_S)
        there = int((self._kept >= 0).sum())
        return Occupied(float(sums[BEGAN]), float(sums[NOW]), tuple(map(float, sums)), there, living)
