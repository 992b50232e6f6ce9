"""How long threads of a step wait for a processor: as a part of its cost, and for real beside a busy neighbour."""

import os
import threading
import time
from pathlib import Path

import pytest

from vmtrace.providers.kinds.counters import cost, counted
from vmtrace.providers.kinds.run_delay import RunDelay


def test_a_cost_has_the_difference(tmp_path: Path) -> None:
    found = cost(counted(root=tmp_path, run_delay_s=1.5), counted(root=tmp_path, run_delay_s=4.0), tmp_path)
    assert found.run_delay_s == 2.5
    assert cost(counted(root=tmp_path), counted(root=tmp_path), tmp_path).run_delay_s is None


def test_threads_that_share_one_processor_wait_for_it() -> None:
    if RunDelay().seconds() is None:
        pytest.skip("this kernel keeps no run delay")
    allowed = os.sched_getaffinity(0)
    over = threading.Event()

    def burn() -> None:
        os.sched_setaffinity(0, {min(allowed)})
        while not over.is_set():
            sum(range(1000))

    with RunDelay() as watched:
        before_s = watched.seconds() or 0.0
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {min(allowed)})
            ends_s = time.monotonic() + 60
            while time.monotonic() < ends_s and os.getppid() != 1:
                pass
            os._exit(0)
        thread = threading.Thread(target=burn)
        thread.start()
        ends_s = time.monotonic() + 30
        while (watched.seconds() or 0.0) - before_s < 0.2 and time.monotonic() < ends_s:
            time.sleep(0.05)
        waited_s = (watched.seconds() or 0.0) - before_s
        over.set()
        thread.join()
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert waited_s >= 0.2
