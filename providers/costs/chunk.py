"""Consecutive accesses of a trace as columns: what its reader makes, and the ledger and the caches are fed with."""

from dataclasses import dataclass
from typing import Any, TypeVar

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


Array = TypeVar("Array", bound=npt.NDArray[Any])


def grown(array: Array, length: int, fill: float) -> Array:
    """The array itself, or one at least twice as long that begins with it: growing costs little in the long run."""
    if len(array) >= length:
        return array
    longer = np.full(max(length, 2 * len(array), 1024), fill, array.dtype)
    longer[: len(array)] = array
    return longer  # type: ignore[return-value] # the same kind of array
