"""A call that may never return, waited for so long and no longer.

It runs in a thread of its own: the thread that waits hears signals, whatever library the call is stuck in. Who gives up
waiting leaves the thread behind; it ends with its call, or with the process.
"""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

T = TypeVar("T")


class NoEndError(TimeoutError):
    """The call was still going on when its time was over."""


def bounded(work: Callable[[], T], within_s: float) -> T:
    """What `work` returns or raises; raises `NoEndError` where it does neither in time."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="bounded call", daemon=True)
    thread.start()
    thread.join(max(0.0, within_s))
    if errors:
        raise errors[0]
    if not results:
        raise NoEndError(f"no end within {within_s:g} s")
    return results[0]
