"""Compiles the loops over accesses with Numba where it is installed (extra `cost`); else Python runs them as they are.

The loops keep to numbers and numpy arrays, so both do the same; compiled they are some twenty times as fast.
"""

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])

IS_FAST = importlib.util.find_spec("numba") is not None
"""Whether Numba is there."""


class Lazily:
    """A loop that is compiled when it is first called: who asks for no trace waits for no compiler."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.python = loop
        self._ready: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        if self._ready is None:
            self._ready = _compile(self.python) if IS_FAST else self.python
        return self._ready(*arguments)


def _compile(loop: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    try:
        made: Callable[..., Any] = njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # no folder in which the compiled code may be kept for the next time
        made = njit(nogil=True)(loop)
    return made
