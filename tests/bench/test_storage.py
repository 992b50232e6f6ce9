"""The bench of `vmtrace storage run` compares like with like, and finds what it promises about."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import storage
from bench.storage import Compared, Turn
from lab.services.service import Service
from providers.plan import Workload


def compared(plain_s: float, recorded_s: float, dropped: int = 0) -> Compared:
    return Compared("s3", "w", (Turn(plain_s),) * 3, (Turn(recorded_s, dropped),) * 3)


def test_the_ratio_is_the_median_over_pairs() -> None:
    pairs = Compared("s3", "w", (Turn(1.0), Turn(2.0), Turn(1.0)), (Turn(1.0), Turn(2.2), Turn(9.0)))
    assert pairs.ratio == pytest.approx(1.1)


def test_too_much_overhead_and_lost_packets_break_the_promises() -> None:
    assert [promise.kept for promise in storage.promises([compared(1.0, 1.04), compared(1.0, 1.06, 2)])] == [
        True,
        False,
        False,
    ]
    assert "| s3 | w | 1.000 | 1.060 | 1.060 | 6 |" in storage.table([compared(1.0, 1.06, 2)])


@pytest.mark.root
def test_the_same_files_go_both_ways_and_nothing_is_left(
    swift_service: Service, client_of: Callable[[Service], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    one = storage.compare("swift", swift_service, Workload("3x1kB", 3, 1000), 1, tmp_path / "bench")
    assert len(one.plain) == len(one.recorded) == 1
    assert one.ratio > 0
    assert one.dropped == 0
