"""A first signal breaks off and leaves some seconds, a second one ends at once, whatever the main thread is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.eventually import eventually
from vmtrace.capture.ending import ENDS_WITHIN_S, Ending

DEAF = """
import ctypes, sys, time
from vmtrace.capture.ending import Ending
with Ending("ended at once: look at FOLDER", lambda: print("broken off", flush=True)):
    print("ready", flush=True)
    until = time.monotonic() + 60
    while time.monotonic() < until:  # a C library that goes on after each signal
        ctypes.CDLL(None).usleep(200_000)
"""


def deaf() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_who_does_not_end_is_ended() -> None:
    process = deaf()
    process.send_signal(signal.SIGTERM)
    began_s = time.monotonic()
    said, shown = process.communicate(timeout=30)
    assert ENDS_WITHIN_S - 0.5 < time.monotonic() - began_s < 20.0
    assert (process.returncode, said, shown) == (130, "broken off\n", "vmtrace: ended at once: look at FOLDER\n")


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(second: int) -> None:
    process = deaf()
    process.send_signal(signal.SIGINT)
    time.sleep(0.6)
    process.send_signal(second)
    began_s = time.monotonic()
    _, shown = process.communicate(timeout=30)
    assert time.monotonic() - began_s < 4.0
    assert (process.returncode, shown) == (130, "vmtrace: ended at once: look at FOLDER\n")


def test_what_goes_on_is_broken_off_once_and_afterwards_signals_are_as_they_were() -> None:
    broken: list[float] = []
    before = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)
    with Ending("never said", lambda: broken.append(time.monotonic())) as ending:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            ending.sleep(20)
        interrupted_s = time.monotonic()
        ending.settle()
        assert len(broken) == 1
        assert 0 < broken[0] - interrupted_s < 10  # the handler came first
    assert (signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)) == before
    assert eventually(lambda: not any(one.name == "ending" and one.is_alive() for one in threading.enumerate()))


def test_after_a_signal_there_is_little_time_for_what_is_left() -> None:
    over = threading.Event()
    with Ending("never said") as ending:
        assert ending.in_time(lambda: "as long as it takes") == "as long as it takes"
        os.kill(os.getpid(), signal.SIGINT)
        assert ending.asked
        began_s = time.monotonic()
        assert ending.in_time(lambda: over.wait(60)) is None
        assert time.monotonic() - began_s < 30
        assert ending.in_time(lambda: "quick") in {"quick", None}
    over.set()


def test_in_another_thread_nothing_is_watched() -> None:
    seen: list[set[threading.Thread]] = []

    def look() -> None:
        with Ending("never said") as ending:
            # One of a test before this may end meanwhile.
            seen.append(watchers() - before)
            ending.settle()

    def watchers() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name == "ending"}

    before = watchers()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [set()]
