"""A call is waited for as long as it may take, and no longer."""

from __future__ import annotations

import threading
import time

import pytest

from vmtrace.capture.bounded import NoEndError, bounded


def test_what_a_call_returns_or_raises_comes_back() -> None:
    assert bounded(lambda: 7, 10) == 7
    with pytest.raises(KeyError):
        bounded(lambda: dict[str, int]()["no such key"], 10)


def test_a_call_without_an_end_is_left_behind() -> None:
    ended = threading.Event()
    began_s = time.monotonic()
    with pytest.raises(NoEndError, match=r"no end within 0\.1 s"):
        bounded(ended.wait, 0.1)
    assert time.monotonic() - began_s < 5
    ended.set()
