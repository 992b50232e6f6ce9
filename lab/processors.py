"""A processor for the emulator alone, so that what the hosts do in their kernels does not hold it up.

Real-time priority is not enough: a kernel without preemption (`Dynamic Preempt: none`, usual for servers) finishes a
system call first, and one of libpcap's, which asks for a buffer of some 100 MB, was seen to take a quarter of a second
on a virtual machine whose free memory its hypervisor had taken back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_kept_free() -> Iterator[int | None]:
    """Keep this thread, and what it starts meanwhile, off one processor; its number, or None where there is but one."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        yield None
        return
    kept = max(allowed)
    os.sched_setaffinity(0, allowed - {kept})
    try:
        yield kept
    finally:
        os.sched_setaffinity(0, allowed)
