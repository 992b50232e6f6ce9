"""Plans of a sweep: one file uploaded in parts, over every number of connections, part size and source in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vmtrace.providers.kind import SWEEP
from vmtrace.providers.plan_options import MOST_REPEATS, as_record, numbers, option, size, sizes, some_of, whole

DISK, MEMORY = "disk", "tmpfs"
SOURCES = (DISK, MEMORY)
_QUICK_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class Merges:
    """Uploads whose end is what counts: the service makes one object of so many parts."""

    parts: tuple[int, ...] = option("parts", numbers(10_000))
    part_bytes: int = option("part_size", size)
    repeat: int = option("repeat", whole(MOST_REPEATS), 3)


@dataclass(frozen=True, slots=True)
class SweepStep:
    """One upload. `merge` says that the time of the merge is what it is for."""

    number: int
    repeat: int
    connections: int
    part_bytes: int
    size_bytes: int
    source: str
    merge: bool = False

    @property
    def parts(self) -> int:
        """That the object is made of."""
        return max(1, -(-self.size_bytes // self.part_bytes))


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Repeats are outermost: what changes with time is spread over all steps."""

    name: str
    connections: tuple[int, ...] = option("connections", numbers(1000))
    part_sizes_bytes: tuple[int, ...] = option("part_sizes", sizes)
    size_bytes: int = option("size", size)
    sources: tuple[str, ...] = option("sources", some_of(SOURCES))
    repeat: int = option("repeat", whole(MOST_REPEATS), what="repetitions, instead of the plan's")
    merges: Merges | None = None
    scale: float = 1.0

    @property
    def kind(self) -> str:
        """Of plans."""
        return SWEEP

    def steps(self) -> Iterator[SweepStep]:
        """In order; a file has as many bytes as the plan says, and one part at least."""
        number = 0
        for repeat in range(1, self.repeat + 1):
            for source in self.sources:
                for part_bytes in self.part_sizes_bytes:
                    for connections in self.connections:
                        number += 1
                        size = max(self.size_bytes, part_bytes)
                        yield SweepStep(number, repeat, connections, part_bytes, size, source)
        merges = self.merges
        for repeat in range(1, merges.repeat + 1) if merges else ():
            for parts in merges.parts if merges else ():
                number += 1
                part_bytes = merges.part_bytes if merges else 1
                connections = min(max(self.connections), parts)
                yield SweepStep(number, repeat, connections, part_bytes, parts * part_bytes, DISK, merge=True)

    @property
    def largest_bytes(self) -> int:
        """Of the files whose content is random."""
        return max([self.size_bytes, *self.part_sizes_bytes])

    def scaled(self, factor: float) -> SweepPlan:
        """Sizes multiplied; a service may refuse parts that become too small."""

        def made(size: int) -> int:
            return max(1, math.floor(size * factor + 0.5))

        merges = None if self.merges is None else replace(self.merges, part_bytes=made(self.merges.part_bytes))
        return replace(
            self,
            part_sizes_bytes=tuple(dict.fromkeys(map(made, self.part_sizes_bytes))),
            size_bytes=made(self.size_bytes),
            merges=merges,
            scale=self.scale * factor,
        )

    def quick(self) -> SweepPlan:
        """Once, the smallest part size, up to eight connections and 100 parts."""
        few = tuple(one for one in self.connections if one <= _QUICK_CONNECTIONS) or self.connections[:1]
        merges = self.merges
        if merges is not None:
            merges = replace(
                merges, parts=tuple(one for one in merges.parts if one <= 100) or merges.parts[:1], repeat=1
            )
        part = min(self.part_sizes_bytes)
        return replace(self, connections=few, part_sizes_bytes=(part,), size_bytes=8 * part, repeat=1, merges=merges)

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        record = as_record(self)
        return {**record, "merge": record.pop("merges")}


YOON_UPLOAD = SweepPlan(
    # H. Yoon and others, Effectively using Amazon Web Services, the slides on uploads: 1 to 200 connections. The
    # slides name neither the file nor the sizes of parts; S3 takes parts from 5 MiB on.
    name="yoon-upload",
    connections=(1, 2, 5, 10, 14, 20, 50, 100, 200),
    part_sizes_bytes=(5 << 20, 20 << 20, 100 << 20),
    size_bytes=1 << 30,
    sources=SOURCES,
    repeat=3,
    merges=Merges((10, 100, 1_000, 10_000), 5 << 20),
)
