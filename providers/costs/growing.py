"""Arrays by number of object, which grow as a trace names new objects."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = TypeVar("Array", bound=npt.NDArray[Any])


def grown(array: Array, length: int, fill: float) -> Array:
    """The array itself, or one at least twice as long that begins with it: growing costs little in the long run."""
    if len(array) >= length:
        return array
    longer = np.full(max(length, 2 * len(array), 1024), fill, array.dtype)
    longer[: len(array)] = array
    return longer  # type: ignore[return-value] # the same kind of array
