"""The wire is fuzzed for a few seconds, and the fuzzer finds what is there to be found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tools import fuzz_wire
from vmtrace.receiver.file_desk import FileDesk


@pytest.mark.slow
def test_nothing_is_found_in_a_few_seconds(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    count, defects = fuzz_wire.fuzz(6, seed, tmp_path)
    assert defects == [], f"python -m tools.fuzz_wire --seed {seed}"
    assert count >= fuzz_wire.ROUND


def test_a_defect_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(_self: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(FileDesk, "list", defect)
    _, defects = fuzz_wire.fuzz(20, 1, tmp_path)
    assert "ZeroDivisionError" in defects[0]


@pytest.mark.parametrize(
    ("now", "is_more"), [((3, 9), False), ((2, 8), False), ((4, 9), True), ((3, 10), True), ((2, 10), True)]
)
def test_a_descriptor_left_open_is_found_whatever_threads_do(now: tuple[int, int], is_more: bool) -> None:
    assert fuzz_wire.is_more(now, (3, 9)) == is_more


def test_the_same_seed_sends_the_same() -> None:
    one, other = random.Random("1/0"), random.Random("1/0")
    assert fuzz_wire.changed(b"x" * 100, one) == fuzz_wire.changed(b"x" * 100, other)
    assert fuzz_wire.message(one) == fuzz_wire.message(other)
