"""Many calls at once in threads, which all end early when the run is interrupted."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    work: Callable[[T], R], items: Sequence[T], at_once: int, ended: threading.Event | None = None
) -> Iterator[R]:
    """The results in the order of the items. Whatever ends this early sets `ended`, which the work should look at."""
    pool = ThreadPoolExecutor(at_once, "discovery")
    waits = True
    try:
        for one in [pool.submit(work, item) for item in items]:
            yield one.result()
    except BaseException as error:
        if ended is not None:
            ended.set()
        waits = isinstance(error, Exception)  # who interrupts the run waits for nobody's reply
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=True)
