"""Consecutive accesses of a trace as columns: what its reader makes, and the ledger and the caches are fed with."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

READ, WRITE, LIST, DELETE = range(4)
"""Operations."""
FIRST_OBJECT = 2
"""Numbers of objects begin here: those below are the ends of lists."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column for each property; all are of one length."""

    times: Floats
    """Seconds since any moment."""
    objects: Ints
    sizes: Ints
    operations: Bytes
    outside: Flags
    """Not from the region of the service."""
