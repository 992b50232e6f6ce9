"""What a benchmark does: workloads, each a number of files of one size, uploaded and downloaded again, repeatedly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from vmtrace.formats.quantities import shown_decimal_bytes
from vmtrace.providers.kind import BENCHMARK
from vmtrace.providers.plan_options import MOST_REPEATS, as_record, option, pause, whole

UPLOAD, DOWNLOAD = "upload", "download"
RANDOM, COMPRESSIBLE, REPEATED, CHANGED = "random", "compressible", "repeated", "changed"
CONTENTS = (RANDOM, COMPRESSIBLE, REPEATED, CHANGED)
"""Of files: nothing can be saved; text; all alike; each like the one before it but for a hundredth."""
QUICK_LARGEST_BYTES = 10 * 10**6
_SCALED = " (scaled: "


@dataclass(frozen=True, slots=True)
class Workload:
    """Files that are moved one after the other, as one transaction."""

    name: str
    files: int
    size_bytes: int
    content: str = RANDOM
    """One of `CONTENTS`: what a client that compresses, or sends only what is new, would save on."""

    @property
    def bytes(self) -> int:
        """Of all files."""
        return self.files * self.size_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """Workloads in order, `repeat` times; scale is already applied to sizes and times, and kept to be told."""

    name: str
    workloads: tuple[Workload, ...]
    repeat: int = option("repeat", whole(MOST_REPEATS), 1, what="repetitions, instead of the plan's")
    wait_s: float = option("wait", pause, 0.0)
    """Between an upload and the download of the same files."""
    idle_s: float = option("idle", pause, 0.0)
    """Between a download and the next upload."""
    scale: float = 1.0

    @property
    def kind(self) -> str:
        """Of plans."""
        return BENCHMARK

    @property
    def bytes(self) -> int:
        """Payload of the whole, both directions."""
        return 2 * self.repeat * sum(workload.bytes for workload in self.workloads)

    @property
    def transactions(self) -> int:
        """Uploads and downloads of the whole."""
        return 2 * self.repeat * len(self.workloads)

    @property
    def pause_s(self) -> float:
        """Waits and idle times of the whole; there is none after the last."""
        pairs = self.repeat * len(self.workloads)
        return pairs * self.wait_s + (pairs - 1) * self.idle_s

    def scaled(self, factor: float) -> "Plan":
        """Sizes and times multiplied; a file has at least one byte. Names say the size that is moved then."""
        workloads = tuple(_scaled(one, max(1, math.floor(one.size_bytes * factor + 0.5))) for one in self.workloads)
        return replace(
            self,
            workloads=workloads,
            wait_s=self.wait_s * factor,
            idle_s=self.idle_s * factor,
            scale=self.scale * factor,
        )

    def quick(self) -> "Plan":
        """Once, without pauses, and only what is not large: seconds instead of hours, at the sizes of the study."""
        small = tuple(one for one in self.workloads if one.bytes <= QUICK_LARGEST_BYTES) or self.workloads[:1]
        return replace(self, workloads=small, repeat=1, wait_s=0.0, idle_s=0.0)

    def only(self, names: Iterable[str]) -> "Plan":
        """Just these workloads; raises `ValueError` for one that is not in the plan."""
        wanted = list(names)
        known = {one.name for one in self.workloads}
        for name in wanted:
            if name not in known:
                raise ValueError(f"{name}: not a workload of plan {self.name}, which has: {', '.join(sorted(known))}")
        return replace(self, workloads=tuple(one for one in self.workloads if one.name in wanted))

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return as_record(self)


def _scaled(workload: Workload, size_bytes: int) -> Workload:
    """`1MB` of 10 kB is no workload of the paper: `1MB (scaled: 1 x 10 kB)`."""
    if size_bytes == workload.size_bytes:
        return workload
    name = workload.name.partition(_SCALED)[0]
    said = f"{name}{_SCALED}{workload.files} x {shown_decimal_bytes(size_bytes)})"
    return replace(workload, name=said, size_bytes=size_bytes)
