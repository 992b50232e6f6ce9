"""One processor is kept for the emulator, while hosts exist."""

from __future__ import annotations

import os

import pytest

from vmtrace.lab import processors


@pytest.mark.parametrize(("allowed", "left", "kept"), [({0, 1}, {0}, 1), ({2, 5, 7}, {2, 5}, 7), ({3}, {3}, None)])
def test_the_last_processor_is_kept_free_and_given_back(
    monkeypatch: pytest.MonkeyPatch, allowed: set[int], left: set[int], kept: int | None
) -> None:
    now = set(allowed)

    def change(process: int, wanted: set[int]) -> None:
        assert process == 0
        now.clear()
        now.update(wanted)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(now))
    monkeypatch.setattr(os, "sched_setaffinity", change)
    with processors.one_kept_free() as free:
        assert (now, free) == (left, kept)
    assert now == allowed
