"""Traces of accesses made in the open: as chunks for the loops, and as files for what reads them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from vmtrace.providers.costs.chunk import DELETE, FIRST_OBJECT, LIST, READ, WRITE, Chunk

OPERATIONS = {"read": READ, "write": WRITE, "list": LIST, "delete": DELETE}

Access = tuple[float, int, int, str, bool]
"""Seconds, object (from 0), bytes, operation, from outside."""


def chunk_of(accesses: Sequence[Access]) -> Chunk:
    columns = list(zip(*accesses, strict=True)) or [(), (), (), (), ()]
    return Chunk(
        np.array(columns[0], np.float64),
        np.array(columns[1], np.int64) + FIRST_OBJECT,
        np.array(columns[2], np.int64),
        np.array([OPERATIONS[word] for word in columns[3]], np.int8),
        np.array(columns[4], np.bool_),
    )


def reads(objects: Iterable[int], size: int = 1) -> list[Access]:
    return [(float(time), one, size, "read", True) for time, one in enumerate(objects)]


def write_csv(path: Path, *lines: str, head: str = "time,object,bytes,operation,place") -> Path:
    path.write_text("\n".join((head, *lines)) + "\n")
    return path
