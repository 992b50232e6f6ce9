"""When a new file is due, and its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.rotation import Rotation


def test_without_a_limit_there_is_one_file_of_the_name_given() -> None:
    assert not Rotation().active
    assert Rotation().path(Path("a/trace.pcap"), 1) == Path("a/trace.pcap")
    assert not Rotation().due(1 << 60, 1e9)
    assert Rotation().packets_until_due(1 << 60, 10, 500) == 500


def test_files_are_numbered_before_the_suffix() -> None:
    assert Rotation(seconds=1).path(Path("a/trace.pcap"), 3) == Path("a/trace-0003.pcap")
    assert Rotation(size_bytes=1).path(Path("a/trace"), 12345) == Path("a/trace-12345")


def test_whichever_limit_is_reached_first() -> None:
    rotation = Rotation(size_bytes=1000, seconds=5)
    assert not rotation.due(999, 4.9)
    assert rotation.due(1000, 0)
    assert rotation.due(24, 5)


def test_the_size_is_looked_at_again_before_it_is_passed_by_far() -> None:
    rotation = Rotation(size_bytes=100_000)
    assert rotation.packets_until_due(24, 0, 20_000) == 64
    assert rotation.packets_until_due(50_000, 500, 20_000) == 500
    assert rotation.packets_until_due(99_999, 1000, 20_000) == 1
    assert rotation.packets_until_due(50_000, 500, 100) == 100


@pytest.mark.parametrize("wrong", [{"size_bytes": 0}, {"seconds": 0.0}, {"seconds": -1.0}])
def test_nonsense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(CaptureError, match="must be"):
        Rotation(**wrong)
