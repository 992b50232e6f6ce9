"""Signals come through where a campaign waits, and nowhere else."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from vmtrace.capture.interruption import Interruption


def ask(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_wait_ends_at_once(number: int) -> None:
    with Interruption() as interruption:
        threading.Timer(0.05, ask, [number]).start()
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interruption.sleep(20)
    assert time.monotonic() - began_s < 10


def test_what_is_no_wait_goes_on_and_the_next_wait_is_none() -> None:
    with Interruption() as interruption:
        ask()
        assert interruption.asked
        reached = True
        with pytest.raises(KeyboardInterrupt), interruption.allowed():
            reached = False
    assert reached


def test_after_a_wait_within_another_the_outer_one_is_still_a_wait() -> None:
    with Interruption() as interruption, interruption.allowed():
        with interruption.allowed():
            pass
        with pytest.raises(KeyboardInterrupt):
            ask()


def test_who_insists_gets_out_at_any_price() -> None:
    with Interruption():
        ask()
        ask()
        with pytest.raises(KeyboardInterrupt):
            ask()


def test_afterwards_signals_are_as_they_were() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_nohup_said_of_a_lost_terminal_holds() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            ask(signal.SIGHUP)
            assert not interruption.asked
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def look() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
