"""Ctrl-C comes through only where nothing can be torn."""

import os
import signal
import time

import pytest

from providers.interruption import Interruption


def test_a_signal_waits_for_the_next_place_where_it_may_come_through() -> None:
    reached = False
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
        reached = True
        with pytest.raises(KeyboardInterrupt), interruption.allowed():
            pass
    assert reached


def test_a_sleep_ends_at_once() -> None:
    began_s = time.monotonic()
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    with Interruption() as interruption:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            interruption.sleep(30)
    signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began_s < 20


def test_who_insists_gets_out_anywhere() -> None:
    def insist() -> None:
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with Interruption(), pytest.raises(KeyboardInterrupt):
        insist()


def test_the_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
